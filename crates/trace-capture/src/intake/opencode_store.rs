//! OpenCode's store as lines: what it keeps in a database (since 1.2), and in a tree of JSON files before.
//!
//! The lines are those of `SourceFormat::OpenCodeStore`: the rows of one session that is no other's child, and of all
//! sessions below it. The rules of what they mean are in `trace-providers`; here is only where they stand.
//!
//! Nothing is ever written. One message with its parts is held at a time.

#[cfg(feature = "sqlite")]
mod database;
mod rows;
mod tree;

use std::{io, path::PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(feature = "sqlite")]
pub(crate) use self::database::OpenCodeDatabase;
pub(crate) use self::tree::OpenCodeTree;

/// A session that is no other's child, as it can be told without reading its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredSession {
    /// The id of the session.
    pub(crate) id: String,
    /// What differs as soon as anything of it was added or changed.
    pub(crate) state: SessionState,
}

/// Tells whether a session is the same as it was: where it is not equal, the session is to be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionState {
    /// When its newest session or message was changed, in milliseconds since 1970.
    pub(crate) updated_ms: i64,
    /// How many sessions and messages there are, those of its children included.
    pub(crate) rows: u64,
}

/// Why a store cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenCodeStoreError {
    /// Another process held the database for longer than was waited.
    #[cfg(feature = "sqlite")]
    #[error("{} is locked by another process", path.display())]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// The database was written while it was read as one that nobody has open; what was read may be half of each.
    #[cfg(feature = "sqlite")]
    #[error("{} was changed while it was read", path.display())]
    Changed {
        /// The database.
        path: PathBuf,
    },
    /// The database is damaged.
    #[cfg(feature = "sqlite")]
    #[error("{} is damaged", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file is no database of OpenCode.
    #[cfg_attr(
        not(feature = "sqlite"),
        expect(dead_code, reason = "only who can read a database knows that it is none")
    )]
    #[error("{} is no store of OpenCode", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// Reading failed.
    #[error("could not read {}", path.display())]
    Read {
        /// The database, or the file of a tree.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// This build reads no databases.
    #[cfg(not(feature = "sqlite"))]
    #[error("{} is a database, and this build has no feature `sqlite`", path.display())]
    NotCompiled {
        /// The database.
        path: PathBuf,
    },
}

impl OpenCodeStoreError {
    fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Read { path, source: source.into() }
    }
}

#[cfg(test)]
mod tests;
