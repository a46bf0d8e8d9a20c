//! `claude -p --output-format stream-json --verbose`: what each line means.
//!
//! Sources: superset-sh/superset@5953a894bf38 `packages/chat-runtime/src/harness/claude/fixtures` (recorded from a
//! client of 2026), banteg/takopi `tests/fixtures/claude_stream_json_session.jsonl`, docs.rs `claus` 0.2.2, hexdocs
//! `claude_code`, <https://platform.claude.com/docs/en/agent-sdk/cost-tracking>, and recordings of Claude Code 2.1.
//!
//! | line | what becomes of it |
//! |---|---|
//! | `system`/`init` | a receipt; announces a prompt |
//! | `system`/`task_started` | a subagent: its id, kind, prompt and tool call |
//! | other `system`, `rate_limit_event` | nothing: progress, hooks and compaction are no part of the exchange and cost nothing of their own |
//! | `assistant` | items; an error; the usage of its reply |
//! | `user` | the prompt, or the results of tools |
//! | `stream_event` | deltas of text and thinking; the usage of its reply |
//! | `result` | errors; the remainders of the running total; the result |
//!
//! With partial messages the whole `assistant` lines come as well. Both are observed: `root_output` passes over a whole
//! message after deltas.

use alloc::{format, string::String, vec::Vec};

use trace_model::{
    event::{ConversationEvent, Receipt},
    span::ByteSpan,
    timestamp::Timestamp,
    usage::UsageReport,
    words::Provider,
};

use super::{
    agents::Agents,
    content::{Beside, Block, ContentBlock, OpenItems},
    prompts::{Prompts, is_no_prompt},
    replies::{Message, Replies},
    result::TurnResult,
    words,
};
use crate::{
    account::Account,
    interpreter::Records,
    json::Json,
    observation::{NoteKind, Observation},
    recent::Recent,
    recognise::SessionStart,
    saying::{LastError, Saying, UnknownTypes},
    source::{Detail, SourceFormat},
};

/// The types of the lines that these rules can do something with, or know that they need not.
const TYPES: [&str; 6] = ["system", "assistant", "user", "stream_event", "rate_limit_event", "result"];

/// The rules of the stream, and what they remember of it.
#[derive(Debug, Default)]
pub(crate) struct ClaudeStream {
    receipt: Option<Receipt>,
    agents: Agents,
    prompts: Prompts,
    replies: Replies,
    /// The reply that each agent is streaming, by the tool call that the agent runs under; the main agent's has none.
    streaming: Recent<String>,
    items: OpenItems,
    account: Account,
    /// A result repeats it.
    last_error: LastError,
    unknown_types: UnknownTypes,
}

impl Records for ClaudeStream {
    const PROVIDER: Provider = Provider::Claude;
    const FORMAT: SourceFormat = SourceFormat::ClaudeStream;

    /// Each process counts from zero, whether it begins a session or resumes one.
    fn new(_: SessionStart) -> Self {
        Self::default()
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

    /// A line has one of the types and names its session. Those of some transcripts do so, too, and have more.
    fn is_record(json: Json<'_>) -> bool {
        let [kind, session, is_sidechain] = json.fields(["type", "session_id", "isSidechain"]);
        kind.and_then(Json::text).is_some_and(|kind| TYPES.contains(&&*kind))
            && session.and_then(Json::name).is_some()
            && is_sidechain.is_none()
    }

    /// An `init` tells it.
    fn session_id(json: Json<'_>) -> Option<String> {
        let [kind, subtype, session] = json.fields(["type", "subtype", "session_id"]);
        let is = |field: Option<Json<'_>>, word: &str| field.and_then(Json::text).is_some_and(|text| text == word);
        (is(kind, "system") && is(subtype, "init")).then(|| session.and_then(Json::name)).flatten()
    }

    fn record(&mut self, json: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>) {
        let [kind, parent] = json.fields(["type", "parent_tool_use_id"]).map(|field| field.and_then(Json::name));
        let mut line = Saying { agent: self.agents.under(parent.as_deref()), at: None, span, out };
        match kind.as_deref() {
            Some("system") => self.system(json, &mut line),
            Some("assistant") => self.assistant(json, &mut line),
            Some("user") => self.user(json, &mut line),
            Some("stream_event") => self.stream_event(json, parent.as_deref().unwrap_or_default(), &mut line),
            Some("result") => self.result(json, &mut line),
            Some("rate_limit_event") => {}
            kind => self.unknown_types.note(kind.unwrap_or_default(), &mut line),
        }
    }

    fn finish(&mut self, out: &mut Vec<Observation>) {
        let prompt = self.prompts.end();
        self.begin_turn(prompt, out);
    }
}

impl ClaudeStream {
    /// Tells of a prompt, if there is one to tell of.
    fn begin_turn(&mut self, prompt: Option<Observation>, out: &mut Vec<Observation>) {
        if let Some(prompt) = prompt {
            self.account.begin_turn();
            self.last_error = LastError::default();
            out.push(prompt);
        }
    }

