//! Steps about reservations, made to fit.

use trace_model::{control::Reservation, id::ControlRunId, words::ReservationState};

use super::{LAUNCHES, Planned, World, is_here};
use crate::samples;

/// The control runs of the world.
const RUNS: [&str; 4] = ["control-a", "control-b", "Control-b", "control-b-2"];

impl Planned {
    /// Returns the reservation of a launch that is neither there nor reserved, for a run that has none waiting; a wild
    /// step, of any launch for any run.
    pub(super) fn reserve(&self, world: &World, reservation: &Reservation) -> Reservation {
        let free = |number: &u32| {
            let id = samples::launch_id(*number);
            !is_here(world, id) && world.reservations.iter().all(|one| one.launch_id != id)
        };
        let waits = |run: &ControlRunId| {
            let mut of_run = world.reservations.iter().filter(|one| one.control.run_id == *run);
            of_run.any(|one| one.state == ReservationState::Waiting)
        };
        let runs: Vec<ControlRunId> = RUNS.iter().map(|run| run.parse().expect("it is an id")).collect();
        let launches = self.fitting(&LAUNCHES, free);
        let runs = self.fitting(&runs, |run| !waits(run));
        let mut reservation = reservation.clone();
        reservation.launch_id = samples::launch_id(*self.picks[0].get(&launches));
        reservation.control.run_id = self.picks[1].get(&runs).clone();
        reservation
    }

    /// Chooses a run of the world whose reservation fits; a wild step, any.
    pub(super) fn control_run(&self, world: &World, fits: impl Fn(ReservationState) -> bool) -> ControlRunId {
        let runs: Vec<ControlRunId> = RUNS.iter().map(|run| run.parse().expect("it is an id")).collect();
        let state = |run: &ControlRunId| {
            let of_run = world.reservations.iter().filter(|one| one.control.run_id == *run);
            of_run.max_by_key(|one| one.precedence()).map(|one| one.state)
        };
        let runs = self.fitting(&runs, |run| state(run).is_some_and(&fits));
        self.picks[0].get(&runs).clone()
    }

    /// Returns those that fit, or all where none does or the step is wild.
    fn fitting<T: Clone>(&self, all: &[T], fits: impl Fn(&T) -> bool) -> Vec<T> {
        let fitting: Vec<T> = all.iter().filter(|one| !self.wild && fits(one)).cloned().collect();
        if fitting.is_empty() { all.to_vec() } else { fitting }
    }
}
