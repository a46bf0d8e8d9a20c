//! The rollouts of Codex, `sessions/YYYY/MM/DD/rollout-*.jsonl`: what each line means.
//!
//! Sources: openai/codex@029bf4d55c5d `codex-rs/protocol/src/protocol.rs` (`RolloutItem`, `EventMsg`), recordings of
//! Codex 0.171, and rollouts of clients from 0.40 to 0.146.
//!
//! | line | what becomes of it |
//! |---|---|
//! | `session_meta`; a bare first line | the session and its parent, a receipt; see [`super::ancestry`] |
//! | `turn_context` | the model of what follows |
//! | `event_msg`: turns, prompts, errors | see [`super::turns`] |
//! | `event_msg`: `token_count`; `token_usage_record` | usage, see [`super::counter`] |
//! | `event_msg`: what else happened | nothing: it repeats what the model saw or did |
//! | `response_item` | the exchange as the model sees it, see [`super::response`]; a prompt is told by its event |
//! | `compacted` | that the context was replaced |
//! | `world_state`, `inter_agent_communication_metadata` | nothing |
//!
//! Clients before about September 2025 write `response_item`s bare, without time, envelope, events or usage: there, the
//! messages of the user that the client did not write itself are the prompts.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};
use trace_model::{
    event::{ConversationEvent, Receipt},
    span::ByteSpan,
    turn::Outcome,
    usage::{Agent, UsageReport},
    words::{Grain, Provider, Quality},
};

use super::{
    ancestry::Ancestry,
    counter::{Counter, Growth},
    items::words,
    response::{self, Calls},
    tally::Tally,
    turns::{PromptLine, Turns, request_key},
};
use crate::{
    interpreter::Records,
    json::Json,
    observation::{NoteKind, Observation, SessionSeen},
    recognise::SessionStart,
    saying::{LastError, Saying, UnknownTypes},
    source::{Detail, SourceFormat},
    typed::{self, Part as _, parts},
};

/// What a state is of; another one cannot be gone on from.
const STATE_VERSION: u32 = 1;

/// Events that tell nothing that is not told by other lines, or that concern the client alone.
const REPEATED_EVENTS: &str = "agent_message agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break \
    background_event collab_agent_interaction_begin collab_agent_interaction_end collab_agent_spawn_begin \
    collab_agent_spawn_end collab_close_begin collab_close_end collab_resume_begin collab_resume_end \
    collab_waiting_begin collab_waiting_end context_compacted deprecation_notice dynamic_tool_call_request \
    dynamic_tool_call_response entered_review_mode exec_command_begin exec_command_end exited_review_mode \
    guardian_assessment image_generation_begin image_generation_end item_completed item_started mcp_tool_call_begin \
    mcp_tool_call_end model_reroute patch_apply_begin patch_apply_end plan_update session_configured stream_error \
    sub_agent_activity thread_goal_updated thread_name_updated thread_rolled_back thread_settings_applied turn_diff \
    undo_completed undo_started view_image_tool_call warning web_search_begin web_search_end";

parts! {
    /// A line, of which a part is looked at only where its type asks for it.
    struct Line<'a> {
        timestamp: Option<Json<'a>> = "timestamp",
        kind: Option<Json<'a>> = "type",
        payload: Option<Json<'a>> = "payload",
    }
}

parts! {
    /// An event, of which the commonest one is read at once.
    struct Event<'a> {
        kind: Option<Json<'a>> = "type",
        count: Count<'a> = "info",
    }
}

parts! {
    /// What a `token_count` states.
    struct Count<'a> {
        total: Option<Json<'a>> = "total_token_usage",
        last: Option<Json<'a>> = "last_token_usage",
        context_window: Option<Json<'a>> = "model_context_window",
    }
}

/// The rules of rollouts, and what they remember of one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct CodexRollout {
    #[serde(skip)]
    detail: Detail,
    session: Option<Session>,
    /// Whether the lines are bare items.
    is_bare: bool,
    ancestry: Ancestry,
    counter: Counter,
    turns: Turns,
    calls: Calls,
    model: Option<String>,
    context_window: Option<u64>,
    /// Whether it was noted that copied lines cannot be told from the thread's own.
    is_noted: bool,
    unknown_types: UnknownTypes,
    /// `task_complete` repeats it.
    last_error: LastError,
}

/// What was told of the session.
#[derive(Debug, Serialize, Deserialize)]
struct Session {
    id: String,
    parent: Option<String>,
    has_cwd: bool,
}

