//! Events: the lines of `conversation.jsonl`.
//!
//! [`codec`](crate::codec) turns them into bytes and back.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    context::Sha256Hex,
    id::TurnId,
    money::NanoUsd,
    text_enum::text_enum,
    timestamp::Timestamp,
    turn::{Outcome, Turn},
    usage::{Agent, UsageRecord},
    words::{CaptureStatus, InputOp, OutputStream, PartialReason, Provider, TurnStatus},
};

/// The schema of events, headers and context files that this version writes, and the newest that it reads.
pub const SCHEMA_VERSION: u32 = 1;

/// One line of `conversation.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The schema of the line.
    pub schema_version: u32,
    /// Its place in the file: from 0, one more on each line.
    pub seq: u64,
    /// When it was recorded.
    pub ts: Timestamp,
    /// The turn that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The agent that it is about; absent for the main one.
    #[serde(default, skip_serializing_if = "Agent::is_main")]
    pub agent: Agent,
    /// The bytes of the provider's output that it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawSpan>,
    /// What happened.
    pub payload: Payload,
}

/// A range of the provider's output as it is kept under `raw/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RawSpan {
    /// The stream that was read.
    pub stream: OutputStream,
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Payload {
    /// A turn was opened; its files were on disk before.
    TurnOpened {
        /// The turn as it was opened.
        turn: Turn,
        /// The hash of the turn's context file.
        context_sha256: Sha256Hex,
    },
    /// A turn ended.
    TurnEnded {
        /// How; never `running`.
        status: TurnStatus,
        /// Why it is partial.
        partial_reason: Option<PartialReason>,
    },
    /// The provider named itself, its session, its model or its version. What is absent stays as it was.
    Receipt(Receipt),
    /// The usage records of the launch changed: this one was added, or merged into the one of its key.
    UsageRecord {
        /// The record as it was reported.
        record: UsageRecord,
    },
    /// Something could not be recorded.
    CaptureError {
        /// What went wrong.
        message: String,
        /// How many events are missing because of it.
        lost_events: Option<u64>,
    },
    /// The launch ended; nothing follows.
    LaunchEnded {
        /// How.
        outcome: Outcome,
        /// How much of it was recorded.
        capture_status: CaptureStatus,
        /// Why not all of it was recorded.
        reason: Option<String>,
        /// All files of the launch but its lease, by path; `conversation.jsonl` as it was before this line.
        files: Vec<FileHash>,
    },
    /// The input of a turn was delivered.
    UserInput {
        /// How it reached the agent.
        op: InputOp,
        /// The whole task prompt.
        text: String,
    },
    /// The agent did something.
    Conversation {
        /// What it did.
        event: ConversationEvent,
    },
    /// Text of a stream that has no items.
    LegacyText {
        /// Which text.
        stream: TextStream,
        /// The text.
        text: String,
    },
    /// A tool call of a stream that has no items.
    LegacyTool {
        /// The tool.
        name: String,
        /// What it was called for.
        summary: String,
    },
    /// Numbers as the provider stated them, for readers; rows come from `usage_record`.
    Usage {
        /// The numbers.
        usage: UsageFigures,
    },
    /// The provider stated a result; it ends neither turn nor launch.
    Result {
        /// Whether it is a success.
        status: Outcome,
        /// What the provider said that it cost.
        cost_usd: Option<NanoUsd>,
        /// How long it took, in seconds.
        duration_secs: Option<f64>,
    },
}

/// What a provider said about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Receipt {
    /// Who it is.
    pub provider: Option<Provider>,
    /// Its own id of the session.
    pub provider_session_id: Option<String>,
    /// The file that it keeps the session in.
    pub provider_session_path: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The version of the agent's program.
    pub agent_version: Option<String>,
}

/// One file of a launch as it was when the launch ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHash {
    /// The path inside of the launch's folder.
    pub path: String,
    /// The size.
    pub bytes: u64,
    /// The hash.
    pub sha256: Sha256Hex,
}

text_enum! {
    /// A text of a stream that has no items.
    pub enum TextStream as "text stream" {
        /// What the agent says to its user.
        Assistant = "assistant",
    }
}

/// Numbers as a provider stated them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageFigures {
    /// Prompt tokens neither read from nor written to a cache.
    pub input_tokens: Option<u64>,
    /// Tokens produced, thinking included.
    pub output_tokens: Option<u64>,
    /// All prompt tokens.
    pub total_input_tokens: Option<u64>,
    /// The largest context of one request.
    pub peak_input_tokens: Option<u64>,
    /// The size of the context window.
    pub context_window_tokens: Option<u64>,
    /// The part of the produced ones that is thinking.
    pub reasoning_tokens: Option<u64>,
    /// Prompt tokens read from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Prompt tokens written to a cache.
    pub cache_write_tokens: Option<u64>,
    /// The model.
    pub model: Option<String>,
    /// The cost.
    pub cost_usd: Option<NanoUsd>,
}

