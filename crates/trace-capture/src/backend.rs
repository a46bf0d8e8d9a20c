//! Which ledger keeps the rows: a value, chosen when the ledger is opened.
//!
//! Every kind always exists. One that this build leaves out is an error that names the feature which brings it.

use std::{fmt, path::PathBuf, str::FromStr, sync::Arc};

use trace_model::ledger::{Ledger, LedgerError};
use trace_store_memory::MemoryLedger;

use crate::{
    artifacts::{ArtifactError, Home, HomeConfig},
    reindex::{ReindexError, reindex},
};

/// A kind of ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LedgerKind {
    /// Rows live as long as the process. Opened for a home, it is filled from the artifacts.
    Memory,
    /// Rows are kept in one SQLite file, which several processes may share.
    Sqlite,
    /// Rows are kept in a folder of sled, which one process has at a time.
    Sled,
}

impl LedgerKind {
    /// Every kind; the first one that is compiled in is a new home's.
    pub const ALL: &'static [Self] = &[Self::Sqlite, Self::Sled, Self::Memory];

    /// Returns the word for it in `home.json` and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::Sled => "sled",
        }
    }

    /// Tells whether this build can open it.
    pub const fn is_compiled(self) -> bool {
        match self {
            Self::Memory => true,
            Self::Sqlite => cfg!(feature = "sqlite"),
            Self::Sled => cfg!(feature = "sled"),
        }
    }

    /// Returns the names of all that it keeps in a home, its own file or folder first; nothing if it keeps nothing.
    pub const fn file_names(self) -> &'static [&'static str] {
        match self {
            Self::Memory => &[],
            Self::Sqlite => &["ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db-journal"],
            Self::Sled => &["ledger.sled"],
        }
    }

    /// Returns the name of its file or folder in a home, or `None` for one that keeps nothing.
    pub fn file_name(self) -> Option<&'static str> {
        self.file_names().first().copied()
    }

    /// Tells whether a home holds one of this kind, its own or not.
    pub(crate) fn is_there(self, home: &Home) -> bool {
        self.file_name().is_some_and(|name| home.root().join(name).exists())
    }

    /// Returns what opens it for that home.
    pub(crate) fn config(self, home: &Home) -> LedgerConfig {
        let path = self.file_name().map(|name| home.root().join(name)).unwrap_or_default();
        match self {
            Self::Memory => LedgerConfig::Memory,
            Self::Sqlite => LedgerConfig::Sqlite { path },
            Self::Sled => LedgerConfig::Sled { path },
        }
    }

    /// Returns the kind that a home is opened with where none is wanted: its own, else the first one that is compiled
    /// in.
    ///
    /// # Errors
    ///
    /// [`OpenError::Home`] if `home.json` cannot be read.
    pub fn of_home(home: &Home) -> Result<Self, OpenError> {
        Ok(home.config().map_err(OpenError::Home)?.map_or_else(Self::first, |config| config.ledger))
    }

    fn first() -> Self {
        Self::ALL.iter().copied().find(|kind| kind.is_compiled()).unwrap_or(Self::Memory)
    }
}

impl fmt::Display for LedgerKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for LedgerKind {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let kind = Self::ALL.iter().copied().find(|kind| kind.as_str() == text);
        kind.ok_or_else(|| OpenError::UnknownKind { word: text.to_owned() })
    }
}

/// Which ledger a home had when it was opened, to be asked whether that is its own still.
#[derive(Debug, Clone)]
pub(crate) struct OwnLedger {
    home: Home,
    kind: Option<LedgerKind>,
}

impl OwnLedger {
    /// Returns what the home says now.
    pub(crate) fn of(home: &Home) -> Self {
        Self { home: home.clone(), kind: kind_of(home) }
    }

    /// Tells whether the home has another ledger since, or is about to have one: what is written to the old one is
    /// lost.
    pub(crate) fn has_moved(&self) -> bool {
        self.kind.is_some() && (self.home.is_moving() || kind_of(&self.home) != self.kind)
    }
}

/// Returns the ledger that the home names, if it can be read.
fn kind_of(home: &Home) -> Option<LedgerKind> {
    home.config().ok().flatten().map(|config| config.ledger)
}

/// A ledger that is to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerConfig {
    /// An empty one in memory.
    Memory,
    /// One in a SQLite file, which is made if it is missing.
    Sqlite {
        /// The file.
        path: PathBuf,
    },
    /// One in a folder of sled, which is made if it is missing.
    Sled {
        /// The folder.
        path: PathBuf,
    },
}

