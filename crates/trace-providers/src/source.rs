//! What agents write: the formats, how one is recognised, and the reader of each.
//!
//! A *source* is any record that an agent left: the session files that it keeps for itself, and recorded streams. All
//! are read by the same kind of machine as a live stream, see [`Interpreter`]; a session file also says which session
//! and which subagent it tells of.

use alloc::{boxed::Box, string::String};

use serde::{Deserialize, Serialize};
use trace_model::words::Provider;

use crate::{Interpreter, interpreter::Format};

/// How a source is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceFormat {
    /// `claude -p --output-format stream-json`.
    ClaudeStream,
    /// A transcript of Claude Code, of the main agent or a subagent.
    ClaudeTranscript,
    /// `codex exec --json`.
    CodexExec,
    /// A rollout of Codex, of any age.
    CodexRollout,
    /// `gemini --output-format stream-json`.
    GeminiStream,
    /// A session of Gemini CLI that is appended to.
    GeminiSession,
    /// A session of Gemini CLI in one JSON document.
    GeminiDocument,
    /// `opencode run --format json`.
    OpenCodeRun,
    /// Rows of the store of `OpenCode`, one a line, see `opencode::store`.
    OpenCodeStore,
}

impl SourceFormat {
    /// Returns whose format it is.
    pub fn provider(self) -> Provider {
        match self {
            Self::ClaudeStream | Self::ClaudeTranscript => Provider::Claude,
            Self::CodexExec | Self::CodexRollout => Provider::Codex,
            Self::GeminiStream | Self::GeminiSession | Self::GeminiDocument => Provider::Gemini,
            Self::OpenCodeRun | Self::OpenCodeStore => Provider::OpenCode,
        }
    }

    /// Tells whether it is what a program prints, and not a file that an agent keeps for itself.
    pub const fn is_stream(self) -> bool {
        matches!(self, Self::ClaudeStream | Self::CodexExec | Self::GeminiStream | Self::OpenCodeRun)
    }
}

/// How much of a source is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Detail {
    /// Sessions, agents, turns, usage and notes: all but the exchange itself. Session files are read much faster so.
    Usage,
    /// Everything.
    #[default]
    Everything,
}

/// Where a reader stands in a source that may grow, and all that it needs to go on from there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The number of bytes that need not be read again: all whole lines.
    pub offset: u64,
    /// What the reader remembers, in a form of its own.
    pub state: String,
}

/// Returns a reader for a source of which nothing was read.
pub fn reader_for(format: SourceFormat, detail: Detail) -> Option<Box<dyn Interpreter>> {
    Format::of_source(format).map(|format| (format.reader)(detail))
}

/// Returns a reader that goes on at a checkpoint; `None` for a format that is read from its start only, and for a state
/// of another version.
pub fn resume_reader(format: SourceFormat, detail: Detail, checkpoint: &Checkpoint) -> Option<Box<dyn Interpreter>> {
    Format::of_source(format).and_then(|format| (format.resume)(detail, checkpoint))
}
