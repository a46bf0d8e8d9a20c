//! Unit tests of reading a line.

use std::{
    string::{String, ToString},
    vec::Vec,
};

use proptest::prelude::*;

use super::*;

/// Reads a line that begins at 100; an object that has a `type` is a record.
fn read(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let line = WholeLine { offset: 100, bytes, ended: true };
    read_line(line, |json| json.field("type").is_some(), &mut |what| {
        found.push(match what {
            Found::Record(json, span) => format!("{}+{} {}", span.start(), span.len(), json.source()),
            Found::Note(note) => format!("{} {}", note.offset, note.kind),
        });
    });
    found
}

#[test]
fn a_whole_line_is_one_record_with_the_place_of_the_line() {
    assert_eq!(read(br#"{"type":1}"#), [r#"100+10 {"type":1}"#]);
    assert_eq!(read(br#"{"other":1}"#), [r#"100+11 {"other":1}"#]);
}

#[test]
fn whole_objects_on_a_broken_line_are_saved() {
    for (line, expected) in [
        // A cut record and a whole one, as a crash leaves them.
        (r#"{"type":1,"text":"to{"type":2}"#, &[r#"120+10 {"type":2}"#, "100 salvaged"][..]),
        (r#"{"type":1,"in":{"a":{"type":2}"#, &[r#"120+10 {"type":2}"#, "100 salvaged"]),
        // Two whole ones without a line feed between them, and a cut one after a whole one.
        (r#"{"type":1}{"type":2}"#, &[r#"100+10 {"type":1}"#, r#"110+10 {"type":2}"#, "100 salvaged"]),
        (r#"{"type":1}{"type":"#, &[r#"100+10 {"type":1}"#, "100 salvaged"]),
        // A run of zero bytes, as a file system leaves it.
        ("\0\0\0{\"type\":1}\0", &[r#"103+10 {"type":1}"#, "100 salvaged"]),
        // A part of a cut record is none.
        (r#"{"type":1,"usage":{"in":1}"#, &["100 bad_line"]),
        ("warning: out of date", &["100 bad_line"]),
        ("\0\0\0", &["100 bad_line"]),
        ("[1,2]", &["100 bad_line"]),
        ("7", &["100 bad_line"]),
    ] {
        assert_eq!(read(line.as_bytes()), expected, "{line:?}");
    }
}

#[test]
fn the_last_line_may_be_cut() {
    let mut kinds = Vec::new();
    let line = WholeLine { offset: 0, bytes: br#"{"type":"assis"#, ended: false };
    read_line(line, |_| true, &mut |what| {
        if let Found::Note(note) = what {
            kinds.push(note.kind);
        }
    });
    assert_eq!(kinds, [NoteKind::IncompleteTail]);
}

#[test]
fn half_a_surrogate_pair_is_read_as_the_replacement_character() {
    let text = |line: &str| {
        let mut text = None;
        let line = WholeLine { offset: 0, bytes: line.as_bytes(), ended: true };
        read_line(line, |_| true, &mut |what| {
            if let Found::Record(json, _) = what {
                text = json.field("t").and_then(Json::name);
            }
        });
        text.unwrap()
    };
    for (line, expected) in [
        (r#"{"t":"a\ud83db"}"#, "a\u{fffd}b"),
        (r#"{"t":"a\uDCB2b"}"#, "a\u{fffd}b"),
        (r#"{"t":"\ud83d\ud83d\udcb2"}"#, "\u{fffd}\u{1f4b2}"),
        (r#"{"t":"\ud83d x \udcb2"}"#, "\u{fffd} x \u{fffd}"),
        (r#"{"t":"\ud83d\n"}"#, "\u{fffd}\n"),
        (r#"{"t":"\ud83d\udcb2"}"#, "\u{1f4b2}"),
        (r#"{"t":"\\ud83d"}"#, r"\ud83d"),
        (r#"{"t":"\\\ud83d"}"#, "\\\u{fffd}"),
        (r#"{"\udcb2":1,"t":"x"}"#, "x"),
    ] {
        assert_eq!(text(line), expected, "{line}");
    }
    assert_eq!(read(br#"{"type":"\ud83d"}"#)[0], "109 lone_surrogate");
}

#[test]
fn bytes_that_are_no_utf8_are_noted_and_the_rest_is_read() {
    assert_eq!(read(b"{\"type\":\"\xF0\x9F\"}"), ["109 invalid_utf8", "100+13 {\"type\":\"\u{fffd}\"}"]);
    // A glued line with such bytes has no places but its own.
    assert_eq!(read(b"\xFF\xFF{\"type\":1}"), ["100 invalid_utf8", "100+12 {\"type\":1}", "100 salvaged"]);
}

#[test]
fn nesting_without_end_is_read_and_overflows_nothing() {
    let depth = 200_000;
    let deep = "[".repeat(depth) + &"]".repeat(depth);
    assert_eq!(read(format!(r#"{{"deep":{deep},"type":1}}"#).as_bytes()).len(), 1);
    // Each of these begins what could be a record and never ends.
    assert_eq!(read(r#"{"a":"#.repeat(depth).as_bytes()), ["100 bad_line"]);
    assert_eq!(read(r#"{""#.repeat(depth).as_bytes()), ["100 bad_line"]);
}

#[test]
fn a_note_repeats_no_long_text() {
    let mut longest = 0;
    let bytes = "é".repeat(1_000);
    read_line(WholeLine { offset: 0, bytes: bytes.as_bytes(), ended: true }, |_| true, &mut |what| {
        if let Found::Note(note) = what {
            longest = note.detail.len();
        }
    });
    assert!((1..=DETAIL).contains(&longest), "{longest}");
}

proptest! {
    #[test]
    fn a_repaired_line_has_its_length_and_is_read(pieces in proptest::collection::vec(
        prop_oneof![
            Just(r"\ud83d"), Just(r"\uDCB2"), Just(r"\u0041"), Just(r"\\"), Just(r"\n"), Just("é"), Just("ud83d"),
        ],
        0..20,
    )) {
        let line = format!("{{\"t\":\"{}\"}}", pieces.concat());
        let repaired = without_lone_surrogates(&line).map_or(line.clone(), |(repaired, _)| repaired);
        prop_assert_eq!(repaired.len(), line.len());
        let json = Json::object(&repaired).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(json.field("t").unwrap().text().is_some());
    }
}
