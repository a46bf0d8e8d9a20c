//! Recordings of a real client against a server that knew what it charged, and streams of others with known totals.

use serde_json::Value;
use trace_model::{money::NanoUsd, turn::Outcome, words::Quality};
use trace_providers::{Detail, Observation, SourceFormat, recognise::recognise_source};

use super::{observe, read, read_store};
use crate::support::{charged, classes, fixture, notes, prompts, record, render, usage};

const SCENARIOS: [&str; 3] = ["hello", "rounds", "fail"];

fn json(name: &str) -> Value {
    serde_json::from_slice(&fixture(name)).unwrap()
}

fn stream(scenario: &str) -> Vec<Observation> {
    observe(fixture(&format!("opencode-{scenario}/stream.jsonl")))
}

fn store(scenario: &str) -> Vec<Observation> {
    read_store(fixture(&format!("opencode-{scenario}/store.jsonl")))
}

#[test]
fn stream_and_store_of_one_run_add_up_to_what_the_server_charged() {
    for scenario in ["hello", "rounds"] {
        // The request for the title is in neither, and apart from the rest in the truth.
        let truth = json(&format!("opencode-{scenario}/truth.json"));
        for observations in [stream(scenario), store(scenario)] {
            let recorded = record(&observations);
            let totals = recorded.totals();
            assert_eq!(classes(&totals), charged(&truth["all"]), "{scenario}");
            assert_eq!(totals.total_tokens, truth["all"]["total"].as_u64(), "{scenario}");
            assert_eq!(totals.requests, truth["all"]["model_requests"].as_u64(), "{scenario}");
            assert_eq!((totals.quality, totals.cost_usd), (Quality::Exact, Some(NanoUsd::ZERO)), "{scenario}");
            assert_eq!(recorded.outcomes, [Outcome::Completed], "{scenario}");
            assert_eq!(recorded.output(0), Some("All done: the tool said hello. "), "{scenario}");
        }
        let keys = |observations: &[Observation]| -> Vec<String> {
            usage(observations).iter().map(|report| report.key.clone()).collect()
        };
        assert_eq!(keys(&stream(scenario)), keys(&store(scenario)), "{scenario}");
    }
    assert_eq!(prompts(&stream("hello")), [None], "the stream shows no prompt");
    assert_eq!(prompts(&store("hello")), [Some("\"Please say hello using the shell\"")]);
    let models: Vec<_> = store("hello")
        .iter()
        .filter_map(|seen| match seen {
            Observation::Usage(report) => report.model.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(models, ["mock/mock-model", "mock/mock-model"]);
}

#[test]
fn a_request_that_was_refused_leaves_a_lower_bound() {
    for observations in [stream("fail"), store("fail")] {
        let recorded = record(&observations);
        let totals = recorded.totals();
        assert_eq!((classes(&totals), totals.quality), ([None; 4], Quality::LowerBound));
        assert_eq!(recorded.outcomes, [Outcome::Failed]);
        assert_eq!(prompts(&observations).len(), 1);
    }
}

/// Compares a stream with its known totals.
fn check_known(name: &str, cost: u64) {
    let recorded = record(&observe(fixture(&format!("opencode-{name}/stream.jsonl"))));
    let expected = json(&format!("opencode-{name}/expected.json"));
    let totals = recorded.totals();
    assert_eq!(classes(&totals), charged(&expected["usage"]));
    assert_eq!(totals.requests, expected["model_requests"].as_u64());
    assert_eq!(totals.cost_usd, Some(NanoUsd::from_nanos(cost)));
    assert_eq!(totals.quality, Quality::Exact);
    if let Some(thinking) = expected["usage"]["reasoning_in_output"].as_u64() {
        assert_eq!(totals.reasoning_tokens, Some(thinking));
    }
    assert_eq!(recorded.outcomes, [Outcome::Completed]);
}

#[test]
fn steps_add_up_and_reasoning_is_output() {
    check_known("steps", 5_000_000);
    check_known("success", 1_000_000);
}

#[test]
fn less_detail_is_the_same_without_the_exchange() {
    for scenario in SCENARIOS {
        for (format, name) in [(SourceFormat::OpenCodeRun, "stream"), (SourceFormat::OpenCodeStore, "store")] {
            let source = fixture(&format!("opencode-{scenario}/{name}.jsonl"));
            let mut all = read(format, Detail::Everything, &source);
            all.retain(|seen| !matches!(seen, Observation::Event(_)));
            assert_eq!(read(format, Detail::Usage, &source), all, "{scenario} {name}");
            assert_eq!(recognise_source(&source), Some(format), "{scenario} {name}");
        }
    }
}

#[test]
fn what_is_observed_of_each_recording_stays_as_it_was_reviewed() {
    for scenario in SCENARIOS {
        for (kind, observations) in [("stream", stream(scenario)), ("store", store(scenario))] {
            assert_eq!(notes(&observations), [], "{scenario} {kind}");
            insta::assert_snapshot!(format!("opencode-{scenario}-{kind}"), render(&observations));
        }
    }
}
