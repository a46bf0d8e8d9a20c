//! The file: who may read it, what it may be, and what is left alone.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use pollster::block_on;
use rusqlite::Connection;
use trace_model::ledger::{Ledger, LedgerError};
use trace_store_sqlite::{SqliteLedger, SqliteOptions, WriteAhead};
use trace_testkit::samples;

fn pragma(path: &Path, name: &str) -> String {
    let connection = Connection::open(path).unwrap();
    let value: rusqlite::types::Value = connection.pragma_query_value(None, name, |row| row.get(0)).unwrap();
    match value {
        rusqlite::types::Value::Text(text) => text,
        other => format!("{other:?}"),
    }
}

fn assert_names_the_path(error: &LedgerError, path: &Path) {
    use std::error::Error;
    let mut text = error.to_string();
    if let Some(source) = error.source() {
        text = format!("{text}: {source}");
    }
    assert!(text.contains(path.file_name().unwrap().to_str().unwrap()), "{text}");
}

#[test]
fn the_ledger_and_the_files_beside_it_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SqliteLedger::open(&folder.path().join("ledger.db")).unwrap();
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
    let mut names = Vec::new();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o7777, 0o600, "{entry:?}");
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["ledger.db", "ledger.db-shm", "ledger.db-wal"]);
}

#[test]
fn the_file_says_that_it_is_a_ledger_and_logs_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let _ledger = SqliteLedger::open(&path).unwrap();
    assert_eq!(pragma(&path, "journal_mode"), "wal");
    assert_eq!(pragma(&path, "application_id"), format!("Integer({})", u32::from_be_bytes(*b"Trac")));
    assert_eq!(pragma(&path, "user_version"), "Integer(3)");
}

#[test]
fn without_a_write_ahead_log_the_journal_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    drop(SqliteLedger::open(&path).unwrap());
    let options = SqliteOptions { write_ahead: WriteAhead::Never, ..SqliteOptions::default() };
    let _ledger = SqliteLedger::open_with(&path, options).unwrap();
    assert_eq!(pragma(&path, "journal_mode"), "delete");
}

#[test]
fn a_link_in_place_of_the_file_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    for target in ["elsewhere.db", "missing.db"] {
        let target = folder.path().join(target);
        if target.ends_with("elsewhere.db") {
            drop(SqliteLedger::open(&target).unwrap());
        }
        symlink(&target, &path).unwrap();
        let error = SqliteLedger::open(&path).unwrap_err();
        assert!(matches!(error, LedgerError::Backend { .. }), "{error:?}");
        assert_names_the_path(&error, &path);
        fs::remove_file(&path).unwrap();
    }
    assert!(!folder.path().join("missing.db").exists());
}

#[test]
fn a_link_in_the_way_to_the_folder_is_fine() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real");
    fs::create_dir(&real).unwrap();
    symlink(&real, folder.path().join("linked")).unwrap();
    let ledger = SqliteLedger::open(&folder.path().join("linked/ledger.db")).unwrap();
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
    assert!(real.join("ledger.db").exists());
}

#[test]
fn a_missing_folder_is_not_created() {
    let folder = tempfile::tempdir().unwrap();
    for path in ["missing/ledger.db", ".."] {
        let error = SqliteLedger::open(&folder.path().join(path)).unwrap_err();
        assert!(matches!(error, LedgerError::Backend { action: "open its file", .. }), "{error:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_in_place_of_the_file_is_no_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    fs::create_dir(&path).unwrap();
    let error = SqliteLedger::open(&path).unwrap_err();
    assert!(matches!(error, LedgerError::Backend { .. }), "{error:?}");
    assert_names_the_path(&error, &path);
}

#[test]
fn a_file_of_something_else_is_damaged_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    let other_with_version = folder.path().join("other-2.db");
    Connection::open(&other_with_version).unwrap().execute_batch("PRAGMA user_version = 1").unwrap();
    let garbage = vec![b'x'; 5_000];
    for bytes in [garbage, fs::read(other).unwrap(), fs::read(other_with_version).unwrap()] {
        fs::write(&path, &bytes).unwrap();
        let error = SqliteLedger::open(&path).unwrap_err();
        assert!(matches!(error, LedgerError::Corrupt { .. }), "{error:?}");
        assert_names_the_path(&error, &path);
        assert!(fs::read(&path).unwrap() == bytes, "the file was changed");
    }
}

#[test]
fn an_empty_file_becomes_a_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    fs::write(&path, "").unwrap();
    let ledger = SqliteLedger::open(&path).unwrap();
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
}
