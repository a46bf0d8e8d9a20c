//! The same session on every ledger.

use serde_json::Value;
use trace_capture::{LedgerKind, open_home_ledger, reindex::reindex};

use super::{
    session::recorded,
    support::{delete_ledger, disk_kinds, document, dump},
};

#[test]
fn a_scripted_session_is_the_same_on_every_ledger_and_after_a_reindex() {
    let folder = tempfile::tempdir().unwrap();
    let (home, memory) = recorded(&folder.path().join("memory"), LedgerKind::Memory);
    let in_memory = document(&*memory);
    let filled = open_home_ledger(&home, Some(LedgerKind::Memory)).unwrap();
    assert_eq!(document(&*filled), in_memory);

    for kind in disk_kinds() {
        let root = folder.path().join(kind.as_str());
        let (home, ledger) = recorded(&root, kind);
        assert_eq!(document(&*ledger), in_memory, "{kind}");

        drop(ledger);
        delete_ledger(&root, kind);
        let ledger = open_home_ledger(&home, None).unwrap();
        assert_eq!(dump(&*ledger), Value::Array(Vec::new()), "the {kind} ledger is new");
        let report = pollster::block_on(reindex(&home, &*ledger, &mut |_| {})).unwrap();
        assert_eq!((report.launches, report.failed, report.skipped_lines, report.notes.len()), (1, 0, 0, 0));
        assert_eq!(document(&*ledger), in_memory, "{kind}");

        let filled = open_home_ledger(&home, Some(LedgerKind::Memory)).unwrap();
        assert_eq!(document(&*filled), in_memory, "{kind}");
    }
}
