//! What the header and the messages of a session mean, whether they are lines or parts of one document.
//!
//! | part | what becomes of it |
//! |---|---|
//! | header, `$set` | the session; a receipt |
//! | `user` | the prompt, unless the client wrote it, see [`super::message`] |
//! | `gemini` | thoughts, text and tools, each once; the usage of its request; a receipt where the model changes |
//! | `error`, `warning`, `info` | an error; a doubt about the usage of the turn, see [`super::turns`] |
//! | `$set.messages` | the usage of replies whose own line is lost; a doubt where the last message is taken back |
//! | `$rewindTo` | nothing: what it takes out of the context was paid for, and its turns were turns |
//!
//! A message is written again whenever more is known of it, with the same id, and the last one counts (measured: each
//! reply with a tool call comes twice). So its usage is reported again under the same key, and of its text, thoughts
//! and tools only what is new is told. A list of all messages in `$set.messages` repeats them in the form in which
//! they are sent to the model: nothing of it is told again.
//!
//! A session of kind `subagent` is an agent's whose launch is that of another session. Its file does not say of which:
//! the folder that holds it is named after that session.

use alloc::{borrow::Cow, collections::VecDeque, format, string::String, vec::Vec};

use serde::{Deserialize, Serialize};
use trace_model::{
    context::Sha256Hex,
    event::{ConversationEvent, Item, ItemStatus, Receipt},
    span::ByteSpan,
    timestamp::Timestamp,
    usage::Agent,
    words::Provider,
};

use super::{
    message::{Kind, Message},
    turns::{Stop, Turns},
};
use crate::{
    json::Json,
    observation::{AgentSeen, NoteKind, Observation, SessionSeen},
    recent::Recent,
    saying::{Saying, UnknownTypes},
    source::Detail,
};

/// How many ids are remembered: a message is written again soon or not at all.
const MAX_LATEST: usize = 64;

/// How much of an id is remembered, in bytes.
const MAX_ID: usize = 256;

/// The rules, and what they remember of a session.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    detail: Detail,
    memory: Memory,
    /// What was told of each reply.
    told: Recent<Told>,
    /// The tools that were told of, and whether they are done.
    tools: Recent<bool>,
}

/// What is remembered between two readings of a session that grows.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    id: String,
    cwd: Option<String>,
    at: Option<Timestamp>,
    is_subagent: bool,
    /// Whether a subagent's prompt was told.
    has_prompt: bool,
    model: Option<String>,
    /// The ids of the latest prompts, and of the latest subagents.
    prompts: Latest,
    agents: Latest,
    turns: Turns,
    /// Where the last line begins and ends: the end of the file tells how its turn ended.
    last: [u64; 2],
    unknown_types: UnknownTypes,
}

/// What was told of a reply.
#[derive(Debug, Default, Clone, Copy)]
struct Told {
    text: Option<Sha256Hex>,
    thoughts: usize,
}

/// The ids that came last.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Latest(VecDeque<String>);

impl Latest {
    /// Adds an id, and tells whether it is new.
    fn add(&mut self, id: &str) -> bool {
        let id = beginning(id);
        if self.0.iter().any(|known| known == id) {
            return false;
        }
        if self.0.len() == MAX_LATEST {
            self.0.pop_front();
        }
        self.0.push_back(String::from(id));
        true
    }
}

fn beginning(id: &str) -> &str {
    &id[..id.floor_char_boundary(MAX_ID)]
}

impl Conversation {
    pub(super) fn new(detail: Detail) -> Self {
        Self { detail, ..Self::default() }
    }

    /// Returns a conversation as [`state`](Self::state) left it.
    pub(super) fn resume(state: &str) -> Option<Self> {
        Some(Self { memory: serde_json::from_str(state).ok()?, ..Self::new(Detail::Usage) })
    }

    /// Returns what is remembered, where no step of the exchange is told: which of them were would be too much.
    pub(super) fn state(&self) -> Option<String> {
        (self.detail == Detail::Usage).then(|| serde_json::to_string(&self.memory).ok()).flatten()
    }

