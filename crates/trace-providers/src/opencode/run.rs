//! `opencode run --format json`: what each line means.
//!
//! Sources: Hona/opencode@09e2567441ce `cli/cmd/run.ts`, anomalyco/opencode#40544, #26855 and #15779, and recordings of
//! `OpenCode` 1.18.
//!
//! | line | what becomes of it |
//! |---|---|
//! | the first of a session | a receipt; a prompt, whose text no line shows |
//! | `step_start` | a request begins |
//! | `step_finish` | the usage of the request, under the id of the part: the store has the same one |
//! | `text`, `reasoning`, `tool_use` | items, see [`super::parts`] |
//! | `error` | an error; the turn failed, or was interrupted if it is `MessageAbortedError` |
//!
//! No line names a model, and none says that the turn ended: a step whose reason is not that tools are called shows it,
//! if nothing comes behind it.
//!
//! What was spent is known of finished steps alone. A step that has no end (the process may leave before it is printed,
//! #26855), an error, and a subagent, whose session does not show, each leave a lower bound. The request for a title is
//! in no line either, and there is no sign of it.

use alloc::{format, string::String, vec::Vec};

use trace_model::{
    event::{ConversationEvent, Receipt},
    span::ByteSpan,
    timestamp::Timestamp,
    turn::Outcome,
    usage::Agent,
    words::Provider,
};

use super::{parts, tokens::Spent};
use crate::{
    doubts::Doubts,
    interpreter::Records,
    json::Json,
    lines::span,
    observation::{NoteKind, Observation},
    recognise::SessionStart,
    saying::{Saying, UnknownTypes},
    source::{Detail, SourceFormat},
};

/// The shortest id that is taken for unique over all launches, in bytes.
const UNIQUE_ID: usize = 20;

/// The rules of the stream, and what they remember of it.
#[derive(Debug)]
pub(crate) struct OpenCodeRun {
    detail: Detail,
    session: String,
    /// Whether a request was begun that has no end yet.
    step_is_open: bool,
    /// When the last step ended whose reason ends the turn, and the line that says so.
    ended: Option<(Option<Timestamp>, ByteSpan)>,
    has_result: bool,
    /// The last line.
    last: ByteSpan,
    doubts: Doubts,
    unknown_types: UnknownTypes,
}

impl Records for OpenCodeRun {
    const PROVIDER: Provider = Provider::OpenCode;
    const FORMAT: SourceFormat = SourceFormat::OpenCodeRun;

    /// Each step says what it alone cost, whether its process begins a session or resumes one.
    fn new(_: SessionStart) -> Self {
        Self::reader(Detail::Everything)
    }

    fn reader(detail: Detail) -> Self {
        Self {
            detail,
            session: String::new(),
            step_is_open: false,
            ended: None,
            has_result: false,
            last: span(0, 0),
            doubts: Doubts::default(),
            unknown_types: UnknownTypes::default(),
        }
    }

    fn resume(_: Detail, _: &str) -> Option<Self> {
        None
    }

    fn state(&self) -> Option<String> {
        None
    }

    /// A line has one of the types, names its session in this spelling, and has a part or an error.
    fn is_record(json: Json<'_>) -> bool {
        let [kind, session, part, error] = json.fields(["type", "sessionID", "part", "error"]);
        session.and_then(Json::name).is_some()
            && match kind.and_then(Json::text).as_deref() {
                Some("step_start" | "step_finish" | "text" | "reasoning" | "tool_use") => part.is_some(),
                Some("error") => error.is_some(),
                _ => false,
            }
    }

    fn session_id(json: Json<'_>) -> Option<String> {
        json.field("sessionID").and_then(Json::name).filter(|_| Self::is_record(json))
    }

