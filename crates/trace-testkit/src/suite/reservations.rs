//! Reservations: made, taken and given up.

use trace_model::{
    Entity,
    control::Reservation,
    ledger::LedgerError,
    rows::{BoundaryRows, LaunchChange},
    words::ReservationState,
};

use super::{Handle, assert_refused};
use crate::samples;

/// Returns the reservation of the n-th launch for the control run of the first one.
fn of_first_run(n: u32) -> Reservation {
    Reservation { control: samples::control(1), ..samples::reservation(n) }
}

async fn state(ledger: &Handle, n: u32) -> ReservationState {
    let all = ledger.reservations().await.unwrap();
    all.into_iter().find(|one| one.launch_id == samples::launch_id(n)).unwrap().state
}

/// What is known comes back, and what is not known comes back as unknown.
pub async fn a_reservation_is_read_back_as_it_was_written(ledger: Handle) {
    let mut bare = samples::reservation(2);
    bare.model = None;
    bare.control.account_id = None;
    bare.control.resume_token = None;
    bare.control.opaque_basis = None;
    for reservation in [samples::reservation(1), bare] {
        ledger.reserve(&reservation).await.unwrap();
        assert_eq!(ledger.reservation(&reservation.control.run_id).await.unwrap(), reservation);
    }
}

/// Neither a read nor a release finds what was never made.
pub async fn a_control_run_without_reservation_is_not_found(ledger: Handle) {
    ledger.reserve(&samples::reservation(1)).await.unwrap();
    let run = samples::control(2).run_id;
    let missing = LedgerError::not_found(Entity::Reservation, &run);
    assert_refused(ledger.reservation(&run).await, &missing);
    assert_refused(ledger.release(&run).await, &missing);
}

/// A second one is refused while the first one waits, and only then.
pub async fn a_control_run_has_one_waiting_reservation(ledger: Handle) {
    ledger.reserve(&of_first_run(1)).await.unwrap();
    let run = samples::control(1).run_id;
    assert_refused(ledger.reserve(&of_first_run(2)).await, &LedgerError::already_exists(Entity::Reservation, &run));
    ledger.reserve(&samples::reservation(3)).await.unwrap();
    ledger.release(&run).await.unwrap();
    ledger.reserve(&of_first_run(2)).await.unwrap();
    assert_eq!(ledger.reservation(&run).await.unwrap(), of_first_run(2));
}

/// A launch is reserved once, whatever became of that.
pub async fn a_launch_has_one_reservation(ledger: Handle) {
    ledger.reserve(&of_first_run(1)).await.unwrap();
    ledger.release(&samples::control(1).run_id).await.unwrap();
    let again = Reservation { control: samples::control(2), ..samples::reservation(1) };
    let taken = LedgerError::already_exists(Entity::Reservation, samples::launch_id(1));
    assert_refused(ledger.reserve(&again).await, &taken);
    assert_eq!(ledger.reservations().await.unwrap().len(), 1);
}

/// What has begun cannot be announced.
pub async fn a_launch_that_is_here_cannot_be_reserved(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let here = LedgerError::already_exists(Entity::Launch, samples::launch_id(1));
    assert_refused(ledger.reserve(&samples::reservation(1)).await, &here);
    assert_eq!(ledger.reservations().await.unwrap(), []);
}

/// The launch of a reservation begins: the same transaction takes it, and no other one.
pub async fn an_opened_launch_takes_its_reservation(ledger: Handle) {
    for n in [1, 2] {
        ledger.reserve(&samples::reservation(n)).await.unwrap();
    }
    ledger.apply(&samples::beginning(1)).await.unwrap();
    assert_eq!(state(&ledger, 1).await, ReservationState::Taken);
    assert_eq!(state(&ledger, 2).await, ReservationState::Waiting);
    let taken = ledger.reservation(&samples::control(1).run_id).await.unwrap();
    assert_eq!(taken, Reservation { state: ReservationState::Taken, ..samples::reservation(1) });
}

/// A launch that is folded from its files has begun too.
pub async fn a_launch_put_in_place_takes_its_reservation(ledger: Handle) {
    ledger.reserve(&samples::reservation(1)).await.unwrap();
    ledger.replace_launch(&samples::whole_launch(1)).await.unwrap();
    assert_eq!(state(&ledger, 1).await, ReservationState::Taken);
    ledger.replace_launch(&samples::whole_launch(1)).await.unwrap();
    assert_eq!(state(&ledger, 1).await, ReservationState::Taken);
}

