//! A session file that is appended to (since Gemini CLI 0.39): what each line is.
//!
//! Sources: google-gemini/gemini-cli@016443b5e7bf `services/chatRecordingService.ts`, and recordings of Gemini CLI
//! 0.61.
//!
//! | line | what it is |
//! |---|---|
//! | `{sessionId, projectHash, startTime, lastUpdated, kind}` | the header |
//! | `{id, timestamp, type, content, …}` | a message, or what a message is now |
//! | `{"$set": {…}}` | a change of the header; with `messages`, a list that replaces all messages |
//! | `{"$rewindTo": id}` | that message and all after it are taken back |
//!
//! What they mean is in [`super::conversation`].

use alloc::{string::String, vec::Vec};

use trace_model::{span::ByteSpan, words::Provider};

use super::conversation::Conversation;
use crate::{
    interpreter::Records,
    json::Json,
    observation::Observation,
    recognise::SessionStart,
    source::{Detail, SourceFormat},
};

/// The types of messages.
const MESSAGES: [&str; 5] = ["user", "gemini", "info", "warning", "error"];

/// The rules of the file, and what they remember of it.
#[derive(Debug)]
pub(crate) struct GeminiSession(Conversation);

/// Tells whether the object is a message as a session has it.
fn is_message(json: Json<'_>) -> bool {
    let [kind, id, time] = json.fields(["type", "id", "timestamp"]).map(|field| field.and_then(Json::text));
    kind.is_some_and(|kind| MESSAGES.contains(&&*kind)) && id.is_some() && time.is_some()
}

impl Records for GeminiSession {
    const PROVIDER: Provider = Provider::Gemini;
    const FORMAT: SourceFormat = SourceFormat::GeminiSession;

    fn new(_: SessionStart) -> Self {
        Self::reader(Detail::Everything)
    }

    fn reader(detail: Detail) -> Self {
        Self(Conversation::new(detail))
    }

    fn resume(detail: Detail, state: &str) -> Option<Self> {
        (detail == Detail::Usage).then(|| Conversation::resume(state)).flatten().map(Self)
    }

    fn state(&self) -> Option<String> {
        self.0.state()
    }

    /// A line is a header, a message, or a change that has a name with `$`.
    fn is_record(json: Json<'_>) -> bool {
        let [session, project, messages, set, rewind] =
            json.fields(["sessionId", "projectHash", "messages", "$set", "$rewindTo"]);
        let is_header = session.and_then(Json::name).is_some() && project.is_some() && messages.is_none();
        is_header
            || set.is_some_and(|set| set.source().starts_with('{'))
            || rewind.and_then(Json::name).is_some()
            || is_message(json)
    }

    fn session_id(json: Json<'_>) -> Option<String> {
        let [session, project] = json.fields(["sessionId", "projectHash"]).map(|field| field.and_then(Json::name));
        session.filter(|_| project.is_some())
    }

    fn record(&mut self, json: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>) {
        let mut line = self.0.line(span, out);
        let [id, session, set, rewind] = json.fields(["id", "sessionId", "$set", "$rewindTo"]);
        if rewind.is_some() {
            // What is taken back was paid for.
        } else if id.is_some() {
            self.0.message(json, &mut line);
        } else if let Some(set) = set {
            self.0.header(set, &mut line);
            if let Some(messages) = set.field("messages") {
                self.0.replace(messages, &mut line);
            }
        } else if session.is_some() {
            self.0.header(json, &mut line);
        } else {
            self.0.unknown("line of a session", &mut line);
        }
    }

    fn finish(&mut self, out: &mut Vec<Observation>) {
        self.0.finish(out);
    }
}
