//! The rules of Claude Code.
//!
//! * [`stream`]: what `claude -p --output-format stream-json --verbose` prints, with and without
//!   `--include-partial-messages`; what each line means.
//! * [`agents`], [`prompts`], [`replies`], [`result`]: who speaks, what was asked, what a request cost, what a turn cost.
//! * [`content`]: blocks of content to items.
//!
//! "Measured" in these files means: found in recordings of real clients.

mod agents;
mod content;
mod prompts;
mod replies;
mod result;
pub(crate) mod stream;

use crate::json::Json;

/// The model that Claude Code names for replies that it made up itself.
///
/// They are no requests (Piebald-AI/splitrail#1).
const SYNTHETIC_MODEL: &str = "<synthetic>";

/// The types of the lines that an interpreter can do something with, or knows that it need not.
const TYPES: [&str; 6] = ["system", "assistant", "user", "stream_event", "rate_limit_event", "result"];

/// Tells whether the object is a line of the stream: it has one of the types and names its session.
pub(crate) fn is_record(json: Json<'_>) -> bool {
    let [kind, session] = json.fields(["type", "session_id"]);
    kind.and_then(Json::text).is_some_and(|kind| TYPES.contains(&&*kind)) && session.and_then(Json::name).is_some()
}

/// Returns the session id that the object tells: that of an `init`.
pub(crate) fn session_id(json: Json<'_>) -> Option<alloc::string::String> {
    let [kind, subtype, session] = json.fields(["type", "subtype", "session_id"]);
    let is = |field: Option<Json<'_>>, word: &str| field.and_then(Json::text).is_some_and(|text| text == word);
    (is(kind, "system") && is(subtype, "init")).then(|| session.and_then(Json::name)).flatten()
}
