//! The interpreters, and the part of them that all providers of one object a line share.

use alloc::{boxed::Box, string::String, vec::Vec};
use core::fmt;

use trace_model::{span::ByteSpan, words::Provider};

use crate::{
    claude::{stream::ClaudeStream, transcript::ClaudeTranscript},
    codex::{exec::CodexExec, rollout::CodexRollout},
    gemini::{document::GeminiDocument, session::GeminiSession, stream::GeminiStream},
    json::Json,
    lines::{Line, LineSplitter},
    observation::{Note, NoteKind, Observation},
    opencode::{run::OpenCodeRun, store::OpenCodeStore},
    recognise::SessionStart,
    record::{Found, read_broken, text_of, text_of_long},
    source::{Checkpoint, Detail, SourceFormat},
};

/// The formats that are read. A further one is one more line here, and one more file of rules.
static FORMATS: &[Format] = &[
    Format::of_lines::<ClaudeStream>(),
    Format::of_lines::<ClaudeTranscript>(),
    Format::of_lines::<CodexExec>(),
    Format::of_lines::<CodexRollout>(),
    Format::of_lines::<GeminiStream>(),
    Format::of_lines::<GeminiSession>(),
    Format::document(
        Provider::Gemini,
        SourceFormat::GeminiDocument,
        GeminiDocument::is_document,
        GeminiDocument::reader,
    ),
    Format::of_lines::<OpenCodeRun>(),
    Format::of_lines::<OpenCodeStore>(),
];

/// Reads what one provider prints.
///
/// An interpreter is a pure machine: the same bytes give the same observations, however they are cut into pieces. It
/// never fails and never panics, whatever the bytes are.
pub trait Interpreter: fmt::Debug + Send {
    /// Takes the next bytes of the output and adds what they say to `out`.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Observation>);

    /// Takes the end of the output: a last line without a line feed is read now.
    fn finish(&mut self, out: &mut Vec<Observation>);

    /// Returns what is needed to go on later with a source that grows, before [`finish`](Self::finish); `None` for a
    /// format that is read from its start only.
    fn checkpoint(&self) -> Option<Checkpoint>;
}

/// Returns an interpreter for what the provider prints in its JSON mode, or `None` for one whose output is kept raw
/// only.
///
/// `start` is what the command tells about the provider's session: [`SessionStart::of_command`].
pub fn interpreter_for(provider: &Provider, start: SessionStart) -> Option<Box<dyn Interpreter>> {
    let interpreter = Format::of_provider(provider)?.interpreter?;
    Some(interpreter(start))
}

/// How a source is written, as far as those need to know it who do not know the provider.
#[derive(Debug)]
pub(crate) struct Format {
    pub(crate) provider: Provider,
    pub(crate) source: SourceFormat,
    layout: Layout,
    /// See [`Records::is_record`]; for a document, whether it is one of the format.
    is_record: fn(Json<'_>) -> bool,
    /// See [`Records::session_id`].
    pub(crate) session_id: fn(Json<'_>) -> Option<String>,
    /// The interpreter of a program's output; none for what no program prints.
    interpreter: Option<fn(SessionStart) -> Box<dyn Interpreter>>,
    pub(crate) reader: fn(Detail) -> Box<dyn Interpreter>,
    pub(crate) resume: fn(Detail, &Checkpoint) -> Option<Box<dyn Interpreter>>,
}

/// How a source holds its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// One object a line.
    Lines,
    /// One object is all of it.
    Document,
}

impl Format {
    /// Returns the format of one object a line that the rules read.
    const fn of_lines<R: Records + 'static>() -> Self {
        Self {
            provider: R::PROVIDER,
            source: R::FORMAT,
            layout: Layout::Lines,
            is_record: R::is_record,
            session_id: R::session_id,
            interpreter: Some(|start| Box::new(JsonLines::new(Detail::Everything, R::new(start)))),
            reader: |detail| Box::new(JsonLines::new(detail, R::reader(detail))),
            resume: |detail, checkpoint| {
                let lines = LineSplitter::starting_at(checkpoint.offset);
                Some(Box::new(JsonLines { lines, detail, rules: R::resume(detail, &checkpoint.state)? }))
            },
        }
    }

