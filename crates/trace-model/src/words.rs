//! The closed lists of words, and the one open list: providers.
//!
//! Every word is the text of JSON, stores and command line alike, and is written in this file only.

use alloc::string::String;
use core::{fmt, str::FromStr};

use crate::{
    ModelError,
    text_enum::{serde_as_text, text_enum},
};

text_enum! {
    /// The two prompts of a turn.
    pub enum Channel as "channel" {
        /// The system prompt.
        System = "system",
        /// The prompt of the task.
        Task = "task",
    }
}

text_enum! {
    /// How much of the real input of a turn is known.
    pub enum Coverage as "coverage" {
        /// The whole prompt was assembled here: every byte has a source.
        Assembled = "assembled",
        /// Only the provider's totals are known beside the text that was sent.
        ProviderTotalOnly = "provider_total_only",
        /// Nothing is known.
        Unknown = "unknown",
    }
}

text_enum! {
    /// What kind of thing an asset is.
    pub enum AssetKind as "asset kind" {
        /// Instructions of whoever operates the harness.
        OperatingInstructions = "operating_instructions",
        /// Instructions for the surface that the agent is used through.
        SurfaceInstructions = "surface_instructions",
        /// Instructions for one provider.
        ProviderInstructions = "provider_instructions",
        /// Instructions that a repository carries.
        RepoInstructions = "repo_instructions",
        /// Instructions of a skill.
        SkillInstructions = "skill_instructions",
        /// A direction given by a person.
        Direction = "direction",
        /// A goal.
        Goal = "goal",
        /// Something remembered.
        Memory = "memory",
        /// Earlier conversation.
        Chat = "chat",
        /// A summary of something longer.
        Summary = "summary",
        /// A document or file.
        Document = "document",
        /// Scratch notes.
        Scratch = "scratch",
        /// A difference between two texts.
        Diff = "diff",
        /// What was on the clipboard.
        Clipboard = "clipboard",
        /// What the user wrote.
        UserMessage = "user_message",
        /// Bytes that no source claims: glue, headings, white space.
        Assembly = "assembly",
        /// Definitions of tools.
        ToolDefinitions = "tool_definitions",
        /// The result of a tool.
        ToolResult = "tool_result",
    }
}

text_enum! {
    /// How far an asset or a decision reaches.
    pub enum Scope as "scope" {
        /// All work.
        Global = "global",
        /// One provider.
        Provider = "provider",
        /// One repository.
        Repo = "repo",
        /// One wave of work.
        Wave = "wave",
        /// One project.
        Project = "project",
        /// One task.
        Task = "task",
        /// One step of a task.
        Step = "step",
        /// One user.
        User = "user",
    }
}

text_enum! {
    /// What was done with a candidate for the context.
    pub enum DecisionKind as "decision" {
        /// It is in the prompt.
        Included = "included",
        /// It was left out.
        Excluded = "excluded",
        /// A summary of it is in the prompt.
        Summarized = "summarized",
        /// Only its name and size are in the prompt.
        StatOnly = "stat_only",
        /// A part of it is in the prompt.
        Truncated = "truncated",
        /// Its content is in the prompt already, held by another source.
        Deduplicated = "deduplicated",
    }
}

text_enum! {
    /// How an input reached the agent.
    pub enum InputOp as "input op" {
        /// The input that the launch began with.
        Initial = "initial",
        /// A further message.
        Message = "message",
        /// A message that steers a running turn.
        Steer = "steer",
        /// A message that waited for the turn before it.
        Queued = "queued",
    }
}

text_enum! {
    /// How a launch goes or went.
    pub enum LaunchOutcome as "launch outcome" {
        /// It has not ended.
        Running = "running",
        /// It did what it was started for.
        Completed = "completed",
        /// The provider reported an error, or the agent failed.
        Failed = "failed",
        /// A signal or a person stopped it.
        Interrupted = "interrupted",
    }
}

text_enum! {
    /// How a turn goes or went.
    pub enum TurnStatus as "turn status" {
        /// It has not ended.
        Running = "running",
        /// The agent answered.
        Completed = "completed",
        /// The provider reported an error, or the agent failed.
        Failed = "failed",
        /// A signal or a person stopped it.
        Interrupted = "interrupted",
        /// It did not run to an end of its own; the turn says why.
        Partial = "partial",
    }
}

text_enum! {
    /// How much of a launch was recorded.
    pub enum CaptureStatus as "capture status" {
        /// Recording goes on.
        Capturing = "capturing",
        /// Everything was recorded.
        Complete = "complete",
        /// Something was lost.
        Partial = "partial",
        /// Only what was sent is on record, not what came back.
        PromptOnly = "prompt_only",
        /// The recorder died.
        Interrupted = "interrupted",
        /// Its files were deleted by their owner's wish.
        Pruned = "pruned",
    }
}

text_enum! {
    /// What became of a reservation.
    pub enum ReservationState as "reservation state" {
        /// Its launch has not begun.
        Waiting = "waiting",
        /// Its launch has begun.
        Taken = "taken",
        /// The orchestrator gave it up.
        Released = "released",
    }
}

