//! Claude Code's `stream-json`.

mod messy;
mod recordings;
mod rules;
mod transcripts;
mod transcripts_messy;
mod transcripts_rules;

use trace_model::words::Provider;
use trace_providers::{Observation, recognise::SessionStart};

use crate::support::interpret;

/// Interprets a stream of Claude Code.
pub(crate) fn observe(stream: impl AsRef<[u8]>) -> Vec<Observation> {
    interpret(&Provider::Claude, SessionStart::New, [stream.as_ref()])
}
