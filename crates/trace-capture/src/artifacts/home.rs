//! The home: the private folder that everything of Trace lies in.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use trace_model::{id::RunId, path::ArtifactPath};

use super::{
    effects::{EntryKind, Existing, FileEffects, FileHandle},
    error::ArtifactError,
    launch_dir::LaunchDir,
    real_files::RealFiles,
};
use crate::backend::LedgerKind;

/// The folder that the paths of rows are relative to.
pub(super) const TRACES: &str = "traces";
const QUARANTINE: &str = "quarantine";
const CONFIG: &str = "home.json";
const FORMAT_VERSION: u32 = 1;

/// The private folder that everything of Trace lies in: artifacts, ledger and configuration.
///
/// A clone is the same home.
#[derive(Debug, Clone)]
pub struct Home {
    root: Arc<Path>,
    files: Arc<dyn FileEffects>,
    is_open_to_others: bool,
}

/// What the file `home.json` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HomeConfig {
    /// The ledger that keeps the home's rows.
    pub ledger: LedgerKind,
}

/// A [`HomeConfig`] as the file holds it.
#[derive(Serialize, Deserialize)]
struct ConfigRecord {
    format_version: u32,
    ledger: String,
}

/// The part of a file that tells whether the rest can be understood.
#[derive(Deserialize)]
struct FormatVersion {
    format_version: u32,
}

impl Home {
    /// Opens a home in the files of the operating system; what is missing is made.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if the folder, or `traces` in it, cannot be opened or made.
    pub fn open_real(root: &Path) -> Result<Self, ArtifactError> {
        let files = RealFiles::open(root).map_err(|source| ArtifactError::io("open", root.to_path_buf(), source))?;
        Self::open_files(root, files)
    }

    /// Opens a home that is there, or returns `None` if there is none. It makes nothing.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if something else is at the path, or it cannot be looked at.
    pub fn open_existing(root: &Path) -> Result<Option<Self>, ArtifactError> {
        let files = match RealFiles::open_existing(root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            files => files.map_err(|source| ArtifactError::io("open", root.to_path_buf(), source))?,
        };
        match files.kind(Path::new(TRACES)) {
            Ok(None) => Ok(None),
            // What cannot be looked at cannot be opened either, and that says why.
            Ok(Some(_)) | Err(_) => Self::open_files(root, files).map(Some),
        }
    }

    fn open_files(root: &Path, files: RealFiles) -> Result<Self, ArtifactError> {
        let is_open_to_others =
            files.is_open_to_others().map_err(|source| ArtifactError::io("look at", root.to_path_buf(), source))?;
        Ok(Self { is_open_to_others, ..Self::open(root, Arc::new(files))? })
    }

    /// Opens a home in any files. `root` is what their root is called in messages.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if the folder `traces` cannot be made, or is something else.
    pub fn open(root: &Path, files: Arc<dyn FileEffects>) -> Result<Self, ArtifactError> {
        let home = Self { root: Arc::from(root), files, is_open_to_others: false };
        let traces = Path::new(TRACES);
        if home.ensure_dir(traces)? {
            home.sync_dir(Path::new(""))?;
        } else if home.at("open", traces, home.files.kind(traces))? != Some(EntryKind::Folder) {
            let source = io::Error::new(io::ErrorKind::NotADirectory, "it is no folder, and links are not followed");
            return Err(ArtifactError::io("open", home.full(traces), source));
        }
        Ok(home)
    }

    /// Tells whether others than its owner could write into the home's folder when it was opened. What Trace makes is
    /// private; a folder that was there before is left as it is.
    pub const fn is_open_to_others(&self) -> bool {
        self.is_open_to_others
    }

    /// Returns the home's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns where an artifact is in the home's file system, for people to look at.
    pub fn artifact_path(&self, path: &ArtifactPath) -> PathBuf {
        self.full(&in_traces(path))
    }

    /// Returns what the home says about itself, or `None` if it says nothing yet.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::FutureVersion`] and [`ArtifactError::UnknownLedger`] if a newer version wrote the home;
    /// [`ArtifactError::Malformed`] if the file makes no sense.
    pub fn config(&self) -> Result<Option<HomeConfig>, ArtifactError> {
        let path = Path::new(CONFIG);
        let text = match self.read(path) {
            Err(error) if error.is_not_found() => return Ok(None),
            text => text?,
        };
        let malformed = |source| ArtifactError::Malformed { path: self.full(path), source };
        let FormatVersion { format_version } = serde_json::from_slice(&text).map_err(malformed)?;
        self.check_version(path, format_version, FORMAT_VERSION)?;
        let record: ConfigRecord = serde_json::from_slice(&text).map_err(malformed)?;
        match record.ledger.parse() {
            Ok(ledger) => Ok(Some(HomeConfig { ledger })),
            Err(_) => Err(ArtifactError::UnknownLedger { path: self.full(path), name: record.ledger }),
        }
    }

