//! The lease of a launch: a file that its writer keeps locked while it lives.
//!
//! The lock decides, and nothing else: a lease that can be locked has a dead writer, however young it is, and one that
//! cannot has a live one, however old. What the file says is for people.

use std::path::Path;

use serde::Serialize;

use super::{
    effects::{FileHandle, Lock},
    error::ArtifactError,
    home::{Home, document},
    system,
};

/// The file's name in the launch's folder.
pub(super) const LEASE: &str = "lease";

/// Who writes a launch.
#[derive(Debug, Serialize)]
struct Writer<'a> {
    schema_version: u32,
    pid: u32,
    process_start: Option<u64>,
    boot_id: Option<String>,
    host: Option<&'a str>,
}

/// Makes the lease of a folder, locks it and says in it who writes.
///
/// It is `AlreadyExists` if another writer has claimed the folder: it made a lease first, or locked this one before
/// this one was locked, or moved the folder away.
pub(super) fn create(home: &Home, folder: &Path, host: Option<&str>) -> Result<Box<dyn FileHandle>, ArtifactError> {
    let path = folder.join(LEASE);
    let is_anothers = || ArtifactError::AlreadyExists { path: home.full(&path) };
    let lease = match home.create_file(&path) {
        Err(error) if error.is_not_found() => return Err(is_anothers()),
        lease => lease?,
    };
    let mut lease = lock(home, lease, &path)?.ok_or_else(is_anothers)?;
    let writer = Writer {
        schema_version: 1,
        pid: std::process::id(),
        process_start: system::process_start(),
        boot_id: system::boot_id(),
        host,
    };
    home.at("write", &path, lease.write_all(&document(&writer)))?;
    home.at("sync", &path, lease.sync())?;
    Ok(lease)
}

/// Locks the lease of a folder whose writer is dead; a folder without one gets one. `None`: another writer lives.
pub(super) fn claim(home: &Home, folder: &Path) -> Result<Option<Box<dyn FileHandle>>, ArtifactError> {
    let path = folder.join(LEASE);
    match home.create_file(&path) {
        Err(ArtifactError::AlreadyExists { .. }) => reclaim(home, folder),
        lease => lock(home, lease?, &path),
    }
}

/// Locks the lease of a folder whose writer is dead, and makes none. `None`: another writer lives.
pub(super) fn reclaim(home: &Home, folder: &Path) -> Result<Option<Box<dyn FileHandle>>, ArtifactError> {
    let path = folder.join(LEASE);
    lock(home, home.open_file(&path)?, &path)
}

/// Locks a file that others may lock or replace. `None`: another one holds it, or it is not the one at the path.
pub(super) fn lock(
    home: &Home,
    lease: Box<dyn FileHandle>,
    path: &Path,
) -> Result<Option<Box<dyn FileHandle>>, ArtifactError> {
    let locked = home.at("lock", path, lease.try_lock(Lock::Exclusive))? && is_at(home, &*lease, path)?;
    Ok(locked.then_some(lease))
}

/// Tells whether the writer of a folder lives.
pub(super) fn is_live(home: &Home, folder: &Path) -> Result<bool, ArtifactError> {
    let path = folder.join(LEASE);
    match home.open_file(&path) {
        // Shared, so that two who ask do not take each other for a writer.
        Ok(lease) => Ok(!home.at("lock", &path, lease.try_lock(Lock::Shared))?),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Tells whether the lease is the one at the path: between its opening and its locking, another process may have moved
/// the folder away and made a new one.
fn is_at(home: &Home, lease: &dyn FileHandle, path: &Path) -> Result<bool, ArtifactError> {
    let found = match home.open_file(path) {
        Err(error) if error.is_not_found() => return Ok(false),
        found => found?,
    };
    Ok(home.at("identify", path, found.id())? == home.at("identify", path, lease.id())?)
}
