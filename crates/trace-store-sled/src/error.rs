//! What can go wrong here, and what that is to the ledger's callers.

use std::{
    any::Any,
    io,
    path::{Path, PathBuf},
};

use trace_model::ledger::LedgerError;

/// The name by which errors call this ledger.
pub(crate) const BACKEND: &str = "sled";

/// Why a piece of work came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    /// The contract of the ledger forbids it.
    #[error(transparent)]
    Refused(#[from] LedgerError),
    /// sled failed.
    #[error(transparent)]
    Sled(#[from] sled::Error),
    /// The file system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What is stored makes no sense.
    #[error("{0}")]
    Damaged(String),
    /// sled gave up where it found what it did not expect.
    #[error("sled gave up: {0}")]
    Panicked(String),
    /// A newer version of Trace wrote the ledger.
    #[error("format {found} is newer than {supported}")]
    Future { found: u32, supported: u32 },
    /// The ledger is open already.
    #[error("it is open already")]
    Busy,
}

impl Cause {
    /// Returns the cause that a caught panic is.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Self::Panicked(String::from(text.unwrap_or("without a word")))
    }
}

/// A cause, and what was being done with which folder.
#[derive(Debug)]
pub(crate) struct Failure<'a> {
    pub(crate) place: &'a Path,
    pub(crate) action: &'static str,
    pub(crate) cause: Cause,
}

/// A cause that names its folder, as the source of an error that does not.
#[derive(Debug, thiserror::Error)]
#[error("{}", place.display())]
struct AtPlace {
    place: PathBuf,
    #[source]
    cause: Cause,
}

impl From<Failure<'_>> for LedgerError {
    fn from(Failure { place: path, action, cause }: Failure<'_>) -> Self {
        let place = || path.display().to_string();
        match cause {
            Cause::Refused(error) => error,
            Cause::Busy => Self::Busy { place: place() },
            Cause::Future { found, supported } => Self::FutureSchema { place: place(), found, supported },
            Cause::Damaged(detail) => Self::Corrupt { place: place(), detail },
            cause if is_damage(&cause) => Self::Corrupt { place: place(), detail: cause.to_string() },
            cause => {
                let source = Box::new(AtPlace { place: path.to_path_buf(), cause });
                Self::Backend { backend: BACKEND, action, source }
            }
        }
    }
}

/// Tells whether the cause lies in what is stored, not in the machine.
fn is_damage(cause: &Cause) -> bool {
    match cause {
        // sled reads where it should find something, and finds the end of the file.
        Cause::Sled(sled::Error::Io(error)) => {
            matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
        }
        Cause::Panicked(_) | Cause::Sled(_) => true,
        _ => false,
    }
}
