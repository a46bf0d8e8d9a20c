//! What of the sources is missed: those that cannot be read, are no sessions, or are gone.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use trace_model::id::LaunchId;

use super::{
    ImportError, ImportFrom, ImportNote, Run,
    apply::mark_missing,
    known::{Known, Stamp},
    notes,
    source::SourceFile,
};

impl Run<'_> {
    /// Notes that a source could not be read, and why, for whoever asks later. What it told before stays.
    pub(super) fn take_unreadable(&mut self, name: &str, stamp: Option<Stamp>, reason: &str) {
        self.report.files.failed += 1;
        self.note(name, None, "unreadable", reason);
        let known = match (self.known.get(name), stamp) {
            (Some(known), _) if known.failure.as_deref() == Some(reason) => return,
            (Some(known), _) => known.clone(),
            (None, Some(stamp)) => Known::foreign(name, stamp),
            (None, None) => return,
        };
        self.know(Known { failure: Some(reason.to_owned()), ..known });
    }

    /// Notes that the file is no session, so that it is not read again while it stays as it is.
    pub(super) fn take_foreign(&mut self, file: &SourceFile) {
        self.report.files.foreign += 1;
        let is_named = match &self.request.from {
            ImportFrom::Paths(paths) => paths.contains(&file.path),
            ImportFrom::Roots(_) | ImportFrom::Stored { .. } => false,
        };
        // Where agents keep their sessions, lines that are none are odd; files of other kinds are there as well.
        let is_of_agent = matches!(self.request.from, ImportFrom::Roots(_));
        let is_odd =
            is_of_agent && file.stamp.bytes > 0 && file.path.extension().is_some_and(|ending| ending != "json");
        self.report.files.failed += u64::from(is_named);
        if is_named || is_odd {
            self.note(&file.name, None, "not_recognised", "it is no session of an agent that is known");
        }
        self.know(Known::foreign(&file.name, file.stamp));
    }

    /// Keeps what is known of a source from now on.
    pub(super) fn know(&mut self, known: Known) {
        self.knows_more = true;
        self.known.insert(known.path.clone(), known);
    }

    /// Marks the sources that were there the last time and are gone. Their sessions stay.
    pub(super) async fn look_for_missing(
        &mut self,
        looks: &[PathBuf],
        seen: &BTreeSet<String>,
    ) -> Result<(), ImportError> {
        let gone = |known: &Known| {
            let path = Path::new(&known.path);
            !known.is_missing && looks.iter().any(|look| path.starts_with(look)) && !seen.contains(&known.path)
        };
        let names: Vec<String> =
            self.known.values().filter(|known| gone(known)).map(|known| known.path.clone()).collect();
        for name in names {
            let Some(known) = self.known.get_mut(&name) else { continue };
            self.knows_more = true;
            known.is_missing = true;
            let (is_kept, launches, is_session) = (known.is_kept, known.launches.clone(), known.format.is_some());
            if !is_session {
                self.known.remove(&name);
                continue;
            }
            self.report.files.missing += 1;
            self.note(&name, None, "source_missing", "the agent's file is gone; its session is kept");
            if !is_kept {
                for launch in launches {
                    mark_missing(self.ledger, launch).await?;
                }
            }
        }
        Ok(())
    }

    /// Notes how many requests of the sessions that changed are copies of ones that other sessions count.
    pub(super) async fn note_replays(&mut self) -> Result<(), ImportError> {
        let of_import = |launch: &LaunchId| self.report.launches.contains(launch);
        let notes = notes::replays(self.ledger, self.known.values(), of_import).await?;
        self.report.note_count += u64::try_from(notes.len()).unwrap_or(u64::MAX);
        self.report.notes.extend(notes);
        Ok(())
    }

    pub(super) fn note(&mut self, path: &str, offset: Option<u64>, kind: &str, detail: &str) {
        self.report.note_count += 1;
        let (path, kind, detail) = (path.to_owned(), kind.to_owned(), detail.to_owned());
        self.report.notes.push(ImportNote { path, offset, kind, detail });
    }
}
