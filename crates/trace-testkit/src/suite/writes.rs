//! What every write owes.

use std::{collections::BTreeMap, sync::Arc, thread};

use trace_model::{
    Entity,
    ledger::LedgerError,
    query::LaunchQuery,
    rows::{BoundaryRows, LaunchChange, UsageChange},
    turn::{EndStatus, Outcome},
    usage::UsageRecord,
};

use super::{Handle, Rows, apply_all, assert_refused};
use crate::samples;

/// The last row of a boundary is refused: the launch, turns, contexts and records before it are as they were.
pub async fn a_refused_boundary_changes_nothing(ledger: Handle) {
    apply_all(&ledger, [samples::beginning(1)]).await;
    ledger.apply(&samples::usage_boundary(1, [samples::usage_record(1, Some(1), "a")])).await.unwrap();
    let before = Rows::of(&ledger, samples::launch_id(1)).await;
    let end = samples::ended_turn(samples::turn(1, 1), EndStatus::Of(Outcome::Failed));
    let mut rows = BoundaryRows {
        launch: LaunchChange::Updated(samples::ended(samples::bare_launch(1), Outcome::Failed)),
        turns_opened: vec![samples::turn_rows(samples::turn(1, 2), 3)],
        turns_updated: BTreeMap::from([(end.id, end)]),
        usage: BTreeMap::from([
            (String::from("a"), UsageChange::Deleted),
            (String::from("b"), UsageChange::Saved(samples::usage_record(1, Some(2), "b"))),
            (String::from("c"), UsageChange::Saved(samples::usage_record(1, Some(3), "c"))),
        ]),
    };
    let missing = LedgerError::not_found(Entity::Turn, samples::turn_id(1, 3));
    assert_refused(ledger.apply(&rows).await, &missing);
    assert_eq!(Rows::of(&ledger, samples::launch_id(1)).await, before);
    assert_eq!(ledger.assets(samples::turn_id(1, 2)).await.unwrap(), []);
    rows.usage.remove("c");
    ledger.apply(&rows).await.unwrap();

    let mut new = BoundaryRows { launch: LaunchChange::Opened(samples::launch(2)), ..samples::usage_boundary(2, []) };
    new.turns_opened = vec![samples::turn_rows(samples::turn(2, 1), 1), samples::turn_rows(samples::turn(2, 1), 1)];
    let taken = LedgerError::already_exists(Entity::Turn, samples::turn_id(2, 1));
    assert_refused(ledger.apply(&new).await, &taken);
    let id = samples::launch_id(2);
    assert_refused(ledger.launch(id).await, &LedgerError::not_found(Entity::Launch, id));
}

/// A turn or record of another launch than the rows beside it is refused, before anything is looked for.
pub async fn rows_of_two_launches_in_one_call_conflict(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    let conflict = |entity, id: String| LedgerError::Conflict {
        entity,
        id,
        reason: "it belongs to another launch than the rows beside it",
    };
    let of_turn = conflict(Entity::Turn, samples::turn_id(2, 5).to_string());
    let of_record = conflict(Entity::UsageRecord, String::from("a"));
    let foreign = samples::turn(2, 5);
    let record = samples::usage_record(2, None, "a");

    let mut opened = samples::usage_boundary(1, []);
    opened.turns_opened = vec![samples::turn_rows(foreign.clone(), 0)];
    assert_refused(ledger.apply(&opened).await, &of_turn);
    let mut updated = samples::usage_boundary(1, []);
    updated.turns_updated = BTreeMap::from([(foreign.id, foreign.clone())]);
    assert_refused(ledger.apply(&updated).await, &of_turn);
    assert_refused(ledger.apply(&samples::usage_boundary(1, [record.clone()])).await, &of_record);

    let mut whole = samples::whole_launch(1);
    whole.turns.push(samples::turn_rows(foreign, 0));
    assert_refused(ledger.replace_launch(&whole).await, &of_turn);
    let mut whole = samples::whole_launch(1);
    whole.usage.insert(String::from("a"), record);
    assert_refused(ledger.replace_launch(&whole).await, &of_record);
}

/// A turn under another id, or a record under another key, is refused.
pub async fn rows_under_the_name_of_others_conflict(ledger: Handle) {
    apply_all(&ledger, [samples::beginning(1)]).await;
    let mut rows = samples::usage_boundary(1, []);
    rows.turns_updated = BTreeMap::from([(samples::turn_id(1, 2), samples::turn(1, 1))]);
    let id = samples::turn_id(1, 1).to_string();
    let reason = "it stands under the id of another turn";
    assert_refused(ledger.apply(&rows).await, &LedgerError::Conflict { entity: Entity::Turn, id, reason });

    let record: UsageRecord = samples::usage_record(1, None, "a");
    let conflict = LedgerError::Conflict {
        entity: Entity::UsageRecord,
        id: String::from("a"),
        reason: "it stands under the key of another record",
    };
    let mut rows = samples::usage_boundary(1, []);
    rows.usage = BTreeMap::from([(String::from("b"), UsageChange::Saved(record.clone()))]);
    assert_refused(ledger.apply(&rows).await, &conflict);
    let mut whole = samples::whole_launch(1);
    whole.usage.insert(String::from("b"), record);
    assert_refused(ledger.replace_launch(&whole).await, &conflict);
}

/// Eight threads write and read through one handle, each on an executor of its own.
pub async fn calls_from_many_threads_all_count(ledger: Handle) {
    let (threads, launches) = (8, 10);
    thread::scope(|scope| {
        for thread in 0..threads {
            let ledger = Arc::clone(&ledger);
            scope.spawn(move || {
                pollster::block_on(async {
                    for n in (0..launches).map(|launch| thread * 100 + launch) {
                        ledger.apply(&samples::beginning(n)).await.unwrap();
                        ledger
                            .apply(&samples::usage_boundary(n, [samples::usage_record(n, Some(1), "a")]))
                            .await
                            .unwrap();
                        assert_eq!(ledger.turns(samples::launch_id(n)).await.unwrap()[0].turn, samples::turn(n, 1));
                    }
                });
            });
        }
    });
    let all = ledger.launches(&LaunchQuery::default()).await.unwrap();
    assert_eq!(all.len(), usize::try_from(threads * launches).unwrap());
}
