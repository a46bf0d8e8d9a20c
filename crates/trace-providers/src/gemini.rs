//! The rules of Gemini CLI.
//!
//! * [`stream`]: what `gemini --output-format stream-json` prints; [`stats`]: what its last line says of usage.
//! * [`session`]: the session file that it appends to; [`document`]: the older one, a single document.
//! * [`conversation`]: what the messages of either mean; [`message`]: one message; [`turns`]: when a turn ends.
//!
//! "Measured" in these files means: found in recordings of real clients. Sources are google-gemini/gemini-cli, of which
//! `packages/core/src` is left out.

mod conversation;
pub(crate) mod document;
mod message;
pub(crate) mod session;
mod stats;
pub(crate) mod stream;
mod turns;
