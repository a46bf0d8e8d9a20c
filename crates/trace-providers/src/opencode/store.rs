//! The rows of the store of `OpenCode`, one a line: what each means.
//!
//! The store is a database (since 1.2) or a tree of JSON files (before). Whoever reads it makes one source of each
//! session without a parent and of all sessions below it, in this form:
//!
//! ```json
//! {"table":"session","row":{"id":…,"parent_id":…,"title":…,"directory":…,"version":…,"time_created":…,
//!   "time_updated":…}}
//! {"table":"message","row":{"id":…,"session_id":…,"time_created":…,"data":{…}}}
//! {"table":"part","row":{"id":…,"message_id":…,"session_id":…,"data":{…}}}
//! {"table":"session_message","row":{"id":…,"session_id":…,"type":…,"time_created":…,"data":{…}}}
//! ```
//!
//! First come the rows of the sessions, each after its parent; then all messages by time, each with its parts behind
//! it, by id. Rows of `session_message`, which version 2 writes, stand among the messages by time, see [`second`];
//! there is none with the id of a row of `message`. `data` is what the store has as JSON; where that is none, it is
//! its text. Times are milliseconds since 1970.
//!
//! Sources: sst/opencode@31e22f65a23c `session/{index,message-v2,processor}.ts`, ryoppippi/ccusage#1780 and
//! sst/opencode#31136 (forks), and recordings of `OpenCode` 1.18.
//!
//! | row | what becomes of it |
//! |---|---|
//! | the first `session` | the session; a receipt |
//! | another `session` | a subagent |
//! | `message` of the user | the prompt of its parts that are texts and not `synthetic`; of a subagent, its prompt |
//! | `message` of the assistant | a receipt where the model changes; an error; how the turn ended |
//! | `part` `step-finish` | the usage of a request, see [`super::tokens`] |
//! | other parts | items, see [`super::parts`] |
//!
//! * `tokens` of a message is that of its last step, while its `cost` is the sum of all (`session/processor.ts`). So it
//!   counts only where the message has no step that ended, and is a lower bound.
//! * An assistant's message with an error, with a step that has no end, or with nothing that tells its usage leaves a
//!   lower bound: a request was broken off or is running. One that is complete without a `finish` is a command that a
//!   person ran, and no request.
//! * A fork copies all messages, with new ids and the old times. So a request is the same as another one if its message
//!   has the same time, and it the same model, counters, cost and place in the message; that is its `request_key`.
//! * The request for a session's title is in no table.

mod second;

use alloc::{boxed::Box, format, string::String, vec::Vec};

use trace_model::{
    event::{ConversationEvent, Receipt},
    span::ByteSpan,
    timestamp::Timestamp,
    turn::Outcome,
    usage::{Agent, UsageReport},
    words::Provider,
};

use super::{parts, tokens::Spent};
use crate::{
    MAX_LINE,
    doubts::Doubts,
    interpreter::Records,
    json::Json,
    lines::span,
    observation::{AgentSeen, NoteKind, Observation, SessionSeen},
    recent::Recent,
    recognise::SessionStart,
    saying::{Saying, UnknownTypes},
    source::{Detail, SourceFormat},
};

/// The rules of the rows, and what they remember of them.
#[derive(Debug)]
pub(crate) struct OpenCodeStore {
    detail: Detail,
    /// The session that is no other's child.
    root: String,
    model: Option<String>,
    message: Option<Message>,
    /// How the turn ended and when, if the last message of the main agent tells.
    end: Option<(Outcome, Option<Timestamp>)>,
    /// The subagents whose prompt was told.
    prompted: Recent<()>,
    doubts: Doubts,
    /// The last line.
    last: ByteSpan,
    unknown_types: UnknownTypes,
}

/// The message whose parts come.
#[derive(Debug)]
struct Message {
    id: String,
    agent: Agent,
    span: ByteSpan,
    at: Option<Timestamp>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    /// The texts that a person wrote.
    User(String),
    Assistant(Box<Assistant>),
}

/// What an assistant's message says of itself, and what its parts said.
#[derive(Debug)]
struct Assistant {
    model: Option<String>,
    /// When it was made, as it is written; a fork keeps it.
    created: String,
    completed: Option<Timestamp>,
    /// Why it ended.
    finish: Option<String>,
    error: Option<(String, String)>,
    /// What the message itself says that it cost.
    spent: Spent,
    steps_begun: u64,
    steps_ended: u64,
}

