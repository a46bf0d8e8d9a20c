//! Brings in what agents wrote themselves: session files, stores and recorded streams.
//!
//! A session becomes a launch with its turns and usage records; all of its files together do, also those of its
//! subagents. What was recorded while the session ran is not brought in again: its launch gets the requests that it
//! lacks. A source that is kept is copied into the launch's folder, so that the record outlives it; else it is named
//! there, and read where the agent keeps it.
//!
//! Where to look is the caller's word ([`Roots`] or paths), what a file is its content's. A file that did not change
//! costs a look at its entry; one that grew is read from where it was left, if its beginning is what it was.

mod apply;
mod known;
mod roots;
mod source;
mod store;
mod survey;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use trace_model::{
    id::LaunchId,
    ledger::{Ledger, LedgerError},
    timestamp::Timestamp,
};

pub use roots::{Look, Roots};
pub use survey::{Survey, SurveyedSource, survey};

use self::{
    apply::Applier,
    known::{Known, Position, Stamp},
    roots::{Found, group_of},
    source::{Reading, SourceFile},
};
use crate::artifacts::{ArtifactError, Home, Importing};

/// How long a source with a turn that has no end may rest before the turn counts as over.
const OVER_AFTER_MICROS: i64 = 3_600_000_000;

/// How many launches the ledger is asked for to find out whether it is the one that earlier imports filled.
const ASKED: usize = 8;

/// What is to be imported.
#[derive(Debug, Clone)]
pub struct ImportRequest {
    /// Where to look.
    pub from: ImportFrom,
    /// Whether copies are kept.
    pub keep: Keep,
    /// The time of the moment.
    pub now: Timestamp,
}

/// Where to look for sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportFrom {
    /// Where agents keep their files.
    Roots(Roots),
    /// In these files and folders. A session's file stands for those of its subagents, too.
    Paths(Vec<PathBuf>),
    /// One session of a store.
    Stored {
        /// The database.
        store: PathBuf,
        /// The provider's id of the session.
        session: String,
    },
}

impl ImportFrom {
    fn find(&self) -> Found {
        match self {
            Self::Roots(roots) => roots.find(),
            Self::Paths(paths) => Found::of_paths(paths),
            Self::Stored { store, .. } => Found::of_paths(std::slice::from_ref(store)),
        }
    }

    /// Returns the files that may be sessions, without those of subagents.
    pub(crate) fn session_files(&self) -> Vec<PathBuf> {
        self.find().files.into_iter().filter(|path| group_of(path) == *path).collect()
    }

    /// Returns the databases that may hold sessions.
    #[cfg(feature = "sqlite")]
    pub(crate) fn databases(&self) -> Vec<PathBuf> {
        self.find().stores.into_iter().filter(|path| path.is_file()).collect()
    }
}

/// What becomes of the bytes of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// They are copied, compressed: the record outlives the source.
    Copies,
    /// They stay where they are; the launch names the source.
    Index,
}

/// How far an import is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportProgress {
    /// The bytes that were read.
    pub done: u64,
    /// The bytes that are to be read, as far as that is known.
    pub total: u64,
}

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

/// Why an import stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Another process imports into the home.
    #[error("another process imports into {}; try again when it is done", home.display())]
    Busy {
        /// The home's folder.
        home: PathBuf,
    },
    /// The home's own files could not be read or written.
    #[error("could not import into the home")]
    Home(#[from] ArtifactError),
    /// The ledger failed.
    #[error("could not index what was imported")]
    Ledger(#[from] LedgerError),
}

/// Imports what the request names.
///
/// What cannot be read, or read only in part, is noted and keeps nothing else from being imported. An import that is
/// stopped in the middle is completed by the next one.
///
/// Files are read on the thread that polls the future.
///
/// # Errors
///
/// [`ImportError`] if another process imports, or the home or the ledger fails.
pub async fn import(
    home: &Home,
    ledger: &dyn Ledger,
    request: &ImportRequest,
    progress: &mut (dyn FnMut(ImportProgress) + Send),
) -> Result<ImportReport, ImportError> {
    let lock = home.start_import()?.ok_or_else(|| ImportError::Busy { home: home.root().to_path_buf() })?;
    let found = request.from.find();
    let mut run = Run::begin(home, ledger, request, lock).await?;
    let result = run.all(found, progress).await;
    // What was done before it stopped need not be done again.
    if run.knows_more {
        home.write_catalog(&run.known.values().collect::<Vec<_>>())?;
    }
    result?;
    run.note_replays().await?;
    Ok(run.report)
}

/// Returns the notes about all sources that are known, from the last time that each was read.
///
/// # Errors
///
/// [`ArtifactError::Io`] if the catalog cannot be read.
pub fn known_notes(home: &Home) -> Result<Vec<ImportNote>, ArtifactError> {
    let mut notes = Vec::new();
    for known in home.read_catalog::<Known>()?.into_iter().filter(|known| known.notes > 0) {
        let Some(position) = home.read_position::<Position>(&known.path) else { continue };
        notes.extend(position.notes.into_iter().map(|note| ImportNote {
            path: known.path.clone(),
            offset: Some(note.offset),
            kind: note.kind,
            detail: note.detail,
        }));
    }
    Ok(notes)
}

/// One import.
struct Run<'a> {
    home: &'a Home,
    ledger: &'a dyn Ledger,
    request: &'a ImportRequest,
    known: BTreeMap<String, Known>,
    /// Whether more is known by now than the catalog says.
    knows_more: bool,
    report: ImportReport,
    _lock: Importing,
}