    /// Returns the format of sources that are one JSON document, and are read from their start only.
    ///
    /// `is_document` tells whether an object is one, or the beginning of one, and no line of another format.
    const fn document(
        provider: Provider,
        source: SourceFormat,
        is_document: fn(Json<'_>) -> bool,
        reader: fn(Detail) -> Box<dyn Interpreter>,
    ) -> Self {
        Self {
            provider,
            source,
            layout: Layout::Document,
            is_record: is_document,
            session_id: |_| None,
            interpreter: None,
            reader,
            resume: |_, _| None,
        }
    }

    /// Returns the format of what the provider's program prints.
    pub(crate) fn of_provider(provider: &Provider) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.source.is_stream() && format.provider == *provider)
    }

    /// Returns the format of that name.
    pub(crate) fn of_source(source: SourceFormat) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.source == source)
    }

    /// Returns the format of a program's output that the object is a line of.
    pub(crate) fn of_stream_line(json: Json<'_>) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.source.is_stream() && (format.is_record)(json))
    }

    /// Returns the format that the object is a line of.
    pub(crate) fn of_line(json: Json<'_>) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.layout == Layout::Lines && (format.is_record)(json))
    }

    /// Returns the format that the object is a document of. It may be the beginning of one.
    pub(crate) fn of_document(json: Json<'_>) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.layout == Layout::Document && (format.is_record)(json))
    }
}

/// A provider's rules: what each object that it prints on a line means.
pub(crate) trait Records: fmt::Debug + Send {
    /// Whose rules they are.
    const PROVIDER: Provider;

    /// The format that they read.
    const FORMAT: SourceFormat;

    /// Returns the rules for an output of which nothing was seen.
    fn new(start: SessionStart) -> Self;

    /// Returns the rules for a source of which nothing was read. A stream that was recorded is read whole.
    fn reader(detail: Detail) -> Self;

    /// Returns the rules as [`state`](Self::state) left them.
    fn resume(detail: Detail, state: &str) -> Option<Self>
    where
        Self: Sized;

    /// Returns all that the rules remember between two lines; `None` where that is not worth its while.
    fn state(&self) -> Option<String>;

    /// Tells whether the provider would print the object as a line, and no other provider would.
    ///
    /// It decides whose a stream is, and what of a broken line is saved.
    fn is_record(json: Json<'_>) -> bool;

    /// Returns the session id that the object tells.
    fn session_id(json: Json<'_>) -> Option<String>;

    /// Takes the text of a line, if it is one object, and adds what it says to `out`.
    ///
    /// Rules that read files in bulk do it in one pass over the text, see [`typed`](crate::typed).
    ///
    /// # Errors
    ///
    /// The text is no JSON object; nothing was taken.
    fn line(&mut self, text: &str, span: ByteSpan, out: &mut Vec<Observation>) -> Result<(), serde_json::Error> {
        Json::object(text).map(|json| self.record(json, span, out))
    }

    /// Takes one object and adds what it says to `out`.
    fn record(&mut self, json: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>);

    /// Takes the end of the output.
    fn finish(&mut self, out: &mut Vec<Observation>);
}

/// The interpreter of an output with one JSON object a line.
#[derive(Debug)]
struct JsonLines<R> {
    lines: LineSplitter,
    detail: Detail,
    rules: R,
}

impl<R: Records> JsonLines<R> {
    fn new(detail: Detail, rules: R) -> Self {
        Self { lines: LineSplitter::default(), detail, rules }
    }

    /// Takes back the events that were added from that place on, if none are wanted. Rules that are slow because of
    /// them make none; the others need not know.
    fn keep_to_detail(&self, from: usize, out: &mut Vec<Observation>) {
        if self.detail == Detail::Usage {
            out.extract_if(from.., |seen| matches!(seen, Observation::Event(_))).for_each(drop);
        }
    }

    fn line(rules: &mut R, line: Line<'_>, out: &mut Vec<Observation>) {
        match line {
            Line::TooLong(line) => {
                let detail = alloc::format!("{} bytes", line.len);
                out.push(Observation::Note(Note { offset: line.offset, kind: NoteKind::LineTooLong, detail }));
                if let Some(text) = text_of_long(&line) {
                    // What is no object tells nothing.
                    let _: Result<(), _> = rules.line(&text, line.span(), out);
                }
            }
            Line::Whole(line) => {
                let text = text_of(line, &mut |note| out.push(Observation::Note(note)));
                if let Err(error) = rules.line(&text, line.span(), out) {
                    read_broken(line, &text, &error, R::is_record, &mut |found| match found {
                        Found::Record(json, span) => rules.record(json, span, out),
                        Found::Note(note) => out.push(Observation::Note(note)),
                    });
                }
            }
        }
    }
}

impl<R: Records> Interpreter for JsonLines<R> {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Observation>) {
        let (from, rules) = (out.len(), &mut self.rules);
        self.lines.push(bytes, &mut |line| Self::line(rules, line, out));
        self.keep_to_detail(from, out);
    }

    fn finish(&mut self, out: &mut Vec<Observation>) {
        let (from, rules) = (out.len(), &mut self.rules);
        self.lines.finish(&mut |line| Self::line(rules, line, out));
        rules.finish(out);
        self.keep_to_detail(from, out);
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        Some(Checkpoint { offset: self.lines.start(), state: self.rules.state()? })
    }
}
