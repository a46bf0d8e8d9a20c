//! A launch whose sources have more to it: what ended may go on.

use std::collections::BTreeMap;

use trace_model::{
    Entity,
    launch::{Launch, LaunchState},
    ledger::LedgerError,
    rows::{BoundaryRows, LaunchChange, UsageChange},
    turn::{EndStatus, Outcome, Turn, TurnRow, TurnState},
};

use super::{Handle, Rows, assert_refused};
use crate::samples;

fn extended(launch: Launch) -> BoundaryRows {
    BoundaryRows::of_launch(LaunchChange::Extended(launch))
}

/// Returns the boundary at which the first launch, which has ended, is extended by what is changed in it.
fn extension(change: impl FnOnce(&mut BoundaryRows)) -> BoundaryRows {
    let mut rows = extended(samples::ended(samples::launch(1), Outcome::Completed));
    change(&mut rows);
    rows
}

async fn turns(ledger: &Handle) -> Vec<Turn> {
    let rows: Vec<TurnRow> = ledger.turns(samples::launch_id(1)).await.unwrap();
    rows.into_iter().map(|row| row.turn).collect()
}

/// The end of a launch may move, become another one, or be none again.
pub async fn the_end_of_an_extended_launch_may_move(ledger: Handle) {
    ledger.replace_launch(&samples::whole_launch(1)).await.unwrap();
    let later = LaunchState::Ended { at: samples::time(999), outcome: Outcome::Completed };
    let other = samples::ended(samples::launch(1), Outcome::Failed).state;
    for state in [later, other, LaunchState::Running, later] {
        let launch = Launch { state, ..samples::launch(1) };
        ledger.apply(&extended(launch.clone())).await.unwrap();
        assert_eq!(ledger.launch(launch.header.id).await.unwrap(), launch);
    }
}

/// Turns come behind those of a launch that has ended, with their contexts and records.
pub async fn an_extended_launch_gets_new_turns(ledger: Handle) {
    ledger.replace_launch(&samples::whole_launch(1)).await.unwrap();
    let new = samples::turn_rows(samples::turn(1, 3), 2);
    let record = samples::usage_record(1, Some(3), "c");
    let rows = extension(|rows| {
        rows.turns_opened = vec![new.clone()];
        rows.usage = BTreeMap::from([(String::from("c"), UsageChange::Saved(record.clone()))]);
    });
    ledger.apply(&rows).await.unwrap();
    let mut expected = samples::whole_launch(1);
    expected.turns.push(new);
    expected.usage.insert(String::from("c"), record);
    Rows::of(&ledger, samples::launch_id(1)).await.assert_are(&expected);
}

/// The ends of turns may move with that of their launch.
pub async fn the_turns_of_an_extended_launch_may_go_on(ledger: Handle) {
    ledger.replace_launch(&samples::whole_launch(1)).await.unwrap();
    let first = turns(&ledger).await.remove(0);
    let later = TurnState::Ended { at: samples::time(999), status: EndStatus::Of(Outcome::Failed) };
    for state in [later, TurnState::Running] {
        let turn = Turn { id: samples::turn_id(1, 2), ordinal: 2, state, ..samples::turn(1, 2) };
        ledger.apply(&extension(|rows| rows.turns_updated = BTreeMap::from([(turn.id, turn.clone())]))).await.unwrap();
        assert_eq!(turns(&ledger).await, [first.clone(), turn]);
    }
}

/// What is fixed of launches and turns is fixed for one that is extended, too.
pub async fn an_extension_changes_no_identity(ledger: Handle) {
    let whole = samples::whole_launch(1);
    ledger.replace_launch(&whole).await.unwrap();
    let mut launch = whole.launch.clone();
    launch.header.started_at = samples::time(500);
    let conflict = |entity, id: String, reason| LedgerError::Conflict { entity, id, reason };
    let fixed = conflict(Entity::Launch, launch.header.id.to_string(), "its run, process and start are fixed");
    assert_refused(ledger.apply(&extended(launch)).await, &fixed);
    let turn = Turn { ordinal: 7, ..samples::turn(1, 1) };
    let fixed = conflict(Entity::Turn, turn.id.to_string(), "its launch, ordinal and start are fixed");
    let rows = extension(|rows| rows.turns_updated = BTreeMap::from([(turn.id, turn)]));
    assert_refused(ledger.apply(&rows).await, &fixed);
    let again = extension(|rows| rows.turns_opened = vec![samples::turn_rows(samples::turn(1, 2), 0)]);
    let taken = LedgerError::already_exists(Entity::Turn, samples::turn_id(1, 2));
    assert_refused(ledger.apply(&again).await, &taken);
    Rows::of(&ledger, samples::launch_id(1)).await.assert_are(&whole);
}

/// An extension makes no launch, and once it is over, what ended stays ended again.
pub async fn an_extension_is_for_one_boundary_of_a_launch_that_is_here(ledger: Handle) {
    let launch = samples::ended(samples::launch(1), Outcome::Completed);
    let missing = LedgerError::not_found(Entity::Launch, launch.header.id);
    assert_refused(ledger.apply(&extended(launch.clone())).await, &missing);
    ledger.replace_launch(&samples::whole_launch(1)).await.unwrap();
    ledger.apply(&extended(launch.clone())).await.unwrap();
    let update = BoundaryRows::of_launch(LaunchChange::Updated(samples::launch(1)));
    let id = launch.header.id.to_string();
    let ended = LedgerError::Conflict { entity: Entity::Launch, id, reason: "it has ended" };
    assert_refused(ledger.apply(&update).await, &ended);
    let turn = vec![samples::turn_rows(samples::turn(1, 3), 0)];
    let update = BoundaryRows { turns_opened: turn, ..BoundaryRows::of_launch(LaunchChange::Updated(launch)) };
    assert_refused(ledger.apply(&update).await, &LedgerError::launch_has_ended(samples::turn_id(1, 3)));
}
