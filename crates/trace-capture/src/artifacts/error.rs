//! What can go wrong with artifacts.

use std::{io, path::PathBuf};

use trace_model::ModelError;

/// Why something could not be done with the files of a home.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// What was to be made is there already; it was left as it is.
    #[error("{} exists already", path.display())]
    AlreadyExists {
        /// What is there.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("could not {verb} {}", path.display())]
    Io {
        /// What was to be done.
        verb: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The file was written by a newer version.
    #[error("{} has version {found}, and this trace reads up to {supported}; use a newer trace", path.display())]
    FutureVersion {
        /// The file.
        path: PathBuf,
        /// The version that it states.
        found: u32,
        /// The newest version that this code reads.
        supported: u32,
    },
    /// The file is not what its name says.
    #[error("could not understand {}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// The home is kept by a ledger that this version does not know.
    #[error("{} names the ledger {name:?}, which this trace does not know", path.display())]
    UnknownLedger {
        /// The home's configuration.
        path: PathBuf,
        /// The name that it states.
        name: String,
    },
    /// The owner's settings make no sense.
    #[error("could not understand {}: {message}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A launch lies in a folder that is not the one its header names.
    #[error("{} says that its launch belongs into {named}", path.display())]
    Misplaced {
        /// The header that was read.
        path: PathBuf,
        /// The folder that the header's ids name.
        named: String,
    },
    /// A name makes no path below the traces folder.
    #[error(transparent)]
    Path(#[from] ModelError),
    /// The data of a file could not be synced once, so nobody knows how much of it is on disk.
    #[error("an earlier sync of {} failed, and what it covered may be lost", path.display())]
    SyncFailed {
        /// The file.
        path: PathBuf,
    },
}

impl ArtifactError {
    /// Returns the error of a failed file operation.
    pub(super) fn io(verb: &'static str, path: PathBuf, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::AlreadyExists {
            return Self::AlreadyExists { path };
        }
        Self::Io { verb, path, source }
    }

    /// Tells whether the thing that was asked for is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Why a record is not in its file. The file holds the records before it, whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The write failed or was short, and what it left was cut off again.
    #[error("could not append to {}", path.display())]
    Lost {
        /// The file, as rows name it.
        path: PathBuf,
        /// Why the write failed.
        #[source]
        source: io::Error,
    },
    /// The file may end in a piece of a record that could not be cut off. The next append tries to cut it first.
    #[error("could not cut a torn record off {}", path.display())]
    Torn {
        /// The file, as rows name it.
        path: PathBuf,
        /// Why the cut failed.
        #[source]
        source: io::Error,
    },
    /// The launch was begun without keeping the provider's own output.
    #[error("the provider's output of this launch is not kept")]
    RawIsOff,
}