    /// Takes a line that the main agent's work on a prompt brings.
    fn answered(&mut self, line: &mut Saying<'_>) {
        if line.agent.is_main() {
            let prompt = self.prompts.answered(line.span);
            self.begin_turn(prompt, line.out);
        }
    }

    fn system(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        match json.field("subtype").and_then(Json::text).as_deref() {
            Some("init") => self.init(json, line),
            Some("task_started") => {
                let started = self.agents.started(json, &line.agent);
                line.out.extend(started.map(Observation::Agent));
            }
            _ => {}
        }
    }

    fn init(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        let [session, model, version] =
            json.fields(["session_id", "model", "claude_code_version"]).map(|field| field.and_then(Json::name));
        let before = self.receipt.as_ref().and_then(|receipt| receipt.provider_session_id.as_deref());
        let is_new_session = before.is_some() && session.is_some() && before != session.as_deref();
        if is_new_session {
            line.out.extend(self.account.begin_process().map(Observation::Usage));
        }
        let prompt = self.prompts.announced(line.span, is_new_session);
        self.begin_turn(prompt, line.out);
        let receipt = Receipt {
            provider: Some(Provider::Claude),
            provider_session_id: session,
            provider_session_path: None,
            model,
            agent_version: version,
        };
        if self.receipt.as_ref() != Some(&receipt) {
            line.out.push(Observation::Receipt(receipt.clone()));
            self.receipt = Some(receipt);
        }
    }

    fn assistant(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        self.answered(line);
        let [message, error, api_error, at] = json.fields(["message", "error", "isApiErrorMessage", "timestamp"]);
        let [id, model, content, usage] =
            message.map(|message| message.fields(["id", "model", "content", "usage"])).unwrap_or_default();
        let [id, model] = [id, model].map(|field| field.and_then(Json::name));
        let message = Message {
            id: id.as_deref().unwrap_or_default(),
            model: model.as_deref(),
            usage,
            at: at.and_then(Json::text).and_then(|time| time.parse::<Timestamp>().ok()),
        };
        let code = error.and_then(Json::name);
        let code = code.or_else(|| api_error.filter(|is_error| is_error.is_true()).map(|_| String::from("api_error")));
        let report = self.usage_of(message, line);
        // What stands in the place of a reply that failed is the error's words.
        if code.is_none() || !message.is_synthetic() {
            self.blocks(message.id, content, line);
        }
        if let Some(code) = code {
            self.last_error.tell(code, content.map(words).unwrap_or_default(), line);
        }
        line.usage(report);
    }

    fn usage_of(&mut self, message: Message<'_>, line: &mut Saying<'_>) -> Option<UsageReport> {
        if message.is_synthetic() {
            return None;
        }
        if message.id.is_empty() {
            if message.usage.is_some() {
                line.note(NoteKind::UsageWithoutKey, "a reply without an id");
            }
            return None;
        }
        self.replies.line(message, &line.agent, &mut self.account)
    }

    fn blocks(&mut self, id: &str, content: Option<Json<'_>>, line: &mut Saying<'_>) {
        let Some(content) = content else { return };
        let mut position = 0_u64;
        content.for_each_element(|block| {
            let replies = &mut self.replies;
            let found = self.items.block_of_reply(&ContentBlock::read(block), || {
                format!("{id}:{}", replies.next_block(id).unwrap_or(position))
            });
            position += 1;
            match found {
                Block::Event(event) => line.event(event),
                Block::Silent => {}
                Block::Unknown(kind) => self.unknown_types.note(&format!("content block {kind:?}"), line),
            }
        });
    }

