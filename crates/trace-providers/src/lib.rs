//! What coding agents print, read into events, usage records, receipts and turns.
//!
//! Bytes go in, [`Observation`]s come out; nothing is read, written, timed or looked up here. Foreign text never fails:
//! what cannot be understood is skipped or salvaged, and a [`Note`] says what and where.
//!
//! Three layers, each knowing only the one below it:
//!
//! * bytes to lines to JSON objects, the same for every provider that prints one object a line;
//! * a provider's rules: what each of its objects means, in a folder of its own with the sources of each rule:
//!   what Claude Code, Codex, Gemini CLI and `OpenCode` print in their JSON modes, and the sessions that they keep;
//! * the choice between providers: [`interpreter_for`], [`recognise`] and [`SessionScanner`].
//!
//! Memory is bounded whatever comes in: by the longest line that is held ([`MAX_LINE`]) and by how much is remembered
//! of replies, tools and subagents.
//!
//! ```
//! use trace_model::{turn::Outcome, words::Provider};
//! use trace_providers::{Observation, interpreter_for, recognise::SessionStart};
//!
//! let mut interpreter = interpreter_for(&Provider::Claude, SessionStart::New).expect("Claude Code is interpreted");
//! let mut observations = Vec::new();
//! interpreter.push(br#"{"type":"result","subtype":"succ"#, &mut observations);
//! interpreter.push(b"ess\",\"is_error\":true,\"result\":\"API Error: 400\"}\n", &mut observations);
//! interpreter.finish(&mut observations);
//! // An error is a failure, whatever the subtype says.
//! assert!(observations.iter().any(|seen| matches!(seen, Observation::Result { status: Outcome::Failed, .. })));
//! ```

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod account;
mod claude;
mod codex;
mod cut;
mod doubts;
mod gemini;
mod interpreter;
mod json;
mod lines;
mod observation;
mod opencode;
mod recent;
pub mod recognise;
mod record;
mod result_text;
mod saying;
mod session;
mod source;
mod typed;

pub use interpreter::{Interpreter, interpreter_for};
pub use lines::MAX_LINE;
pub use observation::{AgentSeen, Note, NoteKind, Observation, Observed, SessionSeen};
pub use session::SessionScanner;
pub use source::{Checkpoint, Detail, SourceFormat, reader_for, resume_reader};
