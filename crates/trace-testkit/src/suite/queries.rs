//! Which launches come back, and in which order.

use std::collections::BTreeSet;

use trace_model::{
    Entity,
    id::{IdSuffix, LaunchId},
    launch::Launch,
    ledger::LedgerError,
    query::{LaunchCursor, LaunchQuery, Order},
    rows::{BoundaryRows, LaunchChange},
    turn::Outcome,
    words::LaunchOutcome,
};
use uuid::Uuid;

use super::{Handle, apply_all, assert_refused};
use crate::samples;

async fn fill(ledger: &Handle, launches: &[Launch]) {
    let opened = |launch: &Launch| BoundaryRows::of_launch(LaunchChange::Opened(launch.clone()));
    apply_all(ledger, launches.iter().map(opened)).await;
}

/// Eight launches that differ in all that can be asked for; the fourth and the fifth start together.
fn different() -> Vec<Launch> {
    let launch = |n| match n {
        0 | 3 => samples::bare_launch(n),
        1 | 6 => samples::launch(n),
        _ => samples::ended(samples::launch(n), if n == 2 { Outcome::Failed } else { Outcome::Completed }),
    };
    let mut launches: Vec<Launch> = (0..8).map(launch).collect();
    launches[1].header.run_id = "another-run".parse().unwrap();
    launches[2].header.provider = "my-agent".parse().unwrap();
    launches[4].header.started_at = launches[3].header.started_at;
    launches[5].header.repo = String::from("/src/Example");
    launches[6].header.project = Some(String::from("naïve"));
    launches[7].header.parent_launch_id = Some(samples::launch_id(1));
    launches
}

/// Launches come by start and, where that is the same, by id; the newest first only if asked so.
pub async fn launches_come_by_start_and_then_id(ledger: Handle) {
    let mut launches = different();
    launches.reverse();
    fill(&ledger, &launches).await;
    let ids = |launches: Vec<Launch>| launches.into_iter().map(|launch| launch.header.id).collect::<Vec<_>>();
    let ascending: Vec<LaunchId> = (0..8).map(samples::launch_id).collect();
    assert_eq!(ids(ledger.launches(&LaunchQuery::default()).await.unwrap()), ascending);
    let newest = LaunchQuery { order: Order::NewestFirst, ..LaunchQuery::default() };
    assert_eq!(ids(ledger.launches(&newest).await.unwrap()), ascending.iter().rev().copied().collect::<Vec<_>>());
}

/// Each filter, alone and together with others, allows what [`LaunchQuery::matches`] says.
pub async fn each_filter_of_a_query_allows_what_it_names(ledger: Handle) {
    let launches = different();
    fill(&ledger, &launches).await;
    let all = LaunchQuery::default;
    let headers = || launches.iter().map(|launch| &launch.header);
    let queries = [
        (8, all()),
        (1, LaunchQuery { runs: BTreeSet::from([launches[1].header.run_id.clone()]), ..all() }),
        (8, LaunchQuery { runs: headers().map(|header| header.run_id.clone()).collect(), ..all() }),
        (0, LaunchQuery { runs: BTreeSet::from(["no-run".parse().unwrap()]), ..all() }),
        (1, LaunchQuery { parents: BTreeSet::from([samples::launch_id(1)]), ..all() }),
        (2, LaunchQuery { providers: BTreeSet::from(["unknown".parse().unwrap()]), ..all() }),
        (3, LaunchQuery { providers: ["unknown", "my-agent"].map(|name| name.parse().unwrap()).into(), ..all() }),
        (4, LaunchQuery { outcomes: BTreeSet::from([LaunchOutcome::Running]), ..all() }),
        (4, LaunchQuery { outcomes: [LaunchOutcome::Completed, LaunchOutcome::Failed].into(), ..all() }),
        (7, LaunchQuery { repos: BTreeSet::from([String::from("/src/example")]), ..all() }),
        (1, LaunchQuery { repos: BTreeSet::from([String::from("/src/Example")]), ..all() }),
        (1, LaunchQuery { projects: BTreeSet::from([String::from("naïve")]), ..all() }),
        (2, LaunchQuery { sessions: ["session-1", "session-2", "none"].map(String::from).into(), ..all() }),
        (5, LaunchQuery { started_from: Some(samples::time(3)), ..all() }),
        (3, LaunchQuery { started_before: Some(samples::time(3)), ..all() }),
        (2, LaunchQuery { started_from: Some(samples::time(3)), started_before: Some(samples::time(4)), ..all() }),
        (3, LaunchQuery { limit: Some(3), ..all() }),
        (0, LaunchQuery { limit: Some(0), ..all() }),
        (
            2,
            LaunchQuery {
                outcomes: BTreeSet::from([LaunchOutcome::Completed]),
                projects: BTreeSet::from([String::from("search")]),
                started_from: Some(samples::time(2)),
                order: Order::NewestFirst,
                after: Some(LaunchCursor::of(&launches[7])),
                limit: Some(3),
                ..all()
            },
        ),
    ];
    for (count, query) in queries {
        let found = ledger.launches(&query).await.unwrap();
        assert_eq!(found, query.select(&launches), "{query:?}");
        assert_eq!(found.len(), count, "{query:?}");
    }
}

