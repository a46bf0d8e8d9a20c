//! Steps that ask for launches, made to fit.

use std::collections::BTreeSet;

use proptest::{collection::btree_set, option, prelude::*, sample::select};
use trace_model::{
    query::{LaunchCursor, LaunchQuery, Order},
    words::LaunchOutcome,
};

use super::{Planned, World};
use crate::strategies;

pub(super) fn launches() -> impl Strategy<Value = LaunchQuery> {
    let rare =
        |strategy: BoxedStrategy<BTreeSet<LaunchOutcome>>| prop_oneof![3 => Just(BTreeSet::new()), 1 => strategy];
    let outcomes = rare(btree_set(strategies::word(LaunchOutcome::ALL), 1..3).boxed());
    let providers = prop_oneof![4 => Just(BTreeSet::new()), 1 => btree_set(strategies::provider(), 1..3)];
    let order = select(vec![Order::OldestFirst, Order::NewestFirst]);
    let bounds = (option::weighted(0.05, strategies::timestamp()), option::weighted(0.05, strategies::timestamp()));
    (outcomes, providers, order, bounds, option::weighted(0.3, 1_u32..6)).prop_map(
        |(outcomes, providers, order, (started_from, started_before), limit)| LaunchQuery {
            outcomes,
            providers,
            order,
            started_from,
            started_before,
            limit,
            ..LaunchQuery::default()
        },
    )
}

impl Planned {
    /// Returns the query, with names of a launch that is there; a wild step asks for names that nothing has.
    pub(super) fn launch_query(&self, world: &World, query: &LaunchQuery) -> LaunchQuery {
        let mut query = query.clone();
        if self.wild || world.launches.is_empty() {
            query.repos.insert(String::from("nowhere"));
            return query;
        }
        let launch = self.picks[0].get(&world.launches);
        match self.picks[1].index(8) {
            0 => query.runs.extend([launch.header.run_id.clone()]),
            1 => query.repos.extend([launch.header.repo.clone()]),
            2 => query.projects.extend(launch.header.project.clone()),
            3 => query.sessions.extend(launch.provider_session_id.clone()),
            4 => query.parents.extend(launch.header.parent_launch_id),
            5 => query.after = Some(LaunchCursor::of(launch)),
            _ => {}
        }
        query
    }
}
