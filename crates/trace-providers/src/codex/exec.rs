//! `codex exec --json`: what each line means.
//!
//! Sources: openai/codex@029bf4d55c5d `codex-rs/exec/src/event_processor_with_jsonl_output.rs` (what is printed when),
//! openai/codex@08a1f30ca23f `codex-rs/exec/src/exec_events.rs` (the types), and recordings of Codex 0.171.
//!
//! | line | what becomes of it |
//! |---|---|
//! | `thread.started` | a receipt; the thread that totals are of |
//! | `turn.started` | a prompt, whose text no line shows |
//! | `item.started`, `item.updated`, `item.completed`, `item.plan.delta` | items |
//! | `request_user_input` | a tool that waits for a person |
//! | `error` | an error; often a notice that something is tried again, so it fails nothing |
//! | `turn.completed` | the usage of the turn; a result |
//! | `turn.failed` | an error, unless an `error` line had the same words (the client repeats its last one); a result |
//!
//! No line has a time, a model or a cost. A turn that is interrupted has no last line: the process ends, or the next
//! turn starts. One process prints one turn, but several may share an output.

use alloc::{format, string::String, vec::Vec};

use trace_model::{
    event::{ConversationEvent, Item, ItemData, ItemStatus, Receipt},
    span::ByteSpan,
    turn::Outcome,
    usage::{Agent, UsageReport},
    words::Provider,
};

use super::{
    items::{Items, Stage, UnknownItem, words},
    spending::Spending,
};
use crate::{
    interpreter::Records,
    json::Json,
    observation::Observation,
    recognise::SessionStart,
    saying::{LastError, Saying, UnknownTypes},
    source::{Detail, SourceFormat},
};

/// The rules of the stream, and what they remember of it.
#[derive(Debug)]
pub(crate) struct CodexExec {
    thread: Option<String>,
    /// Whether a turn was started and has no result yet.
    turn_is_open: bool,
    items: Items,
    spending: Spending,
    /// `turn.failed` repeats it.
    last_error: LastError,
    unknown_types: UnknownTypes,
}

impl Records for CodexExec {
    const PROVIDER: Provider = Provider::Codex;
    const FORMAT: SourceFormat = SourceFormat::CodexExec;

    fn new(start: SessionStart) -> Self {
        Self {
            thread: None,
            turn_is_open: false,
            items: Items::default(),
            spending: Spending::new(start),
            last_error: LastError::default(),
            unknown_types: UnknownTypes::default(),
        }
    }

    fn reader(_: Detail) -> Self {
        Self::new(SessionStart::New)
    }

    fn resume(_: Detail, _: &str) -> Option<Self> {
        None
    }

    fn state(&self) -> Option<String> {
        None
    }

    /// A line has one of the types that have a dot in them, and what goes with it. `error` is a word of everyone's.
    fn is_record(json: Json<'_>) -> bool {
        let [kind, thread, item] = json.fields(["type", "thread_id", "item"]);
        match kind.and_then(Json::text).as_deref() {
            Some("thread.started") => thread.and_then(Json::name).is_some(),
            Some("turn.started" | "turn.completed" | "turn.failed") => true,
            Some("item.started" | "item.updated" | "item.completed") => item.is_some(),
            _ => false,
        }
    }

    fn session_id(json: Json<'_>) -> Option<String> {
        let [kind, thread] = json.fields(["type", "thread_id"]).map(|field| field.and_then(Json::name));
        thread.filter(|_| kind.is_some_and(|kind| kind == "thread.started"))
    }