text_enum! {
    /// Why a turn is partial.
    pub enum PartialReason as "partial reason" {
        /// A newer input came while it ran.
        Superseded = "superseded",
        /// Recording broke while it ran.
        CaptureFailed = "capture_failed",
        /// Its writer died.
        Abandoned = "abandoned",
    }
}

text_enum! {
    /// What one usage record covers.
    pub enum Grain as "usage grain" {
        /// One request to the model.
        Request = "request",
        /// All or the rest of a turn.
        Turn = "turn",
        /// A whole session.
        Session = "session",
    }
}

text_enum! {
    /// How far the numbers of a usage record can be trusted.
    ///
    /// The order is from worst to best.
    pub enum Quality as "usage quality" {
        /// Nothing is known about them.
        Unknown = "unknown",
        /// The truth is this or more.
        LowerBound = "lower_bound",
        /// The provider's own final numbers.
        Exact = "exact",
    }
}

text_enum! {
    /// An output stream of a child process.
    pub enum OutputStream as "output stream" {
        /// Standard output.
        Stdout = "stdout",
        /// Standard error.
        Stderr = "stderr",
    }
}

text_enum! {
    /// The encoding that local token counts are made with.
    pub enum TokenizerName as "tokenizer" {
        /// `cl100k_base`, the default.
        Cl100kBase = "cl100k_base",
        /// `o200k_base`.
        O200kBase = "o200k_base",
    }
}

/// The provider of an agent: one of four known ones, `unknown`, or a harness's own name.
///
/// This is the one open list of words.
///
/// ```
/// use trace_model::words::Provider;
///
/// assert_eq!("claude".parse::<Provider>().unwrap(), Provider::Claude);
/// assert_eq!("my-agent".parse::<Provider>().unwrap().as_str(), "my-agent");
/// assert!("My Agent".parse::<Provider>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Provider {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// `OpenCode`.
    OpenCode,
    /// Not recognised.
    Unknown,
    /// A harness's own agent.
    Other(ProviderName),
}

/// The checked name of a provider that Trace does not know: `[a-z0-9_.-]{1,64}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProviderName(String);

impl Provider {
    /// Returns the name as it stands in JSON, in stores and on the command line.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Unknown => "unknown",
            Self::Other(name) => &name.0,
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Provider {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "claude" => Self::Claude,
            "codex" => Self::Codex,
            "gemini" => Self::Gemini,
            "opencode" => Self::OpenCode,
            "unknown" => Self::Unknown,
            _ => Self::Other(ProviderName(checked_name("provider name", text)?)),
        })
    }
}

serde_as_text!(Provider);

/// The checked key of a launch's tag: `[a-z0-9_.-]{1,64}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TagKey(String);

impl TagKey {
    /// Returns the key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TagKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl FromStr for TagKey {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        checked_name("tag key", text).map(Self)
    }
}

serde_as_text!(TagKey);

fn checked_name(kind: &'static str, text: &str) -> Result<String, ModelError> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
    if (1..=64).contains(&text.len()) && text.bytes().all(allowed) {
        return Ok(String::from(text));
    }
    Err(ModelError::BadName { kind, text: String::from(text), expected: "1 to 64 of a-z, 0-9, '_', '.' and '-'" })
}

#[cfg(test)]
mod tests {
    use std::{format, string::ToString};

    use super::*;

    fn every_word_round_trips<T>(all: &[T])
    where
        T: Copy + PartialEq + fmt::Debug + fmt::Display + FromStr<Err = ModelError>,
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        for word in all {
            let text = word.to_string();
            assert_eq!(text.parse::<T>().as_ref(), Ok(word));
            let json = serde_json::to_string(word).unwrap();
            assert_eq!(json, format!("{text:?}"));
            assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), word);
        }
        assert!("no such word".parse::<T>().is_err());
    }

    #[test]
    fn every_word_round_trips_through_text_and_json() {
        every_word_round_trips(Channel::ALL);
        every_word_round_trips(Coverage::ALL);
        every_word_round_trips(AssetKind::ALL);
        every_word_round_trips(Scope::ALL);
        every_word_round_trips(DecisionKind::ALL);
        every_word_round_trips(InputOp::ALL);
        every_word_round_trips(LaunchOutcome::ALL);
        every_word_round_trips(ReservationState::ALL);
        every_word_round_trips(TurnStatus::ALL);
        every_word_round_trips(CaptureStatus::ALL);
        every_word_round_trips(PartialReason::ALL);
        every_word_round_trips(Grain::ALL);
        every_word_round_trips(Quality::ALL);
        every_word_round_trips(OutputStream::ALL);
        every_word_round_trips(TokenizerName::ALL);
    }

    #[test]
    fn an_unknown_word_names_itself_and_the_schema_version() {
        let error = "sideways".parse::<Channel>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"sideways\" is no channel of schema version 1; a newer Trace may have written it"
        );
    }

    #[test]
    fn a_provider_name_is_lower_case_and_short() {
        for good in ["claude", "unknown", "a", "my.agent_2-b"] {
            assert_eq!(good.parse::<Provider>().unwrap().as_str(), good);
        }
        let long = "a".repeat(65);
        for bad in ["", "Claude", "a b", "ä", &long] {
            assert!(bad.parse::<Provider>().is_err(), "{bad:?} was taken");
        }
    }
}
