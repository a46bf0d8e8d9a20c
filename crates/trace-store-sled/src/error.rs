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
    /// The work panicked, in sled or here.
    #[error("it gave up: {0}")]
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

    /// Returns the cause that this one is while the folder is opened: sled panics then where it finds in its files what
    /// it did not write.
    pub(crate) fn while_opening(self) -> Self {
        match self {
            Self::Panicked(_) => Self::Damaged(self.to_string()),
            other => other,
        }
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

/// Tells whether sled found damage in what is stored. All else that it says lies in the machine, or in its caller.
fn is_damage(cause: &Cause) -> bool {
    match cause {
        Cause::Sled(sled::Error::Corruption { .. }) => true,
        // sled reads where it should find something, and finds the end of the file; or it had to put its word for
        // damage into an error of this kind.
        Cause::Sled(sled::Error::Io(error)) => {
            matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use sled::Error;

    use super::*;

    fn error_of(cause: Cause) -> LedgerError {
        Failure { place: Path::new("/home/ledger.sled"), action: "read turns", cause }.into()
    }

    #[test]
    fn only_damage_is_called_damage() {
        let io = |kind: io::ErrorKind| io::Error::from(kind);
        for cause in [
            Cause::Sled(Error::Corruption { at: None, bt: () }),
            Cause::Sled(Error::Io(io(io::ErrorKind::UnexpectedEof))),
            Cause::Sled(Error::Io(io(io::ErrorKind::InvalidData))),
            Cause::Damaged(String::from("no number")),
            Cause::of_panic(&"an assertion").while_opening(),
        ] {
            let text = cause.to_string();
            let LedgerError::Corrupt { place, detail } = error_of(cause) else { panic!("{text}") };
            assert_eq!((place.as_str(), detail), ("/home/ledger.sled", text));
        }
        for cause in [
            Cause::Sled(Error::Io(io(io::ErrorKind::StorageFull))),
            Cause::Sled(Error::Unsupported(String::from("no"))),
            Cause::Sled(Error::ReportableBug(String::from("a bug"))),
            Cause::Sled(Error::CollectionNotFound("turns".into())),
            Cause::Io(io(io::ErrorKind::UnexpectedEof)),
            Cause::Io(io(io::ErrorKind::PermissionDenied)).while_opening(),
            Cause::of_panic(&"an assertion"),
        ] {
            let text = cause.to_string();
            let LedgerError::Backend { backend: "sled", action: "read turns", source } = error_of(cause) else {
                panic!("{text}")
            };
            assert_eq!(source.to_string(), "/home/ledger.sled");
            assert_eq!(source.source().map(ToString::to_string), Some(text));
        }
    }

    #[test]
    fn a_panic_says_what_it_said() {
        let said: [Box<dyn Any + Send>; 3] = [Box::new("one"), Box::new(String::from("two")), Box::new(3)];
        let texts = said.map(|panic| Cause::of_panic(&*panic).to_string());
        assert_eq!(texts, ["it gave up: one", "it gave up: two", "it gave up: without a word"]);
    }
}