    fn user(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        let [message, beside, is_replay, flags @ ..] = json.fields([
            "message",
            "tool_use_result",
            "isReplay",
            // What Claude Code flags as written by itself; transcripts have the last three.
            "isSynthetic",
            "isMeta",
            "isCompactSummary",
            "isVisibleInTranscriptOnly",
        ]);
        let Some(content) = message.and_then(|message| message.field("content")) else { return };
        let beside = beside.map(Beside::read).unwrap_or_default();
        let mut texts: Vec<String> = content.name().into_iter().collect();
        let mut has_results = false;
        content.for_each_element(|block| {
            let block = ContentBlock::read(block);
            if block.is("tool_result") {
                has_results = true;
                self.answered(line);
                line.event(self.items.complete(&block, beside));
            } else if block.is("text") {
                texts.extend(block.text.and_then(Json::name));
            }
        });
        let text = texts.join("\n");
        let by_itself = flags.into_iter().flatten().any(Json::is_true) || is_no_prompt(&text);
        if line.agent.is_main() && !has_results && !by_itself {
            let prompt = self.prompts.shown(text, is_replay.is_some_and(Json::is_true), line.span);
            self.begin_turn(prompt, line.out);
        }
    }

    fn stream_event(&mut self, json: Json<'_>, parent: &str, line: &mut Saying<'_>) {
        self.answered(line);
        let Some(event) = json.field("event") else { return };
        let [kind, message, delta, usage, error] = event.fields(["type", "message", "delta", "usage", "error"]);
        match kind.and_then(Json::text).as_deref().unwrap_or_default() {
            "message_start" => self.message_start(message, parent, line),
            "content_block_delta" => {
                if let Some(event) = delta.and_then(delta_event) {
                    line.event(event);
                }
            }
            "message_delta" => {
                let Some(usage) = usage else { return };
                match self.streaming.get(parent) {
                    Some(id) => line.usage(self.replies.delta(id, usage, &mut self.account)),
                    None => line.note(NoteKind::UsageWithoutKey, "message_delta of an unknown reply"),
                }
            }
            "message_stop" => {
                self.streaming.remove(parent);
            }
            "error" => {
                let [code, message] = error.map(|error| error.fields(["type", "message"])).unwrap_or_default();
                let [code, message] = [code, message].map(|field| field.and_then(Json::name).unwrap_or_default());
                self.last_error.tell(code, message, line);
            }
            "content_block_start" | "content_block_stop" | "ping" => {}
            kind => self.unknown_types.note(&format!("stream_event {kind:?}"), line),
        }
    }

    fn message_start(&mut self, message: Option<Json<'_>>, parent: &str, line: &mut Saying<'_>) {
        let [id, model, usage] = message.map(|message| message.fields(["id", "model", "usage"])).unwrap_or_default();
        let [id, model] = [id, model].map(|field| field.and_then(Json::name));
        let id = id.unwrap_or_default();
        let message = Message { id: &id, model: model.as_deref(), usage, at: None };
        let report = self.usage_of(message, line);
        line.usage(report);
        if !id.is_empty() && !message.is_synthetic() {
            let held = id.len();
            self.streaming.insert(parent, id, held);
        }
    }

    fn result(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        self.answered(line);
        let main_model = self.receipt.as_ref().and_then(|receipt| receipt.model.clone());
        let result = TurnResult::read(json, main_model);
        for message in result.errors {
            self.last_error.tell(result.error_code.clone(), message, line);
        }
        if result.statement.is_illegible {
            line.note(NoteKind::IllegibleFigure, "a figure of the total cannot be read");
        }
        let settled = self.account.settle(result.statement);
        if settled.contradicted {
            line.note(NoteKind::TotalBelowRequests, "the requests add up to more than the total");
        }
        line.usage(settled.remainders);
        line.out.push(Observation::Result {
            status: result.status,
            cost_usd: settled.cost,
            duration_secs: result.duration_secs,
            at: None,
            span: line.span,
        });
        self.prompts.settled();
        self.last_error = LastError::default();
    }
}

/// Returns the step that a `content_block_delta` is; the pieces of a tool's input come whole later.
fn delta_event(delta: Json<'_>) -> Option<ConversationEvent> {
    let [kind, text, thinking] = delta.fields(["type", "text", "thinking"]).map(|field| field.and_then(Json::text));
    match kind.as_deref() {
        Some("text_delta") => Some(ConversationEvent::TextDelta { turn_id: None, content: text?.into_owned() }),
        Some("thinking_delta") => {
            Some(ConversationEvent::ReasoningDelta { turn_id: None, content: thinking?.into_owned() })
        }
        _ => None,
    }
}
