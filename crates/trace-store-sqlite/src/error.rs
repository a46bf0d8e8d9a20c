//! What can go wrong here, and what that is to the ledger's callers.

use std::{
    io,
    path::{Path, PathBuf},
};

use rusqlite::ErrorCode;
use trace_model::ledger::LedgerError;

/// The name by which errors call this ledger.
pub(crate) const BACKEND: &str = "sqlite";

/// Why a piece of work came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    /// The contract of the ledger forbids it.
    #[error(transparent)]
    Refused(#[from] LedgerError),
    /// SQLite failed.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The file system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What is stored makes no sense.
    #[error("{0}")]
    Damaged(String),
    /// A newer version of Trace wrote the file.
    #[error("format {found} is newer than {supported}")]
    Future { found: u32, supported: u32 },
    /// The library is not the one that this code was made for.
    #[error("SQLite {found} is older than {wanted}, the oldest that is known to be sound here")]
    OldLibrary { found: &'static str, wanted: &'static str },
}

impl Cause {
    /// Tells whether another process stood in the way, so that the same thing may work later.
    pub(crate) fn is_busy(&self) -> bool {
        let code = match self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            _ => None,
        };
        matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed))
    }

    /// Tells whether a row broke a key, a uniqueness or a reference.
    pub(crate) fn is_constraint(&self) -> bool {
        matches!(self, Self::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation))
    }
}

/// A cause, and what was being done with which file.
#[derive(Debug)]
pub(crate) struct Failure<'a> {
    pub(crate) place: &'a Path,
    pub(crate) action: &'static str,
    pub(crate) cause: Cause,
}

/// A cause that names its file, as the source of an error that does not.
#[derive(Debug, thiserror::Error)]
#[error("{}", place.display())]
struct AtPlace {
    place: PathBuf,
    #[source]
    cause: Cause,
}

impl From<Failure<'_>> for LedgerError {
    fn from(Failure { place: path, action, cause }: Failure<'_>) -> Self {
        let busy = cause.is_busy();
        let place = || path.display().to_string();
        match cause {
            Cause::Refused(error) => error,
            Cause::Future { found, supported } => Self::FutureSchema { place: place(), found, supported },
            Cause::Damaged(detail) => Self::Corrupt { place: place(), detail },
            Cause::Sqlite(_) if busy => Self::Busy { place: place() },
            Cause::Sqlite(error)
                if matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)) =>
            {
                Self::Corrupt { place: place(), detail: error.to_string() }
            }
            cause => {
                let source = Box::new(AtPlace { place: path.to_path_buf(), cause });
                Self::Backend { backend: BACKEND, action, source }
            }
        }
    }
}
