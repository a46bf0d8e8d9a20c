//! Many launches, each with what it cost.

use alloc::{collections::BTreeMap, vec::Vec};

use serde::Serialize;
use trace_model::{id::LaunchId, launch::Launch, totals::Totals, usage_query::UsageCell, usage_sum::UsageSum};

use crate::SCHEMA_VERSION;

/// Launches in the order in which they were asked for.
#[derive(Debug, Clone, Serialize)]
pub struct LaunchesReport {
    /// The schema of the document.
    pub schema_version: u32,
    /// The launches.
    pub launches: Vec<LaunchEntry>,
}

/// One launch of the list.
#[derive(Debug, Clone, Serialize)]
pub struct LaunchEntry {
    /// Its row.
    #[serde(flatten)]
    pub launch: Launch,
    /// What its usage records add up to.
    pub totals: Totals,
}

impl LaunchesReport {
    /// Returns the report of the launches, each with what the cells of usage say of it.
    pub fn new(launches: impl IntoIterator<Item = Launch>, usage: &[UsageCell]) -> Self {
        let mut sums: BTreeMap<LaunchId, Vec<&UsageSum>> = BTreeMap::new();
        for cell in usage {
            sums.entry(cell.launch_id).or_default().push(&cell.sum);
        }
        let entry = |launch: Launch| {
            let of_launch = sums.get(&launch.header.id).into_iter().flatten();
            let totals = Totals::of_sums(of_launch.map(|sum| (launch.header.id, *sum)));
            LaunchEntry { launch, totals }
        };
        Self { schema_version: SCHEMA_VERSION, launches: launches.into_iter().map(entry).collect() }
    }
}