impl Records for CodexRollout {
    const PROVIDER: Provider = Provider::Codex;
    const FORMAT: SourceFormat = SourceFormat::CodexRollout;

    fn new(_: SessionStart) -> Self {
        Self::default()
    }

    fn reader(detail: Detail) -> Self {
        Self { detail, ..Self::default() }
    }

    fn resume(detail: Detail, state: &str) -> Option<Self> {
        let (version, rules): (u32, Self) = serde_json::from_str(state).ok()?;
        (version == STATE_VERSION).then_some(Self { detail, ..rules })
    }

    fn state(&self) -> Option<String> {
        serde_json::to_string(&(STATE_VERSION, self)).ok()
    }

    /// A line has one of the types and a payload; a bare first line has no type, but an id, a time and instructions,
    /// which may be null.
    fn is_record(json: Json<'_>) -> bool {
        let [kind, time, payload, id] = json.fields(["type", "timestamp", "payload", "id"]);
        let has_time = time.and_then(Json::text).is_some();
        match kind.and_then(Json::text).as_deref() {
            Some(
                "session_meta"
                | "turn_context"
                | "event_msg"
                | "response_item"
                | "compacted"
                | "world_state"
                | "token_usage_record"
                | "inter_agent_communication_metadata",
            ) => has_time && payload.is_some_and(|payload| payload.source().starts_with('{')),
            Some(_) => false,
            None => {
                let is_header = has_time && id.and_then(Json::text).is_some();
                is_header && payload.is_none() && json.source().contains("\"instructions\"")
            }
        }
    }

    fn session_id(json: Json<'_>) -> Option<String> {
        let [kind, payload] = json.fields(["type", "payload"]);
        let is_meta = kind.and_then(Json::text).is_some_and(|kind| kind == "session_meta");
        payload.filter(|_| is_meta)?.field("id")?.name()
    }

    fn line(&mut self, text: &str, span: ByteSpan, out: &mut Vec<Observation>) -> Result<(), serde_json::Error> {
        let line: Line<'_> = typed::read(text)?;
        match line.payload {
            Some(payload) => self.enveloped(&line, payload, span, out),
            None => self.bare(Json::object(text)?, span, out),
        }
        Ok(())
    }

    fn record(&mut self, json: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>) {
        let line = Line::of(Some(json));
        match line.payload {
            Some(payload) => self.enveloped(&line, payload, span, out),
            None => self.bare(json, span, out),
        }
    }

    fn finish(&mut self, out: &mut Vec<Observation>) {
        let span = crate::lines::span(0, 0);
        let line = &mut Saying { agent: Agent::Main, at: None, span, out };
        self.turns.settle(self.ancestry.owner(), line);
    }
}

impl CodexRollout {
    fn enveloped(&mut self, line: &Line<'_>, payload: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>) {
        let kind = line.kind.and_then(Json::text).unwrap_or_default();
        if kind == "response_item" && self.detail == Detail::Usage {
            return;
        }
        let at = line.timestamp.and_then(Json::text).and_then(|time| time.parse().ok());
        let line = &mut Saying { agent: Agent::Main, at, span, out };
        match &*kind {
            "session_meta" => self.session_meta(payload, line),
            "turn_context" => self.turn_context(payload, line),
            "event_msg" => self.event(payload, line),
            "token_usage_record" => self.token_usage_record(payload, line),
            "response_item" => self.response_item(payload, line),
            "compacted" => self.compacted(payload, line),
            "world_state" | "inter_agent_communication_metadata" => {}
            kind => self.unknown_types.note(kind, line),
        }
    }

    fn session_meta(&mut self, meta: Json<'_>, line: &mut Saying<'_>) {
        let [id, fork, parent, source] = meta.fields(["id", "forked_from_id", "parent_thread_id", "source"]);
        let [cwd, version, time] =
            meta.fields(["cwd", "cli_version", "timestamp"]).map(|field| field.and_then(Json::name));
        let Some(id) = id.and_then(Json::name) else { return };
        let spawned_by = || source?.field("subagent")?.field("thread_spawn")?.field("parent_thread_id")?.name();
        let parent = parent.and_then(Json::name).or_else(spawned_by);
        let fork = fork.and_then(Json::name);
        // The lines are those of the thread that this one is a fork of.
        if !self.ancestry.meta(&id, fork.as_deref().or(parent.as_deref())) {
            return;
        }
        let parent = parent.or(fork).filter(|parent| *parent != id);
        line.at = time.and_then(|time| time.parse().ok()).or(line.at);
        self.session = Some(Session { id: id.clone(), parent, has_cwd: cwd.is_some() });
        self.tell_session(cwd, line);
        line.out.push(Observation::Receipt(Receipt {
            provider: Some(Provider::Codex),
            provider_session_id: Some(id),
            agent_version: version,
            ..Receipt::default()
        }));
    }

