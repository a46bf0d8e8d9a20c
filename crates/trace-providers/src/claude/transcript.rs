//! `~/.claude/projects/<project>/<session>.jsonl` and the files of its subagents: what each line means.
//!
//! Sources: jazzyalex/agent-sessions@651e854f4dbf `Resources/Fixtures/stage0/agents/claude`,
//! d-kimuson/claude-code-viewer@9367cf006be9, Mai0313/VibeCodingTracker@7acc4bccbf50,
//! microsoft/vscode-copilot-chat@31acd00a8642 (the samples, Claude Code 1.0 to 2.1.33), the issues that are named with
//! the rules, and recordings of Claude Code 2.1.197.
//!
//! | line | what becomes of it | where |
//! |---|---|---|
//! | any | the session, its folder, the version; `forkedFrom` on copied lines: the session that it is a fork of | here |
//! | `assistant` | items; the usage of its reply; the end of a turn | [`requests`](super::requests), [`turns`](super::turns) |
//! | `assistant` of the model `<synthetic>` | a note; an error, which the turn ends with (Piebald-AI/splitrail#1) | here |
//! | `user` | a prompt, the results of tools, an interruption | [`turns`](super::turns) |
//! | any with `isSidechain` | it is a subagent's | [`sidechains`](super::sidechains) |
//! | `progress`, `user` with `toolUseResult.agentId` | which call started a subagent; never its usage | [`sidechains`](super::sidechains) |
//! | `attachment`/`queued_command` | a prompt | [`turns`](super::turns) |
//! | `system`/`turn_duration` | how long a turn took | [`turns`](super::turns) |
//! | `system`/`compact_boundary` | an item; usage before it still counts | here |
//! | the other types of [`TYPES`] | nothing: they are no part of the exchange and cost nothing of their own |
//! | an unknown type | a note | here |
//!
//! A file can hold several sessions one after the other (measured: the `two-session-ids` sample).

use alloc::{format, string::String, vec::Vec};

use serde::{Deserialize, Serialize};
use trace_model::{
    event::{ConversationEvent, Receipt},
    span::ByteSpan,
    timestamp::Timestamp,
    words::Provider,
};

use super::{
    SYNTHETIC_MODEL,
    content::{Beside, Block, ContentBlock, OpenItems},
    facts::LineFacts,
    requests::{ReplyLine, Requests},
    sidechains::Sidechains,
    turns::{Reply, Turns, UserLine},
    usage::Usage,
    words,
};
use crate::{
    interpreter::Records,
    json::Json,
    observation::{NoteKind, Observation, SessionSeen},
    recognise::SessionStart,
    saying::{Saying, UnknownTypes},
    source::{Detail, SourceFormat},
    typed::{self, Part as _},
};

/// The types of lines that are known.
const TYPES: [&str; 19] = [
    "user",
    "assistant",
    "system",
    "attachment",
    "progress",
    "summary",
    "file-history-snapshot",
    "file-history-delta",
    "queue-operation",
    "last-prompt",
    "ai-title",
    "custom-title",
    "agent-name",
    "mode",
    "permission-mode",
    "pr-link",
    "worktree-state",
    "relocated",
    "bridge-session",
];

/// The version of [`Memory`]. What another one remembered is not gone on from.
const VERSION: u32 = 1;

/// The rules of a transcript.
#[derive(Debug)]
pub(crate) struct ClaudeTranscript {
    detail: Detail,
    memory: Memory,
}

/// What the rules remember of a transcript.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    version: u32,
    session: Session,
    receipt: Receipt,
    sidechains: Sidechains,
    requests: Requests,
    turns: Turns,
    items: OpenItems,
    unknown_types: UnknownTypes,
}

/// What was told of the session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Session {
    id: String,
    parent: Option<String>,
    cwd: Option<String>,
    at: Option<Timestamp>,
}

impl Records for ClaudeTranscript {
    const PROVIDER: Provider = Provider::Claude;
    const FORMAT: SourceFormat = SourceFormat::ClaudeTranscript;

    fn new(_: SessionStart) -> Self {
        Self::reader(Detail::Everything)
    }

    fn reader(detail: Detail) -> Self {
        Self { detail, memory: Memory { version: VERSION, ..Memory::default() } }
    }

    fn resume(detail: Detail, state: &str) -> Option<Self> {
        let memory: Memory = serde_json::from_str(state).ok()?;
        (memory.version == VERSION).then_some(Self { detail, memory })
    }

    fn state(&self) -> Option<String> {
        serde_json::to_string(&self.memory).ok()
    }

    /// A line has one of the types, and names its session or says whether it is a subagent's.
    fn is_record(json: Json<'_>) -> bool {
        let [kind, session, is_sidechain, leaf, snapshot] =
            json.fields(["type", "sessionId", "isSidechain", "leafUuid", "snapshot"]);
        let Some(kind) = kind.and_then(Json::text) else { return false };
        match &*kind {
            "summary" if leaf.is_some() => true,
            "file-history-snapshot" if snapshot.is_some() => true,
            kind => TYPES.contains(&kind) && (session.and_then(Json::name).is_some() || is_sidechain.is_some()),
        }
    }

