//! Launches: written, read back, changed and ended.

use std::collections::BTreeMap;

use trace_model::{
    Entity,
    launch::{CaptureState, Launch, LaunchState},
    ledger::LedgerError,
    rows::{BoundaryRows, LaunchChange},
    turn::Outcome,
    words::CaptureStatus,
};

use super::{Handle, assert_refused};
use crate::samples;

fn opened(launch: Launch) -> BoundaryRows {
    BoundaryRows::of_launch(LaunchChange::Opened(launch))
}

fn updated(launch: Launch) -> BoundaryRows {
    BoundaryRows::of_launch(LaunchChange::Updated(launch))
}

fn conflict(launch: &Launch, reason: &'static str) -> LedgerError {
    LedgerError::Conflict { entity: Entity::Launch, id: launch.header.id.to_string(), reason }
}

/// What is known of a launch comes back, and what is not known comes back as unknown.
pub async fn a_new_launch_is_read_back_as_it_was_written(ledger: Handle) {
    for launch in [samples::launch(1), samples::bare_launch(2)] {
        ledger.apply(&opened(launch.clone())).await.unwrap();
        assert_eq!(ledger.launch(launch.header.id).await.unwrap(), launch);
    }
}

/// Every outcome and every capture status comes back, with its reason.
pub async fn every_state_of_a_launch_survives(ledger: Handle) {
    let mut launches = Vec::from([samples::launch(0)]);
    launches.extend(
        (1..)
            .zip([Outcome::Completed, Outcome::Failed, Outcome::Interrupted])
            .map(|(n, outcome)| samples::ended(samples::launch(n), outcome)),
    );
    launches.extend((10..).zip(CaptureStatus::ALL).map(|(n, status)| {
        let reason = |status| CaptureState::from_columns(status, Some(String::from("no room on the disk")));
        let capture = CaptureState::from_columns(*status, None).or_else(|_| reason(*status)).unwrap();
        Launch { capture, ..samples::ended(samples::launch(n), Outcome::Completed) }
    }));
    for launch in launches {
        ledger.apply(&opened(launch.clone())).await.unwrap();
        assert_eq!(ledger.launch(launch.header.id).await.unwrap(), launch);
    }
}

/// A launch that nobody wrote is `NotFound`.
pub async fn a_launch_that_is_not_here_is_not_found(ledger: Handle) {
    ledger.apply(&opened(samples::launch(1))).await.unwrap();
    let id = samples::launch_id(2);
    assert_refused(ledger.launch(id).await, &LedgerError::not_found(Entity::Launch, id));
}

/// Opening a launch again is `AlreadyExists`, whatever else it says.
pub async fn a_launch_id_that_is_taken_already_exists(ledger: Handle) {
    ledger.apply(&opened(samples::launch(1))).await.unwrap();
    let id = samples::launch_id(1);
    for again in [samples::launch(1), samples::bare_launch(1)] {
        assert_refused(ledger.apply(&opened(again)).await, &LedgerError::already_exists(Entity::Launch, id));
    }
    assert_eq!(ledger.launch(id).await.unwrap(), samples::launch(1));
}

/// What an update says stands instead of what stood before, unknown values too.
pub async fn an_updated_launch_looks_like_its_update(ledger: Handle) {
    ledger.apply(&opened(samples::bare_launch(1))).await.unwrap();
    for launch in [samples::launch(1), samples::bare_launch(1), samples::ended(samples::launch(1), Outcome::Failed)] {
        ledger.apply(&updated(launch.clone())).await.unwrap();
        assert_eq!(ledger.launch(launch.header.id).await.unwrap(), launch);
    }
}

/// An update makes no launch.
pub async fn an_update_of_a_launch_that_is_not_here_is_not_found(ledger: Handle) {
    let id = samples::launch_id(1);
    assert_refused(ledger.apply(&updated(samples::launch(1))).await, &LedgerError::not_found(Entity::Launch, id));
    assert_refused(ledger.launch(id).await, &LedgerError::not_found(Entity::Launch, id));
}

/// Run, process and start of a launch are fixed.
pub async fn what_a_launch_is_called_never_changes(ledger: Handle) {
    let launch = samples::launch(1);
    ledger.apply(&opened(launch.clone())).await.unwrap();
    let changes: [fn(&mut Launch); 3] = [
        |launch| launch.header.run_id = "another-run".parse().unwrap(),
        |launch| launch.header.process_id = "another-process".parse().unwrap(),
        |launch| launch.header.started_at = samples::time(500),
    ];
    for change in changes {
        let mut new = launch.clone();
        change(&mut new);
        assert_refused(ledger.apply(&updated(new)).await, &conflict(&launch, "its run, process and start are fixed"));
    }
    assert_eq!(ledger.launch(launch.header.id).await.unwrap(), launch);
}

/// An ended launch neither runs again nor gets another end.
pub async fn an_ended_launch_stays_ended(ledger: Handle) {
    let launch = samples::ended(samples::launch(1), Outcome::Completed);
    ledger.apply(&opened(launch.clone())).await.unwrap();
    let later = LaunchState::Ended { at: samples::time(999), outcome: Outcome::Completed };
    for state in [LaunchState::Running, later, samples::ended(samples::launch(1), Outcome::Failed).state] {
        let new = Launch { state, ..launch.clone() };
        assert_refused(ledger.apply(&updated(new)).await, &conflict(&launch, "it has ended"));
    }
    assert_eq!(ledger.launch(launch.header.id).await.unwrap(), launch);
}

/// An update that keeps the end may change the rest: a session that was learnt late, or files that were pruned.
pub async fn an_ended_launch_may_still_learn_something(ledger: Handle) {
    let mut launch = samples::ended(samples::bare_launch(1), Outcome::Completed);
    ledger.apply(&opened(launch.clone())).await.unwrap();
    launch.provider_session_id = Some(String::from("late"));
    launch.capture = CaptureState::Pruned { reason: String::from("older than 90 days") };
    launch.header.tags = BTreeMap::from([("seen".parse().unwrap(), String::from("yes"))]);
    ledger.apply(&updated(launch.clone())).await.unwrap();
    assert_eq!(ledger.launch(launch.header.id).await.unwrap(), launch);
}

/// The parents that a launch names need not be here.
pub async fn the_parents_of_a_launch_are_labels(ledger: Handle) {
    let launch = samples::launch(1);
    let parent = launch.header.parent_launch_id.unwrap();
    ledger.apply(&opened(launch.clone())).await.unwrap();
    assert_refused(ledger.launch(parent).await, &LedgerError::not_found(Entity::Launch, parent));
    assert_eq!(ledger.launch(launch.header.id).await.unwrap().header.parent_launch_id, Some(parent));
}
