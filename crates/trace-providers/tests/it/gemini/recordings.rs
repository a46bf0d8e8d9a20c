//! Recordings of a real client against a server that knew what it charged, and session files of others with totals that
//! were worked out.

use serde_json::Value;
use trace_model::{turn::Outcome, words::Quality};
use trace_providers::{Detail, Observation, SourceFormat, recognise::recognise_source};

use super::{observe, read, read_document, read_session};
use crate::support::{charged, classes, fixture, notes, prompts, record, render, usage};

const SCENARIOS: [&str; 3] = ["hello", "rounds", "fail"];

fn json(name: &str) -> Value {
    serde_json::from_slice(&fixture(name)).unwrap()
}

fn stream(scenario: &str) -> Vec<Observation> {
    observe(fixture(&format!("gemini-{scenario}/stream.jsonl")))
}

fn session(scenario: &str) -> Vec<Observation> {
    read_session(fixture(&format!("gemini-{scenario}/session.jsonl")))
}

#[test]
fn stream_and_session_of_one_run_add_up_to_what_the_server_charged() {
    let truth = json("gemini-hello/truth.json");
    for observations in [stream("hello"), session("hello")] {
        let recorded = record(&observations);
        let totals = recorded.totals();
        assert_eq!(classes(&totals), charged(&truth["all"]));
        assert_eq!(totals.reasoning_tokens, truth["all"]["reasoning_in_output"].as_u64());
        assert_eq!(totals.total_tokens, truth["all"]["total"].as_u64());
        assert_eq!((totals.quality, totals.cost_usd), (Quality::Exact, None));
        assert_eq!(recorded.outcomes, [Outcome::Completed]);
        assert_eq!(prompts(&observations), [Some("Please say hello using the shell")]);
        assert_eq!(recorded.output(0), Some("All done: the tool said hello."));
    }
    assert_eq!(record(&stream("hello")).totals().requests, None, "no line shows a request");
    assert_eq!(record(&session("hello")).totals().requests, truth["all"]["model_requests"].as_u64());
}

#[test]
fn what_the_client_broke_off_is_in_neither_and_both_say_that_they_are_a_lower_bound() {
    let truth = json("gemini-rounds/truth.json");
    for observations in [stream("rounds"), session("rounds")] {
        let recorded = record(&observations);
        let totals = recorded.totals();
        assert_eq!(classes(&totals), charged(&truth["visible"]));
        assert_eq!(totals.reasoning_tokens, truth["visible"]["reasoning_in_output"].as_u64());
        assert_eq!(totals.total_tokens, truth["visible"]["total"].as_u64());
        assert_eq!((totals.quality, totals.requests), (Quality::LowerBound, None));
        assert_eq!(prompts(&observations), [Some("Please say hello using the shell, rounds=5")]);
    }
    assert_eq!(record(&stream("rounds")).outcomes, [Outcome::Completed], "the client calls it a success");
    assert_eq!(record(&session("rounds")).outcomes, [Outcome::Interrupted], "the client stopped the work");
}

#[test]
fn a_request_that_was_refused_leaves_a_lower_bound() {
    let truth = json("gemini-fail/truth.json");
    let totals = record(&stream("fail")).totals();
    assert_eq!((classes(&totals), totals.quality), (charged(&truth["all"]), Quality::LowerBound));
    // The file says only that the prompt was taken back.
    let totals = record(&session("fail")).totals();
    assert_eq!((classes(&totals), totals.quality), ([None; 4], Quality::LowerBound));
    for observations in [stream("fail"), session("fail")] {
        assert_eq!(record(&observations).outcomes, [Outcome::Failed]);
        assert_eq!(prompts(&observations), [Some("Please fail=400")]);
    }
}

