//! JSON texts that end too early.

use alloc::{string::String, vec::Vec};

/// Returns the text as a whole value: without what was cut in two, and with everything closed that it leaves open;
/// `None` if it leaves nothing open.
///
/// Whether the text was well-formed up to the cut is not looked at.
pub(crate) fn closed(text: &str) -> Option<String> {
    let Opened { open, whole } = Opened::of(text);
    if open.is_empty() {
        return None;
    }
    let mut closed = String::from(text.get(..whole)?);
    closed.extend(open.iter().rev().map(|opening| opening.closer()));
    Some(closed)
}

/// Returns the beginning and the end of a text as a whole value: without what lay between them, and without what the
/// two cuts left of the values that they went through; `None` if that cannot be told.
///
/// What both leave open on their sides of the cuts is taken for the same objects and lists, from the outermost on as
/// far as their kinds agree. It is, if one value is so long that nothing else of the text was cut away.
pub(crate) fn joined(beginning: &str, end: &str) -> Option<String> {
    let Opened { open, whole } = Opened::of(beginning);
    let unopened = unopened(end)?;
    let common = open.iter().zip(&unopened).take_while(|(open, (kind, _))| *open == kind).count();
    let (_, rest) = unopened.get(common.checked_sub(1)?)?;
    let mut joined = String::from(beginning.get(..whole)?);
    joined.extend(open.iter().skip(common).rev().map(|opening| opening.closer()));
    let rest = end.get(*rest..)?;
    if !joined.ends_with(['{', '[']) && !rest.starts_with(['}', ']']) {
        joined.push(',');
    }
    joined.push_str(rest);
    Some(joined)
}

/// What holds other values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Object,
    List,
}

impl Kind {
    const fn closer(self) -> char {
        match self {
            Self::Object => '}',
            Self::List => ']',
        }
    }
}

/// What the beginning of a text opens and does not close.
#[derive(Debug, Default)]
struct Opened {
    /// From the outermost on.
    open: Vec<Kind>,
    /// The place behind the last whole value, or the last opening. What is open there is open at the end, too.
    whole: usize,
}

impl Opened {
    fn of(text: &str) -> Self {
        let mut opened = Self::default();
        let mut bytes = text.bytes().enumerate();
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => skip_string(&mut bytes),
                b'{' | b'[' => {
                    opened.open.push(if byte == b'{' { Kind::Object } else { Kind::List });
                    opened.whole = at + 1;
                }
                b'}' | b']' => {
                    opened.open.pop();
                    opened.whole = at + 1;
                }
                b',' => opened.whole = at,
                _ => {}
            }
        }
        opened
    }
}

