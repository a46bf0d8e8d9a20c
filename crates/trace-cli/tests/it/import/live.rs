//! Sessions that are recorded while they run and imported later: each is one.

use std::fs;

use serde_json::Value;

use super::{Bench, document, fixture};
use crate::exec::session_files::{Moment, agent_that_prints};

/// Returns the text with another time wherever the recording has one.
fn at(moment: &Moment, text: &str) -> String {
    let mut parts = text.split("\"2026-11-30T");
    let mut moved = parts.next().unwrap().to_owned();
    for part in parts {
        let (_, rest) = part.split_once('"').unwrap();
        moved.extend(["\"", moment.now.as_str(), "\"", rest]);
    }
    moved
}

/// Runs an agent that prints its stream and writes its files, and imports those afterwards.
fn check(provider: &str, scenario: &str, files: &'static [(&'static str, &'static str)], truth: &str) {
    let name = format!("{provider}-{scenario}");
    let bench = Bench::new();
    let of = name.clone();
    let program = agent_that_prints(&bench, provider, &fixture(&format!("{name}/stream.jsonl")), move |moment| {
        for (file, place) in files {
            let text = fs::read_to_string(fixture(&format!("{of}/{file}"))).unwrap();
            super::write_at(&moment.person.join(place), at(moment, &text));
        }
    });
    let output = bench.exec(&["--quiet"], &[program.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{name}: {}", super::stderr(&output));
    let of_stream = bench.show()["totals"].clone();
    let imported = document(&bench, 0, &["import", "--json"]);
    assert_eq!(imported["sessions"]["new"], 0, "{name}: {imported}");
    assert_eq!(imported["sessions"]["updated"], 1, "{name}: {imported}");
    let launches = bench.launches();
    assert_eq!(launches.len(), 1, "{name}: {launches:?}");
    let totals = &launches[0]["totals"];
    let told: Value = serde_json::from_slice(&fs::read(fixture(&format!("{name}/truth.json"))).unwrap()).unwrap();
    for (ours, theirs) in [
        ("input_tokens", "input_uncached"),
        ("cache_read_tokens", "cache_read"),
        ("cache_write_tokens", "cache_write"),
        ("output_tokens", "output_total"),
        ("total_tokens", "total"),
    ] {
        let expected = told[truth][theirs].as_u64();
        assert_eq!(totals[ours].as_u64().unwrap_or(0), expected.unwrap(), "{name}: {ours} in {totals}");
        assert_eq!(of_stream[ours].as_u64().unwrap_or(0), expected.unwrap(), "{name}: {ours} in {of_stream}");
    }
    assert_eq!(totals["quality"], of_stream["quality"], "{name}");
}

#[test]
fn a_recorded_session_of_claude_code_is_one_with_its_transcript() {
    const FILES: &[(&str, &str)] = &[("transcript.jsonl", ".claude/projects/p/s.jsonl")];
    check("claude", "hello", FILES, "all");
    check("claude", "rounds", FILES, "all");
    check("claude", "partial", FILES, "all");
}

#[test]
fn a_recorded_session_with_a_subagent_is_one_with_all_of_its_files() {
    const FILES: &[(&str, &str)] = &[
        ("transcript.jsonl", ".claude/projects/p/s.jsonl"),
        ("agent-af99eb439b6d285ee.jsonl", ".claude/projects/p/s/subagents/agent-af99eb439b6d285ee.jsonl"),
    ];
    check("claude", "subagent", FILES, "all");
}

#[test]
fn a_recorded_thread_of_codex_is_one_with_its_rollout() {
    const FILES: &[(&str, &str)] = &[("rollout.jsonl", ".codex/sessions/rollout-1.jsonl")];
    check("codex", "hello", FILES, "all");
    check("codex", "rounds", FILES, "all");
}

#[test]
fn a_recorded_session_of_gemini_is_one_with_its_file() {
    const FILES: &[(&str, &str)] = &[("session.jsonl", ".gemini/tmp/p/chats/session-1.jsonl")];
    check("gemini", "hello", FILES, "all");
    check("gemini", "rounds", FILES, "visible");
}
