//! The sessions of OpenCode's stores: its database, and the tree of documents that it kept before.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use trace_providers::SourceFormat;

use super::{
    ImportError, ImportFrom, Keep, Run,
    known::{Known, Stamp},
    source::{ReadError, Reading, SourceFile},
};
#[cfg(feature = "sqlite")]
use crate::intake::opencode_store::OpenCodeDatabase;
use crate::intake::opencode_store::{OpenCodeStoreError, OpenCodeTree, StoredSession};

/// A store that is open.
enum Store {
    #[cfg(feature = "sqlite")]
    Database(OpenCodeDatabase),
    Tree(OpenCodeTree),
}

impl Run<'_> {
    /// Brings in the sessions of a store. In a store that did not change none did.
    pub(super) async fn store(
        &mut self,
        path: &Path,
        seen: &mut BTreeSet<String>,
        told: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), ImportError> {
        self.report.files.seen += 1;
        let name = path.display().to_string();
        let prefix = format!("{name}#");
        let stamp = stamp_of(path);
        seen.insert(name.clone());
        if stamp.is_some_and(|stamp| self.store_is_unchanged(&name, stamp)) {
            seen.extend(self.known.keys().filter(|known| known.starts_with(&prefix)).cloned());
            self.report.files.unchanged += 1;
            let sessions = self.known.keys().filter(|known| known.starts_with(&prefix)).count();
            self.report.sessions.unchanged += u64::try_from(sessions).unwrap_or(u64::MAX);
            return Ok(());
        }
        let (mut store, sessions) = match Self::open_store(path) {
            Ok(open) => open,
            Err(error) => {
                // What could not be looked at is not gone.
                seen.extend(self.known.keys().filter(|known| known.starts_with(&prefix)).cloned());
                if matches!(error, OpenCodeStoreError::NotAStore { .. }) {
                    self.report.files.foreign += 1;
                } else {
                    self.take_unreadable(&name, stamp, &crate::error::reason_of(&error));
                }
                return Ok(());
            }
        };
        self.report.files.read += 1;
        if let Some(known) = self.known.get_mut(&name) {
            known.failure = None;
        }
        let mut all_read = true;
        let wanted = match &self.request.from {
            ImportFrom::Stored { session, .. } => Some(session.clone()),
            ImportFrom::Roots(_) | ImportFrom::Paths(_) => None,
        };
        for session in sessions {
            let is_wanted = wanted.as_ref().is_none_or(|wanted| *wanted == session.id);
            let file = SourceFile {
                name: format!("{prefix}{}", session.id),
                path: PathBuf::from(&name),
                stamp: Stamp {
                    bytes: session.state.rows,
                    changed_ns: session.state.updated_ms.saturating_mul(1_000_000),
                    number: 0,
                },
            };
            seen.insert(file.name.clone());
            if !is_wanted {
                all_read = false;
                continue;
            }
            if self.is_unchanged(&file.name, file.stamp) {
                self.count_unchanged(&file.name);
                continue;
            }
            all_read &= self.stored_session(&mut store, &session.id, file, told).await?;
        }
        if let Some(stamp) = stamp.filter(|_| all_read) {
            let is_kept = self.request.keep == Keep::Copies;
            self.know(Known { is_kept, ..Known::foreign(&name, stamp) });
        }
        Ok(())
    }

    fn store_is_unchanged(&self, name: &str, stamp: Stamp) -> bool {
        let kept_enough = |known: &Known| self.request.keep == Keep::Index || known.is_kept;
        self.known.get(name).is_some_and(|known| {
            known.stamp == stamp && !known.is_missing && known.failure.is_none() && kept_enough(known)
        })
    }

    /// Reads one session and brings it in; tells whether it could be read.
    async fn stored_session(
        &mut self,
        store: &mut Store,
        session: &str,
        file: SourceFile,
        told: &mut (dyn FnMut(u64) + Send),
    ) -> Result<bool, ImportError> {
        let known = self.known.get(&file.name);
        let keep = self.request.keep == Keep::Copies || known.is_some_and(|known| known.is_kept);
        let mut reading = match Reading::begin(self.home, file.clone(), SourceFormat::OpenCodeStore, keep) {
            Ok(reading) => reading,
            Err(ReadError::Home(error)) => return Err(error.into()),
            Err(ReadError::Source(reason)) => {
                self.take_unreadable(&file.name, Some(file.stamp), &reason);
                return Ok(false);
            }
        };
        let mut failed = None;
        let result = store.lines(session, &mut |line| {
            told(u64::try_from(line.len()).unwrap_or(u64::MAX));
            if failed.is_none() {
                failed = reading.push(line).err();
            }
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        if let Err(error) = result {
            self.take_unreadable(&file.name, Some(file.stamp), &crate::error::reason_of(&error));
            return Ok(false);
        }
        let reading = reading.end();
        self.report.bytes += reading.bytes;
        self.apply(vec![reading]).await?;
        self.write_if_full().await?;
        Ok(true)
    }

    fn open_store(path: &Path) -> Result<(Store, Vec<StoredSession>), OpenCodeStoreError> {
        if path.is_dir() {
            let tree = OpenCodeTree::open(path);
            let sessions = tree.sessions(&sessions_beside(path))?;
            return Ok((Store::Tree(tree), sessions));
        }
        #[cfg(feature = "sqlite")]
        {
            let mut database = OpenCodeDatabase::open(path)?;
            let sessions = database.sessions()?;
            Ok((Store::Database(database), sessions))
        }
        #[cfg(not(feature = "sqlite"))]
        Err(OpenCodeStoreError::NotCompiled { path: path.to_path_buf() })
    }
}

impl Store {
    fn lines(&mut self, session: &str, each: &mut dyn FnMut(&[u8])) -> Result<(), OpenCodeStoreError> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Database(database) => database.lines(session, each),
            Self::Tree(tree) => tree.lines(session, each),
        }
    }
}

/// Returns the sessions that the databases beside a tree have: they stay in the tree as a subset, and count once.
#[cfg(feature = "sqlite")]
fn sessions_beside(tree: &Path) -> BTreeSet<String> {
    let Some(Ok(entries)) = tree.parent().map(fs::read_dir) else { return BTreeSet::new() };
    let databases = entries.flatten().map(|entry| entry.path()).filter(|path| super::roots::is_store(path));
    let ids = |path: PathBuf| OpenCodeDatabase::open(&path).and_then(|mut database| database.session_ids()).ok();
    databases.filter_map(ids).flatten().collect()
}

#[cfg(not(feature = "sqlite"))]
fn sessions_beside(_tree: &Path) -> BTreeSet<String> {
    BTreeSet::new()
}

/// Returns the stamp of a database together with what was written ahead of it; a tree has none.
fn stamp_of(path: &Path) -> Option<Stamp> {
    let stamp = Stamp::of(&fs::metadata(path).ok().filter(fs::Metadata::is_file)?);
    let mut ahead = path.as_os_str().to_owned();
    ahead.push("-wal");
    Some(match fs::metadata(PathBuf::from(ahead)) {
        Ok(metadata) => {
            let ahead = Stamp::of(&metadata);
            let bytes = stamp.bytes.saturating_add(ahead.bytes);
            Stamp { bytes, changed_ns: stamp.changed_ns.max(ahead.changed_ns), ..stamp }
        }
        Err(_) => stamp,
    })
}