    fn session_id(json: Json<'_>) -> Option<String> {
        json.field("sessionId").and_then(Json::name)
    }

    fn line(&mut self, text: &str, span: ByteSpan, out: &mut Vec<Observation>) -> Result<(), serde_json::Error> {
        let facts = typed::read(text)?;
        // The exchange is looked at in the text again; only those who read it pay for that.
        let json = match self.detail {
            Detail::Usage => None,
            Detail::Everything => Some(Json::object(text)?),
        };
        self.take(&facts, json, span, out);
        Ok(())
    }

    fn record(&mut self, json: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>) {
        let wanted = Some(json).filter(|_| self.detail == Detail::Everything);
        self.take(&LineFacts::of(Some(json)), wanted, span, out);
    }

    fn finish(&mut self, out: &mut Vec<Observation>) {
        self.memory.turns.ended(out);
    }
}

impl ClaudeTranscript {
    /// Takes a line; `json` is the whole of it if events are wanted.
    fn take(&mut self, facts: &LineFacts<'_>, json: Option<Json<'_>>, span: ByteSpan, out: &mut Vec<Observation>) {
        let at = facts.at.and_then(Json::text).and_then(|at| at.parse::<Timestamp>().ok());
        self.session(facts, at, out);
        let kind = facts.kind.and_then(Json::text).unwrap_or_default();
        let memory = &mut self.memory;
        let (agent, seen) = memory.sidechains.speaker(facts, at);
        out.extend(seen);
        out.extend(memory.sidechains.named_by_parent(facts, &agent));
        let mut line = Saying { agent, at, span, out };
        match &*kind {
            "assistant" => self.assistant(facts, json, &mut line),
            "user" => self.user(facts, json, &mut line),
            "attachment" => self.attachment(facts, &mut line),
            "system" => self.system(facts, json, &mut line),
            kind if TYPES.contains(&kind) => {}
            kind => memory.unknown_types.note(kind, &mut line),
        }
    }

    /// Takes what every line says about its session.
    fn session(&mut self, facts: &LineFacts<'_>, at: Option<Timestamp>, out: &mut Vec<Observation>) {
        let Some(id) = facts.session.and_then(Json::text).filter(|id| !id.is_empty()) else { return };
        let Memory { session, receipt, turns, .. } = &mut self.memory;
        let is_new = session.id != *id;
        if is_new {
            turns.ended(out);
            *session = Session { id: String::from(&*id), ..Session::default() };
        }
        let parent = facts.forked_from.session.filter(|_| session.parent.is_none()).and_then(Json::name);
        let cwd = facts.cwd.filter(|_| session.cwd.is_none()).and_then(Json::name);
        let at = at.filter(|_| session.at.is_none());
        if is_new || parent.is_some() || cwd.is_some() || at.is_some() {
            session.parent = session.parent.take().or(parent);
            session.cwd = session.cwd.take().or(cwd);
            session.at = session.at.or(at);
            let Session { id, parent, cwd, at } = session.clone();
            out.push(Observation::Session(SessionSeen { id, parent, cwd, at }));
        }
        let version = facts.version.and_then(Json::text).filter(|version| !version.is_empty());
        let is_other_version =
            version.as_deref().is_some_and(|version| receipt.agent_version.as_deref() != Some(version));
        let is_main = !facts.is_sidechain.is_some_and(Json::is_true);
        let model = facts.message.model.filter(|_| is_main).and_then(Json::text);
        let model = model.filter(|model| !model.is_empty() && *model != SYNTHETIC_MODEL);
        let is_other_model = model.as_deref().is_some_and(|model| receipt.model.as_deref() != Some(model));
        let is_known = receipt.agent_version.is_some() || receipt.model.is_some();
        let is_other_session = is_known && receipt.provider_session_id.as_deref() != Some(&*id);
        if is_other_version || is_other_model || is_other_session {
            *receipt = Receipt {
                provider: Some(Provider::Claude),
                provider_session_id: Some(id.into_owned()),
                provider_session_path: None,
                model: model.map(String::from).or_else(|| receipt.model.take()),
                agent_version: version.map(String::from).or_else(|| receipt.agent_version.take()),
            };
            out.push(Observation::Receipt(receipt.clone()));
        }
    }

