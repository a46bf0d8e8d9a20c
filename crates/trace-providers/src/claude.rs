//! The rules of Claude Code.
//!
//! * [`stream`]: what `claude -p --output-format stream-json --verbose` prints, with and without
//!   `--include-partial-messages`; what each line means.
//! * [`agents`], [`prompts`], [`replies`], [`result`]: who speaks, what was asked, what a request cost, what a turn
//!   cost.
//! * [`content`]: blocks of content to items.
//!
//! "Measured" in these files means: found in recordings of real clients.

mod agents;
mod content;
mod prompts;
mod replies;
mod result;
pub(crate) mod stream;

/// The model that Claude Code names for replies that it made up itself.
///
/// They are no requests (Piebald-AI/splitrail#1).
const SYNTHETIC_MODEL: &str = "<synthetic>";