/// One step of the exchange with an agent.
///
/// `turn_id` is the provider's own name of its turn, where it has one; which turn of the launch that is says the event
/// around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ConversationEvent {
    /// The provider began a turn.
    TurnStarted {
        /// The provider's turn.
        turn_id: Option<String>,
    },
    /// The provider ended a turn.
    TurnCompleted {
        /// The provider's turn.
        turn_id: Option<String>,
        /// How.
        status: Outcome,
    },
    /// The provider stated the usage of a turn.
    TurnUsage {
        /// The provider's turn.
        turn_id: Option<String>,
        /// The numbers.
        usage: UsageFigures,
    },
    /// An item began.
    ItemStarted {
        /// The provider's turn.
        turn_id: Option<String>,
        /// The item so far.
        item: Item,
    },
    /// An item grew.
    ItemUpdated {
        /// The provider's turn.
        turn_id: Option<String>,
        /// The item.
        item_id: String,
        /// What was added.
        data: ItemData,
    },
    /// An item is done.
    ItemCompleted {
        /// The provider's turn.
        turn_id: Option<String>,
        /// The whole item.
        item: Item,
    },
    /// A piece of what the agent says.
    TextDelta {
        /// The provider's turn.
        turn_id: Option<String>,
        /// The piece.
        content: String,
    },
    /// A piece of what the agent thinks.
    ReasoningDelta {
        /// The provider's turn.
        turn_id: Option<String>,
        /// The piece.
        content: String,
    },
    /// The difference that the turn made so far.
    DiffUpdated {
        /// The provider's turn.
        turn_id: Option<String>,
        /// The difference.
        diff: String,
    },
    /// What the agent suggests to do next.
    SuggestedActions {
        /// The provider's turn.
        turn_id: Option<String>,
        /// The suggestions.
        actions: Vec<SuggestedAction>,
    },
    /// The agent's process changed its state.
    StatusChanged {
        /// The state.
        status: AgentStatus,
    },
    /// The provider reported an error.
    Error {
        /// The provider's code.
        code: String,
        /// The provider's words.
        message: String,
    },
}

impl ConversationEvent {
    /// Returns the provider's name of the turn that the event names, if it names one.
    pub fn provider_turn_id(&self) -> Option<&str> {
        match self {
            Self::TurnStarted { turn_id }
            | Self::TurnCompleted { turn_id, .. }
            | Self::TurnUsage { turn_id, .. }
            | Self::ItemStarted { turn_id, .. }
            | Self::ItemUpdated { turn_id, .. }
            | Self::ItemCompleted { turn_id, .. }
            | Self::TextDelta { turn_id, .. }
            | Self::ReasoningDelta { turn_id, .. }
            | Self::DiffUpdated { turn_id, .. }
            | Self::SuggestedActions { turn_id, .. } => turn_id.as_deref(),
            Self::StatusChanged { .. } | Self::Error { .. } => None,
        }
    }
}

/// Something that the agent made or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// A command that it ran.
    Command {
        /// The provider's id of the item.
        id: String,
        /// The program and its arguments.
        command: Vec<String>,
        /// The working directory.
        cwd: Option<String>,
        /// How far it is.
        status: ItemStatus,
        /// What it printed.
        output: Option<String>,
        /// Its exit code.
        exit_code: Option<i32>,
        /// How long it took, in milliseconds.
        duration_ms: Option<u64>,
    },
    /// Files that it changed.
    File {
        /// The provider's id of the item.
        id: String,
        /// The changes.
        changes: Vec<FileChange>,
        /// How far it is.
        status: ItemStatus,
    },
    /// Something that it said.
    Message {
        /// The provider's id of the item.
        id: String,
        /// The text.
        text: String,
        /// The provider's phase, where it has phases.
        phase: Option<String>,
    },
    /// Something that it thought.
    Thought {
        /// The provider's id of the item.
        id: String,
        /// The text.
        text: String,
    },
    /// A tool that it called.
    Tool {
        /// The provider's id of the item.
        id: String,
        /// The tool.
        name: String,
        /// How far it is.
        status: ItemStatus,
        /// The arguments, as the provider wrote them.
        input: Option<String>,
        /// The result.
        output: Option<String>,
    },
}

text_enum! {
    /// How far an item is.
    pub enum ItemStatus as "item status" {
        /// It waits.
        Pending = "pending",
        /// It runs.
        Running = "running",
        /// It is done.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// It was stopped.
        Interrupted = "interrupted",
    }
}

text_enum! {
    /// The state of an agent's process.
    pub enum AgentStatus as "agent status" {
        /// It starts.
        Starting = "starting",
        /// It works.
        Active = "active",
        /// It comes to an end.
        Ending = "ending",
        /// It ended.
        Ended = "ended",
        /// It failed.
        Failed = "failed",
    }
}

/// What was added to an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ItemData {
    /// Output of a command or tool.
    Output {
        /// The piece.
        content: String,
    },
    /// Text of a plan.
    PlanText {
        /// The piece.
        content: String,
    },
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// What was done to it, in the provider's word.
    pub kind: Option<String>,
    /// The difference.
    pub diff: Option<String>,
}

/// Something that the agent suggests to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuggestedAction {
    /// What a person sees.
    pub label: String,
    /// What it would do.
    pub description: Option<String>,
}
