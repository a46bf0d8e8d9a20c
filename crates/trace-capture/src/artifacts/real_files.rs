//! The files of the operating system.

use std::{
    ffi::OsStr,
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::{
        fd::OwnedFd,
        unix::{
            ffi::OsStrExt,
            fs::{DirBuilderExt, MetadataExt, PermissionsExt},
        },
    },
    path::{Component, Path},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags},
    io::Errno,
};

use super::effects::{Entry, EntryKind, Existing, FileEffects, FileHandle, FileId, Lock};

const FOLDER_MODE: Mode = Mode::RWXU;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The files of the operating system beneath one folder.
///
/// The folder is held open, and each path is walked from it, name by name, without following links: what another
/// process does to the names cannot lead a path out of the folder.
#[derive(Debug)]
pub struct RealFiles {
    root: OwnedFd,
}

impl RealFiles {
    /// Opens the root folder; makes it, and the folders above it that are missing, readable by their owner alone.
    ///
    /// The path may lead over links: it is the owner's own word.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn open(root: &Path) -> io::Result<Self> {
        make_root(root)?;
        Self::open_existing(root)
    }

    /// Opens a root folder that is there.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn open_existing(root: &Path) -> io::Result<Self> {
        let root = retry(|| rustix::fs::open(root, FOLDER_FLAGS.difference(OFlags::NOFOLLOW), Mode::empty()))?;
        Ok(Self { root })
    }

    /// Tells whether the root folder is ours, and others may write into it.
    pub(super) fn is_open_to_others(&self) -> io::Result<bool> {
        let stat = rustix::fs::fstat(&self.root)?;
        let others = Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH);
        Ok(others && stat.st_uid == rustix::process::geteuid().as_raw())
    }

    /// Opens the folder at the path: in one call where the system has one that follows no link, else name by name.
    fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        #[cfg(target_os = "linux")]
        if let Some(found) = self.folder_at_once(path) {
            return found;
        }
        self.folder_by_names(path)
    }

    /// Returns nothing where the call is not known, or where only the walk by names can say what is wrong.
    #[cfg(target_os = "linux")]
    fn folder_at_once(&self, path: &Path) -> Option<io::Result<OwnedFd>> {
        use rustix::fs::ResolveFlags;
        if path.components().any(|part| !matches!(part, Component::Normal(_))) || path.as_os_str().is_empty() {
            return None;
        }
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        match retry(|| rustix::fs::openat2(&self.root, path, FOLDER_FLAGS, Mode::empty(), resolve)) {
            Ok(folder) => Some(Ok(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Err(error)),
            Err(_) => None,
        }
    }

    fn folder_by_names(&self, path: &Path) -> io::Result<OwnedFd> {
        let mut folder = self.root.try_clone()?;
        for part in path.components() {
            let Component::Normal(name) = part else { return Err(not_plain(path)) };
            let open = || rustix::fs::openat(&folder, name, FOLDER_FLAGS, Mode::empty());
            let next = retry(open).map_err(|error| explain(&folder, name, error))?;
            folder = next;
        }
        Ok(folder)
    }

    /// Opens the folder that holds the entry, and returns it with the entry's name.
    fn holder<'p>(&self, path: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let Some(Component::Normal(name)) = path.components().next_back() else { return Err(not_plain(path)) };
        let folder = self.folder(path.parent().unwrap_or(Path::new("")))?;
        Ok((folder, name))
    }
}

