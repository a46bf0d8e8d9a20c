//! The rules of Claude Code.
//!
//! * [`stream`]: what `claude -p --output-format stream-json --verbose` prints, with and without
//!   `--include-partial-messages`; what each line means.
//!   [`agents`], [`prompts`], [`replies`], [`result`]: who speaks in it, what was asked, what a request cost, what a
//!   turn cost.
//! * [`transcript`]: the files that Claude Code keeps of its sessions; what each line means.
//!   [`sidechains`], [`turns`], [`requests`]: who speaks in them, what was asked and how it ended, what a request cost.
//!   [`facts`]: what is read of a line.
//! * [`content`], [`usage`]: blocks of content to items, and the API's `usage`, which both have.
//!
//! "Measured" in these files means: found in recordings of real clients.

mod agents;
mod content;
mod facts;
mod prompts;
mod replies;
mod requests;
mod result;
mod sidechains;
pub(crate) mod stream;
pub(crate) mod transcript;
mod turns;
mod usage;

use alloc::{borrow::Cow, string::String, vec::Vec};

use crate::json::Json;

/// The model that Claude Code names for replies that it made up itself.
///
/// They are no requests (Piebald-AI/splitrail#1).
const SYNTHETIC_MODEL: &str = "<synthetic>";

/// Returns the text of a message's content.
fn words(content: Json<'_>) -> String {
    let mut words: Vec<String> = Vec::new();
    content.for_each_element(|block| words.extend(block.field("text").and_then(Json::name)));
    content.text().map_or_else(|| words.join("\n"), Cow::into_owned)
}
