//! The file itself: made private before SQLite sees it, and looked at for what SQLite cannot know.
//!
//! All that differs by operating system is here.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Returns the path with its folder resolved, so that only its last part can still be a link.
pub(crate) fn beneath_resolved_folder(path: &Path) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path does not end in the name of a file"))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    Ok(folder.canonicalize()?.join(name))
}

/// Creates the file with mode 0600, empty. One that is there, of whatever kind, stays as it is.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    match create_exclusively(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Creates the file without opening it: closing a descriptor of it would drop the locks that another connection of
/// this process may have taken on the file in the meantime.
#[cfg(target_os = "linux")]
fn create_exclusively(path: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    Ok(mknodat(CWD, path, FileType::RegularFile, Mode::RUSR | Mode::WUSR, 0)?)
}

/// Creates the file under another name and closes it before it gets its own: closing a descriptor later would drop the
/// locks that another connection of this process may have taken on the file in the meantime.
#[cfg(target_os = "macos")]
fn create_exclusively(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;

    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.{:?}", std::process::id(), std::thread::current().id()));
    let other = PathBuf::from(name);
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&other)?;
    let linked = std::fs::hard_link(&other, path);
    std::fs::remove_file(&other)?;
    linked
}

/// Tells whether the file lies on a file system that other machines share. The write-ahead log needs memory that all
/// processes share, so it is only for one machine.
#[cfg(target_os = "linux")]
pub(crate) fn is_on_network(path: &Path) -> io::Result<bool> {
    Ok(is_network_type(i128::from(rustix::fs::statfs(path)?.f_type)))
}

/// The numbers by which the kernel calls its network file systems: NFS, SMB (three), 9P, AFS (two), Ceph, Coda, NCP.
#[cfg(target_os = "linux")]
fn is_network_type(number: i128) -> bool {
    // Some systems hold the number in a signed 32-bit integer.
    matches!(
        number & 0xffff_ffff,
        0x6969
            | 0x517b
            | 0xff53_4d42
            | 0xfe53_4d42
            | 0x0102_1997
            | 0x5346_414f
            | 0x6b41_4653
            | 0x00c3_6400
            | 0x7375_7245
            | 0x564c
    )
}

/// Tells whether the file lies on a file system that other machines share. The write-ahead log needs memory that all
/// processes share, so it is only for one machine.
#[cfg(target_os = "macos")]
pub(crate) fn is_on_network(path: &Path) -> io::Result<bool> {
    /// `MNT_LOCAL` of `sys/mount.h`.
    const LOCAL: u32 = 0x1000;
    Ok(rustix::fs::statfs(path)?.f_flags & LOCAL == 0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        // The names are those of linux/magic.h.
        let (nfs, cifs, nine_p) = (0x6969, 0xff53_4d42, 0x0102_1997);
        let (ext4, btrfs, xfs, tmpfs, overlay) = (0xef53, 0x9123_683e, 0x5846_5342, 0x0102_1994, 0x794c_7630);
        for network in [nfs, cifs, i128::from(0xff53_4d42_u32.cast_signed()), nine_p] {
            assert!(is_network_type(network), "{network:x}");
        }
        for local in [ext4, btrfs, xfs, tmpfs, overlay] {
            assert!(!is_network_type(local), "{local:x}");
        }
        assert!(!is_on_network(Path::new("/proc/self")).unwrap());
    }

    #[test]
    fn a_new_file_is_private_and_one_that_is_there_is_left_alone() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        create_private(&path).unwrap();
        let mode = || path.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(), 0o600);
        std::fs::write(&path, "text").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        create_private(&path).unwrap();
        assert_eq!((std::fs::read(&path).unwrap().as_slice(), mode()), (b"text".as_slice(), 0o640));
    }
}
