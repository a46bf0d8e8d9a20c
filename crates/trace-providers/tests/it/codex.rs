//! Codex's `exec --json`, and its rollouts.

mod messy;
mod recordings;
mod rollout_exchange;
mod rollout_forks;
mod rollout_rules;
mod rollouts;
mod rules;
mod spending;

use trace_model::words::Provider;
use trace_providers::{Detail, Observation, SourceFormat, reader_for, recognise::SessionStart};

use crate::support::interpret;

/// Interprets a stream of Codex.
pub(crate) fn observe(stream: impl AsRef<[u8]>) -> Vec<Observation> {
    interpret(&Provider::Codex, SessionStart::New, [stream.as_ref()])
}

/// Interprets a stream of Codex whose first thread was there before.
pub(crate) fn observe_resumed(stream: impl AsRef<[u8]>) -> Vec<Observation> {
    interpret(&Provider::Codex, SessionStart::Resumed, [stream.as_ref()])
}

/// Reads a rollout, with the exchange.
pub(crate) fn read_rollout(file: impl AsRef<[u8]>) -> Vec<Observation> {
    read(Detail::Everything, file.as_ref())
}

/// Reads a rollout.
pub(crate) fn read(detail: Detail, file: &[u8]) -> Vec<Observation> {
    let mut reader = reader_for(SourceFormat::CodexRollout, detail).unwrap();
    let mut out = Vec::new();
    reader.push(file, &mut out);
    reader.finish(&mut out);
    out
}
