//! Launches whose id was promised: each has a file in the folder `reserved`, so that it is begun once.
//!
//! The folder of a launch depends on its run and its process, and two of them may be promised the same id: the ledger
//! promises it until it learns that the launch has begun. The file's name is the id alone. It is locked while a launch
//! begins, and names the launch's folder; once that is published, the file stays for good, and nobody else begins.

use std::{
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
};

use trace_model::{launch::LaunchHeader, path::ArtifactPath};

use super::{
    effects::FileHandle,
    error::ArtifactError,
    home::{Home, in_traces},
    lease,
};

const RESERVED: &str = "reserved";

/// The right to begin a launch whose id was promised. Dropped before it is kept, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Claim {
    home: Home,
    path: PathBuf,
    /// Kept open for its lock.
    file: Box<dyn FileHandle>,
    is_kept: bool,
}

impl Home {
    /// Claims the id of the launch. Whoever claimed it and died, or removed what it had published, does not stand
    /// against it.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::AlreadyExists`] if another launch of that id is published or begins; [`ArtifactError::Io`] if
    /// the claim cannot be made. Nothing is left behind then.
    pub(crate) fn claim(&self, header: &LaunchHeader) -> Result<Claim, ArtifactError> {
        if self.ensure_dir(Path::new(RESERVED))? {
            self.sync_dir(Path::new(""))?;
        }
        let path = Path::new(RESERVED).join(header.id.to_string());
        loop {
            match self.create_file(&path) {
                Err(ArtifactError::AlreadyExists { .. }) => self.remove_stale_claim(&path)?,
                file => return self.fill_claim(path, file?, &header.artifact_dir()),
            }
        }
    }

    fn fill_claim(&self, path: PathBuf, file: Box<dyn FileHandle>, dir: &ArtifactPath) -> Result<Claim, ArtifactError> {
        let Some(file) = lease::lock(self, file, &path)? else { return Err(self.is_claimed(&path)) };
        let mut claim = Claim { home: self.clone(), path, file, is_kept: false };
        self.at("write", &claim.path, claim.file.write_all(dir.as_str().as_bytes()))?;
        self.at("sync", &claim.path, claim.file.sync())?;
        self.sync_dir(Path::new(RESERVED))?;
        Ok(claim)
    }

    /// Removes a claim whose launch is not there, unless it is about to be.
    fn remove_stale_claim(&self, path: &Path) -> Result<(), ArtifactError> {
        let file = match self.open_file(path) {
            // Its launch could not be begun.
            Err(error) if error.is_not_found() => return Ok(()),
            file => file?,
        };
        let Some(mut claim) = lease::lock(self, file, path)? else { return Err(self.is_claimed(path)) };
        let mut dir = String::new();
        self.at("read", path, claim.read_to_string(&mut dir))?;
        // A claim that was torn when its writer died was never acted upon.
        if let Ok(dir) = dir.parse::<ArtifactPath>() {
            let published = in_traces(&dir);
            if self.at("look for", &published, self.files().kind(&published))?.is_some() {
                return Err(self.is_claimed(&published));
            }
        }
        self.at("remove", path, self.files().remove_file(path))
    }

    fn is_claimed(&self, path: &Path) -> ArtifactError {
        ArtifactError::AlreadyExists { path: self.full(path) }
    }
}

impl Claim {
    /// Keeps the claim for good: its launch is published.
    pub(crate) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.is_kept {
            // One that stays is stale.
            let _ = self.home.files().remove_file(&self.path);
        }
    }
}