    /// Says what the home is, in place of what it said before.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if the file cannot be written; then it is as it was.
    pub fn write_config(&self, config: &HomeConfig) -> Result<(), ArtifactError> {
        let record = ConfigRecord { format_version: FORMAT_VERSION, ledger: config.ledger.to_string() };
        let text = document(&record);
        let (draft, file) = self.create_draft()?;
        let path = Path::new(CONFIG);
        let written = self
            .fill(file, &draft, &text)
            .and_then(|()| self.at("write", path, self.files.rename(&draft, path, Existing::Replace)));
        if written.is_err() {
            let _ = self.files.remove_file(&draft);
        }
        written?;
        self.sync_dir(Path::new(""))
    }

    /// Removes files and folders of those names from the home, as far as they are there.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if something cannot be removed.
    pub(crate) fn remove_ledger(&self, names: &[&str]) -> Result<(), ArtifactError> {
        for path in names.iter().map(Path::new) {
            let removed = match self.at("look for", path, self.files.kind(path))? {
                None => continue,
                Some(EntryKind::Folder) => self.remove_tree(path, None),
                Some(EntryKind::File | EntryKind::Link | EntryKind::Other) => self.files.remove_file(path),
            };
            match self.at("remove", path, removed) {
                // A ledger that is closed may tidy up after itself.
                Err(error) if error.is_not_found() => {}
                removed => removed?,
            }
        }
        self.sync_dir(Path::new(""))
    }

    /// Makes a file for the next configuration; another process that does so too, or was killed at it, has another one.
    fn create_draft(&self) -> Result<(PathBuf, Box<dyn FileHandle>), ArtifactError> {
        let mut number = 1_u32;
        loop {
            let draft = PathBuf::from(format!(".{CONFIG}.{number}"));
            match self.create_file(&draft) {
                Err(ArtifactError::AlreadyExists { .. }) if number < u32::MAX => number += 1,
                file => return Ok((draft, file?)),
            }
        }
    }

    /// Returns the folders of all launches, sorted. Files, links, and folders that are being staged are left out.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if a folder cannot be read.
    pub fn list_launch_artifact_dirs(&self) -> Result<Vec<ArtifactPath>, ArtifactError> {
        let mut launches = Vec::new();
        for run in self.folder_names(Path::new(TRACES))? {
            self.list_launches(&run, &mut launches)?;
        }
        launches.sort();
        Ok(launches)
    }

    /// Returns the folders of the launches of a run, in no order.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if a folder cannot be read.
    pub(crate) fn list_launch_dirs_of_run(&self, run: &RunId) -> Result<Vec<ArtifactPath>, ArtifactError> {
        let mut launches = Vec::new();
        self.list_launches(run.as_str(), &mut launches)?;
        Ok(launches)
    }

    fn list_launches(&self, run: &str, launches: &mut Vec<ArtifactPath>) -> Result<(), ArtifactError> {
        let run_folder = Path::new(TRACES).join(run);
        for process in self.folder_names(&run_folder)? {
            let names = self.folder_names(&run_folder.join(&process))?;
            // A name that is no part of an artifact path was not made by Trace.
            launches.extend(names.iter().filter_map(|name| format!("{run}/{process}/{name}").parse().ok()));
        }
        Ok(())
    }

    /// Returns the names of the folders in a folder, without hidden ones; none if there is no such folder.
    fn folder_names(&self, path: &Path) -> Result<Vec<String>, ArtifactError> {
        let entries = match self.at("list", path, self.files.entries(path)) {
            Err(error) if error.is_not_found() => Vec::new(),
            entries => entries?,
        };
        let folders = entries.into_iter().filter(|entry| entry.kind == EntryKind::Folder);
        let names = folders.filter_map(|entry| entry.name.into_string().ok());
        Ok(names.filter(|name| !name.starts_with('.')).collect())
    }

    /// Opens a file that a row names.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if it cannot be opened: also where a link is in the way, or it is no regular file.
    pub fn open_artifact(&self, path: &ArtifactPath) -> Result<Box<dyn Read + Send>, ArtifactError> {
        Ok(self.open_file(&in_traces(path))?)
    }