impl Records for OpenCodeStore {
    const PROVIDER: Provider = Provider::OpenCode;
    const FORMAT: SourceFormat = SourceFormat::OpenCodeStore;

    fn new(_: SessionStart) -> Self {
        Self::reader(Detail::Everything)
    }

    fn reader(detail: Detail) -> Self {
        Self {
            detail,
            root: String::new(),
            model: None,
            message: None,
            end: None,
            prompted: Recent::default(),
            doubts: Doubts::default(),
            last: span(0, 0),
            unknown_types: UnknownTypes::default(),
        }
    }

    /// The rows are made anew from the store each time.
    fn resume(_: Detail, _: &str) -> Option<Self> {
        None
    }

    fn state(&self) -> Option<String> {
        None
    }

    /// A line has one of the tables and a row with an id.
    fn is_record(json: Json<'_>) -> bool {
        let [table, row] = json.fields(["table", "row"]);
        matches!(table.and_then(Json::text).as_deref(), Some("session" | "message" | "part" | "session_message"))
            && row.and_then(|row| row.field("id")).and_then(Json::name).is_some()
    }

    fn session_id(json: Json<'_>) -> Option<String> {
        let [table, row] = json.fields(["table", "row"]);
        let is_session = table.and_then(Json::text).is_some_and(|table| table == "session");
        row.filter(|_| is_session).and_then(|row| row.field("id")).and_then(Json::name)
    }

    fn record(&mut self, json: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>) {
        self.last = span;
        let [table, row] = json.fields(["table", "row"]);
        let mut line = Saying { agent: Agent::Main, at: None, span, out };
        let Some(row) = row else { return self.unknown_types.note("line without a row", &mut line) };
        match table.and_then(Json::text).as_deref().unwrap_or_default() {
            "session" => self.session(row, &mut line),
            "message" => {
                self.leave_message(&mut line);
                self.enter_message(row, &mut line);
            }
            "part" => self.part(row, &mut line),
            "session_message" => {
                self.leave_message(&mut line);
                self.second_message(row, &mut line);
            }
            table => self.unknown_types.note(&format!("table {table:?}"), &mut line),
        }
    }

    fn finish(&mut self, out: &mut Vec<Observation>) {
        let mut line = Saying { agent: Agent::Main, at: None, span: self.last, out };
        self.leave_message(&mut line);
        self.end_turn(&mut line);
    }
}

impl OpenCodeStore {
    /// Returns whose session it is.
    fn agent_of(&self, session: &str) -> Agent {
        if session == self.root { Agent::Main } else { Agent::Sub(String::from(session)) }
    }

    fn session(&mut self, row: Json<'_>, line: &mut Saying<'_>) {
        let [id, parent, directory, version, created] =
            row.fields(["id", "parent_id", "directory", "version", "time_created"]);
        let [id, parent, cwd, agent_version] = [id, parent, directory, version].map(|field| field.and_then(Json::name));
        let Some(id) = id else { return };
        let at = created.and_then(parts::time);
        if self.root.is_empty() || self.root == id {
            self.root.clone_from(&id);
            line.out.push(Observation::Session(SessionSeen { id: id.clone(), parent, cwd, at }));
            line.out.push(Observation::Receipt(Receipt {
                provider: Some(Provider::OpenCode),
                provider_session_id: Some(id),
                agent_version,
                ..Receipt::default()
            }));
        } else {
            let parent = parent.map_or(Agent::Main, |parent| self.agent_of(&parent));
            line.out.push(Observation::Agent(AgentSeen { agent: Agent::Sub(id), parent, at, ..AgentSeen::default() }));
        }
    }

    fn enter_message(&mut self, row: Json<'_>, line: &mut Saying<'_>) {
        let [id, session, row_created, data] = row.fields(["id", "session_id", "time_created", "data"]);
        let [id, session] = [id, session].map(|field| field.and_then(Json::name).unwrap_or_default());
        if data.is_none_or(|data| !data.source().starts_with('{')) {
            return line.note(NoteKind::BadLine, &format!("the data of message {id:?} are no object"));
        }
        let [role, times] = data.map(|data| data.fields(["role", "time"])).unwrap_or_default();
        let [created, completed] = times.map(|times| times.fields(["created", "completed"])).unwrap_or_default();
        let created = created.or(row_created);
        let agent = self.agent_of(&session);
        let body = match role.and_then(Json::text).as_deref() {
            Some("user") => Body::User(String::new()),
            Some("assistant") => {
                let mut assistant = Assistant::read(data);
                assistant.completed = completed.and_then(parts::time);
                assistant.created = created.map(|created| String::from(created.source())).unwrap_or_default();
                line.agent = agent.clone();
                self.name_model(&assistant, line);
                Body::Assistant(Box::new(assistant))
            }
            role => {
                return self.unknown_types.note(&format!("message of {:?}", role.unwrap_or_default()), line);
            }
        };
        self.message = Some(Message { id, agent, span: line.span, at: created.and_then(parts::time), body });
    }

