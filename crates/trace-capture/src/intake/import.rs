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
mod listing;
mod missed;
mod notes;
mod report;
mod roots;
mod source;
mod store;
mod survey;
mod waiting;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::{Path, PathBuf},
};

use trace_model::{
    id::LaunchId,
    ledger::{Ledger, LedgerError},
    timestamp::Timestamp,
};

pub use notes::{known_notes, known_replays};
pub use report::{FileCounts, ImportNote, ImportReport, SessionCounts};
pub use roots::{Look, Roots};
pub use survey::{SourceState, Survey, SurveyedSource, Trouble, survey};

use self::{
    apply::Applier,
    known::{Known, Stamp},
    roots::{Found, group_of},
    source::{Reading, SourceFile},
    waiting::Waiting,
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
    /// How many usage records are held in memory, about: a longer source is brought in in parts.
    pub records_at_once: usize,
}

impl ImportRequest {
    /// Returns a request that holds some megabytes at once.
    pub const fn new(from: ImportFrom, keep: Keep, now: Timestamp) -> Self {
        Self { from, keep, now, records_at_once: 16_384 }
    }
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

/// One import.
struct Run<'a> {
    home: &'a Home,
    ledger: &'a dyn Ledger,
    request: &'a ImportRequest,
    known: BTreeMap<String, Known>,
    /// Whether more is known by now than the catalog says.
    knows_more: bool,
    report: ImportReport,
    waiting: Waiting,
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
        let (report, waiting) = (ImportReport::default(), Waiting::default());
        let mut run = Self { home, ledger, request, known, knows_more: false, report, waiting, _lock: lock };
        if !run.is_of_this_ledger().await? {
            run.known.clear();
            run.knows_more = true;
        }
        Ok(run)
    }

    /// Tells whether the ledger holds what the catalog says was imported. One that was deleted or changed for another
    /// holds none of it.
    async fn is_of_this_ledger(&self) -> Result<bool, LedgerError> {
        // Of what is named, its own launches tell; of where agents keep their files, some of all.
        let is_named = |known: &&Known| match &self.request.from {
            ImportFrom::Paths(paths) => paths.iter().any(|path| Path::new(&known.path).starts_with(path)),
            ImportFrom::Roots(_) | ImportFrom::Stored { .. } => true,
        };
        let named = self.known.values().filter(is_named);
        let launches: Vec<LaunchId> = named.filter_map(|known| known.launches.first().copied()).collect();
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
        for path in found.links {
            self.note(&path.display().to_string(), None, "not_followed", roots::NOT_FOLLOWED);
        }
        let looks: Vec<PathBuf> = found.looks.iter().map(|look| look.path.clone()).collect();
        self.report.looks = found.looks;
        let mut groups: BTreeMap<PathBuf, Vec<SourceFile>> = BTreeMap::new();
        let mut total = 0;
        let mut seen = BTreeSet::new();
        for path in found.files {
            self.report.files.seen += 1;
            let name = path.display().to_string();
            seen.insert(name.clone());
            let metadata = match survey::regular(&path) {
                Ok(metadata) => metadata,
                Err(reason) => {
                    self.take_unreadable(&name, None, &reason);
                    continue;
                }
            };
            let stamp = Stamp::of(&metadata);
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
        self.write_waiting().await?;
        self.look_for_missing(&looks, &seen).await
    }

    fn is_over(&self, stamp: Stamp) -> bool {
        self.request.now.as_micros().saturating_sub(stamp.changed_micros()) > OVER_AFTER_MICROS
    }

    fn is_unchanged(&self, name: &str, stamp: Stamp) -> bool {
        self.known.get(name).is_some_and(|known| {
            known.stamp == stamp
                && !known.is_missing
                && known.failure.is_none()
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

    /// Reads the files of a group and brings in what they tell: all at once, or in parts if it is much.
    async fn group(&mut self, files: Vec<SourceFile>, told: &mut (dyn FnMut(u64) + Send)) -> Result<(), ImportError> {
        let at_once = self.request.records_at_once.max(1);
        // The session's own file comes first: the turns are in it that its subagents belong to.
        let (own, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| group_of(&file.path) == file.path);
        let mut files: VecDeque<(SourceFile, bool)> = own.into_iter().chain(others).map(|file| (file, true)).collect();
        let mut readings: Vec<Reading> = Vec::new();
        while let Some((file, is_new)) = files.pop_front() {
            let known = self.known.get(&file.name);
            let keep = self.request.keep == Keep::Copies || known.is_some_and(|known| known.is_kept);
            let held: usize = readings.iter().map(|reading| reading.facts.records()).sum();
            let room = at_once.saturating_sub(held);
            let reading = match Reading::of_file(self.home, file.clone(), known, keep, room, told) {
                Ok(Some(reading)) => reading,
                Ok(None) => {
                    self.take_foreign(&file);
                    continue;
                }
                Err(source::ReadError::Source(reason)) => {
                    self.take_unreadable(&file.name, Some(file.stamp), &reason);
                    continue;
                }
                Err(source::ReadError::Home(error)) => return Err(error.into()),
            };
            self.report.files.read += u64::from(is_new);
            self.report.bytes += reading.bytes;
            let (is_cut, is_full) = (reading.is_cut, reading.facts.records() >= room);
            readings.push(reading);
            if is_cut || is_full {
                let done = self.apply(std::mem::take(&mut readings)).await?;
                self.write_waiting().await?;
                // What a recorder still holds is looked at again the next time.
                if is_cut && done.contains(&file.name) {
                    files.push_front((file, false));
                }
            }
        }
        self.apply(readings).await?;
        self.write_if_full().await
    }

    /// Brings in readings, and returns the names of the sources that are done so far.
    async fn apply(&mut self, readings: Vec<Reading>) -> Result<BTreeSet<String>, ImportError> {
        let is_over = readings.iter().all(|reading| self.is_over(reading.stamp) && !reading.is_cut);
        let cut: BTreeSet<String> =
            readings.iter().filter(|reading| reading.is_cut).map(|reading| reading.name.clone()).collect();
        let mut applier = Applier::new(self.home, self.ledger, &mut self.waiting, is_over);
        let sources = applier.apply(readings).await?;
        let (new, updated, changed) = (applier.new, applier.updated, applier.changed);
        // A session that is brought in in parts counts once.
        let again = changed.intersection(&self.report.launches).count();
        self.report.sessions.new += new;
        self.report.sessions.updated += updated.saturating_sub(u64::try_from(again).unwrap_or(u64::MAX));
        self.report.launches.extend(changed);
        let mut done = BTreeSet::new();
        for (known, position) in sources {
            // The notes about a source stand behind its last part.
            if !cut.contains(&known.path) {
                self.report.note_count += position.note_count;
                self.report.notes.extend(position.notes.iter().map(|note| ImportNote {
                    path: known.path.clone(),
                    offset: Some(note.offset),
                    kind: note.kind.clone(),
                    detail: note.detail.clone(),
                }));
            }
            done.insert(known.path.clone());
            self.waiting.put_done(known, position);
        }
        Ok(done)
    }

    /// Writes what waits if that is much.
    async fn write_if_full(&mut self) -> Result<(), ImportError> {
        if self.waiting.is_full(self.request.records_at_once) { self.write_waiting().await } else { Ok(()) }
    }

    /// Writes what waits for the ledger, and then where its sources are to be read on.
    async fn write_waiting(&mut self) -> Result<(), ImportError> {
        self.waiting.write(self.ledger).await?;
        for (known, position) in self.waiting.take_done() {
            self.home.write_position(&known.path, &position)?;
            self.know(known);
        }
        Ok(())
    }
}