    fn assistant(&mut self, facts: &LineFacts<'_>, json: Option<Json<'_>>, line: &mut Saying<'_>) {
        let message = &facts.message;
        let model = message.model.and_then(Json::text);
        let is_synthetic = model.as_deref() == Some(SYNTHETIC_MODEL);
        let code = facts.error.and_then(Json::name);
        let code = code.or_else(|| facts.is_api_error.filter(|flag| flag.is_true()).map(|_| String::from("api_error")));
        if is_synthetic {
            line.note(NoteKind::SyntheticReply, code.as_deref().unwrap_or_default());
        }
        if line.agent.is_main() {
            let turns = &mut self.memory.turns;
            if code.is_some() {
                turns.failed(line.at, line.span, line.out);
            } else if !is_synthetic {
                let stop_reason = message.stop_reason.and_then(Json::text);
                let reply = Reply {
                    stop_reason: stop_reason.as_deref(),
                    has_text: message.content.has_text(),
                    has_calls: message.content.has_calls,
                };
                turns.reply(reply, line.at, line.span, line.out);
            }
        }
        for call in &message.content.agent_calls {
            self.memory.sidechains.called(call, &line.agent);
        }
        for kind in &message.content.unknown {
            let kind = format!("content block {:?}", kind.text().unwrap_or_default());
            self.memory.unknown_types.note(&kind, line);
        }
        // Some versions write no id of the message (junhoyeo/tokscale#563 has one without that of the request).
        let id = [message.id, facts.request_id, facts.uuid].into_iter().flatten().find_map(Json::name);
        let usage = Usage::of(&message.usage);
        let report = id.as_deref().filter(|_| !is_synthetic).and_then(|id| {
            if usage.is_unknown() && !self.memory.requests.knows(id) {
                line.note(NoteKind::ReplyWithoutUsage, id);
            }
            let (agent, is_whole) = (&line.agent, message.stop_reason.is_some());
            let cost = facts.cost.and_then(|cost| cost.source().parse().ok());
            let model = model.as_deref();
            self.memory.requests.line(&ReplyLine { id, model, agent, at: line.at, usage, cost, is_whole })
        });
        if id.is_none() && !usage.is_unknown() {
            line.note(NoteKind::UsageWithoutKey, "a reply without an id");
        }
        if let Some(json) = json {
            let content = json.field("message").and_then(|message| message.field("content"));
            // What stands in the place of a reply that failed is the error's words.
            match code {
                Some(code) => {
                    line.event(ConversationEvent::Error { code, message: content.map(words).unwrap_or_default() });
                }
                None => self.blocks(id.as_deref().unwrap_or_default(), content, line),
            }
        }
        line.usage(report);
    }

    fn blocks(&mut self, id: &str, content: Option<Json<'_>>, line: &mut Saying<'_>) {
        let Some(content) = content else { return };
        let mut position = 0_u64;
        let Memory { requests, items, .. } = &mut self.memory;
        content.for_each_element(|block| {
            let found = items.block_of_reply(&ContentBlock::read(block), || {
                format!("{id}:{}", requests.next_block(id).unwrap_or(position))
            });
            position += 1;
            // A block of an unknown type was noted with the facts.
            if let Block::Event(event) = found {
                line.event(event);
            }
        });
    }

    fn user(&mut self, facts: &LineFacts<'_>, json: Option<Json<'_>>, line: &mut Saying<'_>) {
        let flags = [facts.is_meta, facts.is_compact_summary, facts.is_for_transcript_only];
        let content = &facts.message.content;
        if line.agent.is_main() {
            let user = UserLine {
                is_flagged: flags.into_iter().flatten().any(Json::is_true) || facts.origin.is_no_person(),
                has_results: content.has_results,
                has_media: content.has_media,
                text: content.to_text(),
            };
            self.memory.turns.user(user, line.at, line.span, line.out);
        }
        if let Some(json) = json {
            let [message, beside] = json.fields(["message", "toolUseResult"]);
            let beside = beside.map(Beside::read).unwrap_or_default();
            let Some(content) = message.and_then(|message| message.field("content")) else { return };
            content.for_each_element(|block| {
                let block = ContentBlock::read(block);
                if block.is("tool_result") {
                    line.event(self.memory.items.complete(&block, beside));
                }
            });
        }
    }

    fn attachment(&mut self, facts: &LineFacts<'_>, line: &mut Saying<'_>) {
        let attachment = &facts.attachment;
        let is = |field: Option<Json<'_>>, word: &str| field.and_then(Json::text).is_some_and(|text| text == word);
        // Others bring what Claude Code itself or another agent has to say, such as that a task in the background is
        // done.
        let is_prompt = (attachment.mode.is_none() || is(attachment.mode, "prompt"))
            && !attachment.is_meta.is_some_and(Json::is_true)
            && !attachment.origin.is_no_person();
        if line.agent.is_main() && is(attachment.kind, "queued_command") && is_prompt {
            let text = attachment.prompt.map(words).filter(|text| !text.is_empty());
            self.memory.turns.prompt(text, line.at, line.span, line.out);
        }
    }

    fn system(&mut self, facts: &LineFacts<'_>, json: Option<Json<'_>>, line: &mut Saying<'_>) {
        match facts.subtype.and_then(Json::text).as_deref() {
            Some("turn_duration") if line.agent.is_main() => {
                self.memory.turns.took(facts.duration.and_then(Json::number));
            }
            Some("compact_boundary") => {
                if let Some(json) = json {
                    let id = facts.uuid.and_then(Json::name).unwrap_or_default();
                    line.compaction(id, json.field("compactMetadata").map(Json::source));
                }
            }
            _ => {}
        }
    }
}