/// Passes over the rest of a string and its closing quote.
fn skip_string(bytes: &mut impl Iterator<Item = (usize, u8)>) {
    while let Some((_, byte)) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

/// Returns what the end of a text closes and did not open, from the outermost on: each kind, and the place from which
/// its rest is whole; `None` if the text does not end with an object.
///
/// The text is read backwards, for at its end it is known that no string is open.
fn unopened(text: &str) -> Option<Vec<(Kind, usize)>> {
    let bytes = text.trim_ascii_end().as_bytes();
    if !bytes.ends_with(b"}") {
        return None;
    }
    let mut closed: Vec<(Kind, usize)> = Vec::new();
    let mut at = bytes.len();
    while let Some(before) = at.checked_sub(1) {
        at = before;
        match bytes.get(at)? {
            b'"' => match opening_quote(bytes, at) {
                Some(opening) => at = opening,
                None => break,
            },
            b'}' => closed.push((Kind::Object, at)),
            b']' => closed.push((Kind::List, at)),
            b'{' | b'[' => {
                closed.pop();
            }
            b',' => closed.last_mut()?.1 = at + 1,
            _ => {}
        }
    }
    Some(closed)
}

/// Returns the place of the quote that opens the string which a quote closes.
fn opening_quote(bytes: &[u8], closing: usize) -> Option<usize> {
    let mut end = closing;
    loop {
        let at = memchr::memrchr(b'"', bytes.get(..end)?)?;
        let backslashes = bytes.get(..at)?.iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 0 {
            return Some(at);
        }
        end = at;
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_was_cut_is_left_out_and_what_is_open_is_closed() {
        for (text, expected) in [
            (r#"{"a":1,"b":{"c":[1,{"d":"x"#, Some(r#"{"a":1,"b":{"c":[1,{}]}}"#)),
            (r#"{"a":[1,2],"b":"with \" and }] in"#, Some(r#"{"a":[1,2]}"#)),
            (r#"{"a":{"b":1}"#, Some(r#"{"a":{"b":1}}"#)),
            (r#"{"a":tru"#, Some("{}")),
            (r#"{"a":1}"#, None),
            ("", None),
        ] {
            assert_eq!(closed(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_beginning_and_the_end_of_a_line_are_joined_around_what_is_missing() {
        for (beginning, end, expected) in [
            (
                r#"{"a":1,"m":{"id":"x","c":[{"t":"text","text":"lo"#,
                r#"ng \" \\"}],"u":{"n":7}},"z":2}"#,
                Some(r#"{"a":1,"m":{"id":"x","c":[{"t":"text"}],"u":{"n":7}},"z":2}"#),
            ),
            // The end goes deeper, or less deep.
            (r#"{"a":1,"m":{"id":"#, r#"1],"k":2}],"u":3},"z":2}"#, Some(r#"{"a":1,"m":{"u":3},"z":2}"#)),
            (r#"{"a":1,"m":[[{"id":"x"#, r#"y","z":2}"#, Some(r#"{"a":1,"m":[[{}]],"z":2}"#)),
            (r#"{"a":[1,2,"#, r#"3,4],"z":[]}"#, Some(r#"{"a":[1,2,4],"z":[]}"#)),
            (r#"{"a":"x"#, r#"y"}"#, Some("{}")),
            (r#"{"a":"x"#, "y", None),
            ("[1,2", r#"3],"a":{"b":1}}"#, None),
        ] {
            assert_eq!(joined(beginning, end).as_deref(), expected, "{beginning} … {end}");
        }
    }

    proptest! {
        #[test]
        fn a_line_with_one_long_text_keeps_all_else_wherever_the_text_is_cut(
            text in "[a-z\\\\\"{}\\[\\],é]{8,60}",
            from in 0..60_usize,
            to in 0..60_usize,
        ) {
            let rest = serde_json::json!({"a": [1, {"q": "\",}]"}], "m": {"c": [{"t": "x", "long": text}, 7], "u": 3}, "z": null});
            let line = rest.to_string();
            let start = line.find("\"long\"").unwrap() + 8;
            let end = start + serde_json::to_string(&text).unwrap().len() - 1;
            let inside = |at: usize| start + at % (end - start);
            let (from, to) = (line.floor_char_boundary(inside(from.min(to))), line.ceil_char_boundary(inside(from.max(to))));
            let joined = joined(&line[..from], &line[to..]).unwrap();
            let expected = serde_json::json!({"a": [1, {"q": "\",}]"}], "m": {"c": [{"t": "x"}, 7], "u": 3}, "z": null});
            prop_assert_eq!(serde_json::from_str::<Value>(&joined).ok(), Some(expected));
        }

        #[test]
        fn an_object_that_was_cut_anywhere_is_closed_to_an_object(key in ".*", text in ".*", cut in 1..200_usize) {
            let whole = serde_json::json!({key.clone(): [1, text, {"é": [[]], "b": null}], "z": {"y": -1.5e3}});
            let whole = whole.to_string();
            let cut = whole.floor_char_boundary(cut.min(whole.len() - 1));
            let closed = closed(whole.get(..cut).unwrap()).unwrap();
            prop_assert!(serde_json::from_str::<Value>(&closed).unwrap().is_object());
        }
    }
}