    /// Begins a line.
    pub(super) fn line<'o>(&mut self, span: ByteSpan, out: &'o mut Vec<Observation>) -> Saying<'o> {
        self.memory.last = [span.start(), span.end()];
        Saying { agent: self.agent(), at: None, span, out }
    }

    /// Takes something of a type that the rules do not know.
    pub(super) fn unknown(&mut self, kind: &str, line: &mut Saying<'_>) {
        self.memory.unknown_types.note(kind, line);
    }

    /// Takes the end of the file.
    pub(super) fn finish(&mut self, out: &mut Vec<Observation>) {
        let [start, end] = self.memory.last;
        let Some(span) = ByteSpan::new(start, end) else { return };
        self.tell_end(&mut Saying { agent: self.agent(), at: None, span, out });
    }

    /// Returns who speaks in this session.
    fn agent(&self) -> Agent {
        if self.memory.is_subagent { Agent::Sub(self.memory.id.clone()) } else { Agent::Main }
    }

    /// Takes the header, or what a `$set` changes of it.
    pub(super) fn header(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        let [id, start, directories, kind] = json.fields(["sessionId", "startTime", "directories", "kind"]);
        let memory = &mut self.memory;
        let before = (memory.id.clone(), memory.cwd.clone(), memory.at, memory.is_subagent);
        let is_new = id.and_then(Json::name).is_some_and(|id| {
            let is_new = memory.id != id;
            memory.id = id;
            is_new
        });
        memory.at = start.and_then(Json::text).and_then(|time| time.parse().ok()).or(memory.at);
        memory.is_subagent |= kind.and_then(Json::text).is_some_and(|kind| kind == "subagent");
        if let Some(directories) = directories {
            // The first one is where the client was started.
            let mut first = None;
            directories.for_each_element(|directory| first = first.take().or_else(|| directory.name()));
            memory.cwd = first.or_else(|| memory.cwd.take());
        }
        let memory = &self.memory;
        if memory.id.is_empty() || before == (memory.id.clone(), memory.cwd.clone(), memory.at, memory.is_subagent) {
            return;
        }
        let (id, cwd, at) = (memory.id.clone(), memory.cwd.clone(), memory.at);
        line.agent = self.agent();
        line.out.push(Observation::Session(SessionSeen { id: id.clone(), parent: None, cwd, at }));
        if self.memory.is_subagent {
            let agent = self.agent();
            line.out.push(Observation::Agent(AgentSeen { agent, at, ..AgentSeen::default() }));
        } else if is_new {
            self.receipt(Some(id), None, line);
        }
    }

    fn receipt(&self, session: Option<String>, model: Option<String>, line: &mut Saying<'_>) {
        line.out.push(Observation::Receipt(Receipt {
            provider: Some(Provider::Gemini),
            provider_session_id: session.or_else(|| Some(self.memory.id.clone()).filter(|id| !id.is_empty())),
            model,
            ..Receipt::default()
        }));
    }

    /// Takes a message.
    pub(super) fn message(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        let message = Message::read(json);
        line.at = message.at();
        let id = message.id().unwrap_or_default();
        match message.kind() {
            Kind::Prompt(text) => self.prompt(&id, text, line),
            Kind::ByClient { stops } => {
                self.memory.turns.asked(beginning(&id), line.at);
                if stops {
                    self.memory.turns.stop(Stop::Interrupted, line.at);
                    self.doubt(line);
                }
            }
            Kind::Reply => self.reply(&message, &id, line),
            Kind::Error => {
                self.memory.turns.stop(Stop::Failed, line.at);
                self.notice("error", &message, line);
                self.doubt(line);
            }
            Kind::Notice { doubtful, stopped } => {
                if stopped {
                    self.memory.turns.stop(Stop::Interrupted, line.at);
                }
                if doubtful {
                    self.notice("warning", &message, line);
                    self.doubt(line);
                }
            }
            Kind::Unknown(kind) => self.unknown(&format!("message {kind:?}"), line),
        }
    }

    fn notice(&self, code: &str, message: &Message<'_>, line: &mut Saying<'_>) {
        if self.detail == Detail::Everything {
            line.event(ConversationEvent::Error { code: String::from(code), message: message.text() });
        }
    }

    fn doubt(&mut self, line: &mut Saying<'_>) {
        let agent = self.agent();
        line.usage(self.memory.turns.doubt(&agent));
    }

    fn prompt(&mut self, id: &str, text: String, line: &mut Saying<'_>) {
        if !id.is_empty() && !self.memory.prompts.add(id) {
            return;
        }
        self.end_turn(line);
        self.memory.turns.begin(beginning(id), line.at);
        if !self.memory.is_subagent {
            line.out.push(Observation::Input { text: Some(text), at: line.at, span: line.span });
        } else if !core::mem::replace(&mut self.memory.has_prompt, true) {
            let seen =
                AgentSeen { agent: self.agent(), prompt: Some(text), at: self.memory.at, ..AgentSeen::default() };
            line.out.push(Observation::Agent(seen));
        }
    }

    /// Ends the turn where another one begins.
    fn end_turn(&mut self, line: &mut Saying<'_>) {
        let end = self.memory.turns.end();
        if end.is_none() && self.memory.turns.is_left() {
            self.doubt(line);
        }
        self.tell_end(line);
    }

    /// Tells how the turn ended, if that is known.
    fn tell_end(&self, line: &mut Saying<'_>) {
        if let Some((status, at)) = self.memory.turns.end().filter(|_| !self.memory.is_subagent) {
            line.out.push(Observation::Result { status, cost_usd: None, duration_secs: None, at, span: line.span });
        }
    }

    fn reply(&mut self, message: &Message<'_>, id: &str, line: &mut Saying<'_>) {
        let model = message.model();
        if !self.memory.is_subagent && model.is_some() && model != self.memory.model {
            self.receipt(None, model.clone(), line);
            self.memory.model = model;
        }
        self.agents(message, line);
        if self.detail == Detail::Everything {
            self.tell_reply(message, id, line);
        }
        usage(message, line);
        self.memory.turns.replied(message.tool_calls.is_some() || message.text().is_empty(), beginning(id), line.at);
        if message.tool_calls.is_some_and(has_cancelled) {
            self.memory.turns.stop(Stop::Interrupted, line.at);
        }
    }

    /// Tells of the subagents that the tools of a reply are.
    fn agents(&mut self, message: &Message<'_>, line: &mut Saying<'_>) {
        let Some(calls) = message.tool_calls else { return };
        if memchr::memmem::find(calls.source().as_bytes(), b"\"agentId\"").is_none() {
            return;
        }
        calls.for_each_element(|call| {
            let [agent, id, name, args] = call.fields(["agentId", "id", "name", "args"]);
            let Some(agent) = agent.and_then(Json::name).filter(|agent| self.memory.agents.add(agent)) else { return };
            let prompt = args.map(|args| String::from(args.source()));
            line.out.push(Observation::Agent(AgentSeen {
                agent: Agent::Sub(agent),
                parent: line.agent.clone(),
                tool_call: id.and_then(Json::name),
                kind: name.and_then(Json::name),
                prompt,
                at: None,
            }));
        });
    }

    /// Takes a list that replaces all messages.
    pub(super) fn replace(&mut self, messages: Json<'_>, line: &mut Saying<'_>) {
        let unanswered = self.memory.turns.unanswered().map(String::from);
        let mut keeps_it = false;
        messages.for_each_element(|json| {
            let message = Message::read(json);
            keeps_it |= message.id().as_deref().map(beginning) == unanswered.as_deref();
            if message.kind() == Kind::Reply {
                line.at = message.at();
                usage(&message, line);
            }
        });
        line.at = None;
        if unanswered.is_some() && !keeps_it {
            if self.memory.turns.end().is_none() {
                self.memory.turns.stop(Stop::Failed, None);
            }
            self.doubt(line);
        }
    }

    fn tell_reply(&mut self, message: &Message<'_>, id: &str, line: &mut Saying<'_>) {
        let mut told = self.told.get(id).copied().unwrap_or_default();
        let mut thoughts = Vec::new();
        if let Some(list) = message.thoughts {
            list.for_each_element(|thought| thoughts.push(thought_text(thought)));
        }
        for (number, text) in thoughts.into_iter().enumerate().skip(told.thoughts) {
            told.thoughts = number + 1;
            let item = Item::Thought { id: format!("{id}:thought:{number}"), text };
            line.event(ConversationEvent::ItemCompleted { turn_id: None, item });
        }
        let text = message.text();
        let hash = Some(Sha256Hex::of(text.as_bytes()));
        if !text.is_empty() && told.text != hash {
            told.text = hash;
            let item = Item::Message { id: String::from(id), text, phase: None };
            line.event(ConversationEvent::ItemCompleted { turn_id: None, item });
        }
        self.told.insert(id, told, size_of::<Told>());
        if let Some(calls) = message.tool_calls {
            calls.for_each_element(|call| self.tell_tool(call, line));
        }
    }

    fn tell_tool(&mut self, call: Json<'_>, line: &mut Saying<'_>) {
        let [id, name, args, status] = call.fields(["id", "name", "args", "status"]);
        let [id, name] = [id, name].map(|field| field.and_then(Json::name).unwrap_or_default());
        let status = match status.and_then(Json::text).as_deref() {
            Some("success") => ItemStatus::Completed,
            Some("error") => ItemStatus::Failed,
            Some("cancelled") => ItemStatus::Interrupted,
            _ => ItemStatus::Running,
        };
        let is_done = status != ItemStatus::Running;
        if self.tools.get(&id).is_some_and(|was_done| *was_done || !is_done) {
            return;
        }
        self.tools.insert(&id, is_done, 1);
        let output = is_done.then(|| tool_output(call)).flatten();
        let item = Item::Tool { id, name, status, input: args.map(|args| String::from(args.source())), output };
        line.event(if is_done {
            ConversationEvent::ItemCompleted { turn_id: None, item }
        } else {
            ConversationEvent::ItemStarted { turn_id: None, item }
        });
    }
}

