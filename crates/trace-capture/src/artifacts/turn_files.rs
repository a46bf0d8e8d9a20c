//! The files of a turn, each written once.

use std::path::PathBuf;

use trace_model::{
    context::{Sha256Hex, TurnContext},
    event::FileHash,
    path::ArtifactPath,
};

use super::{
    error::ArtifactError,
    home::Home,
    launch_files::{hash_of, write_line},
    layout,
};

/// Writes the files of the turns of one launch. It shares nothing with the files that grow, so that events are appended
/// while it waits for the disk.
#[derive(Debug)]
pub struct TurnWriter {
    home: Home,
    /// Where the launch is.
    folder: PathBuf,
    /// Where rows say that it is.
    dir: ArtifactPath,
    /// Files that are to be removed and could not be yet.
    leftovers: Vec<PathBuf>,
}

/// What the files of a turn are made of.
#[derive(Debug, Clone, Copy)]
pub struct TurnFiles<'a> {
    /// The turn's place in its launch, from 1.
    pub ordinal: u32,
    /// The system prompt, if there is one.
    pub system: Option<&'a str>,
    /// The task prompt, if there is one.
    pub task: Option<&'a str>,
    /// Assets and decisions.
    pub context: &'a TurnContext,
}

/// Where the files of a turn are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenTurn {
    /// The file of the system prompt.
    pub system_prompt_path: Option<ArtifactPath>,
    /// The file of the task prompt.
    pub task_prompt_path: Option<ArtifactPath>,
    /// The hash of the context file.
    pub context_sha256: Sha256Hex,
    hashes: Vec<FileHash>,
}

impl WrittenTurn {
    pub(super) fn hashes(&self) -> &[FileHash] {
        &self.hashes
    }
}

impl TurnWriter {
    pub(super) const fn new(home: Home, folder: PathBuf, dir: ArtifactPath) -> Self {
        Self { home, folder, dir, leftovers: Vec::new() }
    }

    /// Writes and syncs the files of a turn.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if that fails; what was written of the turn is removed again, and the same turn may be
    /// written anew.
    pub fn write(&mut self, files: &TurnFiles<'_>) -> Result<WrittenTurn, ArtifactError> {
        self.remove_leftovers()?;
        let mut context = Vec::new();
        write_line(files.context, &mut context);
        let [system, task, context_name] = layout::TURN_FILES.map(|suffix| layout::turn_file(files.ordinal, suffix));
        let parts = [
            (&system, files.system.map(str::as_bytes)),
            (&task, files.task.map(str::as_bytes)),
            (&context_name, Some(&*context)),
        ];
        let mut hashes = Vec::new();
        let result = (|| {
            for (name, bytes) in parts {
                let Some(bytes) = bytes else { continue };
                let path = self.folder.join(name);
                let file = self.home.create_file(&path)?;
                self.leftovers.push(path.clone());
                self.home.fill(file, &path, bytes)?;
                hashes.push(hash_of(name, bytes));
            }
            self.home.sync_dir(&self.folder.join(layout::TURNS))
        })();
        if let Err(error) = result {
            // What cannot be removed now is tried again before the next turn.
            let _ = self.remove_leftovers();
            return Err(error);
        }
        self.leftovers.clear();
        Ok(WrittenTurn {
            system_prompt_path: files.system.map(|_| self.dir.join(&system)).transpose()?,
            task_prompt_path: files.task.map(|_| self.dir.join(&task)).transpose()?,
            context_sha256: Sha256Hex::of(&context),
            hashes,
        })
    }

    /// Removes the files of a turn that could not be opened, so that the same turn may be written anew.
    pub fn remove(&mut self, turn: &WrittenTurn) {
        self.leftovers.extend(turn.hashes.iter().map(|hash| self.folder.join(&hash.path)));
        // What cannot be removed now is tried again before the next turn.
        let _ = self.remove_leftovers();
    }

    fn remove_leftovers(&mut self) -> Result<(), ArtifactError> {
        while let Some(path) = self.leftovers.last() {
            match self.home.at("remove", path, self.home.files().remove_file(path)) {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => self.leftovers.pop(),
            };
        }
        Ok(())
    }
}