    fn name_model(&mut self, assistant: &Assistant, line: &mut Saying<'_>) {
        if line.agent.is_main() && assistant.model.is_some() && self.model != assistant.model {
            self.model.clone_from(&assistant.model);
            line.out.push(Observation::Receipt(Receipt {
                provider: Some(Provider::OpenCode),
                provider_session_id: Some(self.root.clone()).filter(|root| !root.is_empty()),
                model: self.model.clone(),
                ..Receipt::default()
            }));
        }
    }

    /// Takes the end of a message and its parts.
    fn leave_message(&mut self, line: &mut Saying<'_>) {
        let Some(message) = self.message.take() else { return };
        let mut of_message = Saying { agent: message.agent, at: message.at, span: message.span, out: &mut *line.out };
        match message.body {
            Body::User(text) => self.prompt(text, &mut of_message),
            Body::Assistant(assistant) => self.replied(message.id, &assistant, &mut of_message),
        }
    }

    fn prompt(&mut self, text: String, line: &mut Saying<'_>) {
        if text.is_empty() {
            return;
        }
        match &line.agent {
            Agent::Main => {
                self.end_turn(line);
                self.doubts.begin_turn();
                line.out.push(Observation::Input { text: Some(text), at: line.at, span: line.span });
            }
            Agent::Sub(session) if self.prompted.get(session).is_none() => {
                self.prompted.insert(session, (), 0);
                // Who started it, its row has told.
                let agent = line.agent.clone();
                line.out.push(Observation::Agent(AgentSeen { agent, prompt: Some(text), ..AgentSeen::default() }));
            }
            Agent::Sub(_) => {}
        }
    }

    fn end_turn(&mut self, line: &mut Saying<'_>) {
        if let Some((status, at)) = self.end.take() {
            let span = line.span;
            line.out.push(Observation::Result { status, cost_usd: None, duration_secs: None, at, span });
        }
    }

    fn replied(&mut self, id: String, assistant: &Assistant, line: &mut Saying<'_>) {
        if let Some((code, message)) = assistant.error.clone().filter(|_| self.detail == Detail::Everything) {
            line.event(ConversationEvent::Error { code, message });
        }
        let has_fallback = assistant.steps_ended == 0 && assistant.spent.is_known();
        if has_fallback {
            usage(id, &assistant.spent, assistant, line);
        }
        let has_open_step = !has_fallback && assistant.has_open_step();
        if has_open_step || assistant.error.is_some() {
            line.usage(self.doubts.tell(&line.agent, line.at));
        }
        if line.agent.is_main() {
            self.end = assistant.end();
        }
    }

    fn part(&mut self, row: Json<'_>, line: &mut Saying<'_>) {
        let [id, message_id, session, part] = row.fields(["id", "message_id", "session_id", "data"]);
        let [id, message_id, session] =
            [id, message_id, session].map(|field| field.and_then(Json::name).unwrap_or_default());
        let Some(part) = part.filter(|part| part.source().starts_with('{')) else {
            return line.note(NoteKind::BadLine, &format!("the data of part {id:?} are no object"));
        };
        line.agent = self.agent_of(&session);
        let mut message = self.message.take().filter(|message| message.id == message_id);
        line.at = message.as_ref().and_then(|message| message.at);
        match message.as_mut().map(|message| &mut message.body) {
            Some(Body::User(text)) => add_text(text, part),
            Some(Body::Assistant(assistant)) => self.part_of_reply(id, part, assistant, line),
            // Its message is lost. Who else than an assistant has steps?
            None => self.part_of_reply(id, part, &mut Assistant::read(None), line),
        }
        self.message = message;
    }