/// Compares a session with what was worked out of it by hand.
fn check_worked_out(observations: &[Observation], expected: &Value) {
    let totals = record(observations).totals();
    assert_eq!(classes(&totals), charged(&expected["usage"]));
    assert_eq!(totals.reasoning_tokens, expected["usage"]["reasoning_in_output"].as_u64());
    assert_eq!(totals.total_tokens, expected["raw_totals"]["total"].as_u64());
    assert_eq!(totals.quality, Quality::Exact);
    let by_model = expected["raw_by_model"].as_object().into_iter().flatten();
    for (model, expected) in by_model {
        let reports = usage(observations);
        // A rewritten message is reported again under its key.
        let reports: std::collections::BTreeMap<_, _> =
            reports.into_iter().filter(|report| report.model.as_ref() == Some(model)).map(|r| (&r.key, r)).collect();
        let sum = |class: fn(&&&trace_model::usage::UsageReport) -> Option<u64>| {
            reports.values().filter_map(|r| class(&r)).sum::<u64>()
        };
        let raw = |name: &str| expected[name].as_u64().unwrap();
        assert_eq!(sum(|r| r.cache_read_tokens), raw("cached"), "{model}");
        assert_eq!(sum(|r| r.input_tokens), raw("input") - raw("cached") + raw("tool"), "{model}");
        assert_eq!(sum(|r| r.output_tokens), raw("output") + raw("thoughts"), "{model}");
        assert_eq!(sum(|r| r.context_tokens), raw("input") + raw("tool"), "{model}");
    }
}

#[test]
fn a_session_that_was_appended_to_adds_up() {
    let observations = read_session(fixture("gemini-append/session.jsonl"));
    let expected = json("gemini-append/expected.json");
    check_worked_out(&observations, &expected);
    assert_eq!(record(&observations).totals().requests, expected["model_requests_with_usage"].as_u64());
    assert_eq!(prompts(&observations).len(), 2, "what the client says to the model is no prompt");
}

#[test]
fn a_session_in_one_document_adds_up() {
    let observations = read_document(fixture("gemini-document/session.json"));
    let expected = json("gemini-document/expected.json");
    check_worked_out(&observations, &expected);
    assert_eq!(record(&observations).totals().requests, expected["model_requests_with_usage"].as_u64());
    // A person stopped the program that the second turn ran.
    let outcomes = [Outcome::Completed, Outcome::Interrupted, Outcome::Completed];
    assert_eq!(record(&observations).outcomes, outcomes);
    assert_eq!(prompts(&observations).len(), 3);
}

#[test]
fn the_last_line_of_a_message_counts() {
    let observations = read_session(fixture("gemini-rewritten/session.jsonl"));
    let expected = json("gemini-rewritten/expected.json");
    check_worked_out(&observations, &expected);
    let totals = record(&observations).totals();
    assert_eq!(totals.requests, expected["model_requests"].as_u64());
    assert_eq!(totals.total_tokens, expected["usage"]["total"].as_u64());
    assert_eq!(prompts(&observations).len(), 1);
}

#[test]
fn less_detail_is_the_same_without_the_exchange() {
    let sources = [
        (SourceFormat::GeminiStream, fixture("gemini-rounds/stream.jsonl")),
        (SourceFormat::GeminiSession, fixture("gemini-rounds/session.jsonl")),
        (SourceFormat::GeminiSession, fixture("gemini-append/session.jsonl")),
        (SourceFormat::GeminiDocument, fixture("gemini-document/session.json")),
    ];
    for (format, source) in sources {
        let mut all = read(format, Detail::Everything, &source);
        all.retain(|seen| !matches!(seen, Observation::Event(_)));
        assert_eq!(read(format, Detail::Usage, &source), all, "{format:?}");
    }
}

#[test]
fn each_source_is_recognised_by_its_content() {
    for (name, expected) in [
        ("gemini-hello/stream.jsonl", SourceFormat::GeminiStream),
        ("gemini-hello/session.jsonl", SourceFormat::GeminiSession),
        ("gemini-append/session.jsonl", SourceFormat::GeminiSession),
        ("gemini-document/session.json", SourceFormat::GeminiDocument),
    ] {
        let source = fixture(name);
        assert_eq!(recognise_source(&source), Some(expected), "{name}");
        // A head that ends within the first message.
        assert_eq!(recognise_source(&source[..600.min(source.len())]), Some(expected), "{name}");
    }
}

#[test]
fn what_is_observed_of_each_recording_stays_as_it_was_reviewed() {
    for scenario in SCENARIOS {
        for (kind, observations) in [("stream", stream(scenario)), ("session", session(scenario))] {
            assert_eq!(notes(&observations), [], "{scenario} {kind}");
            insta::assert_snapshot!(format!("gemini-{scenario}-{kind}"), render(&observations));
        }
    }
    let rewritten = read_session(fixture("gemini-rewritten/session.jsonl"));
    assert_eq!(notes(&rewritten), []);
    insta::assert_snapshot!("gemini-rewritten-session", render(&rewritten));
}
