//! A session file that is one document (until Gemini CLI 0.38), written anew with each message.
//!
//! Sources: google-gemini/gemini-cli@016443b5e7bf `services/chatRecordingTypes.ts` (`ConversationRecord`), and the
//! `gemini-document` fixture.
//!
//! It holds the header's fields and `messages`, see [`super::conversation`]. A document is held whole, up to the size
//! of the longest line; of one that was cut, what is whole is read.

use alloc::{borrow::Cow, boxed::Box, format, string::String, vec::Vec};

use trace_model::span::ByteSpan;

use super::conversation::Conversation;
use crate::{
    MAX_LINE,
    cut::closed,
    interpreter::Interpreter,
    json::Json,
    lines::{count, span},
    observation::{Note, NoteKind, Observation},
    record::without_lone_surrogates,
    source::{Checkpoint, Detail},
};

/// The interpreter of a document.
#[derive(Debug)]
pub(crate) struct GeminiDocument {
    detail: Detail,
    held: Vec<u8>,
    /// How many bytes there were.
    len: u64,
}

impl GeminiDocument {
    pub(crate) fn reader(detail: Detail) -> Box<dyn Interpreter> {
        Box::new(Self { detail, held: Vec::new(), len: 0 })
    }

    /// Tells whether the object is a session, or the beginning of one.
    pub(crate) fn is_document(json: Json<'_>) -> bool {
        let [session, project, messages] = json.fields(["sessionId", "projectHash", "messages"]);
        [session, project].iter().all(|field| field.and_then(Json::name).is_some())
            && messages.is_some_and(|messages| messages.source().starts_with('['))
    }
}

impl Interpreter for GeminiDocument {
    fn push(&mut self, bytes: &[u8], _: &mut Vec<Observation>) {
        self.len = self.len.saturating_add(count(bytes.len()));
        if self.len <= count(MAX_LINE) {
            self.held.extend_from_slice(bytes);
        } else {
            self.held = Vec::new();
        }
    }

    fn finish(&mut self, out: &mut Vec<Observation>) {
        let held = core::mem::take(&mut self.held);
        if self.len > count(MAX_LINE) {
            return note(0, NoteKind::LineTooLong, format!("{} bytes", self.len), out);
        }
        let text = match str::from_utf8(&held) {
            Ok(text) => Cow::Borrowed(text),
            Err(error) => {
                note(count(error.valid_up_to()), NoteKind::InvalidUtf8, String::new(), out);
                String::from_utf8_lossy(&held)
            }
        };
        let text = match without_lone_surrogates(&text) {
            Some((repaired, at)) => {
                note(count(at), NoteKind::LoneSurrogate, String::new(), out);
                Cow::Owned(repaired)
            }
            None => text,
        };
        let trimmed = text.trim_start_matches('\u{FEFF}').trim();
        if trimmed.is_empty() {
            return;
        }
        let error = match Json::object(trimmed) {
            Ok(json) => return self.read(json, &text, out),
            Err(error) => error,
        };
        let cut = if error.is_eof() { closed(trimmed) } else { None };
        match cut.as_deref().map(Json::object) {
            Some(Ok(json)) => {
                note(0, NoteKind::IncompleteTail, format!("{error}"), out);
                self.read(json, "", out);
            }
            _ => note(0, NoteKind::BadLine, format!("{error}"), out),
        }
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        None
    }
}

fn note(offset: u64, kind: NoteKind, detail: String, out: &mut Vec<Observation>) {
    out.push(Observation::Note(Note { offset, kind, detail }));
}

impl GeminiDocument {
    /// Reads a document; `text` is what it is a part of, where its places are those of the source.
    fn read(&self, json: Json<'_>, text: &str, out: &mut Vec<Observation>) {
        let whole = span(0, usize::try_from(self.len).unwrap_or(usize::MAX));
        let places_hold = count(text.len()) == self.len;
        let place = |part: Json<'_>| -> ByteSpan {
            let at = part.source().as_ptr().addr().checked_sub(text.as_ptr().addr());
            at.filter(|_| places_hold).map_or(whole, |at| span(count(at), part.source().len()))
        };
        let mut conversation = Conversation::new(self.detail);
        let mut line = conversation.line(whole, out);
        conversation.header(json, &mut line);
        if let Some(messages) = json.field("messages") {
            messages.for_each_element(|message| {
                let mut line = conversation.line(place(message), out);
                conversation.message(message, &mut line);
            });
        }
        conversation.finish(out);
    }
}