/// Going on from the last launch of each page, in either order, meets every launch once.
pub async fn pages_meet_without_gap_or_repetition(ledger: Handle) {
    fill(&ledger, &different()).await;
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let whole = ledger.launches(&LaunchQuery { order, ..LaunchQuery::default() }).await.unwrap();
        for limit in 1..=9 {
            let mut query = LaunchQuery { order, limit: Some(limit), ..LaunchQuery::default() };
            let mut pages = Vec::new();
            // A page too many ends it too: a cursor that stands still must not stand for ever.
            while pages.len() <= whole.len() {
                let page = ledger.launches(&query).await.unwrap();
                let Some(last) = page.last() else { break };
                query.after = Some(LaunchCursor::of(last));
                pages.extend(page);
            }
            assert_eq!(pages, whole, "pages of {limit}");
        }
    }
}

/// Four digits find a launch if no other ends so, and more do, up to the whole id.
pub async fn a_launch_is_found_by_the_end_of_its_id(ledger: Handle) {
    let launch = samples::launch(0xa1b2_c3d4);
    fill(&ledger, &[samples::launch(1), launch.clone(), samples::launch(2)]).await;
    let whole = launch.header.id.to_string();
    for suffix in ["c3d4", "b2c3d4", "a1b2c3d4", whole.as_str()] {
        assert_eq!(ledger.find_launch(&suffix.parse().unwrap()).await.unwrap(), launch, "{suffix}");
    }
}

/// An end that is in the middle of an id, or in none, is `NotFound`.
pub async fn an_end_that_no_id_has_is_not_found(ledger: Handle) {
    fill(&ledger, &[samples::launch(0xa1b2_c3d4)]).await;
    for suffix in ["ffff", "a1b2", "a1b2c3d", "0a1b2c3d5"] {
        let suffix: IdSuffix = suffix.parse().unwrap();
        assert_refused(ledger.find_launch(&suffix).await, &LedgerError::not_found(Entity::Launch, &suffix));
    }
}

/// An end that several ids have is `Ambiguous`; the error lists the first ten of them, by start.
pub async fn an_end_of_several_ids_is_ambiguous_and_lists_up_to_ten(ledger: Handle) {
    let launches: Vec<Launch> = (0..12_u32)
        .map(|n| {
            let mut launch = samples::bare_launch(n);
            launch.header.id = LaunchId::from_uuid(Uuid::from_u128(u128::from(n) << 32 | 0xabcd));
            // The order of starts is not the order of ids.
            launch.header.started_at = samples::time(100 - n);
            launch
        })
        .collect();
    fill(&ledger, &launches[..2]).await;
    let suffix: IdSuffix = "abcd".parse().unwrap();
    let ambiguous = |matches: Vec<LaunchId>| LedgerError::Ambiguous { suffix: suffix.clone(), matches };
    let ids = |range: std::ops::Range<usize>| launches[range].iter().rev().map(|launch| launch.header.id).collect();
    assert_refused(ledger.find_launch(&suffix).await, &ambiguous(ids(0..2)));
    fill(&ledger, &launches[2..]).await;
    assert_refused(ledger.find_launch(&suffix).await, &ambiguous(ids(2..12)));
}
