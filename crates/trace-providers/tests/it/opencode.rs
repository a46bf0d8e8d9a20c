//! The stream and the store of `OpenCode`.

mod recordings;
mod rows;
mod streams;

use trace_model::words::Provider;
use trace_providers::{Detail, Observation, SourceFormat, reader_for, recognise::SessionStart};

use crate::support::interpret;

/// Interprets a stream of `OpenCode`.
pub(crate) fn observe(stream: impl AsRef<[u8]>) -> Vec<Observation> {
    interpret(&Provider::OpenCode, SessionStart::New, [stream.as_ref()])
}

/// Reads rows of the store.
pub(crate) fn read_store(rows: impl AsRef<[u8]>) -> Vec<Observation> {
    read(SourceFormat::OpenCodeStore, Detail::Everything, rows.as_ref())
}

pub(crate) fn read(format: SourceFormat, detail: Detail, source: &[u8]) -> Vec<Observation> {
    let mut reader = reader_for(format, detail).unwrap();
    let mut out = Vec::new();
    reader.push(source, &mut out);
    reader.finish(&mut out);
    out
}