    fn record(&mut self, json: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>) {
        let line = &mut Saying { agent: Agent::Main, at: None, span, out };
        match json.field("type").and_then(Json::name).as_deref().unwrap_or_default() {
            "thread.started" => self.thread_started(json, line),
            "turn.started" => self.turn_started(line),
            "item.started" => self.item(Stage::Started, json, line),
            "item.updated" => self.item(Stage::Updated, json, line),
            "item.completed" => self.item(Stage::Completed, json, line),
            "item.plan.delta" => plan_delta(json, line),
            "request_user_input" => request_user_input(json, line),
            "error" => self.last_error.tell(String::from("error"), words(json), line),
            "turn.completed" => self.turn_completed(json, line),
            "turn.failed" => self.turn_failed(json, line),
            kind => self.unknown_types.note(kind, line),
        }
    }

    fn finish(&mut self, out: &mut Vec<Observation>) {
        out.extend(self.leave_turn().map(Observation::Usage));
    }
}

impl CodexExec {
    fn thread_started(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        let Some(thread) = json.field("thread_id").and_then(Json::name) else { return };
        if self.thread.as_ref() == Some(&thread) {
            return;
        }
        line.usage(self.leave_turn());
        self.spending.begin_thread(&thread);
        line.out.push(Observation::Receipt(Receipt {
            provider: Some(Provider::Codex),
            provider_session_id: Some(thread.clone()),
            ..Receipt::default()
        }));
        self.thread = Some(thread);
    }

    fn turn_started(&mut self, line: &mut Saying<'_>) {
        line.usage(self.leave_turn());
        self.turn_is_open = true;
        self.spending.begin_turn();
        self.last_error = LastError::default();
        line.out.push(Observation::Input { text: None, at: None, span: line.span });
    }

    /// Leaves a turn that has no result, and returns what is known of its usage: that there may be some.
    fn leave_turn(&mut self) -> Option<UsageReport> {
        core::mem::take(&mut self.turn_is_open).then(|| self.spending.leave_turn())
    }

    fn item(&mut self, stage: Stage, json: Json<'_>, line: &mut Saying<'_>) {
        let Some(item) = json.field("item") else { return };
        let kind = item.field("type").and_then(Json::name).unwrap_or_default();
        if kind == "collab_tool_call" {
            self.spending.delegate();
        }
        match self.items.event(stage, &kind, item) {
            Ok(Some(event)) => line.event(event),
            Ok(None) => {}
            Err(UnknownItem) => self.unknown_types.note(&format!("item {kind:?}"), line),
        }
    }

    fn turn_completed(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        self.end_turn(line);
        self.spending.settle(json.field("usage"), line);
        result(Outcome::Completed, line);
    }

    fn turn_failed(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        self.end_turn(line);
        self.last_error.tell(String::from("turn_failed"), words(json.field("error").unwrap_or(json)), line);
        line.usage([self.spending.leave_turn()]);
        result(Outcome::Failed, line);
    }

    /// Takes the end of a turn. If the line that started it is missing, this one tells that there was a prompt.
    fn end_turn(&mut self, line: &mut Saying<'_>) {
        if !self.turn_is_open {
            self.turn_started(line);
        }
        self.turn_is_open = false;
    }
}

fn result(status: Outcome, line: &mut Saying<'_>) {
    line.out.push(Observation::Result { status, cost_usd: None, duration_secs: None, at: None, span: line.span });
}

fn plan_delta(json: Json<'_>, line: &mut Saying<'_>) {
    let [item_id, delta] = json.fields(["item_id", "delta"]).map(|field| field.and_then(Json::name));
    if let Some(content) = delta {
        let data = ItemData::PlanText { content };
        line.event(ConversationEvent::ItemUpdated { turn_id: None, item_id: item_id.unwrap_or_default(), data });
    }
}

fn request_user_input(json: Json<'_>, line: &mut Saying<'_>) {
    let [call, questions] = json.fields(["call_id", "questions"]);
    let item = Item::Tool {
        id: call.and_then(Json::name).unwrap_or_default(),
        name: String::from("request_user_input"),
        status: ItemStatus::Pending,
        input: questions.map(|questions| String::from(questions.source())),
        output: None,
    };
    line.event(ConversationEvent::ItemStarted { turn_id: None, item });
}
