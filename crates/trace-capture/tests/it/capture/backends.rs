//! The same session on every ledger.

use std::fs;

use serde_json::Value;
use trace_capture::{LedgerKind, open_home_ledger, reindex::reindex};

use super::{
    session::recorded,
    support::{document, dump},
};

#[test]
fn a_scripted_session_is_the_same_on_every_ledger_and_after_a_reindex() {
    let folder = tempfile::tempdir().unwrap();
    let (_, memory) = recorded(&folder.path().join("a"), LedgerKind::Memory);
    let in_memory = document(&*memory);

    let root = folder.path().join("b");
    let (home, sqlite) = recorded(&root, LedgerKind::Sqlite);
    assert_eq!(document(&*sqlite), in_memory);

    drop(sqlite);
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("ledger.db") {
            fs::remove_file(path).unwrap();
        }
    }
    let sqlite = open_home_ledger(&home, None).unwrap();
    assert_eq!(dump(&*sqlite), Value::Array(Vec::new()), "the ledger is new");
    let report = pollster::block_on(reindex(&home, &*sqlite, &mut |_| {})).unwrap();
    assert_eq!((report.launches, report.failed, report.skipped_lines, report.notes.len()), (1, 0, 0, 0));
    assert_eq!(document(&*sqlite), in_memory);

    let filled = open_home_ledger(&home, Some(LedgerKind::Memory)).unwrap();
    assert_eq!(document(&*filled), in_memory);
}
