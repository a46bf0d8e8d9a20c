//! A file that grows record by record and never ends in a piece of one.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use sha2::{Digest, Sha256};
use trace_model::{context::Sha256Hex, event::FileHash, path::ArtifactPath};

use super::{
    effects::FileHandle,
    error::{AppendError, ArtifactError},
    home::Home,
};

/// An open file that records are appended to, each with one write.
#[derive(Debug)]
pub(super) struct AppendFile {
    file: Box<dyn FileHandle>,
    /// What messages call it: its place among all artifacts, which outlives the staging folder and a move of the home.
    name: PathBuf,
    /// The size of the whole records.
    len: u64,
    hash: Sha256,
    /// The file may be longer than its whole records.
    torn: bool,
    sync: Arc<SyncState>,
}

/// What a file and the duplicates that sync it know in common.
#[derive(Debug, Default)]
struct SyncState {
    /// Something was written since the last sync began.
    dirty: AtomicBool,
    /// A sync failed. Held while one goes on, so that nobody takes a file for synced before it is; never by an append.
    failed: Mutex<bool>,
}

impl AppendFile {
    /// Makes the file; `artifact` is where rows say that it is, once its launch is published.
    pub(super) fn create(home: &Home, path: &Path, artifact: &ArtifactPath) -> Result<Self, ArtifactError> {
        let file = home.create_file(path)?;
        let name = PathBuf::from(artifact.as_str());
        Ok(Self { file, name, len: 0, hash: Sha256::new(), torn: false, sync: Arc::default() })
    }

    /// Returns the size of the whole records.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// Appends a record. If that fails, the file is as it was before, or is cut so before the next record.
    pub(super) fn append(&mut self, record: &[u8]) -> Result<(), AppendError> {
        self.write(record)?;
        self.commit(record);
        Ok(())
    }

    /// Writes a record that [`commit`](Self::commit) takes in and [`cut`](Self::cut) takes back.
    pub(super) fn write(&mut self, record: &[u8]) -> Result<(), AppendError> {
        self.cut_if_torn()?;
        let source = match write_once(&mut *self.file, record) {
            Ok(written) if written == record.len() => return Ok(()),
            Ok(written) => {
                let message = format!("only {written} of {} bytes were written", record.len());
                io::Error::new(io::ErrorKind::WriteZero, message)
            }
            Err(error) => error,
        };
        self.cut()?;
        Err(AppendError::Lost { path: self.name.clone(), source })
    }

    /// Takes in the record that was just written.
    pub(super) fn commit(&mut self, record: &[u8]) {
        self.len += len_of(record);
        self.hash.update(record);
        self.sync.dirty.store(true, Ordering::Release);
    }

    /// Cuts off what an earlier cut could not.
    pub(super) fn cut_if_torn(&mut self) -> Result<(), AppendError> {
        if self.torn { self.cut() } else { Ok(()) }
    }

    /// Cuts the file back to its whole records.
    pub(super) fn cut(&mut self) -> Result<(), AppendError> {
        self.torn = true;
        self.file.set_len(self.len).map_err(|source| AppendError::Torn { path: self.name.clone(), source })?;
        self.torn = false;
        self.sync.dirty.store(true, Ordering::Release);
        Ok(())
    }

    /// Returns size and hash of the whole records, under the file's name in its launch.
    pub(super) fn file_hash(&self, name: &str) -> FileHash {
        let sha256 = Sha256Hex::from_digest(self.hash.clone().finalize().into());
        FileHash { path: String::from(name), bytes: self.len, sha256 }
    }

    /// Returns a duplicate that syncs what was appended.
    pub(super) fn sync_handle(&self) -> Result<SyncHandle, ArtifactError> {
        let file = self.file.duplicate().map_err(|source| ArtifactError::io("duplicate", self.name.clone(), source))?;
        Ok(SyncHandle { file, name: self.name.clone(), state: Arc::clone(&self.sync) })
    }

    /// Syncs what was appended, and a new file in any case.
    pub(super) fn sync_new(&self) -> Result<(), ArtifactError> {
        self.sync.dirty.store(true, Ordering::Release);
        sync(&*self.file, &self.name, &self.sync)
    }
}

/// Syncs one file from another thread.
#[derive(Debug)]
pub(super) struct SyncHandle {
    file: Box<dyn FileHandle>,
    name: PathBuf,
    state: Arc<SyncState>,
}

impl SyncHandle {
    pub(super) fn sync(&self) -> Result<(), ArtifactError> {
        sync(&*self.file, &self.name, &self.state)
    }
}

fn sync(file: &dyn FileHandle, name: &Path, state: &SyncState) -> Result<(), ArtifactError> {
    let mut failed = state.failed.lock().unwrap_or_else(PoisonError::into_inner);
    // After a failed sync the system may have dropped the data and may report success for the rest: no later success
    // would mean anything.
    if *failed {
        return Err(ArtifactError::SyncFailed { path: name.to_path_buf() });
    }
    // What is appended from here on marks the file again.
    if !state.dirty.swap(false, Ordering::AcqRel) {
        return Ok(());
    }
    file.sync().map_err(|source| {
        *failed = true;
        ArtifactError::io("sync", name.to_path_buf(), source)
    })
}

fn write_once(file: &mut dyn FileHandle, record: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(record) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            written => return written,
        }
    }
}

pub(super) fn len_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("a length in memory fits 64 bits")
}
