//! JSON texts that end too early.

use alloc::{string::String, vec::Vec};

/// Returns the text as a whole value: without what was cut in two, and with everything closed that it leaves open;
/// `None` if it leaves nothing open.
///
/// Whether the text was well-formed up to the cut is not looked at.
pub(crate) fn closed(text: &str) -> Option<String> {
    let mut open: Vec<char> = Vec::new();
    // Behind the last whole value, or the last opening. What is open there is open at the end, too.
    let mut whole = 0;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'{' | b'[' => {
                open.push(if byte == b'{' { '}' } else { ']' });
                whole = at + 1;
            }
            b'}' | b']' => {
                open.pop();
                whole = at + 1;
            }
            b',' => whole = at,
            _ => {}
        }
    }
    if open.is_empty() {
        return None;
    }
    let mut closed = String::from(text.get(..whole)?);
    closed.extend(open.into_iter().rev());
    Some(closed)
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

    proptest! {
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
