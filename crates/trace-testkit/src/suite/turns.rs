//! Turns and their contexts: written, read back, changed and ended.

use std::collections::BTreeMap;

use trace_model::{
    Entity,
    ledger::LedgerError,
    rows::{BoundaryRows, LaunchChange, TurnRows},
    turn::{EndStatus, Outcome, Turn, TurnState},
    words::PartialReason,
};

use super::{Handle, apply_all, assert_refused};
use crate::samples;

/// The boundary at which turns are opened in a launch that is here.
fn opened(n: u32, turns: impl IntoIterator<Item = TurnRows>) -> BoundaryRows {
    BoundaryRows {
        turns_opened: turns.into_iter().collect(),
        ..BoundaryRows::of_launch(LaunchChange::Updated(samples::launch(n)))
    }
}

/// The boundary at which a turn changes.
fn updated(n: u32, turn: Turn) -> BoundaryRows {
    BoundaryRows {
        turns_updated: BTreeMap::from([(turn.id, turn)]),
        ..BoundaryRows::of_launch(LaunchChange::Updated(samples::launch(n)))
    }
}

fn conflict(turn: &Turn, reason: &'static str) -> LedgerError {
    LedgerError::Conflict { entity: Entity::Turn, id: turn.id.to_string(), reason }
}

async fn turns(ledger: &Handle, n: u32) -> Vec<Turn> {
    ledger.turns(samples::launch_id(n)).await.unwrap().into_iter().map(|row| row.turn).collect()
}

/// What is known of a turn comes back with its assets and decisions, and what is not known as unknown.
pub async fn a_turn_is_read_back_with_its_context(ledger: Handle) {
    let mut sparse = samples::turn_rows(samples::bare_turn(1, 2), 1);
    sparse.assets[0].source_path = None;
    sparse.decisions[0].source_path = None;
    sparse.decisions[0].original_bytes = None;
    sparse.decisions[0].original_tokens = None;
    sparse.decisions[0].asset_position = None;
    let written = [samples::turn_rows(samples::turn(1, 1), 3), sparse, samples::turn_rows(samples::turn(1, 3), 0)];
    ledger.apply(&BoundaryRows::of_launch(LaunchChange::Opened(samples::launch(1)))).await.unwrap();
    ledger.apply(&opened(1, written.clone())).await.unwrap();
    assert_eq!(turns(&ledger, 1).await, written.each_ref().map(|rows| rows.turn.clone()));
    for rows in written {
        assert_eq!(ledger.assets(rows.turn.id).await.unwrap(), rows.assets);
        assert_eq!(ledger.decisions(rows.turn.id).await.unwrap(), rows.decisions);
    }
}

/// Every status comes back, with the reason of a partial turn.
pub async fn every_state_of_a_turn_survives(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let ends = [Outcome::Completed, Outcome::Failed, Outcome::Interrupted].map(EndStatus::Of);
    let partial = PartialReason::ALL.iter().copied().map(EndStatus::Partial);
    for (ordinal, status) in (2..).zip(ends.into_iter().chain(partial)) {
        let turn = samples::ended_turn(samples::turn(1, ordinal), status);
        ledger.apply(&opened(1, [samples::turn_rows(turn.clone(), 0)])).await.unwrap();
        assert_eq!(turns(&ledger, 1).await.last(), Some(&turn));
    }
}

/// Turns come by ordinal, assets and decisions by position, whatever the order in which they were written.
pub async fn turns_come_by_ordinal_and_contexts_by_position(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let mut rows = [4, 2, 10, 3].map(|ordinal| samples::turn_rows(samples::turn(1, ordinal), 12));
    for rows in &mut rows {
        rows.assets.reverse();
        rows.decisions.rotate_left(5);
    }
    ledger.apply(&opened(1, rows)).await.unwrap();
    let ordinals: Vec<u32> = turns(&ledger, 1).await.iter().map(|turn| turn.ordinal).collect();
    assert_eq!(ordinals, [1, 2, 3, 4, 10]);
    let expected = samples::turn_rows(samples::turn(1, 10), 12);
    assert_eq!(ledger.assets(samples::turn_id(1, 10)).await.unwrap(), expected.assets);
    assert_eq!(ledger.decisions(samples::turn_id(1, 10)).await.unwrap(), expected.decisions);
}

