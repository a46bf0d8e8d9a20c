//! What the interpreters make of recordings of real clients, and of lines that trip up readers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod choice;
mod claude;
mod codex;
mod gemini;
mod laws;
mod opencode;
mod support;
