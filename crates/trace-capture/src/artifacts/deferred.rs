//! Launches whose rows no ledger took: each has a marker in the folder `deferred`, until whoever opens the ledger next
//! has brought it in.
//!
//! A marker that is missing costs nothing but a `trace reindex`, and one too many nothing but a launch that is folded
//! again.

use std::path::{Path, PathBuf};

use trace_model::path::ArtifactPath;

use super::{effects::EntryKind, error::ArtifactError, home::Home};

const DEFERRED: &str = "deferred";

impl Home {
    /// Notes that the launch in that folder is in no ledger yet.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if the marker cannot be written.
    pub fn defer(&self, launch: &ArtifactPath) -> Result<(), ArtifactError> {
        if self.ensure_dir(Path::new(DEFERRED))? {
            self.sync_dir(Path::new(""))?;
        }
        let marker = marker(launch);
        let text = launch.as_str().as_bytes();
        match self.write_new(&marker, text) {
            Err(ArtifactError::AlreadyExists { .. }) if self.read(&marker).is_ok_and(|found| found == text) => Ok(()),
            // A full disk or a power cut tore it.
            Err(ArtifactError::AlreadyExists { .. }) => {
                self.at("remove", &marker, self.files().remove_file(&marker))?;
                self.write_new(&marker, text)?;
                self.sync_dir(Path::new(DEFERRED))
            }
            written => written.and_then(|()| self.sync_dir(Path::new(DEFERRED))),
        }
    }

    /// Takes back what [`defer`](Self::defer) noted, if it did.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if the marker cannot be removed.
    pub fn forget_deferred(&self, launch: &ArtifactPath) -> Result<(), ArtifactError> {
        let marker = marker(launch);
        match self.at("remove", &marker, self.files().remove_file(&marker)) {
            Err(error) if error.is_not_found() => Ok(()),
            removed => removed,
        }
    }

    /// Returns the folders of the launches that are in no ledger yet, sorted. A marker that names no folder is passed
    /// over.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if a marker cannot be read.
    pub fn deferred_launches(&self) -> Result<Vec<ArtifactPath>, ArtifactError> {
        let folder = Path::new(DEFERRED);
        let entries = match self.at("list", folder, self.files().entries(folder)) {
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut launches = Vec::new();
        for entry in entries.into_iter().filter(|entry| entry.kind == EntryKind::File) {
            let text = match self.read(&folder.join(&entry.name)) {
                // Someone else was faster.
                Err(error) if error.is_not_found() => continue,
                text => text?,
            };
            launches.extend(String::from_utf8(text).ok().and_then(|dir| dir.parse::<ArtifactPath>().ok()));
        }
        launches.sort();
        Ok(launches)
    }
}

/// Returns the marker of the launch: its folder's own name.
fn marker(launch: &ArtifactPath) -> PathBuf {
    let name = launch.as_str().rsplit('/').next().unwrap_or_default();
    Path::new(DEFERRED).join(name)
}