/// Asking for the rows of a launch or turn that is not here is no error.
pub async fn what_is_not_here_has_no_rows(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    assert_eq!(ledger.turns(samples::launch_id(2)).await.unwrap(), []);
    assert_eq!(ledger.usage(samples::launch_id(2)).await.unwrap(), []);
    assert_eq!(ledger.assets(samples::turn_id(1, 2)).await.unwrap(), []);
    assert_eq!(ledger.decisions(samples::turn_id(1, 2)).await.unwrap(), []);
}

/// A turn id is unique over all launches, and within one boundary.
pub async fn a_turn_id_that_is_taken_already_exists(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    let taken = LedgerError::already_exists(Entity::Turn, samples::turn_id(1, 1));
    let again = Turn { ordinal: 7, ..samples::turn(1, 1) };
    assert_refused(ledger.apply(&opened(1, [samples::turn_rows(again, 0)])).await, &taken);
    let of_another = Turn { launch_id: samples::launch_id(2), ordinal: 7, ..samples::turn(1, 1) };
    assert_refused(ledger.apply(&opened(2, [samples::turn_rows(of_another, 0)])).await, &taken);
    let twice = [2, 3].map(|ordinal| samples::turn_rows(Turn { ordinal, ..samples::turn(1, 2) }, 0));
    let taken = LedgerError::already_exists(Entity::Turn, samples::turn_id(1, 2));
    assert_refused(ledger.apply(&opened(1, twice)).await, &taken);
    assert_eq!(turns(&ledger, 1).await, [samples::turn(1, 1)]);
}

/// An ordinal is unique in its launch, and within one boundary.
pub async fn an_ordinal_that_is_taken_already_exists(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    let at = |ordinal, id| samples::turn_rows(Turn { ordinal, ..samples::turn(1, id) }, 0);
    let taken = |ordinal| LedgerError::place_is_taken(Entity::Turn, samples::launch_id(1), ordinal);
    assert_refused(ledger.apply(&opened(1, [at(1, 2)])).await, &taken(1));
    assert_refused(ledger.apply(&opened(1, [at(5, 2), at(5, 3)])).await, &taken(5));
    assert_eq!(turns(&ledger, 1).await, [samples::turn(1, 1)]);
}

/// A position is unique among the assets and among the decisions of a turn.
pub async fn a_position_that_is_taken_already_exists(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let mut rows = samples::turn_rows(samples::turn(1, 2), 3);
    rows.assets[2].position = 1;
    let taken = |entity| LedgerError::place_is_taken(entity, samples::turn_id(1, 2), 1);
    assert_refused(ledger.apply(&opened(1, [rows.clone()])).await, &taken(Entity::Asset));
    rows.assets.pop();
    rows.decisions[2].position = 1;
    assert_refused(ledger.apply(&opened(1, [rows.clone()])).await, &taken(Entity::Decision));
    assert_eq!(turns(&ledger, 1).await, [samples::turn(1, 1)]);
    rows.decisions.pop();
    ledger.apply(&opened(1, [rows])).await.unwrap();
}

/// What an update says stands instead of what stood before, unknown values too; the context stays.
pub async fn an_updated_turn_looks_like_its_update(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let end = samples::ended_turn(samples::turn(1, 1), EndStatus::Partial(PartialReason::Superseded));
    for turn in [samples::bare_turn(1, 1), samples::turn(1, 1), end.clone(), Turn { root_output: None, ..end }] {
        ledger.apply(&updated(1, turn.clone())).await.unwrap();
        assert_eq!(turns(&ledger, 1).await, [turn]);
    }
    assert_eq!(ledger.assets(samples::turn_id(1, 1)).await.unwrap().len(), 2);
    assert_eq!(ledger.decisions(samples::turn_id(1, 1)).await.unwrap().len(), 2);
}

