//! Streams that trip up readers, with the right numbers for each.

use trace_model::event::{ConversationEvent, Item};
use trace_providers::{
    MAX_LINE,
    NoteKind::{self, BadLine, IncompleteTail, InvalidUtf8, LoneSurrogate, Salvaged},
    Observation, Observed,
};

use super::observe;
use crate::support::{notes, prompts, record};

/// A line that says that one request cost one input token, and its answer.
fn reply(id: &str, text: &str) -> String {
    format!(
        r#"{{"type":"assistant","session_id":"s","message":{{"id":"{id}","model":"opus","usage":{{"input_tokens":1}},"content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

/// Returns what a stream says, how many input tokens it adds up to, and what is noted about it.
fn read(stream: &[u8]) -> (String, Option<u64>, Vec<NoteKind>) {
    let observations = observe(stream);
    let said = observations.iter().filter_map(|seen| match seen {
        Observation::Event(Observed {
            event: ConversationEvent::ItemCompleted { item: Item::Message { text, .. }, .. },
            ..
        }) => Some(text.as_str()),
        _ => None,
    });
    let said = said.collect();
    let kinds = notes(&observations).into_iter().map(|(_, kind)| kind).collect();
    (said, record(&observations).totals().input_tokens, kinds)
}

#[test]
fn each_mess_is_read_past_and_the_numbers_are_right() {
    let (one, two) = (reply("m1", "one "), reply("m2", "two"));
    let cut = &one[..one.len() - 20];
    let glued_in_text =
        r#"{"type":"assistant","session_id":"s","message":{"id":"m3","content":[{"type":"text","text":"lo"#;
    let lone = reply("m1", r"\ud83d ");
    let deep = format!(r#"{{"type":"assistant","session_id":"s","x":{}1{},"#, "[".repeat(9_000), "]".repeat(9_000));
    let deep = one.replacen(r#"{"type":"assistant","session_id":"s","#, &deep, 1);
    let odd_usage = one.replacen(r#"{"input_tokens":1}"#, r#"{"input_tokens":1,"output_tokens":"many"}"#, 1);
    let twice = one.replacen(r#""type":"assistant""#, r#""type":"assistant","type":"assistant""#, 1);
    let both = "one two";
    for (name, stream, said, input, kinds) in [
        ("a byte order mark and carriage returns", format!("\u{feff}{one}\r\n{two}\r\n"), both, 2, &[][..]),
        ("blank lines", format!("\n\n{one}\n \t\n\r\n{two}\n\n"), both, 2, &[]),
        ("no line feed at the end", format!("{one}\n{two}"), both, 2, &[]),
        ("a cut last line", format!("{one}\n{two}\n{cut}"), both, 2, &[IncompleteTail]),
        ("a cut line in the middle", format!("{one}\n{cut}\n{two}\n"), both, 2, &[BadLine]),
        ("a cut line glued to a whole one", format!("{cut}{one}\n{two}\n"), both, 2, &[Salvaged]),
        ("a line cut in a text glued to a whole one", format!("{glued_in_text}{one}\n{two}\n"), both, 2, &[Salvaged]),
        ("two lines glued together", format!("{one}{two}\n"), both, 2, &[Salvaged]),
        ("a warning before a record", format!("warning {one}\n{two}\n"), both, 2, &[Salvaged]),
        ("a warning", format!("(node:1) Warning: {{}}\n{one}\n{two}"), both, 2, &[BadLine]),
        ("a run of zero bytes", format!("{one}\n\0\0\0\0{two}\n\0\0\n"), both, 2, &[Salvaged, BadLine]),
        ("values that are no objects", format!("{one}\n[1]\n7\n\"x\"\nnull\n{two}\n"), both, 2, &[BadLine; 4]),
        ("half a surrogate pair", format!("{lone}\n{two}\n"), "\u{fffd} two", 2, &[LoneSurrogate]),
        ("a line separator in a text", format!("{}\n", reply("m", "a\u{2028}b\u{85}c")), "a\u{2028}b\u{85}c", 1, &[]),
        ("nesting without end", format!("{deep}\n{two}\n"), both, 2, &[]),
        ("a number that is none", format!("{odd_usage}\n{two}\n"), both, 2, &[]),
        ("a field twice", format!("{twice}\n{two}\n"), both, 2, &[]),
    ] {
        let expected = (String::from(said), Some(input), kinds.to_vec());
        assert_eq!(read(stream.as_bytes()), expected, "{name}");
    }
    let torn_character = [one.as_bytes(), b"\n{\"type\":\"user\",\"x\":\"\xF0\x9F\n", two.as_bytes()].concat();
    assert_eq!(read(&torn_character), (String::from(both), Some(2), vec![InvalidUtf8, BadLine]), "a torn character");
}

#[test]
fn a_note_says_where() {
    let one = reply("m", "x");
    let stream = format!("\u{feff}{one}\nbad\n\n{one}\n{{\"type\":");
    let bad = u64::try_from(3 + one.len() + 1).unwrap();
    let tail = u64::try_from(stream.len() - 8).unwrap();
    assert_eq!(notes(&observe(stream)), [(bad, BadLine), (tail, IncompleteTail)]);
}

#[test]
fn a_line_of_many_megabytes_is_read() {
    let text = "é".repeat(10 << 20);
    assert_eq!(read(reply("m", &text).as_bytes()), (text, Some(1), vec![]));
}

#[test]
fn a_line_above_the_limit_is_noted_and_what_follows_is_read() {
    let mut stream = vec![b'x'; MAX_LINE + 1];
    stream.push(b'\n');
    stream.extend_from_slice(reply("m", "after").as_bytes());
    assert_eq!(read(&stream), (String::from("after"), Some(1), vec![NoteKind::LineTooLong]));
}

#[test]
fn a_type_of_the_wrong_kind_spoils_nothing_else() {
    for line in [
        r#"{"type":["assistant"],"session_id":"s"}"#,
        r#"{"type":"assistant","session_id":7,"message":"text"}"#,
        r#"{"type":"user","message":{"content":{"type":"text"}}}"#,
        r#"{"type":"stream_event","event":[]}"#,
        r#"{"type":"result","modelUsage":[1],"usage":"none","total_cost_usd":"much","duration_ms":{}}"#,
        r#"{"type":"system","subtype":{"init":1},"parent_tool_use_id":5}"#,
        "{}",
    ] {
        let stream = format!("{line}\n{}\n", reply("m", "fine"));
        let (said, input, _) = read(stream.as_bytes());
        assert_eq!((said.as_str(), input), ("fine", Some(1)), "{line}");
        assert!(prompts(&observe(stream)).len() <= 2, "{line}");
    }
}
