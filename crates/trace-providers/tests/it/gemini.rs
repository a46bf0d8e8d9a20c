//! Gemini CLI's `stream-json`, and its session files of both ages.

mod messy;
mod recordings;
mod sessions;
mod streams;

use trace_model::words::Provider;
use trace_providers::{Detail, Observation, SourceFormat, reader_for, recognise::SessionStart};

use crate::support::interpret;

/// Interprets a stream of Gemini CLI.
pub(crate) fn observe(stream: impl AsRef<[u8]>) -> Vec<Observation> {
    interpret(&Provider::Gemini, SessionStart::New, [stream.as_ref()])
}

/// Reads a session file that is appended to.
pub(crate) fn read_session(file: impl AsRef<[u8]>) -> Vec<Observation> {
    read(SourceFormat::GeminiSession, Detail::Everything, file.as_ref())
}

/// Reads a session file that is one document.
pub(crate) fn read_document(file: impl AsRef<[u8]>) -> Vec<Observation> {
    read(SourceFormat::GeminiDocument, Detail::Everything, file.as_ref())
}

pub(crate) fn read(format: SourceFormat, detail: Detail, source: &[u8]) -> Vec<Observation> {
    let mut reader = reader_for(format, detail).unwrap();
    let mut out = Vec::new();
    reader.push(source, &mut out);
    reader.finish(&mut out);
    out
}