    fn part_of_reply(&mut self, id: String, part: Json<'_>, assistant: &mut Assistant, line: &mut Saying<'_>) {
        let [kind, cost, tokens, reason] = part.fields(["type", "cost", "tokens", "reason"]);
        match kind.and_then(Json::text).as_deref() {
            Some("step-start") => assistant.steps_begun += 1,
            Some("step-finish") => {
                assistant.steps_ended += 1;
                assistant.finish = reason.and_then(Json::name).or_else(|| assistant.finish.take());
                usage(id, &Spent::read(tokens, cost), assistant, line);
            }
            kind => {
                line.out.extend(parts::subagent(part, &line.agent).map(Observation::Agent));
                if !parts::tell(&id, part, self.detail, line) {
                    self.unknown_types.note(&format!("part {:?}", kind.unwrap_or_default()), line);
                }
            }
        }
    }
}

/// Tells what a request cost.
fn usage(key: String, spent: &Spent, assistant: &Assistant, line: &mut Saying<'_>) {
    if spent.is_illegible {
        line.note(NoteKind::IllegibleFigure, "a figure of a step cannot be read");
    }
    let mut report = spent.report(key);
    report.request_key = Some(assistant.request_key(&report));
    report.agent = line.agent.clone();
    report.model.clone_from(&assistant.model);
    report.observed_at = line.at;
    line.usage([report]);
}

/// Adds a text that a person wrote.
fn add_text(texts: &mut String, part: Json<'_>) {
    let [kind, text, synthetic, ignored] = part.fields(["type", "text", "synthetic", "ignored"]);
    let is_text = kind.and_then(Json::text).is_some_and(|kind| kind == "text");
    if !is_text || [synthetic, ignored].into_iter().flatten().any(Json::is_true) {
        return;
    }
    let Some(text) = text.and_then(Json::name).filter(|text| texts.len() + text.len() < MAX_LINE) else { return };
    if !texts.is_empty() {
        texts.push('\n');
    }
    texts.push_str(&text);
}

/// Returns the name of a model, which that of its provider belongs to.
fn model_name(provider: Option<Json<'_>>, model: Option<Json<'_>>) -> Option<String> {
    match [provider, model].map(|field| field.and_then(Json::name)) {
        [Some(provider), Some(model)] => Some(format!("{provider}/{model}")),
        [_, model] => model,
    }
}

impl Assistant {
    fn read(data: Option<Json<'_>>) -> Self {
        let [model, provider, cost, tokens, finish, error] = data
            .map(|data| data.fields(["modelID", "providerID", "cost", "tokens", "finish", "error"]))
            .unwrap_or_default();
        let mut spent = Spent::read(tokens, cost);
        spent.lessen();
        Self {
            model: model_name(provider, model),
            created: String::new(),
            completed: None,
            finish: finish.and_then(Json::name),
            error: error.map(parts::error),
            spent,
            steps_begun: 0,
            steps_ended: 0,
        }
    }

    /// Tells whether a request of the message has no end, or none that tells what it cost.
    ///
    /// A message that is complete without a reason for its end is none of a model: a person ran a command.
    const fn has_open_step(&self) -> bool {
        let is_of_no_model = self.completed.is_some() && self.finish.is_none();
        self.steps_begun > self.steps_ended || (self.steps_ended == 0 && !is_of_no_model)
    }

    /// Returns what a copy of the request has, too.
    fn request_key(&self, report: &UsageReport) -> String {
        let figure = |figure: Option<u64>| figure.map(|figure| format!("{figure}")).unwrap_or_default();
        format!(
            "opencode:{}:{}:{}:{}:{}:{}:{}:{}",
            self.created,
            self.model.as_deref().unwrap_or_default(),
            figure(report.input_tokens),
            figure(report.cache_read_tokens),
            figure(report.cache_write_tokens),
            figure(report.output_tokens),
            report.reported_cost_usd.map(|cost| format!("{cost}")).unwrap_or_default(),
            self.steps_ended.max(1),
        )
    }

    /// Returns how the turn ended, if this message ended it.
    fn end(&self) -> Option<(Outcome, Option<Timestamp>)> {
        let status = match (&self.error, self.finish.as_deref()) {
            (Some((name, _)), _) if name == "MessageAbortedError" => Outcome::Interrupted,
            (Some(_), _) => Outcome::Failed,
            (None, None | Some("tool-calls" | "unknown")) => return None,
            (None, Some(_)) => Outcome::Completed,
        };
        Some((status, self.completed))
    }
}
