//! What a caller says about the texts that may be in a prompt.

use alloc::string::String;

use serde::{Deserialize, Serialize};
use trace_model::words::{AssetKind, Channel, Scope};

/// A text that may be part of a prompt, and where it came from.
///
/// The order of a list of specs is their priority: what an earlier spec holds stays with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssetSpec {
    /// The prompt to look in.
    pub channel: Channel,
    /// What the text is.
    pub kind: AssetKind,
    /// How far it reaches.
    pub scope: Scope,
    /// What a person calls it.
    pub label: String,
    /// Where it came from, as the harness names it.
    #[serde(default)]
    pub source_path: Option<String>,
    /// The part of the harness that put it into the prompt.
    pub included_by: String,
    /// The text to look for.
    pub content: String,
    /// Whether it claims every non-overlapping occurrence from the left, and not one alone.
    #[serde(default)]
    pub match_all_occurrences: bool,
}

/// Where a part of a prompt came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What the part is.
    pub kind: AssetKind,
    /// How far it reaches.
    pub scope: Scope,
    /// What a person calls it.
    pub label: String,
    /// Where its text came from, as the harness names it.
    pub source_path: Option<String>,
    /// The part of the harness that put it into the prompt.
    pub included_by: String,
}

/// A [`Source`] that is lent: by a spec, by a builder, or by the program text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) kind: AssetKind,
    pub(crate) scope: Scope,
    pub(crate) label: &'a str,
    pub(crate) source_path: Option<&'a str>,
    pub(crate) included_by: &'a str,
}

impl Origin<'static> {
    /// The input of a follow-up, which goes to a session that the provider keeps.
    pub(crate) const FOLLOW_UP: Self = Self {
        kind: AssetKind::UserMessage,
        scope: Scope::User,
        label: "user message",
        source_path: None,
        included_by: "provider_session_input",
    };

    /// The bytes of a channel that no source holds.
    pub(crate) const fn assembly(channel: Channel) -> Self {
        Self::assembled(channel, "prompt assembly")
    }

    /// A whole prompt of which the sources are not known.
    pub(crate) const fn whole_prompt(channel: Channel) -> Self {
        match channel {
            Channel::System => Self::assembled(channel, "system prompt"),
            Channel::Task => Self::assembled(channel, "task prompt"),
        }
    }

    const fn assembled(channel: Channel, label: &'static str) -> Self {
        let scope = match channel {
            Channel::System => Scope::Global,
            Channel::Task => Scope::Task,
        };
        Self { kind: AssetKind::Assembly, scope, label, source_path: None, included_by: "provider_invocation" }
    }
}

impl<'a> From<&'a AssetSpec> for Origin<'a> {
    fn from(spec: &'a AssetSpec) -> Self {
        Self {
            kind: spec.kind,
            scope: spec.scope,
            label: &spec.label,
            source_path: spec.source_path.as_deref(),
            included_by: &spec.included_by,
        }
    }
}

impl<'a> From<&'a Source> for Origin<'a> {
    fn from(source: &'a Source) -> Self {
        Self {
            kind: source.kind,
            scope: source.scope,
            label: &source.label,
            source_path: source.source_path.as_deref(),
            included_by: &source.included_by,
        }
    }
}
