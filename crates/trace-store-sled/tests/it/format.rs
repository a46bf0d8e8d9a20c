//! The format of the trees: old ones are read, and newer ones are refused.

use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use pollster::block_on;
use serde_json::Value;
use trace_model::ledger::{Ledger, LedgerError};
use trace_store_sled::SledLedger;
use trace_testkit::samples;

use crate::{copy_fixture, everything, with_sled};

/// Every entry of every tree.
fn entries(path: &Path) -> BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>> {
    with_sled(path, |database| {
        let mut entries = BTreeMap::new();
        for name in database.tree_names() {
            for entry in &database.open_tree(&name).unwrap() {
                let (key, value) = entry.unwrap();
                entries.insert((name.to_vec(), key.to_vec()), value.to_vec());
            }
        }
        entries
    })
}

fn set_format(path: &Path, format: &str) {
    with_sled(path, |database| database.open_tree("format").unwrap().insert("version", format).unwrap());
}

#[test]
fn a_ledger_of_format_1_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SledLedger::open(&copy_fixture(folder.path())).unwrap();
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ledger-v1.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(everything(&ledger).unwrap(), expected);
    block_on(ledger.apply(&samples::beginning(77))).unwrap();
}

#[test]
fn an_old_ledger_has_the_entries_of_a_new_one_with_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old.sled");
    let ledger = SledLedger::open(&old).unwrap();
    drop(ledger);
    let fixture = copy_fixture(folder.path());
    let names = |path: &Path| {
        let mut names = with_sled(path, sled::Db::tree_names);
        names.sort();
        names
    };
    assert_eq!(names(&fixture), names(&old));
}

#[test]
fn a_ledger_of_a_newer_format_is_refused_by_name_and_keeps_its_entries_and_modes() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy_fixture(folder.path());
    set_format(&path, "7");
    let before = entries(&path);
    let parts = [("db", 0o640), ("conf", 0o644), ("lock", 0o660), ("blobs", 0o750)];
    fs::write(path.join("lock"), "").unwrap();
    for (name, mode) in parts {
        fs::set_permissions(path.join(name), Permissions::from_mode(mode)).unwrap();
    }
    let error = SledLedger::open(&path).unwrap_err();
    let LedgerError::FutureSchema { place, found: 7, supported: 1 } = &error else { panic!("{error:?}") };
    assert_eq!(place, path.to_str().unwrap());
    for (name, mode) in parts {
        assert_eq!(path.join(name).metadata().unwrap().permissions().mode() & 0o7777, mode, "{name}");
    }
    assert!(entries(&path) == before, "entries were changed");
}

#[test]
fn a_format_that_is_no_number_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy_fixture(folder.path());
    for format in ["", "x", "0", "-1", "99999999999999999999"] {
        set_format(&path, format);
        let error = SledLedger::open(&path).unwrap_err();
        assert!(
            matches!(&error, LedgerError::Corrupt { place, .. } if *place == path.display().to_string()),
            "{error:?}"
        );
    }
}
