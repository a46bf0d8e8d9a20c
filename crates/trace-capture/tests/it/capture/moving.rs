//! The rows of a home moved from one kind of ledger to another.

#[cfg(all(feature = "sled", feature = "sqlite"))]
mod pairs;

use std::path::Path;

use pollster::block_on;
use trace_capture::{
    Home, LedgerKind, open_home_ledger,
    reindex::{MoveError, MoveReport, move_ledger},
};
use trace_model::{control::Reservation, ledger::Ledger, words::ReservationState};
use trace_testkit::samples;

use super::{
    session::recorded,
    support::{disk_kinds, document},
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
