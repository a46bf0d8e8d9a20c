//! Replacing a launch as a whole.

use std::collections::BTreeMap;

use trace_model::{
    Entity,
    ledger::LedgerError,
    rows::{LaunchRows, TurnRows},
    turn::{Turn, TurnState},
};

use super::{Handle, Rows, apply_all, assert_refused};
use crate::samples;

/// Replacing what is not here is adding it.
pub async fn a_launch_that_is_not_here_is_added(ledger: Handle) {
    let rows = samples::whole_launch(1);
    ledger.replace_launch(&rows).await.unwrap();
    Rows::of(&ledger, samples::launch_id(1)).await.assert_are(&rows);
}

/// After a replacement there is nothing but the new rows, however few they are.
pub async fn no_old_row_of_a_replaced_launch_is_left(ledger: Handle) {
    let mut first = samples::whole_launch(1);
    first.turns.extend((3..6).map(|ordinal| samples::turn_rows(samples::turn(1, ordinal), 4)));
    let mut bare = LaunchRows { launch: samples::bare_launch(1), ..samples::whole_launch(1) };
    bare.turns = vec![TurnRows { decisions: Vec::new(), ..samples::turn_rows(samples::bare_turn(1, 2), 1) }];
    bare.usage.clear();
    for rows in [&first, &bare, &first, &samples::whole_launch(1)] {
        ledger.replace_launch(rows).await.unwrap();
        Rows::of(&ledger, samples::launch_id(1)).await.assert_are(rows);
    }
    assert_eq!(ledger.assets(samples::turn_id(1, 5)).await.unwrap(), []);
    assert_eq!(ledger.decisions(samples::turn_id(1, 5)).await.unwrap(), []);
}

/// A replacement is no update: identity and ends may be others, if the artifacts say so.
pub async fn what_ended_may_be_replaced_by_what_runs(ledger: Handle) {
    ledger.replace_launch(&samples::whole_launch(1)).await.unwrap();
    let mut rows = samples::whole_launch(1);
    rows.launch = samples::launch(1);
    rows.launch.header.started_at = samples::time(777);
    rows.launch.header.run_id = "another-run".parse().unwrap();
    rows.turns[1].turn.state = TurnState::Running;
    ledger.replace_launch(&rows).await.unwrap();
    Rows::of(&ledger, samples::launch_id(1)).await.assert_are(&rows);
}

/// The turns of other launches keep their ids.
pub async fn a_turn_of_another_launch_already_exists(ledger: Handle) {
    ledger.replace_launch(&samples::whole_launch(1)).await.unwrap();
    let mut rows = samples::whole_launch(2);
    rows.turns[1].turn.id = samples::turn_id(1, 2);
    rows.usage.clear();
    let taken = LedgerError::already_exists(Entity::Turn, samples::turn_id(1, 2));
    assert_refused(ledger.replace_launch(&rows).await, &taken);
    let id = samples::launch_id(2);
    assert_refused(ledger.launch(id).await, &LedgerError::not_found(Entity::Launch, id));
}

/// Ids, ordinals and positions are as unique among the new rows as anywhere.
pub async fn places_that_occur_twice_already_exist(ledger: Handle) {
    type Spoil = fn(&mut LaunchRows);
    let cases: [(Spoil, LedgerError); 4] = [
        (
            |rows| rows.turns[1].turn.id = samples::turn_id(1, 1),
            LedgerError::already_exists(Entity::Turn, samples::turn_id(1, 1)),
        ),
        (|rows| rows.turns[1].turn.ordinal = 1, LedgerError::place_is_taken(Entity::Turn, samples::launch_id(1), 1)),
        (
            |rows| rows.turns[1].assets[1].position = 0,
            LedgerError::place_is_taken(Entity::Asset, samples::turn_id(1, 2), 0),
        ),
        (
            |rows| rows.turns[1].decisions[1].position = 0,
            LedgerError::place_is_taken(Entity::Decision, samples::turn_id(1, 2), 0),
        ),
    ];
    for (spoil, expected) in cases {
        let mut rows = samples::whole_launch(1);
        rows.usage.clear();
        spoil(&mut rows);
        assert_refused(ledger.replace_launch(&rows).await, &expected);
    }
}

