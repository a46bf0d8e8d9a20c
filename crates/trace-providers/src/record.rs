//! A line to the JSON objects on it.

use alloc::{borrow::Cow, format, string::String};

use memchr::memmem;
use trace_model::span::ByteSpan;

use crate::{
    cut::joined,
    json::Json,
    lines::{LongLine, WholeLine, count, span},
    observation::{Note, NoteKind},
};

/// How many bytes the search for whole objects in a broken line may read, for each byte of the line.
///
/// A broken line can be made so that every object in it seems to reach to the end of the line. The limit keeps the time
/// linear; a line that a crash glued together needs one for each object that the cut left open.
const SALVAGE_EFFORT: usize = 8;

/// The longest piece of a message that a note repeats, in bytes.
const DETAIL: usize = 200;

/// What is on a line.
pub(crate) enum Found<'a> {
    Record(Json<'a>, ByteSpan),
    Note(Note),
}

/// Reads a line and calls `each` for all that is on it: one object, or notes of what is wrong and what could be saved.
///
/// `is_record` tells which objects inside of a broken line are ones that the provider prints as a line.
pub(crate) fn read_line(line: WholeLine<'_>, is_record: fn(Json<'_>) -> bool, each: &mut dyn FnMut(Found<'_>)) {
    let text = text_of(line, &mut |note| each(Found::Note(note)));
    match Json::object(&text) {
        Ok(json) => each(Found::Record(json, line.span())),
        Err(error) => read_broken(line, &text, &error, is_record, each),
    }
}

/// Returns the text of a line, with what is no text in it replaced and noted.
pub(crate) fn text_of<'a>(line: WholeLine<'a>, each: &mut dyn FnMut(Note)) -> Cow<'a, str> {
    let text = match str::from_utf8(line.bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) => {
            each(note(line, NoteKind::InvalidUtf8, error.valid_up_to(), ""));
            String::from_utf8_lossy(line.bytes)
        }
    };
    match without_lone_surrogates(&text) {
        Some((repaired, at)) => {
            each(note(line, NoteKind::LoneSurrogate, at, ""));
            Cow::Owned(repaired)
        }
        None => text,
    }
}

/// Returns what the edges of a line tell that is too long, as the text of an object; `None` where that is nothing.
///
/// A line is so long because of one text, or one list. All else of it is in the edges: who, when, and the usage.
pub(crate) fn text_of_long(line: &LongLine<'_>) -> Option<String> {
    let [beginning, end] = [line.beginning, line.end].map(String::from_utf8_lossy);
    let text = joined(&beginning, &end)?;
    Some(without_lone_surrogates(&text).map_or(text, |(repaired, _)| repaired))
}

/// Reads a line that is no object: calls `each` for what could be saved, and for one note.
pub(crate) fn read_broken(
    line: WholeLine<'_>,
    text: &str,
    error: &serde_json::Error,
    is_record: fn(Json<'_>) -> bool,
    each: &mut dyn FnMut(Found<'_>),
) {
    // Where the text has other places than the bytes, only the line as a whole can be told.
    let places_hold = text.len() == line.bytes.len();
    let mut saved = 0_usize;
    salvage(text, is_record, &mut |at, json| {
        saved += 1;
        let part = if places_hold { span(line.offset + count(at), json.source().len()) } else { line.span() };
        each(Found::Record(json, part));
    });
    each(Found::Note(if saved > 0 {
        note(line, NoteKind::Salvaged, 0, &format!("{saved} whole on a broken line of {} bytes", line.bytes.len()))
    } else if line.ended {
        note(line, NoteKind::BadLine, 0, &format!("{error}"))
    } else {
        note(line, NoteKind::IncompleteTail, 0, &format!("{} bytes", line.bytes.len()))
    }));
}

fn note(line: WholeLine<'_>, kind: NoteKind, at: usize, detail: &str) -> Note {
    let detail = String::from(&detail[..detail.floor_char_boundary(DETAIL)]);
    Note { offset: line.offset.saturating_add(count(at)), kind, detail }
}

/// Finds the whole objects on a line that is none: a crash can glue a cut one and a whole one together, or leave a run
/// of zero bytes before one.
fn salvage<'a>(text: &'a str, is_record: fn(Json<'_>) -> bool, each: &mut dyn FnMut(usize, Json<'a>)) {
    let mut effort = text.len().saturating_mul(SALVAGE_EFFORT);
    let mut behind = 0;
    for at in memmem::find_iter(text.as_bytes(), "{\"") {
        let Some(candidate) = text.get(at..).filter(|_| at >= behind) else { continue };
        match Json::prefix(candidate) {
            Ok((json, rest)) => {
                effort = effort.saturating_sub(json.source().len());
                // One that is no record may be a part of a cut one; what is inside of it is looked at, too.
                if is_record(json) {
                    behind = text.len() - rest.len();
                    each(at, json);
                }
            }
            // The text has no line feed, so the column is how far the reading came.
            Err(error) => effort = effort.saturating_sub(error.column()),
        }
        if effort == 0 {
            return;
        }
    }
}

/// Returns the text with each escaped half of a surrogate pair replaced by the escape of U+FFFD, and the place of the
/// first one; `None` if there is none.
///
/// JavaScript writes such halves where it cuts a string; they are no characters. An escape is six bytes long either
/// way, so all places stay.
pub(crate) fn without_lone_surrogates(text: &str) -> Option<(String, usize)> {
    // Most lines have many escapes and none of these.
    if !may_have_surrogates(text) {
        return None;
    }
    let mut repaired = String::new();
    let mut copied = 0;
    let mut first = None;
    let mut escapes = Escapes { text, at: 0 };
    while let Some((at, unit)) = escapes.next_unicode() {
        let lone = match unit {
            0xD800..=0xDBFF => {
                let mut ahead = Escapes { text, at: escapes.at };
                match ahead.next_unicode() {
                    Some((next, 0xDC00..=0xDFFF)) if next == escapes.at => {
                        escapes = ahead;
                        false
                    }
                    _ => true,
                }
            }
            0xDC00..=0xDFFF => true,
            _ => false,
        };
        if lone {
            first.get_or_insert(at);
            repaired.push_str(text.get(copied..at)?);
            repaired.push_str("\\ufffd");
            copied = at + 6;
        }
    }
    let first = first?;
    repaired.push_str(text.get(copied..)?);
    Some((repaired, first))
}

/// Tells whether the text has what looks like the escape of a half of a surrogate pair.
fn may_have_surrogates(text: &str) -> bool {
    let bytes = text.as_bytes();
    memmem::find_iter(bytes, "\\u")
        .any(|at| matches!(bytes.get(at + 2..at + 4), Some([b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F'])))
}

/// The `\u` escapes of a JSON text.
struct Escapes<'a> {
    text: &'a str,
    at: usize,
}

impl Escapes<'_> {
    /// Returns the place and the number of the next `\u` escape.
    fn next_unicode(&mut self) -> Option<(usize, u32)> {
        loop {
            let at = self.at + memchr::memchr(b'\\', self.text.as_bytes().get(self.at..)?)?;
            // A backslash and what it escapes: so the second one of a pair escapes nothing.
            self.at = at + 2;
            let digits = self.text.get(at..)?.strip_prefix("\\u").and_then(|rest| rest.get(..4));
            if let Some(unit) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
                self.at = at + 6;
                return Some((at, unit));
            }
        }
    }
}

#[cfg(test)]
mod tests;