    fn tell_session(&self, cwd: Option<String>, line: &mut Saying<'_>) {
        if let Some(Session { id, parent, .. }) = &self.session {
            let seen = SessionSeen { id: id.clone(), parent: parent.clone(), cwd, at: line.at };
            line.out.push(Observation::Session(seen));
        }
    }

    fn turn_context(&mut self, context: Json<'_>, line: &mut Saying<'_>) {
        let [turn, model, cwd] = context.fields(["turn_id", "model", "cwd"]).map(|field| field.and_then(Json::name));
        if let Some(turn) = turn {
            self.ancestry.turn(&turn);
            self.turns.name(turn);
        }
        if let Some(session) = &mut self.session
            && !session.has_cwd
            && cwd.is_some()
        {
            session.has_cwd = true;
            self.tell_session(cwd, line);
        }
        if model.is_some() && model != self.model {
            self.model.clone_from(&model);
            line.out.push(Observation::Receipt(Receipt {
                provider: Some(Provider::Codex),
                model,
                ..Receipt::default()
            }));
        }
    }

    fn event(&mut self, event: Json<'_>, line: &mut Saying<'_>) {
        // The text is an object, or tells nothing.
        let Event { kind, count } = typed::read(event.source()).unwrap_or_default();
        let kind = kind.and_then(Json::text).unwrap_or_default();
        match &*kind {
            "token_count" => self.token_count(&count, line),
            "task_started" | "turn_started" => self.task_started(event, line),
            "user_message" => {
                let text = event.field("message").and_then(Json::text).unwrap_or_default().into_owned();
                self.prompt(PromptLine::Event, text, line);
            }
            "item_completed" => {
                if let Some(text) = event.field("item").and_then(user_message) {
                    self.prompt(PromptLine::Item, text, line);
                }
            }
            "task_complete" | "turn_complete" => self.task_complete(event, line),
            "turn_aborted" => self.end_turn(Outcome::Interrupted, line),
            "error" => {
                self.turns.fail(line);
                self.tell_error("error", event, line);
            }
            kind if REPEATED_EVENTS.split_ascii_whitespace().any(|repeated| repeated == kind) => {}
            kind => self.unknown_types.note(kind, line),
        }
    }

    fn task_started(&mut self, event: Json<'_>, line: &mut Saying<'_>) {
        let [turn, window] = event.fields(["turn_id", "model_context_window"]);
        let turn = turn.and_then(Json::name);
        self.set_context_window(window);
        self.turns.begin(turn.clone(), self.ancestry.owner(), line);
        if let Some(turn) = turn {
            self.ancestry.turn(&turn);
        }
        self.last_error = LastError::default();
    }

    fn set_context_window(&mut self, stated: Option<Json<'_>>) {
        self.context_window = stated.and_then(Json::number).filter(|window| *window > 0).or(self.context_window);
    }

    fn prompt(&mut self, kind: PromptLine, text: String, line: &mut Saying<'_>) {
        if self.turns.prompt(kind, text, self.ancestry.owner(), line) {
            self.tell_turn_started(line);
        }
    }

    /// Tells of a turn that no prompt began.
    fn tell_turn(&mut self, line: &mut Saying<'_>) {
        if self.turns.tell(line) {
            self.tell_turn_started(line);
        }
    }

    fn tell_turn_started(&self, line: &mut Saying<'_>) {
        if self.detail == Detail::Everything
            && let Some(turn_id) = self.turns.id()
        {
            line.event(ConversationEvent::TurnStarted { turn_id: Some(turn_id) });
        }
    }

    fn task_complete(&mut self, event: Json<'_>, line: &mut Saying<'_>) {
        let error = event.field("error");
        if let Some(error) = error {
            self.tell_turn(line);
            self.tell_error("turn_failed", error, line);
        }
        self.end_turn(if error.is_some() { Outcome::Failed } else { Outcome::Completed }, line);
    }

    fn end_turn(&mut self, stated: Outcome, line: &mut Saying<'_>) {
        self.tell_turn(line);
        let Some(status) = self.turns.end(stated) else { return };
        if self.detail == Detail::Everything {
            line.event(ConversationEvent::TurnCompleted { turn_id: self.turns.id(), status });
        }
        self.turns.conclude_here(status, self.ancestry.owner(), line);
    }

