//! What the machine can be told.

use trace_model::{
    context::Sha256Hex,
    event::{ConversationEvent, FileHash, RawSpan, Receipt},
    money::NanoUsd,
    turn::{Outcome, Turn},
    usage::{Agent, UsageReport},
};

/// One thing that happened to a launch.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    /// A turn is to be opened; its files are on disk. One that runs is superseded.
    OpenTurn {
        /// The turn.
        turn: Box<Turn>,
        /// The hash of its context file.
        context_sha256: Sha256Hex,
        /// Its whole task prompt.
        text: Option<String>,
    },
    /// The running turn ended.
    EndTurn(Outcome),
    /// The agent did something.
    Conversation {
        /// What.
        event: ConversationEvent,
        /// Which agent.
        agent: Agent,
        /// Where it was read.
        raw: Option<RawSpan>,
    },
    /// A stream without items said something.
    Stream(StreamEvent),
    /// An interpreter understood a result. Its cost is in the usage that the interpreter reports.
    Result {
        /// Whether it is a success.
        status: Outcome,
        /// What it cost.
        cost_usd: Option<NanoUsd>,
        /// How long it took, in seconds.
        duration_secs: Option<f64>,
        /// Where it was read.
        raw: Option<RawSpan>,
    },
    /// Usage was reported.
    Usage(UsageReport),
    /// A receipt was read from what the provider wrote: it fills only what is empty.
    Observed(Receipt),
    /// The harness stated a receipt: it replaces what it names.
    Stated(Receipt),
    /// The launch is about to end: its running turn does. The machine was told the ending before.
    Close,
    /// The launch ends.
    EndLaunch {
        /// Its files as they are before the line that tells so.
        files: Vec<FileHash>,
    },
}

/// How a launch is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The harness finished it.
    Finished {
        /// How the launch went.
        outcome: Outcome,
        /// What was recorded.
        recorded: Recorded,
    },
    /// The last handle was dropped.
    Dropped,
}

impl Ending {
    pub(crate) const fn outcome(self) -> Outcome {
        match self {
            Self::Finished { outcome, .. } => outcome,
            Self::Dropped => Outcome::Interrupted,
        }
    }
}

/// What a harness recorded of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recorded {
    /// What the agent was sent and what it answered.
    Conversation,
    /// Only what the agent was sent.
    PromptOnly,
}

/// What a stream without items says.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// Text of the agent.
    Text {
        /// The text.
        text: String,
    },
    /// The agent called a tool.
    ToolUse {
        /// The tool.
        name: String,
        /// What it was called for.
        summary: String,
    },
    /// One request's tokens, of a provider that gives requests no names.
    Usage {
        /// Prompt tokens that were not read from a cache.
        input_tokens: Option<u64>,
        /// Tokens produced, thinking included.
        output_tokens: Option<u64>,
        /// Prompt tokens read from a cache.
        cache_read_tokens: Option<u64>,
    },
    /// The provider's result. It ends neither turn nor launch.
    Result {
        /// Whether it is a success.
        status: Outcome,
        /// What it cost.
        cost: Option<ResultCost>,
        /// How long it took, in seconds.
        duration_secs: Option<f64>,
    },
}

/// What a provider says that a result cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultCost {
    /// The cost of this result alone.
    Own(NanoUsd),
    /// The cost of this result and all before it in the launch.
    RunningTotal(NanoUsd),
}
