//! What turns cost, out of the running totals of threads.

use trace_model::words::Quality;
use trace_providers::{NoteKind, Observation};

use super::{observe, observe_resumed};
use crate::support::{lines, notes, record, usage};

const TURN: &str = r#"{"type":"turn.started"}"#;
const FAILED: &str = r#"{"type":"turn.failed","error":{"message":"m"}}"#;

fn thread(id: &str) -> String {
    format!(r#"{{"type":"thread.started","thread_id":"{id}"}}"#)
}

fn completed(usage: &str) -> String {
    format!(r#"{{"type":"turn.completed","usage":{{{usage}}}}}"#)
}

/// The end of a turn after which that much was put out in all.
fn total(output: u64) -> String {
    let input = 10 * output;
    completed(&format!(r#""input_tokens":{input},"cached_input_tokens":{output},"output_tokens":{output}"#))
}

/// Returns the output of each turn that a record tells of, in order, and the quality of all of them.
fn turns(observations: &[Observation]) -> (Vec<Option<u64>>, Quality) {
    let outputs = usage(observations).into_iter().map(|report| report.output_tokens).collect();
    (outputs, record(observations).totals().quality)
}

#[test]
fn a_turn_costs_what_the_total_grew() {
    let stream = [TURN, &total(5), TURN, &total(8), TURN, &total(20)];
    assert_eq!(turns(&observe(lines(&stream))), (vec![Some(5), Some(3), Some(12)], Quality::Exact));
}

#[test]
fn a_total_that_fell_is_that_of_a_counter_that_began_again() {
    let stream = [TURN, &total(50), TURN, &total(8), TURN, &total(9)];
    assert_eq!(turns(&observe(lines(&stream))), (vec![Some(50), Some(8), Some(1)], Quality::Exact));
}

#[test]
fn cached_and_written_input_and_thinking_are_parts() {
    let stream = completed(
        r#""input_tokens":100,"cached_input_tokens":60,"cache_write_input_tokens":30,"output_tokens":9,"reasoning_output_tokens":4"#,
    );
    let totals = record(&observe(stream)).totals();
    let found = [totals.input_tokens, totals.cache_read_tokens, totals.cache_write_tokens, totals.output_tokens];
    assert_eq!(found, [10, 60, 30, 9].map(Some));
    assert_eq!((totals.reasoning_tokens, totals.total_tokens), (Some(4), Some(109)));
}

#[test]
fn what_a_client_does_not_tell_is_unknown() {
    let older = record(&observe(total(7))).totals();
    assert_eq!((older.cache_write_tokens, older.reasoning_tokens), (None, None));
    assert_eq!(older.quality, Quality::Exact);
    // Nobody counted: a turn that was completed asked the model.
    let nothing = r#""input_tokens":0,"cached_input_tokens":0,"output_tokens":0"#;
    for stream in [completed(nothing), completed(""), String::from(r#"{"type":"turn.completed"}"#)] {
        assert_eq!(turns(&observe(&stream)), (vec![None], Quality::LowerBound), "{stream}");
    }
    assert_eq!(turns(&observe(lines(&[&total(7), &total(7)]))), (vec![Some(7), None], Quality::LowerBound));
}

#[test]
fn a_turn_that_nobody_counted_leaves_the_last_total_as_it_was() {
    let zeros = r#""input_tokens":0,"cached_input_tokens":0,"output_tokens":0"#;
    for nothing in [completed(zeros), completed(""), String::from(r#"{"type":"turn.completed"}"#)] {
        let stream = lines(&[TURN, &total(50), TURN, &nothing, TURN, &total(53)]);
        let observations = observe(&stream);
        assert_eq!(turns(&observations), (vec![Some(50), None, Some(3)], Quality::LowerBound), "{nothing}");
        let totals = record(&observations).totals();
        // Nine tenths of the input are not cached.
        let found = [totals.input_tokens, totals.cache_read_tokens, totals.output_tokens];
        assert_eq!(found, [9 * 53, 53, 53].map(Some), "{nothing}");
        let expected = (vec![None, None, Some(3)], Quality::LowerBound);
        assert_eq!(turns(&observe_resumed(&stream)), expected, "{nothing}");
    }
    // So it is where a further process prints, and if the counter begins again after all.
    let (one, nothing) = (thread("one"), completed(zeros));
    let stream = [&one, TURN, &total(50), &one, TURN, &nothing, &one, TURN, &total(53), &one, TURN, &total(8)];
    let expected = (vec![Some(50), None, Some(3), Some(8)], Quality::LowerBound);
    assert_eq!(turns(&observe(lines(&stream))), expected);
}

#[test]
fn a_figure_that_cannot_be_read_is_a_lower_bound_and_noted() {
    let good = r#""input_tokens":100,"cached_input_tokens":60,"cache_write_input_tokens":30,"output_tokens":9,"reasoning_output_tokens":4"#;
    for (from, to, expected) in [
        ("100", r#""100""#, [None, Some(60), Some(30), Some(9), Some(4)]),
        ("100", "-100", [None, Some(60), Some(30), Some(9), Some(4)]),
        ("100", "100.5", [None, Some(60), Some(30), Some(9), Some(4)]),
        ("100", "99999999999999999999", [None, Some(60), Some(30), Some(9), Some(4)]),
        // What is cached is more than the input that it is a part of.
        ("100", "50", [None, Some(60), Some(30), Some(9), Some(4)]),
        ("60", "{}", [None, None, Some(30), Some(9), Some(4)]),
        ("30", "true", [None, Some(60), None, Some(9), Some(4)]),
        (":9", ":[]", [Some(10), Some(60), Some(30), None, Some(4)]),
        (":4", ":44", [Some(10), Some(60), Some(30), Some(9), None]),
    ] {
        let observations = observe(completed(&good.replacen(from, to, 1)));
        let totals = record(&observations).totals();
        let found = [
            totals.input_tokens,
            totals.cache_read_tokens,
            totals.cache_write_tokens,
            totals.output_tokens,
            totals.reasoning_tokens,
        ];
        assert_eq!((found, totals.quality), (expected, Quality::LowerBound), "{to}");
        assert_eq!(notes(&observations), [(0, NoteKind::IllegibleFigure)], "{to}");
    }
    let observations = observe(completed(&good.replacen("100", "100.0", 1)));
    assert_eq!((record(&observations).totals().quality, notes(&observations).len()), (Quality::Exact, 0));
}

#[test]
fn a_figure_that_was_illegible_once_is_in_the_next_total() {
    let illegible = total(5).replace(r#""output_tokens":5"#, r#""output_tokens":"5""#);
    assert_eq!(turns(&observe(lines(&[&illegible, &total(8)]))), (vec![None, Some(8)], Quality::LowerBound));
}

#[test]
fn a_turn_without_a_total_leaves_a_lower_bound_behind() {
    let stream = [TURN, &total(5), TURN, FAILED, TURN, &total(9)];
    // The last total holds the requests of the failed turn but the one that broke off.
    assert_eq!(turns(&observe(lines(&stream))), (vec![Some(5), None, Some(4)], Quality::LowerBound));
    // Interrupted, by a further turn, another thread or the end.
    let stream = [TURN, &total(5), TURN, TURN, &total(9)];
    assert_eq!(turns(&observe(lines(&stream))), (vec![Some(5), None, Some(4)], Quality::LowerBound));
    let stream = [TURN, &thread("other"), TURN, &total(9)];
    assert_eq!(turns(&observe(lines(&stream))), (vec![None, Some(9)], Quality::LowerBound));
    assert_eq!(turns(&observe(lines(&[TURN, &total(5), TURN]))), (vec![Some(5), None], Quality::LowerBound));
}

#[test]
fn usage_of_an_interrupted_turn_is_told_before_the_next_one_begins() {
    let recorded = record(&observe(lines(&[TURN, TURN, &total(9)])));
    let outputs = [0, 1].map(|turn| recorded.totals_of_turn(turn).output_tokens);
    assert_eq!(outputs, [None, Some(9)]);
    assert_eq!(recorded.totals_of_turn(0).quality, Quality::LowerBound);
}

#[test]
fn the_first_total_of_a_resumed_thread_is_where_the_next_turn_begins() {
    let thread = thread("t");
    let stream = lines(&[&thread, TURN, &total(500), TURN, &total(503)]);
    assert_eq!(turns(&observe_resumed(&stream)), (vec![None, Some(3)], Quality::LowerBound));
    assert_eq!(turns(&observe(&stream)), (vec![Some(500), Some(3)], Quality::Exact));
    // A failed turn tells no total, and an illegible one cannot be gone on from.
    let illegible = total(500).replace(r#""output_tokens":500"#, r#""output_tokens":"500""#);
    for first in [FAILED, &illegible, &completed("")] {
        let stream = [&thread, TURN, first, TURN, &total(503), TURN, &total(504)];
        let expected = (vec![None, None, Some(1)], Quality::LowerBound);
        assert_eq!(turns(&observe_resumed(lines(&stream))), expected, "{first}");
    }
}

#[test]
fn each_thread_has_a_total_of_its_own() {
    let (one, other) = (thread("one"), thread("other"));
    // The last is a thread that is resumed by a further process on the same output.
    let stream = [&one, TURN, &total(50), &other, TURN, &total(70), &one, TURN, &total(53), &one, TURN, &total(54)];
    let expected = (vec![Some(50), Some(70), Some(3), Some(1)], Quality::Exact);
    assert_eq!(turns(&observe(lines(&stream))), expected);
    let expected = (vec![None, None, Some(3), Some(1)], Quality::LowerBound);
    assert_eq!(turns(&observe_resumed(lines(&stream))), expected);
}

#[test]
fn the_total_of_a_thread_with_subagents_is_a_lower_bound() {
    let spawn = r#"{"type":"item.completed","item":{"id":"item_0","type":"collab_tool_call","tool":"spawn_agent"}}"#;
    let stream = [TURN, &total(5), TURN, spawn, &total(8)];
    let observations = observe(lines(&stream));
    let qualities: Vec<Quality> = usage(&observations).iter().map(|report| report.quality).collect();
    assert_eq!(qualities, [Quality::Exact, Quality::LowerBound]);
    assert_eq!(turns(&observations).0, [Some(5), Some(3)]);
}