    /// Opens the folder of a launch, to be read.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::FutureVersion`] if a newer version wrote the header, [`ArtifactError::Malformed`] if it makes
    /// no sense, [`ArtifactError::Misplaced`] if it names another folder, [`ArtifactError::Io`] if it cannot be read.
    pub fn open_launch(&self, dir: &ArtifactPath) -> Result<LaunchDir, ArtifactError> {
        LaunchDir::open(self.clone(), dir.clone())
    }
}

/// What the other modules of artifacts do with a home: file operations whose errors name the path and what was done.
impl Home {
    pub(super) fn full(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }

    pub(super) fn at<T>(&self, verb: &'static str, path: &Path, result: io::Result<T>) -> Result<T, ArtifactError> {
        result.map_err(|source| ArtifactError::io(verb, self.full(path), source))
    }

    pub(super) fn files(&self) -> &dyn FileEffects {
        &*self.files
    }

    /// Makes the folder if it is missing, and tells whether it was.
    pub(super) fn ensure_dir(&self, path: &Path) -> Result<bool, ArtifactError> {
        match self.create_dir(path) {
            Ok(()) => Ok(true),
            Err(ArtifactError::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn create_dir(&self, path: &Path) -> Result<(), ArtifactError> {
        self.at("make", path, self.files.create_dir(path))
    }

    pub(super) fn create_file(&self, path: &Path) -> Result<Box<dyn FileHandle>, ArtifactError> {
        self.at("make", path, self.files.create_file(path))
    }

    pub(super) fn open_file(&self, path: &Path) -> Result<Box<dyn FileHandle>, ArtifactError> {
        self.at("open", path, self.files.open_file(path))
    }

    pub(super) fn sync_dir(&self, path: &Path) -> Result<(), ArtifactError> {
        self.at("sync", path, self.files.sync_dir(path))
    }

    /// Writes a new file and syncs it.
    pub(super) fn write_new(&self, path: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
        let file = self.create_file(path)?;
        self.fill(file, path, bytes)
    }

    /// Writes all of a file that was just made, and syncs it.
    pub(super) fn fill(&self, mut file: Box<dyn FileHandle>, path: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
        self.at("write", path, file.write_all(bytes))?;
        self.at("sync", path, file.sync())
    }

    /// Reads a whole file.
    pub(super) fn read(&self, path: &Path) -> Result<Vec<u8>, ArtifactError> {
        let mut file = self.open_file(path)?;
        let mut bytes = Vec::new();
        self.at("read", path, file.read_to_end(&mut bytes))?;
        Ok(bytes)
    }

    pub(super) fn check_version(&self, path: &Path, found: u32, supported: u32) -> Result<(), ArtifactError> {
        if found > supported {
            return Err(ArtifactError::FutureVersion { path: self.full(path), found, supported });
        }
        Ok(())
    }

    /// Moves a folder out of the way of those who read and write launches.
    pub(super) fn quarantine(&self, folder: &Path, name: &str) -> Result<(), ArtifactError> {
        let quarantine = Path::new(QUARANTINE);
        if self.ensure_dir(quarantine)? {
            self.sync_dir(Path::new(""))?;
        }
        let mut number = 1_u32;
        loop {
            let place = quarantine.join(if number == 1 { String::from(name) } else { format!("{name}.{number}") });
            match self.at("move", &place, self.files.rename(folder, &place, Existing::Refuse)) {
                Err(ArtifactError::AlreadyExists { .. }) if number < u32::MAX => number += 1,
                moved => break moved?,
            }
        }
        self.sync_dir(quarantine)?;
        self.sync_dir(folder.parent().unwrap_or(Path::new("")))
    }

    /// Removes a folder and all that is in it; `last`, a file, goes after everything else.
    pub(super) fn remove_tree(&self, folder: &Path, last: Option<&str>) -> io::Result<()> {
        for entry in self.files.entries(folder)? {
            let path = folder.join(&entry.name);
            if last.is_some_and(|last| entry.name == last) {
                continue;
            }
            match entry.kind {
                EntryKind::Folder => self.remove_tree(&path, None)?,
                EntryKind::File | EntryKind::Link | EntryKind::Other => self.files.remove_file(&path)?,
            }
        }
        if let Some(last) = last {
            self.files.remove_file(&folder.join(last))?;
        }
        self.files.remove_dir(folder)
    }
}

/// Returns the path of an artifact beneath the root.
pub(super) fn in_traces(path: &ArtifactPath) -> PathBuf {
    Path::new(TRACES).join(path.as_str())
}

/// Returns the text of a small file that people may read.
pub(super) fn document(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("documents have no map whose keys are not text");
    text.push(b'\n');
    text
}
