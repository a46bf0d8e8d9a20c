//! The folder: who may read it, what it may be, and what is left alone.

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use pollster::block_on;
use trace_model::ledger::{Ledger, LedgerError};
use trace_store_sled::SledLedger;
use trace_testkit::samples;

use crate::{assert_names, copy_fixture, with_sled};

/// Tells a process that this test starts which ledger to make.
const CHILD_LEDGER: &str = "TRACE_TEST_CHILD_UMASK_LEDGER";

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// This is the program of the processes that the test below starts; by itself there is nothing to do.
#[test]
fn child_makes_a_ledger() {
    let Some(path) = env::var_os(CHILD_LEDGER) else { return };
    for launch in [1, 2] {
        let ledger = SledLedger::open(&PathBuf::from(&path)).unwrap();
        block_on(ledger.apply(&samples::beginning(launch))).unwrap();
    }
}

#[test]
fn the_folder_and_its_files_are_private_whatever_the_umask() {
    for umask in ["000", "022", "277"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sled");
        let status = Command::new("sh")
            .args(["-c", "umask $1 && exec \"$0\" --exact folder::child_makes_a_ledger"])
            .arg(env::current_exe().unwrap())
            .arg(umask)
            .env(CHILD_LEDGER, &path)
            .status()
            .unwrap();
        assert!(status.success(), "umask {umask}");
        assert_eq!((mode(&path), mode(&path.join("blobs"))), (0o700, 0o700), "umask {umask}");
        for name in names(&path).iter().filter(|name| *name != "blobs") {
            assert_eq!(mode(&path.join(name)), 0o600, "umask {umask}: {name}");
        }
    }
}

#[test]
fn a_folder_that_is_there_keeps_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    drop(SledLedger::open(&path).unwrap());
    assert_eq!(mode(&path), 0o750);
}

#[test]
fn a_link_in_place_of_the_folder_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("ledger.sled"), folder.path().join("elsewhere.sled"));
    drop(SledLedger::open(&target).unwrap());
    for target in [target, folder.path().join("missing.sled")] {
        symlink(&target, &path).unwrap();
        let error = SledLedger::open(&path).unwrap_err();
        assert!(matches!(error, LedgerError::Backend { action: "open its folder", .. }), "{error:?}");
        assert_names(&error, &path);
        fs::remove_file(&path).unwrap();
    }
    assert!(!folder.path().join("missing.sled").exists());
}

#[test]
fn a_link_in_place_of_a_file_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    let target = folder.path().join("target");
    for name in ["db", "lock", "conf", "blobs", "snap.0000000000000000", "snap.0000000000000000.generating"] {
        for (existing, is_folder) in [(true, false), (true, true), (false, false)] {
            fs::create_dir(&path).unwrap();
            if is_folder {
                fs::create_dir(&target).unwrap();
                fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).unwrap();
            } else if existing {
                fs::write(&target, "text").unwrap();
                fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
            }
            symlink(&target, path.join(name)).unwrap();
            let error = SledLedger::open(&path).unwrap_err();
            let LedgerError::Corrupt { detail, .. } = &error else { panic!("{name}: {error:?}") };
            assert!(detail.contains(name), "{name}: {detail}");
            assert_eq!(names(&path), [name]);
            if is_folder {
                assert_eq!((names(&target), mode(&target)), (vec![], 0o755), "{name}");
                fs::remove_dir(&target).unwrap();
            } else if existing {
                assert_eq!((fs::read(&target).unwrap().as_slice(), mode(&target)), (&b"text"[..], 0o644), "{name}");
                fs::remove_file(&target).unwrap();
            }
            assert!(!target.exists(), "{name}");
            fs::remove_dir_all(&path).unwrap();
        }
    }
}

#[test]
fn files_of_a_ledger_that_others_may_read_become_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy_fixture(folder.path());
    drop(SledLedger::open(&path).unwrap());
    let parts = names(&path);
    for name in &parts {
        fs::set_permissions(path.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    drop(SledLedger::open(&path).unwrap());
    assert!(parts.iter().any(|name| name == "blobs") && parts.len() >= 4, "{parts:?}");
    for name in names(&path) {
        assert_eq!(mode(&path.join(&name)), if name == "blobs" { 0o700 } else { 0o600 }, "{name}");
    }
}

#[test]
fn a_link_in_the_way_to_the_folder_is_fine() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real");
    fs::create_dir(&real).unwrap();
    symlink(&real, folder.path().join("linked")).unwrap();
    let ledger = SledLedger::open(&folder.path().join("linked/ledger.sled")).unwrap();
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
    assert!(real.join("ledger.sled").exists());
}

#[test]
fn a_missing_parent_is_not_created() {
    let folder = tempfile::tempdir().unwrap();
    for path in ["missing/ledger.sled", ".."] {
        let error = SledLedger::open(&folder.path().join(path)).unwrap_err();
        assert!(matches!(error, LedgerError::Backend { action: "open its folder", .. }), "{error:?}");
    }
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_file_in_place_of_the_folder_is_no_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    fs::write(&path, "text").unwrap();
    let error = SledLedger::open(&path).unwrap_err();
    assert!(matches!(error, LedgerError::Backend { .. }), "{error:?}");
    assert_names(&error, &path);
    assert_eq!(fs::read(&path).unwrap(), b"text");
}

#[test]
fn a_folder_of_something_else_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("letter.txt"), "text").unwrap();
    let error = SledLedger::open(&path).unwrap_err();
    let LedgerError::Corrupt { place, detail } = &error else { panic!("{error:?}") };
    assert_eq!((place.as_str(), detail.contains("letter.txt")), (path.to_str().unwrap(), true));
    assert_eq!(names(&path), ["letter.txt"]);
}

#[test]
fn a_sled_database_of_something_else_is_no_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    with_sled(&path, |database| database.insert("bookmark", "example.org").unwrap());
    let in_named_tree = folder.path().join("named.sled");
    with_sled(&in_named_tree, |database| drop(database.open_tree("bookmarks").unwrap()));
    for path in [path, in_named_tree] {
        let error = SledLedger::open(&path).unwrap_err();
        assert!(matches!(error, LedgerError::Corrupt { .. }), "{error:?}");
        assert_names(&error, &path);
        let trees = with_sled(&path, sled::Db::tree_names);
        assert!(!trees.iter().any(|name| *name == "format"), "{trees:?}");
    }
}

#[test]
fn what_a_cut_left_of_a_new_ledger_becomes_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    fs::create_dir(&path).unwrap();
    for name in ["lock", "db", "conf"] {
        fs::write(path.join(name), "").unwrap();
        let ledger = SledLedger::open(&path).unwrap();
        block_on(ledger.apply(&samples::beginning(1))).unwrap();
        drop(ledger);
        fs::remove_dir_all(&path).unwrap();
        fs::create_dir(&path).unwrap();
    }
    // The tree of the format was made, and nothing more was written.
    with_sled(&path, |database| drop(database.open_tree("format").unwrap()));
    SledLedger::open(&path).unwrap();
}
