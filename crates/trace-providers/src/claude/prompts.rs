//! What was asked, and which lines show one and the same prompt.
//!
//! * `system`/`init` comes before the work on each prompt of a process, with the same session id (measured on a stream
//!   of two prompts): one that follows a `result`, or names another session, announces a prompt.
//! * A `user` line of the main agent shows the prompt's text, unless it carries results of tools, or text that Claude
//!   Code put in itself: such text is flagged, or known by how it begins. With `--replay-user-messages` the lines have
//!   `isReplay`, and come while the agent works when the prompt steers it (openclaw/openclaw#124731): that, too, is a
//!   prompt. A plain `user` line while the agent works is none: skills and hooks write such lines.
//! * Without any of these, the first line of the exchange tells that there was a prompt.

use alloc::string::String;

use trace_model::{context::Sha256Hex, span::ByteSpan};

use crate::observation::Observation;

/// Beginnings of texts that Claude Code puts into `user` lines itself.
const NOT_PROMPTS: [&str; 4] =
    ["<command-name>", "<local-command-stdout>", "<local-command-stderr>", "[Request interrupted by user"];

/// Where the conversation between prompts and results stands.
#[derive(Debug, Default)]
pub(super) enum Prompts {
    /// Nothing was seen yet.
    #[default]
    Before,
    /// A prompt was announced and not shown yet.
    Announced(ByteSpan),
    /// The agent works on a prompt.
    Open {
        /// The hash of its text, until the agent's first answer: another line with the same text shows the same prompt.
        unanswered: Option<Sha256Hex>,
    },
    /// The last prompt has its result.
    Idle,
}

impl Prompts {
    /// Takes an `init` line, and returns the prompt before it if only that one's announcement was seen.
    #[must_use]
    pub(super) fn announced(&mut self, span: ByteSpan, is_new_session: bool) -> Option<Observation> {
        if matches!(self, Self::Open { .. } | Self::Announced(_)) && !is_new_session {
            return None;
        }
        let before = self.end();
        *self = Self::Announced(span);
        before
    }

    /// Takes a text that a `user` line shows, and returns the prompt if it is one that was not shown yet.
    #[must_use]
    pub(super) fn shown(&mut self, text: String, is_replay: bool, span: ByteSpan) -> Option<Observation> {
        let hash = Sha256Hex::of(text.as_bytes());
        if let Self::Open { unanswered } = self
            && (!is_replay || *unanswered == Some(hash))
        {
            return None;
        }
        *self = Self::Open { unanswered: Some(hash) };
        Some(Observation::Input { text: Some(text), at: None, span })
    }

    /// Takes any other line of the exchange of the main agent, and returns the prompt if no line showed it.
    #[must_use]
    pub(super) fn answered(&mut self, span: ByteSpan) -> Option<Observation> {
        let span = match self {
            Self::Idle => return None,
            Self::Open { .. } => None,
            Self::Before => Some(span),
            Self::Announced(span) => Some(*span),
        };
        *self = Self::Open { unanswered: None };
        span.map(|span| Observation::Input { text: None, at: None, span })
    }

    /// Takes the result of the prompt.
    pub(super) const fn settled(&mut self) {
        *self = Self::Idle;
    }

    /// Takes the end of the output, and returns the prompt that was announced and never shown.
    #[must_use]
    pub(super) fn end(&mut self) -> Option<Observation> {
        let Self::Announced(span) = *self else { return None };
        *self = Self::Open { unanswered: None };
        Some(Observation::Input { text: None, at: None, span })
    }
}

/// Tells whether a text of a `user` line was written by Claude Code itself, or is none at all.
pub(super) fn is_no_prompt(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty() || NOT_PROMPTS.iter().any(|beginning| text.starts_with(beginning))
}
