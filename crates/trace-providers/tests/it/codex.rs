//! Codex's `exec --json`.

mod messy;
mod recordings;
mod rules;
mod spending;

use trace_model::words::Provider;
use trace_providers::{Observation, recognise::SessionStart};

use crate::support::interpret;

/// Interprets a stream of Codex.
pub(crate) fn observe(stream: impl AsRef<[u8]>) -> Vec<Observation> {
    interpret(&Provider::Codex, SessionStart::New, [stream.as_ref()])
}

/// Interprets a stream of Codex whose first thread was there before.
pub(crate) fn observe_resumed(stream: impl AsRef<[u8]>) -> Vec<Observation> {
    interpret(&Provider::Codex, SessionStart::Resumed, [stream.as_ref()])
}
