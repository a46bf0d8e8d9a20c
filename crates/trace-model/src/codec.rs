//! Events to lines and back.
//!
//! A line is one JSON object and a line feed. Reading yields what the line is even where this version cannot understand
//! it: an event of a newer writer is never lost and never makes a file unreadable.

use alloc::{string::String, vec::Vec};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::event::{Event, Payload, RawSpan, SCHEMA_VERSION};
use crate::{id::TurnId, timestamp::Timestamp, usage::Agent};

/// What one line of `conversation.jsonl` is.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "lines are read one at a time, and nearly all of them are events")]
pub enum Line {
    /// An event.
    Event(Event),
    /// An event of a newer writer: a later schema, or a type that this version does not know.
    Unknown(UnknownEvent),
}

/// What can be said of an event of a newer writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownEvent {
    /// The schema that the line states.
    pub schema_version: u32,
    /// Its place in the file, if it states one.
    pub seq: Option<u64>,
    /// The type of its payload, if it states one.
    pub kind: Option<String>,
}

/// Why a line is no event at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// The bytes are no JSON object, or lack what every event has.
    #[error("no event: {message}")]
    Malformed {
        /// What the parser says, with its column.
        message: String,
    },
}

/// Appends the line of the event, with its line feed, to the buffer.
///
/// # Panics
///
/// Never: an event holds no map whose keys are not text and no value that JSON lacks. A number of seconds that is
/// not finite is written as null.
pub fn encode(event: &Event, buffer: &mut Vec<u8>) {
    serde_json::to_writer(&mut *buffer, event).expect("every event has a JSON form");
    buffer.push(b'\n');
}

/// Reads one line, with or without its line feed.
///
/// # Errors
///
/// [`LineError::Malformed`] if the bytes are no event, not even one of a newer writer.
pub fn decode(line: &[u8]) -> Result<Line, LineError> {
    let envelope: Envelope<'_> = serde_json::from_slice(line).map_err(|error| malformed(&error))?;
    let newer = envelope.schema_version > SCHEMA_VERSION;
    let parsed = envelope.payload.map(|payload| serde_json::from_str::<Payload>(payload.get()));
    match (parsed, envelope.seq, envelope.ts) {
        (Some(Ok(payload)), Some(seq), Some(ts)) if !newer => Ok(Line::Event(Event {
            schema_version: envelope.schema_version,
            seq,
            ts,
            turn_id: envelope.turn_id,
            agent: envelope.agent,
            raw: envelope.raw,
            payload,
        })),
        (parsed, seq, ts) => {
            let kind = envelope.payload.and_then(|payload| serde_json::from_str::<Kind>(payload.get()).ok());
            let known = kind.as_ref().is_some_and(|kind| KNOWN.contains(&kind.kind.as_str()));
            if newer || (kind.is_some() && !known) {
                return Ok(Line::Unknown(UnknownEvent {
                    schema_version: envelope.schema_version,
                    seq,
                    kind: kind.map(|kind| kind.kind),
                }));
            }
            Err(match parsed {
                Some(Err(error)) => malformed(&error),
                None => LineError::Malformed { message: String::from("the payload is missing") },
                Some(Ok(_)) if seq.is_none() => LineError::Malformed { message: String::from("seq is missing") },
                Some(Ok(_)) => {
                    debug_assert!(ts.is_none(), "a whole event is read above");
                    LineError::Malformed { message: String::from("ts is missing") }
                }
            })
        }
    }
}

/// The payload types of this version; a test compares them with what the payloads write.
const KNOWN: &[&str] = &[
    "turn_opened",
    "turn_ended",
    "receipt",
    "usage_record",
    "capture_error",
    "launch_ended",
    "user_input",
    "conversation",
    "legacy_text",
    "legacy_tool",
    "usage",
    "result",
];

#[derive(Deserialize)]
struct Envelope<'a> {
    schema_version: u32,
    seq: Option<u64>,
    ts: Option<Timestamp>,
    turn_id: Option<TurnId>,
    #[serde(default)]
    agent: Agent,
    raw: Option<RawSpan>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

fn malformed(error: &serde_json::Error) -> LineError {
    LineError::Malformed { message: alloc::format!("{error}") }
}

#[cfg(test)]
mod tests;
