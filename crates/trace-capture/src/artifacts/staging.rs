//! The folder of a launch on its way from nothing to published.

use std::path::{Path, PathBuf};

use trace_model::launch::LaunchHeader;

use super::{
    effects::{Existing, FileHandle},
    error::ArtifactError,
    home::{Home, TRACES, in_traces},
    lease,
};

/// The folder of a launch, held by its lease.
///
/// It is filled as `.<launch>.staging` and then renamed, so that nobody ever sees a published folder that lacks
/// something. Dropped before it is published, it leaves nothing behind.
#[derive(Debug)]
pub(super) struct StagedFolder {
    home: Home,
    /// The run's and the process's folder, outermost first; those that this launch made, for its failure.
    parents: [PathBuf; 2],
    made: Vec<PathBuf>,
    staging: PathBuf,
    published: PathBuf,
    state: State,
    /// Kept open for its lock.
    lease: Option<Box<dyn FileHandle>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// There is no folder.
    Absent,
    /// The staging folder was made here, but another process may have claimed it.
    Unclaimed,
    /// The staging folder is this launch's.
    Staged,
    /// The folder has its name.
    Published,
}

impl StagedFolder {
    /// Makes the staging folder of the launch, with its locked lease. A stale one goes to quarantine.
    pub(super) fn claim(home: &Home, header: &LaunchHeader) -> Result<Self, ArtifactError> {
        let run = Path::new(TRACES).join(header.run_id.as_str());
        let process = run.join(header.process_id.as_str());
        let mut folder = Self {
            home: home.clone(),
            staging: process.join(format!(".{}.staging", header.id)),
            published: in_traces(&header.artifact_dir()),
            parents: [run, process],
            made: Vec::new(),
            state: State::Absent,
            lease: None,
        };
        if !folder.make()? {
            folder.quarantine_stale(&format!("{}.staging", header.id))?;
            home.create_dir(&folder.staging)?;
        }
        folder.state = State::Unclaimed;
        match lease::create(home, &folder.staging, header.hostname.as_deref()) {
            Ok(lease) => folder.lease = Some(lease),
            Err(error) => {
                if matches!(error, ArtifactError::AlreadyExists { .. }) {
                    // Whatever is there now is the other's, and so are the folders above it.
                    folder.state = State::Absent;
                    folder.made.clear();
                }
                return Err(error);
            }
        }
        folder.state = State::Staged;
        match home.at("look for", &folder.published, home.files().kind(&folder.published))? {
            Some(_) => Err(ArtifactError::AlreadyExists { path: home.full(&folder.published) }),
            None => Ok(folder),
        }
    }

    /// Makes the staging folder and those above it, and tells whether it was missing.
    fn make(&mut self) -> Result<bool, ArtifactError> {
        let mut attempts = 1;
        loop {
            match self.make_parents().and_then(|()| self.home.ensure_dir(&self.staging)) {
                // Another launch that failed to begin has just removed the folders above, which were empty.
                Err(error) if error.is_not_found() && attempts < 10 => attempts += 1,
                made => return made,
            }
        }
    }

    fn make_parents(&mut self) -> Result<(), ArtifactError> {
        for parent in &self.parents {
            if self.home.ensure_dir(parent)? {
                self.made.push(parent.clone());
            }
        }
        Ok(())
    }

    /// Moves a staging folder away whose writer is dead.
    fn quarantine_stale(&self, name: &str) -> Result<(), ArtifactError> {
        let Some(lease) = lease::claim(&self.home, &self.staging)? else {
            return Err(ArtifactError::AlreadyExists { path: self.home.full(&self.staging) });
        };
        self.home.quarantine(&self.staging, name)?;
        drop(lease);
        Ok(())
    }

    /// Returns where the folder is now, beneath the root.
    pub(super) fn path(&self) -> &Path {
        if self.state == State::Published { &self.published } else { &self.staging }
    }

    /// Gives the folder its name, for good: its entries and those of the folders above it are on disk then.
    ///
    /// The files in it and in its own folders are taken to be synced.
    pub(super) fn publish(&mut self) -> Result<(), ArtifactError> {
        let home = &self.home;
        home.sync_dir(&self.staging)?;
        // It is `AlreadyExists` if the launch was published meanwhile.
        let renamed = home.files().rename(&self.staging, &self.published, Existing::Refuse);
        home.at("publish", &self.published, renamed)?;
        self.state = State::Published;
        // Another launch may have made the folders above and not have synced them yet.
        for folder in self.parents.iter().map(PathBuf::as_path).rev().chain([Path::new(TRACES), Path::new("")]) {
            home.sync_dir(folder)?;
        }
        Ok(())
    }

    /// Removes the folder, published or not. What cannot be removed stays as a stale staging folder.
    pub(super) fn remove(&mut self) {
        let files = self.home.files();
        let home = &self.home;
        // Errors are not told: whoever removes a launch has a first error to tell.
        if self.state == State::Published {
            let _ = files.rename(&self.published, &self.staging, Existing::Refuse);
        }
        match self.state {
            State::Absent => {}
            State::Unclaimed => self.remove_unclaimed(),
            State::Staged | State::Published => {
                let _ = home.remove_tree(&self.staging, Some(lease::LEASE));
            }
        }
        for made in self.made.drain(..).rev() {
            // It stays if another launch lies in it.
            let _ = files.remove_dir(&made);
        }
        self.state = State::Absent;
    }

    /// Removes the folder whose lease could not be made, unless another process has claimed it meanwhile.
    fn remove_unclaimed(&self) {
        let home = &self.home;
        match lease::reclaim(home, &self.staging) {
            Ok(Some(_lease)) => {
                let _ = home.remove_tree(&self.staging, Some(lease::LEASE));
            }
            Err(error) if error.is_not_found() => {
                // Only while it is empty.
                let _ = home.files().remove_dir(&self.staging);
            }
            Ok(None) | Err(_) => {}
        }
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        if self.state != State::Published {
            self.remove();
        }
    }
}