    fn tell_error(&mut self, code: &str, error: Json<'_>, line: &mut Saying<'_>) {
        if self.detail == Detail::Everything {
            self.last_error.tell(String::from(code), words(error), line);
        }
    }

    fn token_count(&mut self, count: &Count<'_>, line: &mut Saying<'_>) {
        let Count { total, last, context_window } = count;
        self.set_context_window(*context_window);
        let last = last.map(Tally::of);
        let growth = match total.map(Tally::of) {
            Some(total) => self.counter.total(total, last),
            None => last.and_then(|last| self.counter.request(last)),
        };
        self.usage(growth, last, line);
    }

    /// Takes the figures of a response. Those of another thread are in that thread's own file.
    fn token_usage_record(&mut self, record: Json<'_>, line: &mut Saying<'_>) {
        let [thread, turn, usage] = record.fields(["thread_id", "turn_id", "usage"]);
        if thread.and_then(Json::name).is_some_and(|thread| !self.ancestry.names(&thread)) {
            return;
        }
        if let Some(turn) = turn.and_then(Json::name) {
            self.ancestry.turn(&turn);
        }
        let usage = usage.map(Tally::of);
        let growth = usage.and_then(|usage| self.counter.request(usage));
        self.usage(growth, usage, line);
    }

    fn usage(&mut self, growth: Option<Growth>, last: Option<Tally>, line: &mut Saying<'_>) {
        let Some(Growth { key, tally, is_request }) = growth else { return };
        self.tell_turn(line);
        self.turns.go_on();
        let (classes, is_illegible) = tally.classes();
        if is_illegible {
            line.note(NoteKind::IllegibleFigure, "a figure of the total cannot be read");
        }
        if !self.ancestry.is_resolved() && !core::mem::replace(&mut self.is_noted, true) {
            let told = "it cannot be told which lines are copies of the parent's";
            line.note(NoteKind::UnresolvedFork, told);
        }
        let [input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens] = classes;
        let is_whole = !is_illegible && input_tokens.is_some() && output_tokens.is_some();
        let grain = if is_request { Grain::Request } else { Grain::Turn };
        let quality = if is_whole { Quality::Exact } else { Quality::LowerBound };
        let request_key = request_key(self.ancestry.owner(), &key);
        line.usage([UsageReport {
            request_key,
            model: self.model.clone(),
            observed_at: line.at,
            input_tokens,
            cache_read_tokens,
            cache_write_tokens,
            output_tokens,
            reasoning_tokens,
            context_tokens: last.and_then(|last| last.input()),
            context_window_tokens: self.context_window,
            ..UsageReport::new(key, grain, quality)
        }]);
    }

    fn response_item(&mut self, item: Json<'_>, line: &mut Saying<'_>) {
        if let Some(event) = response::event(item, self.turns.id().as_deref(), &mut self.calls) {
            self.tell_turn(line);
            line.event(event);
        }
    }

    fn compacted(&mut self, compacted: Json<'_>, line: &mut Saying<'_>) {
        if self.detail == Detail::Everything {
            let message = compacted.field("message").and_then(Json::name);
            line.compaction(String::new(), message.as_deref());
        }
    }

    /// Takes a line that has no envelope: the first one, or an item.
    fn bare(&mut self, json: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>) {
        let line = &mut Saying { agent: Agent::Main, at: None, span, out };
        if json.field("type").is_none() {
            let is_header = json.field("id").is_some();
            self.is_bare |= is_header && self.session.is_none();
            if is_header {
                let time = json.field("timestamp").and_then(Json::text);
                line.at = time.and_then(|time| time.parse().ok());
                self.session_meta(json, line);
            }
            return;
        }
        if !self.is_bare {
            let kind = json.field("type").and_then(Json::text).unwrap_or_default();
            return self.unknown_types.note(&kind, line);
        }
        if let Some(text) = response::prompt(json) {
            self.prompt(PromptLine::Item, text, line);
        } else if self.detail == Detail::Everything {
            self.response_item(json, line);
        }
    }
}

/// Returns the text of an item that is a prompt.
fn user_message(item: Json<'_>) -> Option<String> {
    let [kind, content] = item.fields(["type", "content"]);
    kind.and_then(Json::text).filter(|kind| kind == "UserMessage")?;
    Some(content.map(response::text).unwrap_or_default())
}
