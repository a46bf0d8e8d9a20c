//! Recordings of a real client against a server that knew what it charged, and a session of three turns.

use serde_json::Value;
use trace_model::{
    turn::Outcome,
    words::{Grain, Quality},
};

use super::observe;
use crate::support::{charged, classes, fixture, notes, prompts, record, render, usage};

const SCENARIOS: [&str; 4] = ["hello", "rounds", "fail", "turns"];

fn stream(scenario: &str) -> Vec<u8> {
    fixture(&format!("codex-{scenario}/stream.jsonl"))
}

fn truth(scenario: &str) -> Value {
    serde_json::from_slice(&fixture(&format!("codex-{scenario}/truth.json"))).unwrap()
}

#[test]
fn a_recording_adds_up_to_what_the_server_charged() {
    for scenario in ["hello", "rounds"] {
        let (recorded, truth) = (record(&observe(stream(scenario))), truth(scenario));
        let totals = recorded.totals();
        assert_eq!(classes(&totals), charged(&truth["all"]), "{scenario}");
        assert_eq!(totals.reasoning_tokens, truth["all"]["reasoning_in_output"].as_u64(), "{scenario}");
        assert_eq!(totals.total_tokens, truth["all"]["total"].as_u64(), "{scenario}");
        assert_eq!((totals.quality, totals.cost_usd), (Quality::Exact, None), "{scenario}");
        assert_eq!(totals.requests, None, "no line shows a request");
        assert_eq!(recorded.outcomes, [Outcome::Completed], "{scenario}");
    }
}

#[test]
fn what_a_failed_turn_cost_is_unknown_and_not_zero() {
    let recorded = record(&observe(stream("fail")));
    let totals = recorded.totals();
    assert_eq!((classes(&totals), totals.reasoning_tokens, totals.total_tokens), ([None; 4], None, None));
    assert_eq!((totals.requests, totals.quality), (None, Quality::LowerBound));
    assert_eq!(recorded.outcomes, [Outcome::Failed]);
}

#[test]
fn the_session_is_its_last_total_and_each_turn_a_difference() {
    let (observations, truth) = (observe(stream("turns")), truth("turns"));
    let recorded = record(&observations);
    let totals = recorded.totals();
    // The client of that session said nothing about writes.
    let [input, cache_read, _, output] = charged(&truth["usage"]);
    assert_eq!(classes(&totals), [input, cache_read, None, output]);
    assert_eq!(totals.reasoning_tokens, truth["usage"]["reasoning_in_output"].as_u64());
    assert_eq!(totals.total_tokens, truth["usage"]["total"].as_u64());
    for (turn, expected) in truth["usage_per_turn"].as_array().unwrap().iter().enumerate() {
        let of_turn = recorded.totals_of_turn(turn);
        assert_eq!(classes(&of_turn), charged(expected), "turn {turn}");
        let quality = if expected.is_null() { Quality::LowerBound } else { Quality::Exact };
        assert_eq!(of_turn.quality, quality, "turn {turn}");
    }
    // The last turn may have cost more than nothing.
    assert_eq!(totals.quality, Quality::LowerBound);
    assert_eq!(recorded.outcomes, [Outcome::Completed, Outcome::Completed, Outcome::Failed]);
    assert_eq!(prompts(&observations), [None; 3]);
}

#[test]
fn a_remainder_is_of_its_turn_and_of_no_model() {
    let observations = observe(stream("turns"));
    let reports = usage(&observations);
    let keys: Vec<&str> = reports.iter().map(|report| report.key.as_str()).collect();
    assert_eq!(keys, ["remainder:1:unknown", "remainder:2:unknown", "remainder:3:unknown"]);
    assert!(reports.iter().all(|report| report.model.is_none() && report.grain == Grain::Turn));
}

#[test]
fn what_the_agent_said_is_its_messages() {
    assert_eq!(record(&observe(stream("hello"))).output(0), Some("All done: the tool said hello."));
    let recorded = record(&observe(stream("turns")));
    assert_eq!([0, 1, 2].map(|turn| recorded.output(turn)), [Some("One file."), Some("Still one."), None]);
}

#[test]
fn what_is_observed_of_each_recording_stays_as_it_was_reviewed() {
    for scenario in SCENARIOS {
        let observations = observe(stream(scenario));
        assert_eq!(notes(&observations), [], "{scenario}");
        insta::assert_snapshot!(format!("codex-{scenario}"), render(&observations));
    }
}
