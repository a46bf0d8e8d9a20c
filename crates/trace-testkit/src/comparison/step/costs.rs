//! Steps about what usage adds up to and what it costs, made to fit.

use std::collections::BTreeSet;

use proptest::{
    collection::{btree_set, vec},
    option,
    prelude::*,
    sample::{Index, select},
};
use trace_model::{
    id::LaunchId,
    money::NanoUsd,
    query::LaunchQuery,
    usage::UsageRecord,
    usage_query::{CostEntry, PriceVersion, UsageQuery},
};

use super::{LAUNCHES, MODELS, PERIOD_SECONDS, Planned, World, agents};
use crate::{samples, strategies};

/// The versions of the prices in the world, by their names.
const VERSIONS: [&str; 3] = ["prices 1", "prices 2", "Prices 2"];

/// Returns all versions of the prices in the world.
pub(in super::super) fn price_versions() -> Vec<PriceVersion> {
    VERSIONS.iter().map(|name| PriceVersion(String::from(*name))).collect()
}

/// What is wanted of the usage; any of them nearly always.
pub(super) fn usage_query() -> BoxedStrategy<UsageQuery> {
    let launches = prop_oneof![5 => Just(LaunchQuery::default()), 1 => super::queries::launches()];
    let times = [0, 1, PERIOD_SECONDS, PERIOD_SECONDS + 1].map(samples::time);
    let bound = || option::weighted(0.1, select(Vec::from(times)));
    let models = prop_oneof![5 => Just(Vec::new()), 1 => vec(select(MODELS.as_slice()), 1..3)];
    let agents = prop_oneof![6 => Just(BTreeSet::new()), 1 => btree_set(select(agents()), 1..3)];
    let version = option::weighted(0.8, select(price_versions()));
    (launches, bound(), bound(), models, agents, version)
        .prop_map(|(launches, observed_from, observed_before, models, agents, price_version)| UsageQuery {
            launches,
            observed_from,
            observed_before,
            models: models.into_iter().map(String::from).collect(),
            agents,
            price_version,
        })
        .boxed()
}

/// A version of the prices, and up to that many records.
pub(super) fn uncosted() -> impl Strategy<Value = (PriceVersion, u32)> {
    (select(price_versions()), prop_oneof![1 => Just(0), 9 => 1_u32..4, 9 => Just(u32::MAX)])
}

/// A version of the prices, and what some records cost by it; which ones, the indexes choose.
pub(super) fn costs() -> impl Strategy<Value = (PriceVersion, Vec<(Index, Option<u64>)>)> {
    (select(price_versions()), vec((any::<Index>(), option::weighted(0.8, strategies::number())), 1..5))
}

impl Planned {
    /// Returns the query, with launches that are there; a wild step may ask for what nothing has.
    pub(super) fn usage_query(&self, world: &World, query: &UsageQuery) -> UsageQuery {
        if query.launches == LaunchQuery::default() && !self.wild {
            return query.clone();
        }
        UsageQuery { launches: self.launch_query(world, &query.launches), ..query.clone() }
    }

    /// Returns entries of records that have no cost by the version, if there are any; a wild step, of records that are
    /// not there, or not so.
    pub(super) fn costs(
        &self,
        world: &World,
        version: &PriceVersion,
        costs: &[(Index, Option<u64>)],
    ) -> Vec<CostEntry> {
        let uncosted = world.uncosted.get(version).filter(|records| !records.is_empty());
        let records = uncosted.unwrap_or(&world.usage);
        let entry = |(pick, cost): &(Index, Option<u64>)| {
            let mut record =
                if records.is_empty() { samples::usage_record(1, None, "a") } else { pick.get(records).clone() };
            if self.wild {
                self.spoil(&mut record);
            }
            CostEntry { record, cost: cost.map(NanoUsd::from_nanos) }
        };
        costs.iter().map(entry).collect()
    }

    fn spoil(&self, record: &mut UsageRecord) {
        let any: LaunchId = samples::launch_id(*self.picks[0].get(&LAUNCHES));
        match self.picks[1].index(5) {
            0 => record.launch_id = any,
            1 => record.report.key.push('x'),
            2 => record.turn_id = None,
            3 => record.report.output_tokens = None,
            _ => record.report.model = Some(String::from("no model")),
        }
    }
}
