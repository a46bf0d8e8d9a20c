//! Many launches, each with what it cost.

use alloc::vec::Vec;

use serde::Serialize;
use trace_model::{launch::Launch, totals::Totals, usage::UsageRow};

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
    /// Returns the report of the launches, each with its usage records.
    pub fn new(launches: impl IntoIterator<Item = (Launch, Vec<UsageRow>)>) -> Self {
        let entry = |(launch, usage): (Launch, Vec<UsageRow>)| LaunchEntry { launch, totals: Totals::of(&usage) };
        Self { schema_version: SCHEMA_VERSION, launches: launches.into_iter().map(entry).collect() }
    }
}
