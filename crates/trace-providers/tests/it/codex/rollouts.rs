//! Rollouts of real clients, with the right totals for each, and specimens of all records.

use proptest::prelude::*;
use serde_json::Value;
use trace_model::{
    totals::Totals,
    turn::Outcome,
    usage::UsageReport,
    words::{Grain, Quality},
};
use trace_providers::{Detail, Observation, SourceFormat, reader_for, recognise::recognise_source, resume_reader};

use super::{observe, read, read_rollout};
use crate::support::{charged, classes, events, fixture, notes, prompts, record, render, usage};

/// All rollouts that are read in tests.
const ROLLOUTS: [&str; 8] = [
    "codex-hello/rollout.jsonl",
    "codex-rounds/rollout.jsonl",
    "codex-fail/rollout.jsonl",
    "codex-repeated-counts/rollout.jsonl",
    "codex-counter-restart/rollout.jsonl",
    "codex-fork/parent.jsonl",
    "codex-fork/child.jsonl",
    "codex-record-types/rollout.jsonl",
];

fn json(name: &str) -> Value {
    serde_json::from_slice(&fixture(name)).unwrap()
}

/// Asserts that the totals are the expected ones. A client that says nothing about writes leaves them unknown.
fn assert_totals(totals: &Totals, expected: &Value, name: &str) {
    let [input, cache_read, written, output] = classes(totals);
    assert_eq!([input, cache_read, written.or(Some(0)), output], charged(expected), "{name}");
    assert_eq!(totals.reasoning_tokens, expected["reasoning_in_output"].as_u64(), "{name}");
    assert_eq!(totals.quality, Quality::Exact, "{name}");
}

#[test]
fn a_rollout_adds_up_to_what_the_server_charged() {
    for scenario in ["hello", "rounds"] {
        let recorded = record(&read_rollout(fixture(&format!("codex-{scenario}/rollout.jsonl"))));
        let truth = json(&format!("codex-{scenario}/truth.json"));
        let totals = recorded.totals();
        assert_totals(&totals, &truth["all"], scenario);
        assert_eq!(totals.requests, truth["all"]["model_requests"].as_u64(), "{scenario}");
        assert_eq!(recorded.outcomes, [Outcome::Completed], "{scenario}");
        assert_eq!(recorded.output(0), Some("All done: the tool said hello."), "{scenario}");
    }
}

#[test]
fn a_stream_and_the_rollout_of_its_run_are_one_total() {
    for scenario in ["hello", "rounds", "fail"] {
        let stream = observe(fixture(&format!("codex-{scenario}/stream.jsonl")));
        let rollout = read_rollout(fixture(&format!("codex-{scenario}/rollout.jsonl")));
        let streamed = record(&stream).totals();
        let usage = rollout.iter().filter(|seen| matches!(seen, Observation::Usage(_))).cloned();
        let both = record(&stream.iter().cloned().chain(usage).collect::<Vec<_>>()).totals();
        for totals in [both, record(&rollout).totals()] {
            assert_eq!((classes(&totals), totals.quality), (classes(&streamed), streamed.quality), "{scenario}");
            assert_eq!(totals.reasoning_tokens, streamed.reasoning_tokens, "{scenario}");
        }
        let truth = json(&format!("codex-{scenario}/truth.json"));
        // The rollout knows the requests that the stream does not show, but not one that may have been broken off.
        let requests = truth["all"]["model_requests"].as_u64().filter(|_| scenario != "fail");
        assert_eq!(both.requests, requests, "{scenario}");
    }
}

#[test]
fn a_count_that_is_written_again_is_no_request() {
    let (observations, expected) =
        (read_rollout(fixture("codex-repeated-counts/rollout.jsonl")), json("codex-repeated-counts/expected.json"));
    let totals = record(&observations).totals();
    assert_totals(&totals, &expected["usage"], "totals");
    assert_eq!(totals.total_tokens, expected["usage"]["total"].as_u64());
    assert_eq!(totals.requests, expected["model_requests"].as_u64());
    assert_eq!(prompts(&observations), [Some("count")]);
    assert!(usage(&observations).iter().all(|report| report.model.as_deref() == expected["model"].as_str()));
}

#[test]
fn a_counter_that_begins_again_counts_in_full() {
    let (observations, expected) =
        (read_rollout(fixture("codex-counter-restart/rollout.jsonl")), json("codex-counter-restart/expected.json"));
    let totals = record(&observations).totals();
    assert_totals(&totals, &expected["usage"], "totals");
    assert_eq!(totals.total_tokens, expected["raw_totals"]["total_tokens"].as_u64());
    assert_eq!(totals.requests, expected["growth_steps"].as_u64());
    assert_eq!(prompts(&observations).len(), 2);
    assert!(usage(&observations).iter().all(|report| report.grain == Grain::Request));
}

