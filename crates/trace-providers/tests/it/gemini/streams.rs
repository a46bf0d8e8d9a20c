//! Lines of a stream that trip up readers.

use trace_model::{
    event::{ConversationEvent, Item, ItemStatus},
    turn::Outcome,
    words::Quality,
};
use trace_providers::{NoteKind, Observation};

use super::observe;
use crate::support::{classes, events, lines, notes, prompts, record, usage};

const INIT: &str =
    r#"{"type":"init","timestamp":"2026-01-01T00:00:00.000Z","session_id":"s-1","model":"gemini-2.5-pro"}"#;
const ASKED: &str = r#"{"type":"message","timestamp":"2026-01-01T00:00:01.000Z","role":"user","content":"go"}"#;

fn result(stats: &str) -> String {
    format!(r#"{{"type":"result","timestamp":"2026-01-01T00:00:09.000Z","status":"success","stats":{stats}}}"#)
}

#[test]
fn each_model_has_a_remainder_of_its_own_and_thoughts_are_output() {
    let stats = r#"{"total_tokens":320,"models":{
        "flash":{"total_tokens":150,"input_tokens":100,"output_tokens":30,"cached":40,"input":60},
        "pro":{"total_tokens":170,"input_tokens":120,"output_tokens":50,"cached":0,"input":120}}}"#;
    let observations = observe(lines(&[INIT, ASKED, &result(&stats.replace('\n', " "))]));
    let reports = usage(&observations);
    let of = |model: &str| *reports.iter().find(|report| report.model.as_deref() == Some(model)).unwrap();
    let flash = of("flash");
    assert_eq!((flash.input_tokens, flash.cache_read_tokens), (Some(60), Some(40)));
    assert_eq!((flash.output_tokens, flash.reasoning_tokens), (Some(50), Some(20)));
    assert_eq!((of("pro").output_tokens, of("pro").reasoning_tokens), (Some(50), Some(0)));
    assert_eq!(record(&observations).totals().quality, Quality::Exact);
}

#[test]
fn an_older_client_tells_neither_the_cached_part_nor_the_models() {
    let stats = r#"{"total_tokens":130,"input_tokens":100,"output_tokens":20,"duration_ms":2500,"tool_calls":0}"#;
    let observations = observe(lines(&[INIT, ASKED, &result(stats)]));
    let totals = record(&observations).totals();
    assert_eq!(classes(&totals), [None, None, Some(0), Some(30)]);
    assert_eq!((totals.reasoning_tokens, totals.quality), (Some(10), Quality::LowerBound));
    assert_eq!(usage(&observations)[0].model.as_deref(), Some("gemini-2.5-pro"));
    let seconds = observations.iter().find_map(|seen| match seen {
        Observation::Result { duration_secs, .. } => *duration_secs,
        _ => None,
    });
    assert_eq!(seconds, Some(2.5));
}

#[test]
fn an_error_line_makes_the_total_a_lower_bound() {
    let error = r#"{"type":"error","timestamp":"2026-01-01T00:00:02.000Z","severity":"warning","message":"Loop detected, stopping execution"}"#;
    let stats = r#"{"models":{"pro":{"total_tokens":170,"input_tokens":120,"output_tokens":50,"cached":0}}}"#;
    let observations = observe(lines(&[INIT, ASKED, error, &result(stats)]));
    assert_eq!(record(&observations).totals().quality, Quality::LowerBound);
    // The next process has none.
    let observations = observe(lines(&[INIT, ASKED, error, INIT, ASKED, &result(stats)]));
    assert_eq!(usage(&observations).last().unwrap().quality, Quality::Exact);
    assert_eq!(record(&observations).totals().quality, Quality::LowerBound, "the first process had");
}

#[test]
fn each_process_counts_from_zero() {
    let stats = r#"{"models":{"pro":{"total_tokens":170,"input_tokens":120,"output_tokens":50,"cached":20}}}"#;
    let observations = observe(lines(&[INIT, ASKED, &result(stats), INIT, ASKED, &result(stats)]));
    let recorded = record(&observations);
    assert_eq!(classes(&recorded.totals()), [Some(200), Some(40), Some(0), Some(100)]);
    assert_eq!(recorded.outcomes, [Outcome::Completed, Outcome::Completed]);
    assert_eq!(prompts(&observations), [Some("go"), Some("go")]);
}

#[test]
fn a_process_that_was_killed_leaves_a_lower_bound() {
    for killed in [lines(&[INIT, ASKED]), lines(&[INIT, ASKED, INIT])] {
        let totals = record(&observe(killed)).totals();
        assert_eq!((totals.total_tokens, totals.quality), (None, Quality::LowerBound));
    }
}

#[test]
fn a_success_that_counts_nothing_was_told_nothing() {
    let stats = r#"{"total_tokens":0,"input_tokens":0,"output_tokens":0,"cached":0,"models":{}}"#;
    let totals = record(&observe(lines(&[INIT, ASKED, &result(stats)]))).totals();
    assert_eq!((totals.total_tokens, totals.quality), (None, Quality::LowerBound));
}

#[test]
fn figures_that_make_no_sense_are_told() {
    for odd in [
        r#"{"total_tokens":170,"input_tokens":20,"output_tokens":50,"cached":30}"#,
        r#"{"total_tokens":10,"input_tokens":20,"output_tokens":50,"cached":0}"#,
        r#"{"total_tokens":"many","input_tokens":20,"output_tokens":50,"cached":0}"#,
        "7",
    ] {
        let observations = observe(lines(&[INIT, ASKED, &result(&format!(r#"{{"models":{{"pro":{odd}}}}}"#))]));
        assert_eq!(notes(&observations).len(), 1, "{odd}");
        assert_eq!(notes(&observations)[0].1, NoteKind::IllegibleFigure, "{odd}");
        assert_eq!(record(&observations).totals().quality, Quality::LowerBound, "{odd}");
    }
}

#[test]
fn a_way_to_choose_a_model_is_no_model() {
    for model in ["auto", "auto-gemini-3"] {
        let observations = observe(lines(&[&INIT.replace("gemini-2.5-pro", model)]));
        let Some(Observation::Receipt(receipt)) = observations.first() else { panic!("no receipt") };
        assert_eq!((receipt.model.as_deref(), receipt.provider_session_id.as_deref()), (None, Some("s-1")));
    }
}

#[test]
fn a_tool_is_one_item_with_its_input_and_its_answer() {
    let at = r#""timestamp":"2026-01-01T00:00:02.000Z""#;
    let call =
        format!(r#"{{"type":"tool_use",{at},"tool_name":"read_file","tool_id":"t1","parameters":{{"path":"a"}}}}"#);
    let refused = format!(
        r#"{{"type":"tool_result",{at},"tool_id":"t1","status":"error","error":{{"type":"E","message":"no such file"}}}}"#
    );
    let seen = events(&observe(lines(&[INIT, &call, &refused])));
    let Some((_, ConversationEvent::ItemCompleted { item: Item::Tool { name, status, input, output, .. }, .. })) =
        seen.last()
    else {
        panic!("{seen:?}")
    };
    assert_eq!((name.as_str(), *status, input.as_deref()), ("read_file", ItemStatus::Failed, Some(r#"{"path":"a"}"#)));
    assert_eq!(output.as_deref(), Some("no such file"));
}
