//! The interpreter of a provider's output, and the part of it that all providers of one object a line share.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use trace_model::{span::ByteSpan, words::Provider};

use crate::{
    claude::stream::ClaudeStream,
    json::Json,
    lines::{Line, LineSplitter},
    observation::{Note, NoteKind, Observation},
    record::{Found, read_line},
};

/// Reads what one provider prints.
///
/// An interpreter is a pure machine: the same bytes give the same observations, however they are cut into pieces. It
/// never fails and never panics, whatever the bytes are.
pub trait Interpreter: fmt::Debug + Send {
    /// Takes the next bytes of the output and adds what they say to `out`.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Observation>);

    /// Takes the end of the output: a last line without a line feed is read now.
    fn finish(&mut self, out: &mut Vec<Observation>);
}

/// Returns an interpreter for what the provider prints in its JSON mode, or `None` for one whose output is kept raw only.
pub fn interpreter_for(provider: &Provider) -> Option<Box<dyn Interpreter>> {
    match provider {
        Provider::Claude => Some(Box::new(JsonLines::<ClaudeStream>::default())),
        _ => None,
    }
}

/// A provider's rules: what each object that it prints on a line means.
pub(crate) trait Records: fmt::Debug + Send {
    /// Tells whether an object found inside of a broken line is one that the provider would print as a line.
    fn is_record(json: Json<'_>) -> bool;

    /// Takes one object and adds what it says to `out`.
    fn record(&mut self, json: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>);

    /// Takes the end of the output.
    fn finish(&mut self, out: &mut Vec<Observation>);
}

/// The interpreter of an output with one JSON object a line.
#[derive(Debug, Default)]
struct JsonLines<R> {
    lines: LineSplitter,
    rules: R,
}

impl<R: Records> JsonLines<R> {
    fn line(rules: &mut R, line: Line<'_>, out: &mut Vec<Observation>) {
        match line {
            Line::TooLong { offset, len } => {
                let detail = alloc::format!("{len} bytes");
                out.push(Observation::Note(Note { offset, kind: NoteKind::LineTooLong, detail }));
            }
            Line::Whole(line) => read_line(line, R::is_record, &mut |found| match found {
                Found::Record(json, span) => rules.record(json, span, out),
                Found::Note(note) => out.push(Observation::Note(note)),
            }),
        }
    }
}

impl<R: Records> Interpreter for JsonLines<R> {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Observation>) {
        let rules = &mut self.rules;
        self.lines.push(bytes, &mut |line| Self::line(rules, line, out));
    }

    fn finish(&mut self, out: &mut Vec<Observation>) {
        let rules = &mut self.rules;
        self.lines.finish(&mut |line| Self::line(rules, line, out));
        rules.finish(out);
    }
}
