//! The format of the trees: old ones are read, and newer ones are refused.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::Arc,
};

use pollster::block_on;
use serde_json::Value;
use trace_model::ledger::{Ledger, LedgerError};
use trace_store_sled::SledLedger;
use trace_testkit::{samples, suite::check_usage_that_is_there};

use crate::{FIXTURES, copy_fixture, copy_fixture_of, everything, everything_costed, with_sled};

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

fn format(path: &Path) -> String {
    let read = |database: &sled::Db| database.open_tree("format").unwrap().get("version").unwrap().unwrap();
    String::from_utf8(with_sled(path, read).to_vec()).unwrap()
}

fn set_format(path: &Path, format: &str) {
    with_sled(path, |database| database.open_tree("format").unwrap().insert("version", format).unwrap());
}

/// Opens a copy of a ledger of that format: it says what it always said, and has the trees of a new one after that.
fn check_format(name: &str, says: impl Fn(&dyn Ledger) -> Result<Value, LedgerError>) {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (copy_fixture_of(&format!("{name}.sled"), folder.path()), folder.path().join("new.sled"));
    let expected = fs::read_to_string(Path::new(FIXTURES).join(format!("{name}.json"))).unwrap();
    let ledger: Arc<dyn Ledger> = Arc::new(SledLedger::open(&old).unwrap());
    assert_eq!(says(&*ledger).unwrap(), serde_json::from_str::<Value>(&expected).unwrap());
    block_on(ledger.apply(&samples::beginning(77))).unwrap();
    check_usage_that_is_there(&ledger);
    drop(ledger);
    drop(SledLedger::open(&new).unwrap());
    let trees = |path: &Path| with_sled(path, |database| database.tree_names().into_iter().collect::<BTreeSet<_>>());
    assert_eq!(trees(&old), trees(&new));
    assert_eq!(format(&old), format(&new));
}

#[test]
fn a_ledger_of_format_1_is_read_back() {
    check_format("ledger-v1", everything);
}

#[test]
fn a_ledger_of_format_2_is_read_back() {
    check_format("ledger-v2", everything_costed);
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
    let LedgerError::FutureSchema { place, found: 7, supported: 2 } = &error else { panic!("{error:?}") };
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
