//! The file operations that artifacts are made of.

use std::{
    ffi::OsString,
    fmt,
    io::{self, Read, Seek, Write},
    path::Path,
};

/// The files beneath one root folder.
///
/// Artifacts know the file system through this trait alone, so that a simulated one can fail, tear and forget in every
/// place. [`RealFiles`](super::RealFiles) is the real one.
///
/// # Contract
///
/// * A path is relative to the root and made of plain names; the empty path is the root itself. No other path is taken.
/// * No link is followed, at no level beneath the root: a path that leads over one is an error.
/// * Folders are made with mode 0700 and files with 0600, whatever the umask, and are never wider, not for a moment.
/// * What is made must not exist yet: else the error is [`io::ErrorKind::AlreadyExists`].
/// * An entry is certain to survive a power cut only once its folder was synced, and the data of a file only once the
///   file was.
pub trait FileEffects: fmt::Debug + Send + Sync {
    /// Makes a folder.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes a file and opens it for appending.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn create_file(&self, path: &Path) -> io::Result<Box<dyn FileHandle>>;

    /// Opens a file for reading. What is no regular file is an error.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn open_file(&self, path: &Path) -> io::Result<Box<dyn FileHandle>>;

    /// Returns what is at the path, or `None` if nothing is.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn kind(&self, path: &Path) -> io::Result<Option<EntryKind>>;

    /// Returns what is in a folder, in any order.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn entries(&self, path: &Path) -> io::Result<Vec<Entry>>;

    /// Moves a file or folder, in one step.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn rename(&self, from: &Path, to: &Path, existing: Existing) -> io::Result<()>;

    /// Removes a file, or a link as such.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Waits until the entries of a folder are on disk.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
}

/// An open file. It is closed, and its lock released, when the last of its duplicates is dropped.
///
/// Seeking moves the place that is read; what is written always goes to the end.
pub trait FileHandle: Read + Write + Seek + fmt::Debug + Send + Sync {
    /// Waits until the data of the file is on disk.
    ///
    /// # Errors
    ///
    /// Those of the file system. After an error nobody knows what is on disk.
    fn sync(&self) -> io::Result<()>;

    /// Cuts the file to the length.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Locks the file if no other open handle stands against it, and tells whether it did. It never waits.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn try_lock(&self, lock: Lock) -> io::Result<bool>;

    /// Returns what tells the file from all others, whatever it is called and wherever it is moved.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn id(&self) -> io::Result<FileId>;

    /// Returns another handle of the same open file: with the same position and lock.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    fn duplicate(&self) -> io::Result<Box<dyn FileHandle>>;
}

/// What tells a file from all others while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    /// The file system.
    pub device: u64,
    /// The file's number in it.
    pub number: u64,
}

/// How a file is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Against every other lock.
    Exclusive,
    /// Against exclusive locks only.
    Shared,
}

/// What a move does to something that is at its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Nothing: the move is refused.
    Refuse,
    /// It stands instead of it.
    Replace,
}

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// Anything else, such as a named pipe.
    Other,
}
