//! What an interpreter makes of a provider's output.

use alloc::string::String;
use core::fmt;

use trace_model::{
    event::{ConversationEvent, Receipt},
    money::NanoUsd,
    span::ByteSpan,
    timestamp::Timestamp,
    turn::Outcome,
    usage::{Agent, UsageReport},
};

/// One thing that was read from a provider's output, in the order of the output.
///
/// What one line says comes in this order: its session, the prompt that it shows, its events, its usage, its result.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    /// What follows belongs to this session. Only session files say so, and again where it changes or more is known.
    Session(SessionSeen),
    /// A subagent was seen for the first time, or more is known of it.
    Agent(AgentSeen),
    /// A step of the exchange.
    Event(Observed),
    /// A prompt of the main agent: exactly one observation per prompt, however many lines show it.
    ///
    /// The first one belongs to the turn that the launch began with; each later one begins a turn.
    Input {
        /// What was asked, where the output shows it.
        text: Option<String>,
        /// When it was asked, where the line tells.
        at: Option<Timestamp>,
        /// The line that showed the prompt first.
        span: ByteSpan,
    },
    /// What a request cost, or what a running total holds beyond the requests that were seen.
    ///
    /// A later report of the same key completes the earlier one. `observed_at` is absent where the line has no time.
    Usage(UsageReport),
    /// The provider named its session, model or version.
    Receipt(Receipt),
    /// The provider stated how the turn ended.
    ///
    /// The turn's usage was observed before it, the stated cost included: the cost here is for display.
    Result {
        /// Whether it is a success; an error is a failure, whatever else the line says.
        status: Outcome,
        /// What this turn alone cost.
        cost_usd: Option<NanoUsd>,
        /// How long it took, in seconds.
        duration_secs: Option<f64>,
        /// When it ended, where the line tells.
        at: Option<Timestamp>,
        /// The line that says so.
        span: ByteSpan,
    },
    /// Something in the output could not be taken as it is.
    Note(Note),
}

/// A step of the exchange, who made it and where it stands in the provider's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The step.
    pub event: ConversationEvent,
    /// Who made it.
    pub agent: Agent,
    /// When, where the line tells.
    pub at: Option<Timestamp>,
    /// The bytes of the stream that it was read from.
    pub span: Option<ByteSpan>,
}

/// A session as its file tells it. Absent means that it was not told so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionSeen {
    /// The provider's own id of it.
    pub id: String,
    /// The session that started it or that it is a fork of, by the provider's id.
    pub parent: Option<String>,
    /// The folder that the agent worked in.
    pub cwd: Option<String>,
    /// When it was first active.
    pub at: Option<Timestamp>,
}

/// A subagent as a session's files tell it. Absent means that it was not told so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentSeen {
    /// Which one.
    pub agent: Agent,
    /// Who started it.
    pub parent: Agent,
    /// The tool call of the parent that it runs under.
    pub tool_call: Option<String>,
    /// What kind of agent the provider calls it.
    pub kind: Option<String>,
    /// What it was asked, whole.
    pub prompt: Option<String>,
    /// When it began.
    pub at: Option<Timestamp>,
}

impl AgentSeen {
    /// Adds what was told of the same subagent later; what was told first stands.
    pub fn merge(&mut self, later: Self) {
        if self.parent.is_main() {
            self.parent = later.parent;
        }
        self.tool_call = self.tool_call.take().or(later.tool_call);
        self.kind = self.kind.take().or(later.kind);
        self.prompt = self.prompt.take().or(later.prompt);
        self.at = self.at.or(later.at);
    }
}

/// Something in a provider's output that could not be taken as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Where in the stream, in bytes from its start.
    pub offset: u64,
    /// What kind of thing.
    pub kind: NoteKind,
    /// What exactly, in words; never more than a few hundred bytes.
    pub detail: String,
}

/// What can be wrong with a provider's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NoteKind {
    /// A line is no JSON object and was skipped.
    BadLine,
    /// A line holds more than one object, or parts of one; the whole ones were read.
    Salvaged,
    /// A line is longer than [`MAX_LINE`](crate::MAX_LINE); what its beginning and its end tell was read.
    LineTooLong,
    /// The last line was cut before it was whole.
    IncompleteTail,
    /// A line is not UTF-8; each wrong sequence was read as U+FFFD.
    InvalidUtf8,
    /// A string escapes half of a surrogate pair; it was read as U+FFFD.
    LoneSurrogate,
    /// A type that the interpreter does not know. Each is noted once; its lines are kept raw only.
    UnknownType,
    /// Usage that names no reply, and so cannot be counted.
    UsageWithoutKey,
    /// A reply without a single figure: what it cost is not known, and it is not counted.
    ReplyWithoutUsage,
    /// A figure of a total is there and cannot be read, so what is known is a lower bound.
    IllegibleFigure,
    /// A reply that the agent's program made up itself, of an error say. It is no request and costs nothing.
    SyntheticReply,
    /// A running total is less than what its requests add up to; the requests count, and their sum is no exact one.
    TotalBelowRequests,
    /// The file of a fork does not show which of its lines are copies of its parent's. They are counted under the
    /// oldest session that it names: once with the parent's own, where that is read, too.
    UnresolvedFork,
}

impl NoteKind {
    /// Returns the kind as one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadLine => "bad_line",
            Self::Salvaged => "salvaged",
            Self::LineTooLong => "line_too_long",
            Self::IncompleteTail => "incomplete_tail",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::LoneSurrogate => "lone_surrogate",
            Self::UnknownType => "unknown_type",
            Self::UsageWithoutKey => "usage_without_key",
            Self::ReplyWithoutUsage => "reply_without_usage",
            Self::IllegibleFigure => "illegible_figure",
            Self::SyntheticReply => "synthetic_reply",
            Self::TotalBelowRequests => "total_below_requests",
            Self::UnresolvedFork => "unresolved_fork",
        }
    }
}

impl fmt::Display for NoteKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