impl<'a> Run<'a> {
    async fn begin(
        home: &'a Home,
        ledger: &'a dyn Ledger,
        request: &'a ImportRequest,
        lock: Importing,
    ) -> Result<Self, ImportError> {
        let known = home.read_catalog::<Known>()?.into_iter().map(|known| (known.path.clone(), known)).collect();
        let report = ImportReport::default();
        let mut run = Self { home, ledger, request, known, knows_more: false, report, _lock: lock };
        if !run.is_of_this_ledger().await? {
            run.known.clear();
            run.knows_more = true;
        }
        Ok(run)
    }

    /// Tells whether the ledger holds what the catalog says was imported. One that was deleted or changed for another
    /// holds none of it.
    async fn is_of_this_ledger(&self) -> Result<bool, LedgerError> {
        let launches: Vec<LaunchId> = self.known.values().filter_map(|known| known.launches.first().copied()).collect();
        let step = (launches.len() / ASKED).max(1);
        for launch in launches.into_iter().step_by(step) {
            match self.ledger.launch(launch).await {
                Ok(_) => {}
                Err(LedgerError::NotFound { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    async fn all(
        &mut self,
        found: Found,
        progress: &mut (dyn FnMut(ImportProgress) + Send),
    ) -> Result<(), ImportError> {
        for (path, reason) in found.unreadable {
            self.report.files.failed += 1;
            self.note(&path.display().to_string(), None, "unreadable", &reason);
        }
        let looks: Vec<PathBuf> = found.looks.iter().map(|look| look.path.clone()).collect();
        self.report.looks = found.looks;
        let mut groups: BTreeMap<PathBuf, Vec<SourceFile>> = BTreeMap::new();
        let mut total = 0;
        let mut seen = BTreeSet::new();
        for path in found.files {
            self.report.files.seen += 1;
            let name = path.display().to_string();
            let metadata = match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => continue,
                Ok(metadata) => metadata,
                Err(error) => {
                    self.report.files.failed += 1;
                    self.note(&name, None, "unreadable", &error.to_string());
                    seen.insert(name);
                    continue;
                }
            };
            let stamp = Stamp::of(&metadata);
            seen.insert(name.clone());
            if self.is_unchanged(&name, stamp) {
                self.count_unchanged(&name);
                continue;
            }
            total += self.to_read(&name, stamp);
            groups.entry(group_of(&path)).or_default().push(SourceFile { name, path, stamp });
        }
        let mut done = 0;
        progress(ImportProgress { done, total });
        for files in groups.into_values() {
            let mut told = |bytes: u64| {
                done += bytes;
                progress(ImportProgress { done, total: total.max(done) });
            };
            self.group(files, &mut told).await?;
        }
        for store in found.stores {
            let mut told = |bytes: u64| {
                done += bytes;
                progress(ImportProgress { done, total: total.max(done) });
            };
            self.store(&store, &mut seen, &mut told).await?;
        }
        self.look_for_missing(&looks, &seen).await
    }

    fn is_over(&self, stamp: Stamp) -> bool {
        self.request.now.as_micros().saturating_sub(stamp.changed_micros()) > OVER_AFTER_MICROS
    }

    fn is_unchanged(&self, name: &str, stamp: Stamp) -> bool {
        self.known.get(name).is_some_and(|known| {
            known.stamp == stamp
                && !known.is_missing
                && (self.request.keep == Keep::Index || known.is_kept || known.format.is_none())
                && !(known.is_open && self.is_over(stamp))
        })
    }

    fn count_unchanged(&mut self, name: &str) {
        let Some(known) = self.known.get(name) else { return };
        if known.format.is_some() {
            self.report.files.unchanged += 1;
            self.report.sessions.unchanged += u64::try_from(known.launches.len()).unwrap_or(u64::MAX);
        } else {
            self.report.files.foreign += 1;
        }
    }

    /// Returns how much of the file is probably to be read.
    fn to_read(&self, name: &str, stamp: Stamp) -> u64 {
        match self.known.get(name) {
            Some(known) if known.is_kept || self.request.keep == Keep::Index => {
                stamp.bytes.saturating_sub(known.stamp.bytes)
            }
            _ => stamp.bytes,
        }
    }

    /// Reads the files of a group and brings in what they tell.
    async fn group(
        &mut self,
        files: Vec<SourceFile>,
        told: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), ImportError> {
        let mut readings = Vec::new();
        for file in files {
            let known = self.known.get(&file.name);
            let keep = self.request.keep == Keep::Copies || known.is_some_and(|known| known.is_kept);
            match Reading::of_file(self.home, file.clone(), known, keep, told) {
                Ok(Some(reading)) => {
                    self.report.files.read += 1;
                    self.report.bytes += reading.bytes;
                    readings.push(reading);
                }
                Ok(None) => self.take_foreign(&file),
                Err(source::ReadError::Source(reason)) => {
                    self.report.files.failed += 1;
                    self.note(&file.name, None, "unreadable", &reason);
                }
                Err(source::ReadError::Home(error)) => return Err(error.into()),
            }
        }
        self.apply(readings).await
    }

    async fn apply(&mut self, readings: Vec<Reading>) -> Result<(), ImportError> {
        let is_over = readings.iter().all(|reading| self.is_over(reading.stamp));
        let mut applier = Applier::new(self.home, self.ledger, is_over);
        let applied = applier.apply(readings).await?;
        self.report.sessions.new += applier.new;
        self.report.sessions.updated += applier.updated;
        self.report.launches.extend(applier.changed);
        for (known, position) in applied {
            self.report.note_count += position.note_count;
            for note in &position.notes {
                self.report.notes.push(ImportNote {
                    path: known.path.clone(),
                    offset: Some(note.offset),
                    kind: note.kind.clone(),
                    detail: note.detail.clone(),
                });
            }
            self.home.write_position(&known.path, &position)?;
            self.know(known);
        }
        Ok(())
    }

    /// Notes that the file is no session, so that it is not read again while it stays as it is.
    fn take_foreign(&mut self, file: &SourceFile) {
        self.report.files.foreign += 1;
        let is_named = match &self.request.from {
            ImportFrom::Paths(paths) => paths.contains(&file.path),
            ImportFrom::Roots(_) | ImportFrom::Stored { .. } => false,
        };
        if is_named {
            self.report.files.failed += 1;
            self.note(&file.name, None, "not_recognised", "it is no session of an agent that is known");
        }
        self.know(Known::foreign(&file.name, file.stamp));
    }

    /// Keeps what is known of a source from now on.
    fn know(&mut self, known: Known) {
        self.knows_more = true;
        self.known.insert(known.path.clone(), known);
    }

    /// Marks the sources that were there the last time and are gone. Their sessions stay.
    async fn look_for_missing(&mut self, looks: &[PathBuf], seen: &BTreeSet<String>) -> Result<(), ImportError> {
        let gone = |known: &Known| {
            let path = Path::new(&known.path);
            !known.is_missing && looks.iter().any(|look| path.starts_with(look)) && !seen.contains(&known.path)
        };
        let names: Vec<String> = self.known.values().filter(|known| gone(known)).map(|known| known.path.clone()).collect();
        for name in names {
            self.report.files.missing += 1;
            let Some(known) = self.known.get_mut(&name) else { continue };
            self.knows_more = true;
            known.is_missing = true;
            let (is_kept, launches, is_session) = (known.is_kept, known.launches.clone(), known.format.is_some());
            if !is_session {
                self.known.remove(&name);
                continue;
            }
            self.note(&name, None, "source_missing", "the agent's file is gone; its session is kept");
            if !is_kept {
                for launch in launches {
                    Applier::new(self.home, self.ledger, true).mark_missing(launch).await?;
                }
            }
        }
        Ok(())
    }

    /// Notes how many requests of the sessions that changed are copies of ones that other sessions count.
    async fn note_replays(&mut self) -> Result<(), ImportError> {
        if self.report.launches.is_empty() {
            return Ok(());
        }
        let query = trace_model::usage_query::UsageQuery::default();
        let mut replays: BTreeMap<LaunchId, u64> = BTreeMap::new();
        for cell in self.ledger.usage_cells(&query).await? {
            if cell.sum.replays > 0 && self.report.launches.contains(&cell.launch_id) {
                *replays.entry(cell.launch_id).or_default() += cell.sum.replays;
            }
        }
        let mut notes = Vec::new();
        for known in self.known.values() {
            for count in known.launches.iter().filter_map(|launch| replays.remove(launch)) {
                let requests = if count == 1 { "1 request is" } else { "requests are" };
                let number = if count == 1 { String::new() } else { format!("{count} ") };
                notes.push((known.path.clone(), format!("{number}{requests} counted in another session")));
            }
        }
        for (path, detail) in notes {
            self.note(&path, None, "replayed", &detail);
        }
        Ok(())
    }

    fn note(&mut self, path: &str, offset: Option<u64>, kind: &str, detail: &str) {
        self.report.note_count += 1;
        let (path, kind, detail) = (path.to_owned(), kind.to_owned(), detail.to_owned());
        self.report.notes.push(ImportNote { path, offset, kind, detail });
    }
}