/// Why a ledger could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The word names no kind of ledger.
    #[error("{word:?} is no ledger; there are {}", known_words())]
    UnknownKind {
        /// The word.
        word: String,
    },
    /// This build leaves it out.
    #[error("the {kind} ledger is not compiled in; build with the feature `{feature}`")]
    NotCompiled {
        /// What was asked for.
        kind: LedgerKind,
        /// The feature of `trace-capture` that brings it.
        feature: &'static str,
    },
    /// The home's rows are kept in a ledger of another kind.
    #[error("the ledger of {} is {own}, not {wanted}; `trace reindex --ledger {wanted}` moves it", home.display())]
    OtherKind {
        /// The home's folder.
        home: PathBuf,
        /// What it has.
        own: LedgerKind,
        /// What was asked for.
        wanted: LedgerKind,
    },
    /// The ledger itself could not be opened.
    #[error("could not open the {kind} ledger")]
    Ledger {
        /// What was asked for.
        kind: LedgerKind,
        /// Why.
        #[source]
        source: LedgerError,
    },
    /// What the home says about its ledger could not be read or written.
    #[error("could not tell which ledger the home has")]
    Home(#[source] ArtifactError),
    /// The memory ledger could not be filled from the artifacts.
    #[error("could not fill the memory ledger")]
    Fill(#[source] ReindexError),
}

/// Opens the ledger.
///
/// # Errors
///
/// [`OpenError::NotCompiled`] if this build leaves it out; [`OpenError::Ledger`] if it cannot be opened.
pub fn open_ledger(config: &LedgerConfig) -> Result<Arc<dyn Ledger>, OpenError> {
    match config {
        LedgerConfig::Memory => Ok(Arc::new(MemoryLedger::new())),
        #[cfg(feature = "sqlite")]
        LedgerConfig::Sqlite { path } => match trace_store_sqlite::SqliteLedger::open(path) {
            Ok(ledger) => Ok(Arc::new(ledger)),
            Err(source) => Err(OpenError::Ledger { kind: LedgerKind::Sqlite, source }),
        },
        #[cfg(not(feature = "sqlite"))]
        LedgerConfig::Sqlite { .. } => Err(OpenError::NotCompiled { kind: LedgerKind::Sqlite, feature: "sqlite" }),
        #[cfg(feature = "sled")]
        LedgerConfig::Sled { path } => match trace_store_sled::SledLedger::open(path) {
            Ok(ledger) => Ok(Arc::new(ledger)),
            Err(source) => Err(OpenError::Ledger { kind: LedgerKind::Sled, source }),
        },
        #[cfg(not(feature = "sled"))]
        LedgerConfig::Sled { .. } => Err(OpenError::NotCompiled { kind: LedgerKind::Sled, feature: "sled" }),
    }
}

/// Opens the ledger of a home: the wanted kind, else the home's own, else the first one that is compiled in.
///
/// The first ledger with a file that a home is opened with becomes its own, and none of another kind opens it from then
/// on: [`move_ledger`](crate::reindex::move_ledger) moves the rows. A memory ledger opens any home, is filled from its
/// artifacts, and changes nothing about it. A file ledger is opened as it is; what it lacks, [`reindex`] brings.
///
/// What the home says about itself is asked only where it matters: not for a memory ledger that is wanted. A file
/// ledger that is wanted is opened also where `home.json` is damaged, which stays as it is, but not where a newer
/// version wrote it.
///
/// # Errors
///
/// [`OpenError::NotCompiled`] if this build leaves the ledger out; [`OpenError::OtherKind`] if the home has one of
/// another kind; [`OpenError::Home`] if `home.json` cannot be read or written; [`OpenError::Ledger`] and
/// [`OpenError::Fill`] if the ledger cannot be opened or filled.
pub fn open_home_ledger(home: &Home, wanted: Option<LedgerKind>) -> Result<Arc<dyn Ledger>, OpenError> {
    if wanted == Some(LedgerKind::Memory) {
        return filled_from(home);
    }
    let (kind, is_first) = match (wanted, home.config()) {
        (wanted, Ok(config)) => {
            let own = config.map(|config| config.ledger);
            let kind = wanted.or(own).unwrap_or_else(LedgerKind::first);
            if let Some(own) = own.filter(|own| *own != kind) {
                return Err(OpenError::OtherKind { home: home.root().to_path_buf(), own, wanted: kind });
            }
            (kind, own.is_none())
        }
        (Some(wanted), Err(error)) if !matches!(error, ArtifactError::FutureVersion { .. }) => (wanted, false),
        (_, Err(error)) => return Err(OpenError::Home(error)),
    };
    if kind == LedgerKind::Memory {
        return filled_from(home);
    }
    let ledger = open_ledger(&kind.config(home))?;
    if is_first {
        home.write_config(&HomeConfig { ledger: kind }).map_err(OpenError::Home)?;
    }
    Ok(ledger)
}

/// Returns a ledger in memory that holds what the artifacts of the home tell.
fn filled_from(home: &Home) -> Result<Arc<dyn Ledger>, OpenError> {
    let ledger = open_ledger(&LedgerConfig::Memory)?;
    // A memory ledger answers at once, so that nothing is waited for on this thread.
    pollster::block_on(reindex(home, &*ledger, &mut |_| {})).map_err(OpenError::Fill)?;
    Ok(ledger)
}

/// Returns the words of all kinds, as one text.
fn known_words() -> String {
    let words: Vec<&str> = LedgerKind::ALL.iter().map(|kind| kind.as_str()).collect();
    words.join(", ")
}
