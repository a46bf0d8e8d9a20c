//! Streams that trip up readers, with the right numbers for each.

use trace_model::{
    event::{ConversationEvent, Item},
    turn::Outcome,
};
use trace_providers::NoteKind::{self, BadLine, IncompleteTail, InvalidUtf8, LoneSurrogate, Salvaged};

use super::observe;
use crate::support::{events, notes, prompts, record};

const START: &str = r#"{"type":"thread.started","thread_id":"t"}"#;
const TURN: &str = r#"{"type":"turn.started"}"#;

fn message(text: &str) -> String {
    format!(r#"{{"type":"item.completed","item":{{"id":"item_0","type":"agent_message","text":"{text}"}}}}"#)
}

fn completed(output: u64) -> String {
    format!(
        r#"{{"type":"turn.completed","usage":{{"input_tokens":10,"cached_input_tokens":4,"output_tokens":{output}}}}}"#
    )
}

/// Returns what a stream says, how many output tokens it adds up to, and what is noted about it.
fn read(stream: &[u8]) -> (String, Option<u64>, Vec<NoteKind>) {
    let observations = observe(stream);
    let said = events(&observations).into_iter().filter_map(|(_, event)| match event {
        ConversationEvent::ItemCompleted { item: Item::Message { text, .. }, .. } => Some(text),
        _ => None,
    });
    let kinds = notes(&observations).into_iter().map(|(_, kind)| kind).collect();
    (said.collect(), record(&observations).totals().output_tokens, kinds)
}

#[test]
fn each_mess_is_read_past_and_the_numbers_are_right() {
    let (one, end) = (message("one "), completed(7));
    let start = format!("{START}\n{TURN}");
    let whole = format!("{start}\n{one}\n{end}");
    let cut = &one[..one.len() - 12];
    let lone = message(r"\ud83d ");
    let deep = format!(r#""x":{}1{},"item""#, "[".repeat(9_000), "]".repeat(9_000));
    let deep = one.replacen(r#""item""#, &deep, 1);
    for (name, stream, said, kinds) in [
        (
            "a byte order mark and carriage returns",
            format!("\u{feff}{}\r\n", whole.replace('\n', "\r\n")),
            "one ",
            &[][..],
        ),
        (
            "warnings before and between",
            format!("warning: x\n{start}\n2026 WARN y\n{one}\n{end}"),
            "one ",
            &[BadLine; 2],
        ),
        ("blank lines", format!("\n\n{start}\n\n{one}\n \n{end}\n\n"), "one ", &[]),
        ("a cut last line", format!("{whole}\n{cut}"), "one ", &[IncompleteTail]),
        ("a cut line in the middle", format!("{start}\n{cut}\n{one}\n{end}"), "one ", &[BadLine]),
        ("a cut line glued to a whole one", format!("{start}\n{cut}{one}\n{end}"), "one ", &[Salvaged]),
        ("a cut line glued to the end", format!("{start}\n{one}\n{cut}{end}"), "one ", &[Salvaged]),
        ("a run of zero bytes", format!("{start}\n{one}\n\0\0\0{end}"), "one ", &[Salvaged]),
        ("values that are no objects", format!("{start}\n[1]\nnull\n{one}\n{end}"), "one ", &[BadLine; 2]),
        ("half a surrogate pair", format!("{start}\n{lone}\n{end}"), "\u{fffd} ", &[LoneSurrogate]),
        ("nesting without end", format!("{start}\n{deep}\n{end}"), "one ", &[]),
    ] {
        assert_eq!(read(stream.as_bytes()), (String::from(said), Some(7), kinds.to_vec()), "{name}");
    }
    let torn_character =
        [start.as_bytes(), b"\n{\"type\":\"x\xF0\x9F\n", one.as_bytes(), b"\n", end.as_bytes()].concat();
    assert_eq!(read(&torn_character), (String::from("one "), Some(7), vec![InvalidUtf8, BadLine]));
}

#[test]
fn an_item_in_a_cut_line_is_no_line_of_its_own() {
    // The item's type is that of a line, and the line around it is cut.
    let stream = format!(
        "{TURN}\n{}\n{}",
        r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"m"}"#,
        completed(7)
    );
    assert_eq!(events(&observe(stream)), []);
}

#[test]
fn a_type_of_the_wrong_kind_spoils_nothing_else() {
    for line in [
        r#"{"type":["turn.completed"]}"#,
        r#"{"type":"thread.started"}"#,
        r#"{"type":"thread.started","thread_id":7}"#,
        r#"{"type":"item.completed"}"#,
        r#"{"type":"item.completed","item":"text"}"#,
        r#"{"type":"item.completed","item":{"type":{"agent_message":1}}}"#,
        r#"{"type":"item.completed","item":{"id":7,"type":"agent_message","text":["x"]}}"#,
        r#"{"type":"item.started","item":{"type":"command_execution","command":1,"exit_code":"one","status":2}}"#,
        r#"{"type":"item.started","item":{"type":"file_change","changes":{"path":"x"}}}"#,
        r#"{"type":"item.updated","item":{"type":"todo_list","items":"all"}}"#,
        r#"{"type":"item.plan.delta","delta":1}"#,
        r#"{"type":"request_user_input"}"#,
        r#"{"type":"error"}"#,
        r#"{"type":"error","message":{"a":1}}"#,
        "{}",
    ] {
        let stream = format!("{TURN}\n{line}\n{}\n{}\n", message("fine"), completed(7));
        let observations = observe(&stream);
        assert_eq!(prompts(&observations), [None], "{line}");
        assert_eq!(record(&observations).outcomes, [Outcome::Completed], "{line}");
        let (said, output, _) = read(stream.as_bytes());
        assert_eq!((said.as_str(), output), ("fine", Some(7)), "{line}");
    }
}

#[test]
fn a_result_of_the_wrong_kind_is_a_result_all_the_same() {
    for (line, outcome) in [
        (r#"{"type":"turn.completed"}"#, Outcome::Completed),
        (r#"{"type":"turn.completed","usage":"none"}"#, Outcome::Completed),
        (r#"{"type":"turn.completed","usage":[1]}"#, Outcome::Completed),
        (r#"{"type":"turn.failed"}"#, Outcome::Failed),
        (r#"{"type":"turn.failed","error":"words"}"#, Outcome::Failed),
    ] {
        let recorded = record(&observe(format!("{TURN}\n{line}\n")));
        assert_eq!((recorded.outcomes.as_slice(), recorded.totals().total_tokens), (&[outcome][..], None), "{line}");
    }
}