/// A launch whose rows are refused has not begun.
pub async fn a_refused_launch_leaves_its_reservation_waiting(ledger: Handle) {
    ledger.reserve(&samples::reservation(1)).await.unwrap();
    let mut rows = BoundaryRows::of_launch(LaunchChange::Opened(samples::launch(1)));
    rows.turns_opened = vec![samples::turn_rows(samples::turn(1, 1), 0), samples::turn_rows(samples::turn(1, 1), 0)];
    assert!(ledger.apply(&rows).await.is_err());
    assert_eq!(state(&ledger, 1).await, ReservationState::Waiting);
}

/// It is kept, and may be given up again.
pub async fn a_released_reservation_waits_no_more(ledger: Handle) {
    ledger.reserve(&samples::reservation(1)).await.unwrap();
    let run = samples::control(1).run_id;
    for _ in 0..2 {
        ledger.release(&run).await.unwrap();
        let released = Reservation { state: ReservationState::Released, ..samples::reservation(1) };
        assert_eq!(ledger.reservation(&run).await.unwrap(), released);
    }
}

/// The launch runs or ran: there is nothing to give up.
pub async fn what_was_taken_cannot_be_released(ledger: Handle) {
    ledger.reserve(&samples::reservation(1)).await.unwrap();
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let run = samples::control(1).run_id;
    assert_refused(ledger.release(&run).await, &LedgerError::launch_has_begun(&run));
    assert_eq!(state(&ledger, 1).await, ReservationState::Taken);
}

/// The artifacts are the truth: a launch that began has begun.
pub async fn a_launch_that_begins_after_its_release_takes_it(ledger: Handle) {
    ledger.reserve(&samples::reservation(1)).await.unwrap();
    ledger.release(&samples::control(1).run_id).await.unwrap();
    ledger.apply(&samples::beginning(1)).await.unwrap();
    assert_eq!(state(&ledger, 1).await, ReservationState::Taken);
}

/// The answer for a run is the one that waits, though later ones were made; without one, the latest.
pub async fn the_waiting_reservation_comes_before_later_ones(ledger: Handle) {
    let run = samples::control(1).run_id;
    let with = |n, state| Reservation { state, ..of_first_run(n) };
    ledger.reserve(&with(5, ReservationState::Released)).await.unwrap();
    ledger.reserve(&with(7, ReservationState::Taken)).await.unwrap();
    ledger.reserve(&with(6, ReservationState::Released)).await.unwrap();
    assert_eq!(ledger.reservation(&run).await.unwrap().launch_id, samples::launch_id(7));
    ledger.reserve(&with(3, ReservationState::Waiting)).await.unwrap();
    assert_eq!(ledger.reservation(&run).await.unwrap().launch_id, samples::launch_id(3));
    ledger.release(&run).await.unwrap();
    assert_eq!(ledger.reservation(&run).await.unwrap().launch_id, samples::launch_id(7));
}

/// Their order does not depend on the order of writing.
pub async fn reservations_come_by_time_and_then_launch(ledger: Handle) {
    let at = |n, seconds| Reservation { reserved_at: samples::time(seconds), ..samples::reservation(n) };
    for reservation in [at(4, 9), at(2, 9), at(3, 5), at(1, 12)] {
        ledger.reserve(&reservation).await.unwrap();
    }
    assert_eq!(ledger.reservations().await.unwrap(), [at(3, 5), at(2, 9), at(4, 9), at(1, 12)]);
}

/// A reservation that is copied from another ledger is there as it was there, its launch too.
pub async fn a_copied_reservation_keeps_its_state(ledger: Handle) {
    ledger.replace_launch(&samples::whole_launch(1)).await.unwrap();
    for (n, state) in (1..).zip([ReservationState::Taken, ReservationState::Released, ReservationState::Waiting]) {
        let copy = Reservation { state, ..samples::reservation(n) };
        ledger.reserve(&copy).await.unwrap();
        assert_eq!(ledger.reservation(&copy.control.run_id).await.unwrap(), copy);
    }
}
