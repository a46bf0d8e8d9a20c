//! Moves between every two kinds of ledgers that have files.

use std::{fs, path::Path};

use pollster::block_on;
use trace_capture::{
    CaptureEnv, CaptureError, EnvParts, Home, LedgerKind, OpenError, Recorded, open_home_ledger,
    reindex::{MoveError, index_deferred},
};
use trace_model::{turn::Outcome, words::Provider};
use trace_testkit::samples;

use super::{full_home, held, moved};
use crate::capture::support::{begin, delete_ledger, disk_kinds, env};

fn has_files(home: &Home, kind: LedgerKind) -> bool {
    kind.file_names().iter().any(|name| home.root().join(name).exists())
}

/// Calls `check` with every two different kinds of ledgers that have files, and a folder.
fn for_each_pair(check: impl Fn(&Path, LedgerKind, LedgerKind)) {
    let pairs = disk_kinds().flat_map(|from| disk_kinds().map(move |to| (from, to)));
    for (from, to) in pairs.filter(|(from, to)| from != to) {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path(), from, to);
    }
}

#[test]
fn a_home_moves_there_and_back_row_for_row() {
    for_each_pair(|root, from, to| {
        let home = full_home(root, from);
        let before = held(&home);
        assert_eq!(before.reservations.len(), 3);
        for (from, to) in [(from, to), (to, from)] {
            let copy = root.join(format!("{}.copy of the owner's", from.file_name().unwrap()));
            fs::write(&copy, "rows").unwrap();
            let report = moved(&home, to).unwrap().expect("there is something to move");
            assert!(copy.exists() && report.left_behind.is_none(), "{report:?}");
            assert_eq!((report.from, report.to, report.reservations, report.copied), (from, to, Some(3), 1));
            assert_eq!((report.reindex.launches, report.reindex.failed), (1, 0));
            assert_eq!(LedgerKind::of_home(&home).unwrap(), to);
            assert_eq!(held(&home), before);
            assert!(has_files(&home, to) && !has_files(&home, from), "{from} to {to}");
        }
    });
}

#[test]
fn a_home_has_one_ledger_with_files() {
    for_each_pair(|root, own, wanted| {
        let home = full_home(root, own);
        let error = open_home_ledger(&home, Some(wanted)).unwrap_err();
        assert!(matches!(error, OpenError::OtherKind { .. }), "{error:?}");
        let text = error.to_string();
        assert!(
            text.contains(&root.display().to_string()) && text.contains(&format!("is {own}, not {wanted}")),
            "{text}"
        );
        assert!(text.contains(&format!("trace reindex --ledger {wanted}")), "{text}");
        assert!(!has_files(&home, wanted));
        assert!(open_home_ledger(&home, Some(LedgerKind::Memory)).is_ok());
    });
}

#[test]
fn reservations_are_lost_with_the_ledger_that_held_them_and_that_is_told() {
    for_each_pair(|root, from, to| {
        let home = full_home(root, from);
        delete_ledger(root, from);
        let report = moved(&home, to).unwrap().expect("there is something to move");
        assert_eq!((report.reservations, report.copied, report.reindex.launches), (None, 0, 1));
        assert_eq!(held(&home).reservations, []);
    });
}

#[test]
fn what_an_earlier_move_left_behind_is_no_part_of_the_new_ledger() {
    for_each_pair(|root, from, to| {
        let home = full_home(root, from);
        let before = held(&home);
        // It was stopped before the home had its new ledger.
        let half = open_home_ledger(&Home::open_real(&root.join("half")).unwrap(), Some(to)).unwrap();
        block_on(half.reserve(&samples::reservation(77))).unwrap();
        drop(half);
        let name = to.file_name().unwrap();
        fs::rename(root.join("half").join(name), root.join(name)).unwrap();
        moved(&home, to).unwrap().expect("there is something to move");
        assert_eq!(held(&home), before);
    });
}

#[test]
fn a_home_that_records_is_not_moved() {
    for_each_pair(|root, from, to| {
        let home = Home::open_real(&root.join("home")).unwrap();
        let env = env(&home, open_home_ledger(&home, Some(from)).unwrap());
        let capture = begin(&env);
        let error = moved(&home, to).unwrap_err();
        let MoveError::Recording { dir } = error else { panic!("{error:?}") };
        assert_eq!(Some(dir), capture.artifact_dir());
        assert_eq!(LedgerKind::of_home(&home).unwrap(), from);
        assert!(!has_files(&home, to));
    });
}

#[test]
fn who_has_the_old_ledger_open_loses_nothing_to_it() {
    // sled does not let go of its folder, so nobody can have it open while the home is moved.
    let root = tempfile::tempdir().unwrap();
    let home = full_home(root.path(), LedgerKind::Sqlite);
    let old = open_home_ledger(&home, None).unwrap();
    let env = CaptureEnv::new(EnvParts::new(home.clone(), old));
    moved(&home, LedgerKind::Sled).unwrap().expect("there is something to move");
    let reserve = || env.blocking_reserve(samples::control(8), Provider::Claude, None, "headless");
    assert!(matches!(reserve(), Err(CaptureError::NoLedger { .. })));
    assert!(matches!(env.blocking_release(&samples::control(1).run_id), Err(CaptureError::NoLedger { .. })));
    let late = begin(&env);
    late.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let new = open_home_ledger(&home, None).unwrap();
    assert_eq!(block_on(index_deferred(&home, &*new)).unwrap(), 1);
    assert!(block_on(new.launch(late.launch_id().unwrap())).is_ok());
}

#[test]
fn a_home_is_moved_by_one_at_a_time_and_a_mover_that_died_keeps_nobody_from_it() {
    for_each_pair(|root, from, to| {
        let home = full_home(root, from);
        let moving = root.join("moving");
        let held = fs::File::create(&moving).unwrap();
        held.lock().unwrap();
        assert!(matches!(moved(&home, to), Err(MoveError::Busy)));
        drop(held);
        moved(&home, to).unwrap().expect("there is something to move");
        assert!(!moving.exists());
    });
}