/// A usage record names a turn of the new rows: one of the old rows is gone.
pub async fn a_record_of_a_turn_that_is_not_among_the_rows_is_not_found(ledger: Handle) {
    ledger.replace_launch(&samples::whole_launch(1)).await.unwrap();
    let mut rows = samples::whole_launch(1);
    rows.turns.pop();
    let missing = LedgerError::not_found(Entity::Turn, samples::turn_id(1, 2));
    assert_refused(ledger.replace_launch(&rows).await, &missing);
}

/// A replacement that is refused changes nothing.
pub async fn a_refused_replacement_leaves_the_old_rows(ledger: Handle) {
    let old = samples::whole_launch(1);
    ledger.replace_launch(&old).await.unwrap();
    let mut rows = samples::whole_launch(1);
    rows.launch = samples::bare_launch(1);
    rows.turns.insert(0, samples::turn_rows(Turn { ordinal: 9, ..samples::turn(1, 9) }, 3));
    rows.turns.pop();
    assert_refused(ledger.replace_launch(&rows).await, &LedgerError::not_found(Entity::Turn, samples::turn_id(1, 2)));
    Rows::of(&ledger, samples::launch_id(1)).await.assert_are(&old);
    assert_eq!(ledger.assets(samples::turn_id(1, 9)).await.unwrap(), []);
}

/// Nothing of another launch changes, however alike they are.
pub async fn other_launches_stay_as_they_are(ledger: Handle) {
    apply_all(&ledger, [samples::beginning(1)]).await;
    ledger.replace_launch(&samples::whole_launch(2)).await.unwrap();
    let before = Rows::of(&ledger, samples::launch_id(1)).await;
    let mut rows = samples::whole_launch(2);
    rows.turns.truncate(1);
    rows.usage.clear();
    ledger.replace_launch(&rows).await.unwrap();
    assert_eq!(Rows::of(&ledger, samples::launch_id(1)).await, before);
}

/// Many launches at once are as one after the other: of two of one id, the last one stands.
pub async fn many_launches_are_replaced_as_one_after_the_other(ledger: Handle) {
    ledger.replace_launches(Vec::new()).await.unwrap();
    ledger.replace_launch(&samples::whole_launch(2)).await.unwrap();
    let bare = |n| LaunchRows { launch: samples::bare_launch(n), turns: Vec::new(), usage: BTreeMap::new() };
    let launches = Vec::from([samples::whole_launch(1), bare(2), bare(3), samples::whole_launch(3)]);
    ledger.replace_launches(launches).await.unwrap();
    for rows in [samples::whole_launch(1), bare(2), samples::whole_launch(3)] {
        Rows::of(&ledger, rows.launch.header.id).await.assert_are(&rows);
    }
}

/// Where one of many is refused, its old rows stay, those behind it are not looked at, and those before it are there as
/// a whole or as they were.
pub async fn of_many_launches_none_is_replaced_in_part(ledger: Handle) {
    let old = |n| LaunchRows { launch: samples::bare_launch(n), turns: Vec::new(), usage: BTreeMap::new() };
    for n in [1, 2, 3] {
        ledger.replace_launch(&old(n)).await.unwrap();
    }
    let mut refused = samples::whole_launch(2);
    refused.turns.pop();
    let launches = Vec::from([samples::whole_launch(1), refused, samples::whole_launch(3)]);
    let missing = LedgerError::not_found(Entity::Turn, samples::turn_id(2, 2));
    assert_refused(ledger.replace_launches(launches).await, &missing);
    for n in [2, 3] {
        Rows::of(&ledger, samples::launch_id(n)).await.assert_are(&old(n));
    }
    let first = if ledger.launch(samples::launch_id(1)).await.unwrap() == samples::bare_launch(1) {
        old(1)
    } else {
        samples::whole_launch(1)
    };
    Rows::of(&ledger, samples::launch_id(1)).await.assert_are(&first);
}
