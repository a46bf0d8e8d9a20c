//! The same session on every ledger.

use serde_json::Value;
use trace_capture::{LedgerKind, open_home_ledger, reindex::reindex};

use super::{
    moving::{Held, held, moved},
    session::{orchestrated_session, recorded, recorded_by},
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

#[test]
fn reservations_retries_and_nested_launches_are_the_same_on_every_ledger_and_after_each_move() {
    let folder = tempfile::tempdir().unwrap();
    let (home, memory) = recorded_by(orchestrated_session, &folder.path().join("memory"), LedgerKind::Memory);
    let expected = Held::of(&*memory);
    assert_eq!(expected.launches.matches("\"artifact_dir\"").count(), 4);
    assert_eq!(expected.reservations.len(), 3);
    let refilled = open_home_ledger(&home, Some(LedgerKind::Memory)).unwrap();
    assert_eq!(document(&*refilled), expected.launches);

    for kind in disk_kinds() {
        let (home, ledger) = recorded_by(orchestrated_session, &folder.path().join(kind.as_str()), kind);
        assert_eq!(Held::of(&*ledger), expected, "{kind}");
        drop(ledger);
        for to in disk_kinds().filter(|to| *to != kind).chain([kind]) {
            moved(&home, to).unwrap();
            assert_eq!(held(&home), expected, "{kind}, moved to {to}");
        }
        let filled = open_home_ledger(&home, Some(LedgerKind::Memory)).unwrap();
        assert_eq!(document(&*filled), expected.launches, "{kind}");
    }
}
