//! What is known of a source from the last time.

use std::{
    fs::Metadata,
    io::{self, Read as _},
    os::unix::fs::MetadataExt,
};

use serde::{Deserialize, Serialize};
use trace_model::{context::Sha256Hex, id::LaunchId};
use trace_providers::{Checkpoint, SourceFormat};

use crate::sources::facts::{NOTES_PER_SOURCE, SessionPosition};

/// How much of a source's beginning, and of its end as it was read, is compared when it has grown, in bytes.
const COMPARED: usize = 4096;

/// What tells whether a source was changed, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) bytes: u64,
    /// When it was last changed, in nanoseconds since 1970.
    pub(super) changed_ns: i64,
    /// The number of the file in its file system.
    pub(super) number: u64,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let changed_ns = metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec());
        Self { bytes: metadata.len(), changed_ns, number: metadata.ino() }
    }

    pub(super) fn changed_micros(&self) -> i64 {
        self.changed_ns / 1_000
    }
}

/// One line of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) path: String,
    pub(super) stamp: Stamp,
    /// How it is written; nothing for a file that is no session.
    pub(super) format: Option<SourceFormat>,
    /// The launches that it tells of.
    pub(super) launches: Vec<LaunchId>,
    /// Whether copies of all of it are kept.
    pub(super) is_kept: bool,
    /// Whether a turn of it has no end yet.
    pub(super) is_open: bool,
    /// Whether it was not there when it was last looked for.
    #[serde(default)]
    pub(super) is_missing: bool,
    /// The number of notes about it.
    pub(super) notes: u64,
    /// Why it could not be read the last time, where it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
}

impl Known {
    /// Returns what is known of a file that is no session itself.
    pub(super) fn foreign(path: &str, stamp: Stamp) -> Self {
        Self {
            path: path.to_owned(),
            stamp,
            format: None,
            launches: Vec::new(),
            is_kept: false,
            is_open: false,
            is_missing: false,
            notes: 0,
            failure: None,
        }
    }
}

/// What is needed to go on with a source that grew, and what was noted about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Nothing for a format that is read from its start only.
    pub(super) read: Option<ReadPosition>,
    pub(super) notes: Vec<KnownNote>,
    pub(super) note_count: u64,
}

impl Position {
    /// Adds what was noted about the part of the source before the offset.
    pub(super) fn behind(mut self, earlier: Option<Self>, offset: u64) -> Self {
        let Some(earlier) = earlier else { return self };
        let dropped = earlier.notes.iter().filter(|note| note.offset >= offset).count();
        let mut notes: Vec<KnownNote> = earlier.notes.into_iter().filter(|note| note.offset < offset).collect();
        notes.append(&mut self.notes);
        notes.truncate(NOTES_PER_SOURCE);
        self.notes = notes;
        let dropped = u64::try_from(dropped).unwrap_or(u64::MAX);
        self.note_count = self.note_count.saturating_add(earlier.note_count.saturating_sub(dropped));
        self
    }
}

/// Where the reading of a source stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReadPosition {
    pub(super) format: SourceFormat,
    pub(super) checkpoint: Checkpoint,
    pub(super) sessions: Vec<SessionPosition>,
    pub(super) prints: Prints,
}

/// What a source began with, and what stood before the place where its reading stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Prints {
    head: Sha256Hex,
    tail: Sha256Hex,
}

impl Prints {
    /// Takes the prints of a source that was read up to the offset.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub(super) fn take(source: &mut (impl io::Read + io::Seek), offset: u64) -> io::Result<Self> {
        let compared = u64::try_from(COMPARED).unwrap_or(u64::MAX);
        let mut print = |from: u64| {
            let mut bytes = Vec::new();
            source.seek(io::SeekFrom::Start(from))?;
            (&mut *source).take(compared.min(offset - from)).read_to_end(&mut bytes)?;
            Ok::<_, io::Error>(Sha256Hex::of(&bytes))
        };
        Ok(Self { head: print(0)?, tail: print(offset.saturating_sub(compared))? })
    }
}

/// A note about a source, as it is kept for whoever asks later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KnownNote {
    pub(super) offset: u64,
    pub(super) kind: String,
    pub(super) detail: String,
}
