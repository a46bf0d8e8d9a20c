//! Artifacts to rows: the ledger of a home brought in line with its files.
//!
//! The rows of a launch are the [`fold`](trace_model::fold) over its files, the same one that its recorder ran while
//! the launch was written; so a ledger may be deleted at any time. `deferred` brings in what a recorder could not, and
//! `moving` changes the kind of a home's ledger.

mod deferred;
mod moving;

use std::{collections::BTreeSet, error::Error, io};

use trace_model::{
    codec::Line,
    context::{Sha256Hex, TurnContext},
    event::{Event, Payload},
    fold::{Fold, FoldLine},
    launch::CaptureState,
    ledger::{Ledger, LedgerError},
    path::ArtifactPath,
    query::{LaunchCursor, LaunchQuery},
    rows::LaunchRows,
    turn::Turn,
};

use crate::{
    artifacts::{ArtifactError, ConversationReader, Home, LaunchDir, SourceEntry},
    error::reason_of,
    sources::{
        beside::OnRecord,
        listed,
        rows::{self, Setting},
    },
};

pub use deferred::index_deferred;
pub use moving::{MoveError, MoveReport, move_ledger};

/// The most notes that are kept about the lines of one launch; the lines behind are only counted.
const NOTES_PER_LAUNCH: usize = 100;

/// The most launches that are asked of the ledger at once.
const LAUNCHES_PER_QUERY: u32 = 1000;

/// The rows of one launch, read from its files, and what is wrong with the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedLaunch {
    /// The rows.
    pub rows: LaunchRows,
    /// The number of lines that are no events; a torn last line is not one of them.
    pub skipped_lines: u64,
    /// What is wrong, in the order in which it was found.
    pub notes: Vec<Note>,
}

/// Something in the files that is not as it should be, and did not keep the rest from being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The file, or the launch.
    pub path: ArtifactPath,
    /// The place in the file.
    pub offset: Option<u64>,
    /// What is wrong.
    pub reason: String,
}

/// How far a reindex is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The launches that are done.
    pub done: usize,
    /// All launches.
    pub total: usize,
}

/// What a reindex did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReindexReport {
    /// The launches whose rows are in the ledger now.
    pub launches: u64,
    /// The launches that were left alone: their writers live and keep their rows.
    pub live: u64,
    /// The launches that could not be indexed; a note says why.
    pub failed: u64,
    /// The launches of the ledger whose folders are not there. Their rows stay as they are; a note names each.
    pub without_recording: u64,
    /// The events of the indexed launches.
    pub events: u64,
    /// The lines that are no events.
    pub skipped_lines: u64,
    /// What is wrong with the files.
    pub notes: Vec<Note>,
}

