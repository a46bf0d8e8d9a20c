//! Lines of a stream that trip up readers.

use trace_model::{
    event::{ConversationEvent, Item, ItemStatus},
    money::NanoUsd,
    turn::Outcome,
    usage::Agent,
    words::Quality,
};
use trace_providers::{NoteKind, Observation};

use super::observe;
use crate::support::{classes, events, lines, notes, prompts, record, usage};

fn line(kind: &str, rest: &str) -> String {
    format!(r#"{{"type":"{kind}","timestamp":1772440000000,"sessionID":"ses_1",{rest}}}"#)
}

fn start() -> String {
    line("step_start", r#""part":{"id":"prt_s","type":"step-start"}"#)
}

fn finish(id: &str, reason: &str, cost: &str, tokens: &str) -> String {
    line(
        "step_finish",
        &format!(r#""part":{{"id":"{id}","type":"step-finish","reason":"{reason}","cost":{cost},"tokens":{tokens}}}"#),
    )
}

const TOKENS: &str = r#"{"input":10,"output":5,"reasoning":0,"cache":{"read":100,"write":20}}"#;

#[test]
fn reasoning_is_beside_the_output_or_inside_of_it_as_the_total_tells() {
    for (total, output, quality) in [
        (r#""total":38,"#, 13, Quality::Exact),
        (r#""total":35,"#, 10, Quality::Exact),
        ("", 13, Quality::Exact),
        (r#""total":50,"#, 13, Quality::LowerBound),
    ] {
        let tokens = format!(r#"{{{total}"input":10,"output":10,"reasoning":3,"cache":{{"read":10,"write":5}}}}"#);
        let totals = record(&observe(lines(&[&finish("p", "stop", "0", &tokens)]))).totals();
        assert_eq!(classes(&totals), [Some(10), Some(10), Some(5), Some(output)], "{tokens}");
        assert_eq!((totals.reasoning_tokens, totals.quality), (Some(3), quality), "{tokens}");
    }
}

#[test]
fn a_step_of_nothing_but_zeros_is_unknown_and_a_cost_of_zero_is_free() {
    let zeros = r#"{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#;
    let totals = record(&observe(lines(&[&finish("p", "stop", "0", zeros)]))).totals();
    assert_eq!((classes(&totals), totals.cost_usd, totals.quality), ([None; 4], None, Quality::Unknown));
    assert_eq!(totals.requests, Some(1));
    let totals = record(&observe(lines(&[&finish("p", "stop", "0.5", zeros)]))).totals();
    assert_eq!((classes(&totals), totals.cost_usd), ([None; 4], Some(NanoUsd::from_nanos(500_000_000))));
    let totals = record(&observe(lines(&[&finish("p", "stop", "0", TOKENS)]))).totals();
    assert_eq!((totals.cost_usd, totals.quality), (Some(NanoUsd::ZERO), Quality::Exact));
}

#[test]
fn a_step_that_is_printed_twice_counts_once() {
    let step = finish("p1", "tool-calls", "0.001", TOKENS);
    let observations = observe(lines(&[&start(), &step, &step]));
    let totals = record(&observations).totals();
    assert_eq!(classes(&totals), [Some(10), Some(100), Some(20), Some(5)]);
    assert_eq!(usage(&observations)[0].context_tokens, Some(130));
}

#[test]
fn the_end_of_a_turn_is_a_step_that_calls_no_tool_and_has_nothing_behind_it() {
    let end = finish("p2", "stop", "0", TOKENS);
    let calls = finish("p1", "tool-calls", "0", TOKENS);
    let outcomes = |stream: &[&str]| record(&observe(lines(stream))).outcomes;
    assert_eq!(outcomes(&[&start(), &calls, &start(), &end]), [Outcome::Completed]);
    assert_eq!(outcomes(&[&start(), &calls]), []);
    assert_eq!(outcomes(&[&start(), &end, &start()]), [], "it went on");
}

#[test]
fn a_step_without_an_end_leaves_a_lower_bound() {
    let calls = finish("p1", "tool-calls", "0", TOKENS);
    for stream in [lines(&[&start(), &calls, &start()]), lines(&[&start(), &start(), &calls])] {
        let totals = record(&observe(stream)).totals();
        assert_eq!((totals.input_tokens, totals.quality), (Some(10), Quality::LowerBound));
    }
}

#[test]
fn an_error_fails_the_turn_once_and_an_abort_interrupts_it() {
    let error = line("error", r#""error":{"name":"APIError","data":{"message":"quota"}}"#);
    let observations = observe(lines(&[&error, &error]));
    assert_eq!(record(&observations).outcomes, [Outcome::Failed]);
    assert_eq!(record(&observations).totals().quality, Quality::LowerBound);
    let said = ConversationEvent::Error { code: String::from("APIError"), message: String::from("quota") };
    assert_eq!(events(&observations)[0], (Agent::Main, said));
    let aborted = line("error", r#""error":{"name":"MessageAbortedError","data":{"message":"stop"}}"#);
    assert_eq!(record(&observe(lines(&[&aborted]))).outcomes, [Outcome::Interrupted]);
}

#[test]
fn a_subagent_does_not_show_so_the_total_is_a_lower_bound() {
    let task = line(
        "tool_use",
        r#""part":{"id":"prt_t","type":"tool","tool":"task","callID":"c1","state":{"status":"completed","input":{"prompt":"look","subagent_type":"general"},"output":"ok","metadata":{"sessionId":"ses_2"}}}"#,
    );
    let observations = observe(lines(&[&start(), &task, &finish("p1", "stop", "0", TOKENS)]));
    assert_eq!(record(&observations).totals().quality, Quality::LowerBound);
    let seen = observations.iter().find_map(|seen| match seen {
        Observation::Agent(seen) => Some(seen),
        _ => None,
    });
    let seen = seen.unwrap();
    assert_eq!((&seen.agent, seen.tool_call.as_deref()), (&Agent::Sub(String::from("ses_2")), Some("c1")));
    assert_eq!((seen.prompt.as_deref(), seen.kind.as_deref()), (Some("look"), Some("general")));
}

#[test]
fn each_session_of_an_output_is_a_prompt() {
    let other = start().replace("ses_1", "ses_2");
    let observations = observe(lines(&[&start(), &finish("p1", "stop", "0", TOKENS), &other]));
    assert_eq!(prompts(&observations), [None, None]);
    let sessions: Vec<_> = observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Receipt(receipt) => receipt.provider_session_id.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(sessions, ["ses_1", "ses_2"]);
    assert_eq!(record(&observations).outcomes, [Outcome::Completed]);
}

#[test]
fn figures_that_make_no_sense_are_told_and_the_others_count() {
    for tokens in [r#"{"input":-1,"output":5}"#, r#"{"input":10,"output":"five"}"#] {
        let observations = observe(lines(&[&finish("p1", "stop", "0", tokens)]));
        assert_eq!(notes(&observations)[0].1, NoteKind::IllegibleFigure, "{tokens}");
        assert_eq!(record(&observations).totals().quality, Quality::LowerBound, "{tokens}");
    }
    let observations = observe(lines(&[&finish("", "stop", "0", TOKENS)]));
    assert_eq!(notes(&observations)[0].1, NoteKind::UsageWithoutKey);
    let observations = observe(lines(&[&line("tea", r#""part":{}"#), &line("tea", r#""part":{}"#)]));
    assert_eq!(notes(&observations).iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), [NoteKind::UnknownType]);
}

#[test]
fn a_tool_that_failed_has_its_error_as_its_answer() {
    let tool = line(
        "tool_use",
        r#""part":{"id":"prt_t","type":"tool","tool":"bash","callID":"c1","state":{"status":"error","input":{"command":"ls"},"error":"denied"}}"#,
    );
    let seen = events(&observe(lines(&[&tool])));
    let Some((_, ConversationEvent::ItemCompleted { item: Item::Tool { name, status, output, .. }, .. })) =
        seen.first()
    else {
        panic!("{seen:?}")
    };
    assert_eq!((name.as_str(), *status, output.as_deref()), ("bash", ItemStatus::Failed, Some("denied")));
}