const FOLDER_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl FileEffects for RealFiles {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.holder(path)?;
        rustix::fs::mkdirat(&folder, name, FOLDER_MODE)?;
        let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if Mode::from_raw_mode(stat.st_mode).intersection(FOLDER_MODE) != FOLDER_MODE {
            // The umask took away from the owner. The entry is new, in a folder that only the owner can change.
            rustix::fs::chmodat(&folder, name, FOLDER_MODE, AtFlags::empty())?;
        }
        Ok(())
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn FileHandle>> {
        let (folder, name) = self.holder(path)?;
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = retry(|| rustix::fs::openat(&folder, name, flags, FILE_MODE))?;
        // The umask may have taken away from the owner; it can never have added anything.
        rustix::fs::fchmod(&file, FILE_MODE)?;
        Ok(Box::new(File::from(file)))
    }

    fn open_file(&self, path: &Path) -> io::Result<Box<dyn FileHandle>> {
        let (folder, name) = self.holder(path)?;
        // A named pipe must not make the open wait for its other end.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(&folder, name, flags, Mode::empty());
        let file = retry(open).map_err(|error| explain(&folder, name, error))?;
        if kind_of(FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode)) != EntryKind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
        }
        Ok(Box::new(File::from(file)))
    }

    fn kind(&self, path: &Path) -> io::Result<Option<EntryKind>> {
        let stat = self
            .holder(path)
            .and_then(|(folder, name)| Ok(rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?));
        match stat {
            Ok(stat) => Ok(Some(kind_of(FileType::from_raw_mode(stat.st_mode)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let folder = self.folder(path)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not tell the kind with the name.
                FileType::Unknown => match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => kind_of(FileType::from_raw_mode(stat.st_mode)),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                },
                known => kind_of(known),
            };
            entries.push(Entry { name: name.to_os_string(), kind });
        }
        Ok(entries)
    }

    fn rename(&self, from: &Path, to: &Path, existing: Existing) -> io::Result<()> {
        let (from_folder, from_name) = self.holder(from)?;
        let (to_folder, to_name) = if from.parent() == to.parent() {
            (from_folder.try_clone()?, to.file_name().ok_or_else(|| not_plain(to))?)
        } else {
            self.holder(to)?
        };
        if existing == Existing::Refuse {
            match rustix::fs::renameat_with(&from_folder, from_name, &to_folder, to_name, RenameFlags::NOREPLACE) {
                // Some network file systems do not know the flag. What is moved so is a folder that is not empty, or
                // goes to where one was looked for before: a plain rename never replaces a folder that is not empty.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if self.kind(to)?.is_none() => {}
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return Err(io::ErrorKind::AlreadyExists.into()),
                done => return Ok(done?),
            }
        }
        Ok(rustix::fs::renameat(&from_folder, from_name, &to_folder, to_name)?)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.holder(path)?;
        Ok(rustix::fs::unlinkat(&folder, name, AtFlags::empty())?)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.holder(path)?;
        Ok(rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR)?)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::from(self.folder(path)?).sync_all()
    }
}

impl FileHandle for File {
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Self::set_len(self, len)
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        let locked = match lock {
            Lock::Exclusive => Self::try_lock(self),
            Lock::Shared => Self::try_lock_shared(self),
        };
        match locked {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn id(&self) -> io::Result<FileId> {
        let metadata = self.metadata()?;
        Ok(FileId { device: metadata.dev(), number: metadata.ino() })
    }

    fn duplicate(&self) -> io::Result<Box<dyn FileHandle>> {
        Ok(Box::new(self.try_clone()?))
    }
}

/// Makes the folder and those above it that are missing.
fn make_root(root: &Path) -> io::Result<()> {
    let mut missing = Vec::new();
    for folder in root.ancestors().filter(|folder| !folder.as_os_str().is_empty()) {
        if folder.try_exists()? {
            break;
        }
        missing.push(folder);
    }
    for folder in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(folder) {
            // Another process made it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        let mut permissions = fs::metadata(folder)?.permissions();
        if permissions.mode() & 0o700 != 0o700 {
            // The umask took away from the owner.
            permissions.set_mode(0o700);
            fs::set_permissions(folder, permissions)?;
        }
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    rustix::io::retry_on_intr(&mut call).map_err(Into::into)
}

fn not_plain(path: &Path) -> io::Error {
    let message = format!("{} is not made of plain names", path.display());
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// Says that a link is in the way, where the system's own words ("too many levels", "not a directory") do not.
fn explain(folder: &OwnedFd, name: &OsStr, error: io::Error) -> io::Error {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
            let message = format!("{} is a link, and links are not followed", name.display());
            io::Error::new(io::ErrorKind::InvalidInput, message)
        }
        _ => error,
    }
}

fn kind_of(file_type: FileType) -> EntryKind {
    match file_type {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}