/// Why a reindex stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReindexError {
    /// The launches could not be listed.
    #[error("could not list the launches")]
    List(#[source] ArtifactError),
    /// The ledger failed; no launch would fare better.
    #[error("could not index {dir}")]
    Ledger {
        /// The launch at which it failed.
        dir: ArtifactPath,
        /// What it said.
        #[source]
        source: LedgerError,
    },
    /// The ledger could not be compared with the launches that are there.
    #[error("could not list the launches of the ledger")]
    Compare(#[source] LedgerError),
}

/// Puts the rows of all launches of a home in place of what the ledger holds of them.
///
/// Rows of a launch whose folder is not there stay, and are told: nothing is lost that no file can bring back.
///
/// A launch that cannot be read, or whose rows contradict those of another, is noted and does not keep the rest from
/// being indexed. One whose writer lives is indexed only if the ledger does not know it: else its writer keeps its
/// rows, and is ahead of what can be read here.
///
/// Files are read on the thread that polls the future.
///
/// # Errors
///
/// [`ReindexError`] if the launches cannot be listed or the ledger fails.
pub async fn reindex(
    home: &Home,
    ledger: &dyn Ledger,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<ReindexReport, ReindexError> {
    let dirs = home.list_launch_artifact_dirs().map_err(ReindexError::List)?;
    let mut report = ReindexReport::default();
    for (done, dir) in dirs.iter().enumerate() {
        progress(Progress { done, total: dirs.len() });
        let stop = |source| ReindexError::Ledger { dir: dir.clone(), source };
        let folded = match fold_unless_kept(home, dir, ledger).await {
            Ok(Some(folded)) => folded,
            Ok(None) => {
                report.live += 1;
                continue;
            }
            Err(Trouble::Launch(error)) => {
                report.fail(dir, &error);
                continue;
            }
            Err(Trouble::Ledger(source)) => return Err(stop(source)),
        };
        match ledger.replace_launch(&folded.rows).await {
            Ok(()) => {
                report.launches += 1;
                report.events += folded.rows.launch.conversation_event_count;
            }
            Err(error) if is_about_the_rows(&error) => report.fail(dir, &error),
            Err(source) => return Err(stop(source)),
        }
        report.skipped_lines += folded.skipped_lines;
        report.notes.extend(folded.notes);
    }
    progress(Progress { done: dirs.len(), total: dirs.len() });
    note_without_recording(home, dirs, ledger, &mut report).await?;
    Ok(report)
}

/// Notes each launch of the ledger whose folder is not there.
async fn note_without_recording(
    home: &Home,
    dirs: Vec<ArtifactPath>,
    ledger: &dyn Ledger,
    report: &mut ReindexReport,
) -> Result<(), ReindexError> {
    let listed: BTreeSet<ArtifactPath> = dirs.into_iter().collect();
    let mut query = LaunchQuery { limit: Some(LAUNCHES_PER_QUERY), ..LaunchQuery::default() };
    loop {
        let launches = ledger.launches(&query).await.map_err(ReindexError::Compare)?;
        let Some(last) = launches.last() else { return Ok(()) };
        query.after = Some(LaunchCursor::of(last));
        for dir in launches.iter().map(|launch| launch.header.artifact_dir()) {
            // One that began after the folders were listed is there all the same.
            let is_missing = !listed.contains(&dir) && home.open_launch(&dir).is_err_and(|error| error.is_not_found());
            if is_missing {
                report.without_recording += 1;
                let reason = String::from("its recording is not there; the ledger keeps its rows");
                report.notes.push(Note { path: dir, offset: None, reason });
            }
        }
    }
}

/// Reads the rows of one launch.
///
/// # Errors
///
/// [`ArtifactError`] if there is no header to begin with, or a file cannot be read. What is wrong with single lines and
/// context files is noted.
pub fn launch_rows(home: &Home, dir: &ArtifactPath) -> Result<FoldedLaunch, ArtifactError> {
    fold(home, &home.open_launch(dir)?)
}

/// Reads the rows of a recorded launch that its own lines tell, without what it draws on.
///
/// # Errors
///
/// Those of [`launch_rows`].
pub(crate) fn own_rows(home: &Home, dir: &ArtifactPath) -> Result<FoldedLaunch, ArtifactError> {
    let launch = home.open_launch(dir)?;
    let Folded { fold, is_missing, skipped_lines, notes } = own_fold(&launch)?;
    Ok(FoldedLaunch { rows: into_rows(fold, is_missing), skipped_lines, notes })
}

/// Folds a launch: its own lines, and then what its sources tell beyond them.
fn fold(home: &Home, launch: &LaunchDir) -> Result<FoldedLaunch, ArtifactError> {
    let entries = launch.sources()?;
    if launch.header().surface == rows::SURFACE
        && let Some(first) = entries.first()
    {
        return imported(home, launch, &entries, &first.session);
    }
    let Folded { mut fold, is_missing, skipped_lines, notes } = own_fold(launch)?;
    let Some(first) = entries.first() else {
        return Ok(FoldedLaunch { rows: into_rows(fold, is_missing), skipped_lines, notes });
    };
    let listed = listed::read_session(home, &entries, &first.session, &|_| false)?;
    let counts = (fold.launch().conversation_event_count, fold.launch().conversation_bytes);
    let has_requests = listed.facts.is_some_and(|facts| rows::add_to(&mut fold, &facts));
    let mut rows = into_rows(fold, is_missing);
    let is_kept = entries.iter().all(|entry| entry.kept.is_some());
    if has_requests && is_kept && matches!(rows.launch.capture, CaptureState::PromptOnly { .. }) {
        // What came back is in the copies.
        rows.launch.capture = CaptureState::Complete;
    }
    (rows.launch.conversation_event_count, rows.launch.conversation_bytes) = counts;
    Ok(FoldedLaunch { rows, skipped_lines, notes })
}

/// Folds a launch that its sources alone tell of.
fn imported(
    home: &Home,
    launch: &LaunchDir,
    entries: &[SourceEntry],
    session: &str,
) -> Result<FoldedLaunch, ArtifactError> {
    let listed = listed::read_session(home, entries, session, &|_| false)?;
    if let Some(missing) = listed.missing.into_iter().next() {
        let source = io::Error::new(io::ErrorKind::NotFound, "the agent's file is gone, and no copy of it was kept");
        return Err(ArtifactError::Io { verb: "read", path: missing.into(), source });
    }
    let mut facts = listed.facts.unwrap_or_default();
    let beside: BTreeSet<&ArtifactPath> = entries.iter().flat_map(|entry| &entry.beside).collect();
    for dir in beside {
        match own_rows(home, dir) {
            Ok(own) => OnRecord::of(&own.rows).leave_out(&mut facts),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    let header = launch.header().clone();
    let setting = Setting { default_at: header.started_at, is_over: true };
    let is_kept = entries.iter().all(|entry| entry.kept.is_some());
    let rows = rows::whole(header, facts, rows::capture_of(is_kept), &setting);
    Ok(FoldedLaunch { rows, skipped_lines: 0, notes: Vec::new() })
}

/// The fold of a launch's own lines.
struct Folded {
    fold: Fold,
    /// Whether there is no file of lines.
    is_missing: bool,
    skipped_lines: u64,
    notes: Vec<Note>,
}

fn into_rows(fold: Fold, is_missing: bool) -> LaunchRows {
    let mut rows = fold.into_rows();
    if is_missing {
        rows.launch.conversation_path = None;
    }
    rows
}

fn own_fold(launch: &LaunchDir) -> Result<Folded, ArtifactError> {
    let mut reading = Reading { launch, fold: Fold::new(launch.header().clone()), skipped_lines: 0, notes: Vec::new() };
    let path = launch.conversation_path();
    let is_missing = match launch.conversation() {
        Ok(conversation) => {
            reading.take_all(&path, conversation)?;
            false
        }
        Err(error) if error.is_not_found() => {
            reading.note(path, None, String::from("it is missing"));
            true
        }
        Err(error) => return Err(error),
    };
    let Reading { fold, skipped_lines, notes, .. } = reading;
    Ok(Folded { fold, is_missing, skipped_lines, notes })
}

/// One launch being read.
struct Reading<'a> {
    launch: &'a LaunchDir,
    fold: Fold,
    skipped_lines: u64,
    notes: Vec<Note>,
}

impl Reading<'_> {
    fn take_all(&mut self, path: &ArtifactPath, mut conversation: ConversationReader) -> Result<(), ArtifactError> {
        while let Some(stretch) = conversation.next()? {
            if let Some(reason) = &stretch.skipped {
                self.skipped_lines += 1;
                self.note(path.clone(), Some(stretch.offset), reason.to_string());
            }
            let context = match &stretch.line {
                Some(Line::Event(Event { payload: Payload::TurnOpened { turn, context_sha256 }, .. })) => {
                    self.context(turn, context_sha256)?
                }
                _ => None,
            };
            self.fold.apply(FoldLine { bytes: stretch.bytes, line: stretch.line.as_ref() }, context);
        }
        if let Some(tail) = conversation.tail() {
            self.note(path.clone(), Some(tail.offset), String::from("the last line is torn"));
            self.fold.apply(FoldLine { bytes: tail.bytes, line: None }, None);
        }
        Ok(())
    }

    /// Reads the context of a turn. One that is missing or makes no sense leaves the turn without assets and decisions;
    /// one that cannot be read now may say later what it holds.
    fn context(&mut self, turn: &Turn, sha256: &Sha256Hex) -> Result<Option<TurnContext>, ArtifactError> {
        let path = self.launch.context_path(turn.ordinal);
        let context = match self.launch.context(turn.ordinal) {
            Ok((context, _)) if context.turn_id != turn.id => {
                self.note(path, None, format!("it is the context of {}, not of {}", context.turn_id, turn.id));
                None
            }
            Ok((context, found)) => {
                if found != *sha256 {
                    self.note(path, None, String::from("it was changed after the turn was opened"));
                }
                Some(context)
            }
            Err(error @ ArtifactError::Io { .. }) if !error.is_not_found() => return Err(error),
            Err(error) => {
                self.note(path, None, reason_of(&error));
                None
            }
        };
        Ok(context)
    }

    fn note(&mut self, path: ArtifactPath, offset: Option<u64>, reason: String) {
        if self.notes.len() < NOTES_PER_LAUNCH {
            self.notes.push(Note { path, offset, reason });
        }
    }
}

impl ReindexReport {
    fn fail(&mut self, dir: &ArtifactPath, error: &dyn Error) {
        self.failed += 1;
        self.notes.push(Note { path: dir.clone(), offset: None, reason: reason_of(error) });
    }
}

/// What keeps one launch from being indexed, or all of them.
enum Trouble {
    Launch(ArtifactError),
    Ledger(LedgerError),
}

/// Reads the rows of a launch, unless its writer lives and keeps them in this ledger.
async fn fold_unless_kept(
    home: &Home,
    dir: &ArtifactPath,
    ledger: &dyn Ledger,
) -> Result<Option<FoldedLaunch>, Trouble> {
    let launch = home.open_launch(dir).map_err(Trouble::Launch)?;
    if launch.is_live().map_err(Trouble::Launch)? {
        match ledger.launch(launch.header().id).await {
            Ok(_) => return Ok(None),
            Err(LedgerError::NotFound { .. }) => {}
            Err(error) => return Err(Trouble::Ledger(error)),
        }
    }
    fold(home, &launch).map(Some).map_err(Trouble::Launch)
}

/// Tells whether a ledger refused the rows, and not the work.
fn is_about_the_rows(error: &LedgerError) -> bool {
    matches!(error, LedgerError::AlreadyExists { .. } | LedgerError::NotFound { .. } | LedgerError::Conflict { .. })
}
