//! The folder of the ledger and its files: made private, kept by one process at a time, and synced.
//!
//! sled writes `conf`, `db`, `snap.*` and `blobs/`. It syncs the snapshots that it writes when it opens, and nothing
//! else as a power cut demands it: the rest is done here. `lock` is this crate's own.

use std::{
    fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

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
    pub(crate) fn open(path: &Path) -> Result<Self, Cause> {
        let path = create(path)?;
        check_names(&path)?;
        let lock = private_file(&path.join(LOCK))?;
        try_lock(&lock)?;
        // The death of a process leaves a snapshot behind that it was writing, and sled takes it for a whole one.
        for name in names(&path)?.iter().filter(|name| name.starts_with(SNAPSHOT) && name.ends_with(UNFINISHED)) {
            std::fs::remove_file(path.join(name))?;
        }
        let data = private_file(&path.join(DATA))?;
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

    /// Syncs what sled made when it opened, names and all, and makes it private.
    pub(crate) fn settle(&self) -> io::Result<()> {
        for name in names(&self.path)? {
            make_private(&self.path.join(&name), if name == BLOBS { 0o700 } else { 0o600 })?;
        }
        for name in [CONFIGURATION, BLOBS, DATA, "."] {
            File::open(self.path.join(name))?.sync_all()?;
        }
        Ok(())
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
            make_private(&path, 0o700)?;
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

/// Checks that the folder holds nothing that is not a ledger's, before anything is added to it.
fn check_names(path: &Path) -> Result<(), Cause> {
    let is_known = |name: &str| [DATA, LOCK, CONFIGURATION, BLOBS].contains(&name) || name.starts_with(SNAPSHOT);
    match names(path)?.into_iter().find(|name| !is_known(name)) {
        Some(name) => Err(Cause::Damaged(format!("it holds {name:?}, which is no part of a ledger"))),
        None => Ok(()),
    }
}

fn names(path: &Path) -> io::Result<Vec<String>> {
    let name = |entry: io::Result<std::fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    std::fs::read_dir(path)?.map(name).collect()
}

/// Opens the file, which is created if there is none, and is for its owner alone.
fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    // The umask may have taken away more than others' rights, and sled opens the file again.
    make_private(path, 0o600)?;
    Ok(file)
}

fn make_private(path: &Path, mode: u32) -> io::Result<()> {
    if path.symlink_metadata()?.permissions().mode() & 0o7777 == mode {
        return Ok(());
    }
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

fn try_lock(file: &File) -> Result<(), Cause> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Cause::Busy,
        TryLockError::Error(error) => Cause::Io(error),
    })
}