/// Tells what the request of a reply cost.
fn usage(message: &Message<'_>, line: &mut Saying<'_>) {
    let Some((report, is_illegible)) = message.usage(&line.agent) else { return };
    if is_illegible {
        line.note(NoteKind::IllegibleFigure, "a figure of a reply cannot be read");
    }
    line.usage([report]);
}

fn has_cancelled(calls: Json<'_>) -> bool {
    let mut has = false;
    calls.for_each_element(|call| {
        has |= call.field("status").and_then(Json::text).is_some_and(|status| status == "cancelled");
    });
    has
}

fn thought_text(thought: Json<'_>) -> String {
    let [subject, description] = thought.fields(["subject", "description"]).map(|field| field.and_then(Json::name));
    [subject, description].into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Returns what a tool answered: the words that the model was given, else what a person was shown.
fn tool_output(call: Json<'_>) -> Option<String> {
    let [result, shown] = call.fields(["result", "resultDisplay"]);
    let mut answers: Vec<String> = Vec::new();
    if let Some(result) = result {
        result.for_each_element(|part| {
            let response = part.field("functionResponse").and_then(|response| response.field("response"));
            if let Some(response) = response {
                let [output, error] = response.fields(["output", "error"]);
                answers.push(words(output.or(error).unwrap_or(response)));
            }
        });
    }
    if answers.is_empty() { shown.map(words) } else { Some(answers.join("\n")) }
}

fn words(json: Json<'_>) -> String {
    json.text().map_or_else(|| String::from(json.source()), Cow::into_owned)
}