/// An update makes no turn.
pub async fn an_update_of_a_turn_that_is_not_here_is_not_found(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    assert_refused(
        ledger.apply(&updated(1, samples::turn(1, 2))).await,
        &LedgerError::not_found(Entity::Turn, samples::turn_id(1, 2)),
    );
    assert_eq!(turns(&ledger, 1).await, [samples::turn(1, 1)]);
}

/// Boundaries that were merged may open a turn and change it: the change comes after.
pub async fn a_turn_may_be_opened_and_updated_in_one_boundary(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let end = samples::ended_turn(samples::turn(1, 2), EndStatus::Of(Outcome::Completed));
    let rows =
        BoundaryRows { turns_opened: vec![samples::turn_rows(samples::turn(1, 2), 1)], ..updated(1, end.clone()) };
    ledger.apply(&rows).await.unwrap();
    assert_eq!(turns(&ledger, 1).await, [samples::turn(1, 1), end]);
}

/// Launch, ordinal and start of a turn are fixed.
pub async fn where_a_turn_belongs_never_changes(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    let turn = samples::turn(1, 1);
    let fixed = conflict(&turn, "its launch, ordinal and start are fixed");
    let of_another = Turn { launch_id: samples::launch_id(2), ..turn.clone() };
    assert_refused(ledger.apply(&updated(2, of_another)).await, &fixed);
    let elsewhere = Turn { ordinal: 2, ..turn.clone() };
    assert_refused(ledger.apply(&updated(1, elsewhere)).await, &fixed);
    let later = Turn { started_at: samples::time(77), ..turn.clone() };
    assert_refused(ledger.apply(&updated(1, later)).await, &fixed);
    assert_eq!(turns(&ledger, 1).await, [turn]);
}

/// An ended turn neither runs again nor gets another end, but may still learn something.
pub async fn an_ended_turn_stays_ended(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let turn = samples::ended_turn(samples::turn(1, 1), EndStatus::Of(Outcome::Completed));
    ledger.apply(&updated(1, turn.clone())).await.unwrap();
    let later = TurnState::Ended { at: samples::time(999), status: EndStatus::Of(Outcome::Completed) };
    let other = samples::ended_turn(samples::turn(1, 1), EndStatus::Partial(PartialReason::Abandoned)).state;
    for state in [TurnState::Running, later, other] {
        let new = Turn { state, ..turn.clone() };
        assert_refused(ledger.apply(&updated(1, new)).await, &conflict(&turn, "it has ended"));
    }
    assert_eq!(turns(&ledger, 1).await, std::slice::from_ref(&turn));
    let learnt = Turn { last_event_seq: Some(99), ..turn };
    ledger.apply(&updated(1, learnt.clone())).await.unwrap();
    assert_eq!(turns(&ledger, 1).await, [learnt]);
}

/// A launch that had ended before gets no turn.
pub async fn an_ended_launch_gets_no_new_turn(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let end = LaunchChange::Updated(samples::ended(samples::launch(1), Outcome::Completed));
    ledger.apply(&BoundaryRows::of_launch(end.clone())).await.unwrap();
    let rows = BoundaryRows { launch: end, ..opened(1, [samples::turn_rows(samples::turn(1, 2), 1)]) };
    assert_refused(ledger.apply(&rows).await, &LedgerError::launch_has_ended(samples::turn_id(1, 2)));
    assert_eq!(turns(&ledger, 1).await, [samples::turn(1, 1)]);
}

/// Boundaries that were merged may open a turn, end it and end the launch.
pub async fn a_launch_may_end_in_the_boundary_that_opens_its_turn(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let end = samples::ended(samples::launch(1), Outcome::Completed);
    let rows = samples::turn_rows(samples::ended_turn(samples::turn(1, 2), EndStatus::Of(Outcome::Completed)), 1);
    let rows = BoundaryRows { launch: LaunchChange::Updated(end.clone()), ..opened(1, [rows]) };
    ledger.apply(&rows).await.unwrap();
    assert_eq!(ledger.launch(end.header.id).await.unwrap(), end);
    assert_eq!(turns(&ledger, 1).await.len(), 2);
}
