//! That a home is being moved to another kind of ledger: a file, locked by whoever moves it.

use std::path::Path;

use super::{
    effects::{FileHandle, Lock},
    error::ArtifactError,
    home::Home,
    lease,
};

const MOVING: &str = "moving";

/// The right to move the home. It is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Moving {
    home: Home,
    /// Kept open for its lock.
    _file: Box<dyn FileHandle>,
}

impl Home {
    /// Takes the right to move the home.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::AlreadyExists`] if another process moves it; [`ArtifactError::Io`] if the file cannot be made.
    pub(crate) fn start_move(&self) -> Result<Moving, ArtifactError> {
        let path = Path::new(MOVING);
        let file = match self.create_file(path) {
            // Whoever made it died, or lives and has it locked.
            Err(ArtifactError::AlreadyExists { .. }) => self.open_file(path)?,
            file => file?,
        };
        let is_anothers = || ArtifactError::AlreadyExists { path: self.full(path) };
        let file = lease::lock(self, file, path)?.ok_or_else(is_anothers)?;
        Ok(Moving { home: self.clone(), _file: file })
    }

    /// Tells whether the home is being moved. What cannot be looked at is not.
    pub(crate) fn is_moving(&self) -> bool {
        // Shared, so that two who ask do not take each other for a mover.
        self.open_file(Path::new(MOVING)).is_ok_and(|file| file.try_lock(Lock::Shared).is_ok_and(|locked| !locked))
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        // One that stays is locked by nobody.
        let _ = self.home.files().remove_file(Path::new(MOVING));
    }
}
