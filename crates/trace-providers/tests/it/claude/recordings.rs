//! Recordings of real clients against a server that knew what it charged.

use serde_json::Value;
use trace_model::{
    turn::Outcome,
    usage::Agent,
    words::{Grain, Quality},
};
use trace_providers::NoteKind;

use super::observe;
use crate::support::{charged, classes, fixture, notes, record, render, usage};

const SCENARIOS: [&str; 5] = ["hello", "rounds", "fail", "partial", "subagent"];

fn stream(scenario: &str) -> Vec<u8> {
    fixture(&format!("claude-{scenario}/stream.jsonl"))
}

fn truth(scenario: &str) -> Value {
    serde_json::from_slice(&fixture(&format!("claude-{scenario}/truth.json"))).unwrap()
}

/// Returns a stream without its `result` lines: that of a run that was killed.
fn without_results(stream: &[u8]) -> Vec<u8> {
    let is_result = |line: &&[u8]| !line.starts_with(br#"{"type":"result""#);
    stream.split_inclusive(|byte| *byte == b'\n').filter(is_result).flatten().copied().collect()
}

#[test]
fn every_recording_adds_up_to_what_the_server_charged() {
    for scenario in SCENARIOS {
        let (recorded, truth) = (record(&observe(stream(scenario))), truth(scenario));
        let totals = recorded.totals();
        assert_eq!(classes(&totals), charged(&truth["all"]), "{scenario}");
        assert_eq!(totals.total_tokens, truth["all"]["total"].as_u64(), "{scenario}");
        assert_eq!(totals.quality, Quality::Exact, "{scenario}");
        let expected = if truth["outcome"] == "failed" { Outcome::Failed } else { Outcome::Completed };
        assert_eq!(recorded.outcomes, [expected], "{scenario}");
        // One reply of the subagent is on no line: how many requests there were is not known then.
        let requests = truth["all"]["model_requests"].as_u64().filter(|_| scenario != "subagent");
        assert_eq!(totals.requests, requests, "{scenario}");
    }
}

#[test]
fn the_stated_cost_is_known_and_zero_for_a_run_that_failed_at_once() {
    for (scenario, cost) in [("hello", "0.01811025"), ("subagent", "0.0363675"), ("fail", "0")] {
        let totals = record(&observe(stream(scenario))).totals();
        assert_eq!(totals.cost_usd, Some(cost.parse().unwrap()), "{scenario}");
    }
}

#[test]
fn a_run_that_was_killed_has_lower_bounds_with_exact_prompts() {
    for scenario in ["hello", "rounds"] {
        let (recorded, truth) = (record(&observe(without_results(&stream(scenario)))), truth(scenario));
        let totals = recorded.totals();
        assert_eq!(classes(&totals)[..3], charged(&truth["all"])[..3], "{scenario}");
        let requests = truth["all"]["model_requests"].as_u64();
        // The placeholder of each reply is 1.
        assert_eq!((totals.output_tokens, totals.requests), (requests, requests), "{scenario}");
        assert_eq!((totals.quality, recorded.outcomes.len()), (Quality::LowerBound, 0), "{scenario}");
    }
}

#[test]
fn partial_messages_are_exact_even_for_a_run_that_was_killed() {
    let recorded = record(&observe(without_results(&stream("partial"))));
    let totals = recorded.totals();
    assert_eq!(classes(&totals), charged(&truth("partial")["all"]));
    assert_eq!((totals.quality, totals.requests), (Quality::Exact, Some(2)));
    assert!(usage(&observe(stream("partial"))).len() <= 2 * 2 + 1, "a handful of reports per reply");
}

#[test]
fn partial_messages_are_said_once() {
    let recorded = record(&observe(stream("partial")));
    assert_eq!(recorded.output(0), Some("I will look. All done: the tool said hello. "));
    assert_eq!(record(&observe(stream("hello"))).output(0), recorded.output(0));
}

#[test]
fn a_subagent_is_counted_under_its_own_id_and_says_nothing_of_the_main_agent() {
    let observations = observe(stream("subagent"));
    let subagent = Agent::Sub(String::from("af99eb439b6d285ee"));
    let of_subagent: Vec<_> = usage(&observations).into_iter().filter(|report| report.agent == subagent).collect();
    let [report] = of_subagent[..] else { panic!("one of its two replies is on the stream: {of_subagent:?}") };
    assert_eq!((report.key.as_str(), report.input_tokens), ("msg_mock0002", Some(1002)));
    assert_eq!(record(&observations).output(0), Some("Delegating. All done: the tool said hello. "));
}

#[test]
fn a_remainder_knows_the_context_window_and_what_no_line_shows() {
    let observations = observe(stream("subagent"));
    let remainder = *usage(&observations).last().unwrap();
    assert_eq!(remainder.key, "remainder:1:claude-opus-4-8");
    assert_eq!(remainder.model.as_deref(), Some("claude-opus-4-8[1m]"));
    assert_eq!((remainder.grain, remainder.quality), (Grain::Turn, Quality::Exact));
    // The second reply of the subagent, and the outputs that are not on the lines: 210 less three placeholders.
    assert_eq!((remainder.input_tokens, remainder.output_tokens), (Some(1003), Some(207)));
    assert_eq!(remainder.context_window_tokens, Some(1_000_000));
}

#[test]
fn two_sessions_on_one_stream_are_two_turns_whose_totals_begin_at_zero() {
    let observations = observe(fixture("stream-json-two-sessions.jsonl"));
    let recorded = record(&observations);
    assert_eq!(recorded.outcomes, [Outcome::Completed, Outcome::Failed]);
    assert_eq!(recorded.rows.turns.len(), 2);
    let second = *usage(&observations).last().unwrap();
    assert_eq!((second.key.as_str(), second.input_tokens), ("remainder:2:claude-sonnet-4-5-20250929", Some(40)));
    assert_eq!((second.output_tokens, second.cache_read_tokens), (Some(12), None));
    assert_eq!(second.reported_cost_usd, Some("0.001".parse().unwrap()));
    // The hand-made numbers of the first session state less than its lines add up to.
    assert_eq!(notes(&observations), [(2622, NoteKind::TotalBelowRequests)]);
    let first = usage(&observations).into_iter().find(|report| report.key.starts_with("remainder:1:")).unwrap();
    assert_eq!((first.quality, first.input_tokens), (Quality::LowerBound, Some(0)));
}

#[test]
fn what_is_observed_of_each_recording_stays_as_it_was_reviewed() {
    for scenario in SCENARIOS {
        insta::assert_snapshot!(format!("claude-{scenario}"), render(&observe(stream(scenario))));
    }
    let two_sessions = observe(fixture("stream-json-two-sessions.jsonl"));
    insta::assert_snapshot!("claude-two-sessions", render(&two_sessions));
}