#[test]
fn the_context_is_that_of_the_last_request_and_not_the_total() {
    let observations = read_rollout(fixture("codex-rounds/rollout.jsonl"));
    let contexts: Vec<_> = usage(&observations)
        .iter()
        .map(|report| (report.context_tokens.unwrap(), report.context_window_tokens))
        .collect();
    assert_eq!(contexts, [4002, 4004, 4006, 4008, 4010, 4012].map(|tokens| (tokens, Some(258_400))));
}

#[test]
fn all_records_are_read_and_none_adds_usage_by_accident() {
    let observations = read_rollout(fixture("codex-record-types/rollout.jsonl"));
    assert_eq!(notes(&observations), []);
    // One of the specimens is the count of a request.
    let counted: Vec<&UsageReport> =
        usage(&observations).into_iter().filter(|report| report.prompt_tokens().is_some()).collect();
    assert_eq!(counted.len(), 1);
    assert_eq!(counted[0].key, "total:0:16341:3584:81:63");
    assert_eq!(record(&observations).totals().total_tokens, Some(16_341 + 81));
}

#[test]
fn a_rollout_is_recognised_by_its_content() {
    for name in ROLLOUTS {
        assert_eq!(recognise_source(&fixture(name)), Some(SourceFormat::CodexRollout), "{name}");
    }
    let bare = br#"{"id":"t","timestamp":"2025-07-01T10:00:00Z","instructions":null}"#;
    assert_eq!(recognise_source(bare), Some(SourceFormat::CodexRollout));
}

#[test]
fn without_the_exchange_all_else_is_the_same() {
    for name in ROLLOUTS {
        let file = fixture(name);
        let mut everything = read_rollout(&file);
        everything.retain(|seen| !matches!(seen, Observation::Event(_)));
        assert_eq!(read(Detail::Usage, &file), everything, "{name}");
        let (_, events) = (name, events(&read(Detail::Usage, &file)));
        assert!(events.is_empty(), "{name}");
    }
}

#[test]
fn what_is_observed_of_each_rollout_stays_as_it_was_reviewed() {
    for name in ["codex-rounds", "codex-fail", "codex-repeated-counts"] {
        let observations = read_rollout(fixture(&format!("{name}/rollout.jsonl")));
        insta::assert_snapshot!(format!("{name}-rollout"), render(&observations));
    }
    let specimens = read_rollout(fixture("codex-record-types/rollout.jsonl"));
    insta::assert_snapshot!("codex-record-types", render(&specimens));
}

proptest! {
    #[test]
    fn a_rollout_that_grows_is_gone_on_with_where_it_was_left(
        name in proptest::sample::select(ROLLOUTS.to_vec()),
        cut in any::<proptest::sample::Index>(),
        detail in proptest::sample::select(vec![Detail::Usage, Detail::Everything]),
    ) {
        let file = fixture(name);
        let mut reader = reader_for(SourceFormat::CodexRollout, detail).unwrap();
        let mut seen = Vec::new();
        reader.push(&file[..cut.index(file.len() + 1)], &mut seen);
        let checkpoint = reader.checkpoint().unwrap();
        prop_assert!(detail == Detail::Everything || checkpoint.state.len() < 4_096);
        let mut reader = resume_reader(SourceFormat::CodexRollout, detail, &checkpoint).unwrap();
        reader.push(&file[usize::try_from(checkpoint.offset).unwrap()..], &mut seen);
        reader.finish(&mut seen);
        prop_assert_eq!(seen, read(detail, &file));
    }
}

#[test]
fn a_state_of_another_version_is_not_gone_on_from() {
    let reader = reader_for(SourceFormat::CodexRollout, Detail::Usage).unwrap();
    let mut checkpoint = reader.checkpoint().unwrap();
    assert!(resume_reader(SourceFormat::CodexRollout, Detail::Usage, &checkpoint).is_some());
    checkpoint.state = checkpoint.state.replacen('1', "0", 1);
    assert!(resume_reader(SourceFormat::CodexRollout, Detail::Usage, &checkpoint).is_none());
    checkpoint.state.clear();
    assert!(resume_reader(SourceFormat::CodexRollout, Detail::Usage, &checkpoint).is_none());
}
