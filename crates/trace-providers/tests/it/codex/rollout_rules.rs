//! What single lines of a rollout mean.

use trace_model::{
    turn::Outcome,
    words::{Grain, Quality},
};
use trace_providers::{NoteKind, Observation};

use super::read_rollout;
use crate::support::{lines, notes, prompts, record, usage};

const META: &str = r#"{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"id":"t","timestamp":"2026-03-01T09:59:59Z","cli_version":"0.99.0"}}"#;

fn event(payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-03-01T10:00:01Z","type":"event_msg","payload":{{{payload}}}}}"#)
}

fn started(turn: &str) -> String {
    event(&format!(r#""type":"task_started","turn_id":"{turn}","model_context_window":1000"#))
}

fn prompt(text: &str) -> String {
    event(&format!(r#""type":"user_message","message":"{text}""#))
}

fn prompt_item(text: &str) -> String {
    event(&format!(
        r#""type":"item_completed","item":{{"type":"UserMessage","content":[{{"type":"text","text":"{text}"}}]}}"#
    ))
}

fn complete(turn: &str, error: &str) -> String {
    event(&format!(r#""type":"task_complete","turn_id":"{turn}","error":{error}"#))
}

fn error(message: &str) -> String {
    event(&format!(r#""type":"error","message":"{message}""#))
}

fn figures(output: u64) -> String {
    format!(
        r#"{{"input_tokens":{},"cached_input_tokens":{output},"output_tokens":{output},"reasoning_output_tokens":0}}"#,
        10 * output
    )
}

fn total(output: u64) -> String {
    event(&format!(r#""type":"token_count","info":{{"total_token_usage":{}}}"#, figures(output)))
}

fn read(rollout: &[String]) -> Vec<Observation> {
    let all: Vec<&str> = [META].into_iter().chain(rollout.iter().map(String::as_str)).collect();
    let observations = read_rollout(lines(&all));
    assert_eq!(notes(&observations), []);
    observations
}

/// Returns prompts, usage and results in their order, as words.
fn said(rollout: &[String]) -> Vec<String> {
    read(rollout)
        .into_iter()
        .filter_map(|seen| match seen {
            Observation::Input { text, .. } => Some(format!("input {}", text.unwrap_or_default())),
            Observation::Usage(report) => Some(match report.output_tokens {
                Some(output) => format!("usage {output}"),
                None => report.key,
            }),
            Observation::Result { status, at, .. } => Some(format!("{status:?} {}", at.unwrap())),
            _ => None,
        })
        .collect()
}

#[test]
fn a_turn_is_its_prompt_its_requests_and_its_end() {
    let rollout = [
        started("a"),
        prompt("one"),
        total(5),
        complete("a", "null"),
        started("b"),
        prompt_item("two"),
        total(6),
        complete("b", "null"),
    ];
    let end = "Completed 2026-03-01T10:00:01.000000Z";
    assert_eq!(said(&rollout), ["input one", "usage 5", end, "input two", "usage 1", end]);
    let recorded = record(&read(&rollout));
    assert_eq!([0, 1].map(|turn| recorded.totals_of_turn(turn).output_tokens), [Some(5), Some(1)]);
}

#[test]
fn a_prompt_that_is_written_twice_is_one() {
    assert_eq!(prompts(&read(&[started("a"), prompt("x"), prompt_item("x")])), [Some("x")]);
    assert_eq!(prompts(&read(&[started("a"), prompt_item("x"), prompt("x")])), [Some("x")]);
    // What is asked again is asked again.
    assert_eq!(prompts(&read(&[prompt("x"), prompt("x")])), [Some("x"), Some("x")]);
    assert_eq!(prompts(&read(&[prompt("x"), prompt_item("x"), prompt("x"), prompt_item("x")])), [Some("x"), Some("x")]);
    assert_eq!(prompts(&read(&[prompt("x"), started("b"), prompt_item("x")])), [Some("x"), Some("x")]);
}

#[test]
fn a_prompt_that_stands_before_the_beginning_of_its_turn_is_of_that_turn() {
    let context = |turn: &str| {
        format!(
            r#"{{"timestamp":"2026-03-01T10:00:01Z","type":"turn_context","payload":{{"turn_id":"{turn}","cwd":"/r"}}}}"#
        )
    };
    let rollout = [context("a"), prompt("one"), started("a"), total(5), complete("a", "null")];
    assert_eq!(said(&rollout), ["input one", "usage 5", "Completed 2026-03-01T10:00:01.000000Z"]);
}

#[test]
fn what_the_client_writes_in_the_users_name_is_no_prompt() {
    let context = r#"{"timestamp":"2026-03-01T10:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>"}]}}"#;
    assert_eq!(prompts(&read(&[String::from(context), prompt("x")])), [Some("x")]);
}

#[test]
fn a_turn_that_no_prompt_began_is_told_before_its_usage() {
    let rollout =
        [started("a"), prompt("one"), total(5), complete("a", "null"), started("b"), total(6), complete("b", "null")];
    let end = "Completed 2026-03-01T10:00:01.000000Z";
    assert_eq!(said(&rollout), ["input one", "usage 5", end, "input ", "usage 1", end]);
    assert_eq!(said(&[started("a"), complete("a", "null")]), ["input ", end]);
}

#[test]
fn a_turn_ends_as_its_lines_say_and_what_was_broken_off_is_not_known() {
    let outcome = |rest: &[String]| record(&read(&[&[started("a"), prompt("one"), total(5)], rest].concat())).outcomes;
    let aborted = event(r#""type":"turn_aborted","turn_id":"a","reason":"interrupted""#);
    for (rest, expected, quality) in [
        (vec![complete("a", "null")], Some(Outcome::Completed), Quality::Exact),
        (vec![complete("a", r#"{"message":"m"}"#)], Some(Outcome::Failed), Quality::LowerBound),
        (vec![error("m"), complete("a", "null")], Some(Outcome::Failed), Quality::LowerBound),
        (vec![error("m"), total(6), complete("a", "null")], Some(Outcome::Completed), Quality::Exact),
        (vec![error("m")], Some(Outcome::Failed), Quality::LowerBound),
        (vec![aborted.clone()], Some(Outcome::Interrupted), Quality::LowerBound),
        (vec![aborted.clone(), complete("a", "null")], Some(Outcome::Interrupted), Quality::LowerBound),
        (vec![], None, Quality::Exact),
    ] {
        assert_eq!(outcome(&rest), expected.into_iter().collect::<Vec<_>>(), "{rest:?}");
        let rollout = [&[started("a"), prompt("one"), total(5)], rest.as_slice()].concat();
        assert_eq!(record(&read(&rollout)).totals().quality, quality, "{rest:?}");
    }
    let failed = "Failed 2026-03-01T10:00:01.000000Z";
    let rollout = [prompt("one"), error("m"), prompt("two"), total(1)];
    assert_eq!(said(&rollout), ["input one", "unstated:1", failed, "input two", "usage 1"]);
}

#[test]
fn a_failed_record_has_a_name_that_a_copy_gives_too() {
    let observations = read(&[started("a"), prompt("one"), complete("a", r#"{"message":"m"}"#)]);
    let reports = usage(&observations);
    assert_eq!(reports[0].request_key.as_deref(), Some("codex:t:unstated:a"));
    assert_eq!((reports[0].grain, reports[0].prompt_tokens()), (Grain::Turn, None));
}

#[test]
fn usage_is_that_of_the_model_of_the_latest_context() {
    let context = |model: &str| {
        format!(
            r#"{{"timestamp":"2026-03-01T10:00:01Z","type":"turn_context","payload":{{"cwd":"/r","model":"{model}"}}}}"#
        )
    };
    let observations = read(&[context("m1"), total(5), context("m2"), total(6), context("m2"), total(9)]);
    let models: Vec<_> = usage(&observations).iter().map(|report| report.model.as_deref().unwrap()).collect();
    assert_eq!(models, ["m1", "m2", "m2"]);
    let receipts: Vec<_> = observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Receipt(receipt) => Some((receipt.model.as_deref(), receipt.agent_version.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(receipts, [(None, Some("0.99.0")), (Some("m1"), None), (Some("m2"), None)]);
    let folders: Vec<_> = observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Session(session) => Some(session.cwd.as_deref()),
            _ => None,
        })
        .collect();
    assert_eq!(folders, [None, Some("/r")], "it is told again when more is known");
}

#[test]
fn counts_without_a_total_add_up_and_counts_without_figures_are_nothing() {
    let last = |output| event(&format!(r#""type":"token_count","info":{{"last_token_usage":{}}}"#, figures(output)));
    let null = event(r#""type":"token_count","info":null,"rate_limits":{"primary":{"used_percent":1.0}}"#);
    let totals = record(&read(&[null.clone(), last(5), null, last(5)])).totals();
    assert_eq!((totals.output_tokens, totals.requests), (Some(10), Some(2)));
}

#[test]
fn a_growth_that_is_not_the_last_request_is_of_unknown_many() {
    let count = event(&format!(
        r#""type":"token_count","info":{{"total_token_usage":{},"last_token_usage":{}}}"#,
        figures(9),
        figures(2)
    ));
    let totals = record(&read(&[total(5), count])).totals();
    assert_eq!((totals.output_tokens, totals.requests, totals.quality), (Some(9), None, Quality::Exact));
}

#[test]
fn a_record_and_the_count_of_one_response_are_one_request() {
    let record_of = |thread: &str, output: u64| {
        let usage = figures(output);
        format!(
            r#"{{"timestamp":"2026-03-01T10:00:01Z","type":"token_usage_record","payload":{{"thread_id":"{thread}","usage":{usage}}}}}"#
        )
    };
    let totals = record(&read(&[record_of("t", 5), total(5), record_of("t", 3), total(8), record_of("t", 1)])).totals();
    assert_eq!((totals.output_tokens, totals.requests), (Some(9), Some(3)));
    // What another thread spent is in its own file.
    assert_eq!(usage(&read(&[record_of("other", 5)])), Vec::<&_>::new());
}

#[test]
fn a_figure_that_cannot_be_read_is_a_lower_bound_and_noted() {
    let bad = total(5).replace(r#""cached_input_tokens":5"#, r#""cached_input_tokens":"5""#);
    let observations = read_rollout(lines(&[META, &bad, &total(8)]));
    let kinds: Vec<NoteKind> = notes(&observations).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, [NoteKind::IllegibleFigure]);
    let totals = record(&observations).totals();
    assert_eq!(
        (totals.output_tokens, totals.cache_read_tokens, totals.quality),
        (Some(8), Some(8), Quality::LowerBound)
    );
}

#[test]
fn an_unknown_type_is_noted_once_and_adds_nothing() {
    let line = r#"{"timestamp":"2026-03-01T10:00:01Z","type":"hologram","payload":{"usage":{"input_tokens":9}}}"#;
    let strange = event(r#""type":"glimmer","info":{"total_token_usage":{"input_tokens":9}}"#);
    let observations = read_rollout(lines(&[META, line, line, &strange, &strange]));
    let kinds: Vec<NoteKind> = notes(&observations).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, [NoteKind::UnknownType; 2]);
    assert!(usage(&observations).is_empty());
}

#[test]
fn a_torn_line_costs_itself_alone() {
    let cut = &total(5)[..60];
    let observations = read_rollout(lines(&[META, &total(3), &format!("{cut}{}", total(7)), "\0\0\0"]));
    let kinds: Vec<NoteKind> = notes(&observations).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, [NoteKind::Salvaged, NoteKind::BadLine]);
    assert_eq!(record(&observations).totals().output_tokens, Some(7));
}

#[test]
fn without_a_session_nothing_is_taken_for_a_copy() {
    let observations = read_rollout(lines(&[&total(5)]));
    assert_eq!((notes(&observations), usage(&observations)[0].request_key.as_deref()), (vec![], None));
}
