//! The folder of the ledger and its files: made private, kept by one process at a time, and synced.
//!
//! sled writes `conf`, `db`, `snap.*` and `blobs/`. It syncs the snapshots that it writes when it opens, and nothing
//! else as a power cut demands it: the rest is done here. `lock` is this crate's own. None of them may be a link.

use std::{
    fs::{DirBuilder, DirEntry, File, OpenOptions, Permissions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::fs::OFlags;

use crate::error::Cause;

/// sled's file of data.
const DATA: &str = "db";
/// The file that is locked while the ledger is open.
const LOCK: &str = "lock";
/// What else sled makes.
const CONFIGURATION: &str = "conf";
const BLOBS: &str = "blobs";
const SNAPSHOT: &str = "snap.";
/// How the name of a snapshot ends while it is written.
const UNFINISHED: &str = ".generating";

/// How often, and after how long a pause each, it is looked whether sled has let go of its file.
const LOOKS: u32 = 1000;
const PAUSE: Duration = Duration::from_millis(1);

/// A folder that no other process, and no other handle of this one, has open.
///
/// It outlives sled's own handle of it: when it is dropped, whoever comes next finds nothing locked.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    lock: File,
    data: File,
}

impl Folder {
    /// Takes the folder, which is created with mode 0700 if there is none.
    ///
    /// Modes of what is there stay as they are until it is [settled](Self::settle).
    pub(crate) fn open(path: &Path) -> Result<Self, Cause> {
        let path = create(path)?;
        check_names(&path)?;
        let lock = open_or_create(&path.join(LOCK))?;
        try_lock(&lock)?;
        // The death of a process leaves a snapshot behind that it was writing, and sled takes it for a whole one.
        for name in names(&path)?.iter().filter(|name| name.starts_with(SNAPSHOT) && name.ends_with(UNFINISHED)) {
            std::fs::remove_file(path.join(name))?;
        }
        let data = open_or_create(&path.join(DATA))?;
        try_lock(&data)?;
        data.unlock()?;
        // When sled opens, it writes down how far its log reaches. The log must be as durable as that by then.
        data.sync_all()?;
        Ok(Self { path, lock, data })
    }

    /// Returns its path, in which no part but the last one can be a link.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs what sled made when it opened, names and all, and makes it private. The database is a ledger by then.
    pub(crate) fn settle(&self) -> io::Result<()> {
        for name in names(&self.path)? {
            let file = open_to_read(&self.path.join(&name))?;
            make_private(&file, if name == BLOBS { 0o700 } else { 0o600 })?;
            if [CONFIGURATION, BLOBS, DATA].contains(&name.as_str()) {
                file.sync_all()?;
            }
        }
        File::open(&self.path)?.sync_all()
    }

    /// Makes what sled wrote survive a power cut. sled's own flush starts the writing and does not flush the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.data.sync_all()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Threads of sled may hold its file a moment longer than its handle lived. Nobody else can lock it meanwhile.
        for _ in 0..LOOKS {
            if try_lock(&self.data).is_ok() {
                break;
            }
            thread::sleep(PAUSE);
        }
        // A child that is just being started has copies of both, so closing them would not be enough.
        let _ = self.data.unlock();
        let _ = self.lock.unlock();
    }
}

/// Returns the path with its parent resolved, after the folder was created if there was none.
fn create(path: &Path) -> Result<PathBuf, Cause> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path does not end in the name of a folder"))?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.canonicalize()?,
        _ => Path::new(".").canonicalize()?,
    };
    let path = parent.join(name);
    match DirBuilder::new().mode(0o700).create(&path) {
        Ok(()) => {
            // The umask may have taken away more than others' rights.
            make_private(&open_to_read(&path)?, 0o700)?;
            File::open(parent)?.sync_all()?;
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !path.symlink_metadata()?.is_dir() {
                return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder").into());
            }
        }
        Err(error) => return Err(error.into()),
    }
    Ok(path)
}

/// Checks that the folder holds nothing that is not a ledger's, and no link, before anything is added to it.
fn check_names(path: &Path) -> Result<(), Cause> {
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let (name, kind) = (name(&entry), entry.file_type()?);
        let is_file = [DATA, LOCK, CONFIGURATION].contains(&name.as_str()) || name.starts_with(SNAPSHOT);
        let is_part = if name == BLOBS { kind.is_dir() } else { is_file && kind.is_file() };
        if !is_part {
            return Err(Cause::Damaged(format!("it holds {name:?}, which is no part of a ledger")));
        }
    }
    Ok(())
}

fn names(path: &Path) -> io::Result<Vec<String>> {
    std::fs::read_dir(path)?.map(|entry| Ok(name(&entry?))).collect()
}

fn name(entry: &DirEntry) -> String {
    entry.file_name().to_string_lossy().into_owned()
}

/// Opens the file to write. If there is none, it is created, for its owner alone.
fn open_or_create(path: &Path) -> io::Result<File> {
    let mut options = without_links();
    options.read(true).write(true);
    match options.clone().create_new(true).mode(0o600).open(path) {
        Ok(file) => {
            // The umask may have taken away more than others' rights, and sled opens the file again.
            make_private(&file, 0o600)?;
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.open(path),
        Err(error) => Err(error),
    }
}

/// Opens the file or folder to look at it, to set its mode and to sync it.
fn open_to_read(path: &Path) -> io::Result<File> {
    without_links().read(true).open(path)
}

/// Returns options with which a link is an error.
fn without_links() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

fn make_private(file: &File, mode: u32) -> io::Result<()> {
    if file.metadata()?.permissions().mode() & 0o7777 == mode {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(mode))
}

fn try_lock(file: &File) -> Result<(), Cause> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Cause::Busy,
        TryLockError::Error(error) => Cause::Io(error),
    })
}