    fn record(&mut self, json: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>) {
        let [kind, timestamp, session, part, error] = json.fields(["type", "timestamp", "sessionID", "part", "error"]);
        let line = &mut Saying { agent: Agent::Main, at: timestamp.and_then(parts::time), span, out };
        if let Some(session) = session.and_then(Json::name) {
            self.in_session(session, line);
        }
        self.last = span;
        let kind = kind.and_then(Json::text).unwrap_or_default();
        match (&*kind, part) {
            ("step_start", _) => self.step_start(line),
            ("step_finish", Some(part)) => self.step_finish(part, line),
            ("text" | "reasoning" | "tool_use", Some(part)) => self.part(part, line),
            ("error", _) => self.error(error.unwrap_or(json), line),
            _ => self.unknown_types.note(&kind, line),
        }
    }

    fn finish(&mut self, out: &mut Vec<Observation>) {
        self.leave_session(&mut Saying { agent: Agent::Main, at: None, span: self.last, out });
    }
}

impl OpenCodeRun {
    fn in_session(&mut self, session: String, line: &mut Saying<'_>) {
        if self.session == session {
            return;
        }
        self.leave_session(line);
        self.doubts.begin_turn();
        self.has_result = false;
        line.out.push(Observation::Receipt(Receipt {
            provider: Some(Provider::OpenCode),
            provider_session_id: Some(session.clone()),
            ..Receipt::default()
        }));
        line.out.push(Observation::Input { text: None, at: line.at, span: line.span });
        self.session = session;
    }

    fn leave_session(&mut self, line: &mut Saying<'_>) {
        if core::mem::take(&mut self.step_is_open) {
            line.usage(self.doubts.tell(&Agent::Main, None));
        }
        if let Some((at, span)) = self.ended.take() {
            self.result(Outcome::Completed, at, span, line);
        }
    }

    fn result(&mut self, status: Outcome, at: Option<Timestamp>, span: ByteSpan, line: &mut Saying<'_>) {
        if !core::mem::replace(&mut self.has_result, true) {
            line.out.push(Observation::Result { status, cost_usd: None, duration_secs: None, at, span });
        }
    }

    fn step_start(&mut self, line: &mut Saying<'_>) {
        if core::mem::replace(&mut self.step_is_open, true) {
            line.usage(self.doubts.tell(&Agent::Main, line.at));
        }
        self.ended = None;
    }

    fn step_finish(&mut self, part: Json<'_>, line: &mut Saying<'_>) {
        self.step_is_open = false;
        let [id, reason, cost, tokens] = part.fields(["id", "reason", "cost", "tokens"]);
        let reason = reason.and_then(Json::text).unwrap_or_default();
        self.ended = (!matches!(&*reason, "tool-calls" | "unknown" | "")).then_some((line.at, line.span));
        let Some(id) = id.and_then(Json::name) else {
            line.note(NoteKind::UsageWithoutKey, "a step without an id");
            return;
        };
        let spent = Spent::read(tokens, cost);
        if spent.is_illegible {
            line.note(NoteKind::IllegibleFigure, "a figure of a step cannot be read");
        }
        let mut report = spent.report(id);
        report.observed_at = line.at;
        report.request_key = Some(report.key.clone()).filter(|key| key.len() >= UNIQUE_ID);
        line.usage([report]);
    }

    fn part(&mut self, part: Json<'_>, line: &mut Saying<'_>) {
        if let Some(agent) = parts::subagent(part, &Agent::Main) {
            line.out.push(Observation::Agent(agent));
            line.usage(self.doubts.tell(&Agent::Main, line.at));
        }
        let [id, kind] = part.fields(["id", "type"]).map(|field| field.and_then(Json::name).unwrap_or_default());
        if !parts::tell(&id, part, self.detail, line) {
            self.unknown_types.note(&format!("part {kind:?}"), line);
        }
    }

    fn error(&mut self, error: Json<'_>, line: &mut Saying<'_>) {
        let (code, message) = parts::error(error);
        let status = if code == "MessageAbortedError" { Outcome::Interrupted } else { Outcome::Failed };
        if self.detail == Detail::Everything {
            line.event(ConversationEvent::Error { code, message });
        }
        line.usage(self.doubts.tell(&Agent::Main, line.at));
        self.step_is_open = false;
        self.result(status, line.at, line.span, line);
    }
}
