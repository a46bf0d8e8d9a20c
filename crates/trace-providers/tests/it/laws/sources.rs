//! What holds for the readers of all sources.

use proptest::prelude::*;
use trace_providers::{
    Detail, Observation,
    SourceFormat::{
        self, ClaudeStream, ClaudeTranscript, CodexExec, GeminiDocument, GeminiSession, GeminiStream, OpenCodeRun,
        OpenCodeStore,
    },
    reader_for,
    recognise::recognise_source,
};

use super::{pieces, places_lie_within};
use crate::support::{fixture, read, read_in_two};

/// Sources of every format.
const SOURCES: &[(SourceFormat, &str)] = &[
    (ClaudeStream, "claude-subagent/stream.jsonl"),
    (ClaudeTranscript, "claude-hello/transcript.jsonl"),
    (ClaudeTranscript, "claude-fail/transcript.jsonl"),
    (ClaudeTranscript, "claude-subagent/transcript.jsonl"),
    (ClaudeTranscript, "claude-subagent/agent-af99eb439b6d285ee.jsonl"),
    (ClaudeTranscript, "claude-subagent-dir/transcript.jsonl"),
    (ClaudeTranscript, "claude-subagent-dir/agent-a21e2f5.jsonl"),
    (ClaudeTranscript, "claude-broken-lines/transcript.jsonl"),
    (ClaudeTranscript, "claude-inline-sidechain/transcript.jsonl"),
    (ClaudeTranscript, "claude-two-session-ids/transcript.jsonl"),
    (CodexExec, "codex-rounds/stream.jsonl"),
    (GeminiStream, "gemini-rounds/stream.jsonl"),
    (GeminiStream, "gemini-fail/stream.jsonl"),
    (GeminiSession, "gemini-append/session.jsonl"),
    (GeminiSession, "gemini-fail/session.jsonl"),
    (GeminiSession, "gemini-rewritten/session.jsonl"),
    (GeminiSession, "gemini-rounds/session.jsonl"),
    (GeminiDocument, "gemini-document/session.json"),
    (OpenCodeRun, "opencode-fail/stream.jsonl"),
    (OpenCodeRun, "opencode-rounds/stream.jsonl"),
    (OpenCodeStore, "opencode-fail/store.jsonl"),
    (OpenCodeStore, "opencode-rounds/store.jsonl"),
];

fn source() -> impl Strategy<Value = (SourceFormat, Vec<u8>)> {
    proptest::sample::select(SOURCES).prop_map(|(format, name)| (format, fixture(name)))
}

fn damage() -> impl Strategy<Value = Vec<(proptest::sample::Index, u8)>> {
    proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..6)
}

fn damaged(mut source: Vec<u8>, damage: &[(proptest::sample::Index, u8)]) -> Vec<u8> {
    for (at, byte) in damage {
        let at = at.index(source.len());
        source[at] = *byte;
    }
    source
}

/// Returns the places behind all line feeds.
fn behind_lines(source: &[u8]) -> Vec<usize> {
    source.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect()
}

#[test]
fn every_source_is_recognised_by_its_content() {
    for (format, name) in SOURCES {
        assert_eq!(recognise_source(&fixture(name)), Some(*format), "{name}");
    }
}

#[test]
fn a_source_that_is_read_in_two_parts_says_the_same_wherever_it_is_cut() {
    for (format, name) in SOURCES {
        let source = fixture(name);
        for detail in [Detail::Usage, Detail::Everything] {
            let whole = read(*format, detail, &source);
            for cut in behind_lines(&source) {
                let Some(parts) = read_in_two(*format, detail, &source, cut) else { break };
                assert_eq!(parts, whole, "{name} at {cut}");
            }
        }
    }
}

proptest! {
    #[test]
    fn a_damaged_source_that_is_read_in_two_parts_says_the_same(
        (format, source) in source(),
        damage in damage(),
        cut in any::<proptest::sample::Index>(),
    ) {
        let source = damaged(source, &damage);
        let cut = cut.index(source.len() + 1);
        if let Some(parts) = read_in_two(format, Detail::Everything, &source, cut) {
            prop_assert_eq!(parts, read(format, Detail::Everything, &source));
        }
    }

    #[test]
    fn less_detail_leaves_out_the_exchange_and_nothing_else((format, source) in source(), damage in damage()) {
        let source = damaged(source, &damage);
        let [mut everything, mut usage] = [Detail::Everything, Detail::Usage].map(|detail| read(format, detail, &source));
        // The rules of a stream may tell the exchange all the same.
        prop_assert!(format.is_stream() || !usage.iter().any(|seen| matches!(seen, Observation::Event(_))));
        for observations in [&mut everything, &mut usage] {
            observations.retain(|seen| !matches!(seen, Observation::Event(_)));
        }
        prop_assert_eq!(usage, everything);
    }

    #[test]
    fn what_is_read_lies_within_the_source_however_it_is_cut(
        (format, source) in source(),
        damage in damage(),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    ) {
        let source = damaged(source, &damage);
        let mut reader = reader_for(format, Detail::Everything).unwrap();
        let mut observations = Vec::new();
        for piece in pieces(&source, &cuts) {
            reader.push(piece, &mut observations);
        }
        reader.finish(&mut observations);
        prop_assert!(places_lie_within(&observations, source.len()));
        prop_assert_eq!(observations, read(format, Detail::Everything, &source));
    }
}
