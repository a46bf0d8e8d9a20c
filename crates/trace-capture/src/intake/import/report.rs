//! What an import did.

use std::collections::BTreeSet;

use trace_model::id::LaunchId;

use super::Look;

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// The places that were looked at.
    pub looks: Vec<Look>,
    /// The files that may be sessions.
    pub files: FileCounts,
    /// The sessions.
    pub sessions: SessionCounts,
    /// The bytes that were read.
    pub bytes: u64,
    /// The launches whose rows changed.
    pub launches: BTreeSet<LaunchId>,
    /// What was not as it should be; at most a hundred for each source.
    pub notes: Vec<ImportNote>,
    /// The number of all notes.
    pub note_count: u64,
}

/// What became of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileCounts {
    /// All that were looked at.
    pub seen: u64,
    /// Those that were not changed since the last time.
    pub unchanged: u64,
    /// Those that were read, whole or from where they were left.
    pub read: u64,
    /// Those that are no session.
    pub foreign: u64,
    /// Those that could not be read.
    pub failed: u64,
    /// Those that were there the last time and are gone.
    pub missing: u64,
}

/// What became of the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionCounts {
    /// Those that were not known.
    pub new: u64,
    /// Those of which more is known now.
    pub updated: u64,
    /// Those of the files that were not changed.
    pub unchanged: u64,
}

/// Something that was not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportNote {
    /// The source.
    pub path: String,
    /// The place in it.
    pub offset: Option<u64>,
    /// What kind of thing, as one word.
    pub kind: String,
    /// What exactly.
    pub detail: String,
}
