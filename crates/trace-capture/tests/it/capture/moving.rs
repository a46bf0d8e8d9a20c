//! The rows of a home moved from one kind of ledger to another.

use std::{fs, path::Path};

use pollster::block_on;
use trace_capture::{
    Home, LedgerKind, OpenError, open_home_ledger,
    reindex::{MoveError, MoveReport, move_ledger},
};
use trace_model::{control::Reservation, ledger::Ledger, words::ReservationState};
use trace_testkit::samples;

use super::{
    session::recorded,
    support::{begin, delete_ledger, disk_kinds, document, env},
};

/// Everything that a ledger holds.
#[derive(Debug, PartialEq)]
pub(super) struct Held {
    /// The rows of the launches, as one JSON text.
    pub(super) launches: String,
    pub(super) reservations: Vec<Reservation>,
}

impl Held {
    pub(super) fn of(ledger: &dyn Ledger) -> Self {
        Self { launches: document(ledger), reservations: block_on(ledger.reservations()).unwrap() }
    }
}

/// Returns what the home's own ledger holds.
pub(super) fn held(home: &Home) -> Held {
    Held::of(&*open_home_ledger(home, None).unwrap())
}

/// Records a session, reserves launches, and writes the rows of a launch that has no recording.
fn full_home(root: &Path, kind: LedgerKind) -> Home {
    let (home, ledger) = recorded(root, kind);
    let only_rows = samples::whole_launch(5);
    block_on(ledger.replace_launch(&only_rows)).unwrap();
    for n in [1, 2] {
        block_on(ledger.reserve(&samples::reservation(n))).unwrap();
    }
    block_on(ledger.release(&samples::control(2).run_id)).unwrap();
    let taken = Reservation { state: ReservationState::Taken, ..samples::reservation(5) };
    block_on(ledger.reserve(&taken)).unwrap();
    home
}

pub(super) fn moved(home: &Home, to: LedgerKind) -> Result<Option<MoveReport>, MoveError> {
    block_on(move_ledger(home, to, &mut |_| {}))
}

fn has_files(home: &Home, kind: LedgerKind) -> bool {
    let name = kind.file_name().unwrap();
    let mut entries = fs::read_dir(home.root()).unwrap();
    entries.any(|entry| entry.unwrap().file_name().to_str().unwrap().starts_with(name))
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
            let report = moved(&home, to).unwrap().expect("there is something to move");
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
fn there_is_nothing_to_move_to_where_the_rows_are_or_to_memory() {
    for kind in disk_kinds() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_real(folder.path()).unwrap();
        assert_eq!(moved(&home, kind).unwrap(), None, "the home has no ledger yet");
        let home = full_home(folder.path(), kind);
        let before = held(&home);
        for to in [kind, LedgerKind::Memory] {
            assert_eq!(moved(&home, to).unwrap(), None);
        }
        assert_eq!(held(&home), before);
    }
}
