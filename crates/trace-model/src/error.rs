//! What can be wrong with a value that came from outside.

use alloc::string::String;

/// Why a text or a record is no value of the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A word that is in none of the lists that this version knows.
    #[error("{word:?} is no {kind} of schema version {schema_version}; a newer Trace may have written it")]
    UnknownWord {
        /// The list that was looked in, such as `turn status`.
        kind: &'static str,
        /// The word as it was found.
        word: String,
        /// The newest schema version that this code knows.
        schema_version: u32,
    },
    /// A record of a schema that this code is too old for.
    #[error("schema version {found} is newer than {supported}, the newest that this version reads")]
    FutureSchema {
        /// The version that the record states.
        found: u32,
        /// The newest version that this code knows.
        supported: u32,
    },
    /// A text that is no id of the wanted kind.
    #[error("{text:?} is no {kind} id: {expected}")]
    BadId {
        /// The kind of id, such as `launch`.
        kind: &'static str,
        /// The text as it was found.
        text: String,
        /// What an id of this kind looks like.
        expected: &'static str,
    },
    /// A text that is no RFC 3339 time, or a time outside of the years 1 to 9999.
    #[error("{text:?} is no RFC 3339 time between the years 1 and 9999")]
    BadTime {
        /// The text as it was found.
        text: String,
    },
    /// A number that is no amount of money.
    #[error("{text:?} is no amount of US dollars between 0 and 18 billion")]
    BadMoney {
        /// The text as it was found.
        text: String,
    },
    /// A path that could leave the folder it is relative to.
    #[error("{path:?} is no path below the traces folder: {reason}")]
    BadPath {
        /// The path as it was found.
        path: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// A text that is no key, such as a tag key or the name of a provider.
    #[error("{text:?} is no {kind}: {expected}")]
    BadName {
        /// What the name is for.
        kind: &'static str,
        /// The text as it was found.
        text: String,
        /// The allowed form.
        expected: &'static str,
    },
    /// Fields of one record that contradict each other.
    #[error("{entity} record: {reason}")]
    Contradiction {
        /// The kind of record.
        entity: Entity,
        /// Which fields disagree, in words.
        reason: &'static str,
    },
}

crate::text_enum::text_enum! {
    /// The kinds of things that have rows.
    pub enum Entity as "entity" {
        /// One start of a provider's agent.
        Launch = "launch",
        /// One input and all that the agent did about it.
        Turn = "turn",
        /// One contiguous byte range of a channel.
        Asset = "asset",
        /// What was done with one candidate for the context.
        Decision = "decision",
        /// What one request to the model cost in tokens.
        UsageRecord = "usage record",
        /// A launch that an orchestrator registered before capture began.
        Reservation = "reservation",
    }
}
