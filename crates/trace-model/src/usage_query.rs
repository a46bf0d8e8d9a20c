//! Which usage is wanted, and how a ledger answers it: by cells that add up to anything that people ask for.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use crate::{
    id::LaunchId,
    launch::Launch,
    money::NanoUsd,
    query::LaunchQuery,
    timestamp::Timestamp,
    usage::{Agent, UsageRecord, UsageRow},
    usage_sum::{ComputedCost, UsageSum},
};

/// The version of the prices that costs were computed by, in words of whoever has the prices.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceVersion(pub String);

/// Which usage records are wanted.
///
/// An empty set allows everything. [`cells`](Self::cells) defines the meaning; a ledger may find the answer in any way
/// that gives the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageQuery {
    /// The launches; order, cursor and limit do not matter.
    pub launches: LaunchQuery,
    /// The earliest time; the quarter of an hour that holds it is wanted whole.
    pub observed_from: Option<Timestamp>,
    /// The first time that is too late; the quarter of an hour that holds it is wanted whole, unless it begins then.
    pub observed_before: Option<Timestamp>,
    /// The allowed models; a record without a model is in no set.
    pub models: BTreeSet<String>,
    /// The allowed agents.
    pub agents: BTreeSet<Agent>,
    /// The prices that computed costs are wanted by; without a version no cost is known.
    pub price_version: Option<PriceVersion>,
}

/// What the records of one launch, quarter of an hour, model and agent add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageCell {
    /// The launch.
    pub launch_id: LaunchId,
    /// When the quarter of an hour begins; nothing for records without a time.
    ///
    /// The offsets of all time zones are multiples of it, so the days of any zone are made of whole cells.
    pub period: Option<Timestamp>,
    /// The model, as the provider names it.
    pub model: Option<String>,
    /// Who spent it.
    pub agent: Agent,
    /// What it adds up to.
    pub sum: UsageSum,
}

/// What a record costs by one version of the prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostEntry {
    /// The record as it was when the cost was computed: it may be another one by now.
    pub record: UsageRecord,
    /// The cost; nothing where the prices do not know the model.
    pub cost: Option<NanoUsd>,
}

/// How long a cell is, in microseconds.
pub const PERIOD_MICROS: i64 = 15 * 60 * 1_000_000;

/// Returns the beginning of the quarter of an hour, in UTC, that holds the time.
pub fn period_of(at: Timestamp) -> Timestamp {
    let micros = at.as_micros();
    Timestamp::from_micros(micros - micros.rem_euclid(PERIOD_MICROS)).unwrap_or(at)
}

/// What tells cells apart; they are answered in this order.
type Place = (LaunchId, Option<Timestamp>, Option<String>, Agent);

impl UsageQuery {
    /// Tells whether records of the period, model and agent are wanted.
    pub fn allows(&self, period: Option<Timestamp>, model: Option<&str>, agent: &Agent) -> bool {
        let in_time = match period {
            None => self.observed_from.is_none() && self.observed_before.is_none(),
            Some(period) => {
                self.observed_from.is_none_or(|from| period_of(from) <= period)
                    && self.observed_before.is_none_or(|before| period < before)
            }
        };
        in_time
            && (self.models.is_empty() || model.is_some_and(|model| self.models.contains(model)))
            && (self.agents.is_empty() || self.agents.contains(agent))
    }

    /// Returns the cells of launches with their rows, and what each row costs, by launch, period, model and agent.
    pub fn cells<'a>(
        &self,
        launches: impl IntoIterator<Item = (&'a Launch, Vec<(UsageRow, ComputedCost)>)>,
    ) -> Vec<UsageCell> {
        let wanted = launches.into_iter().filter(|(launch, _)| self.launches.allows(launch));
        self.add_up(wanted.flat_map(|(_, rows)| rows))
            .into_iter()
            .map(|((launch_id, period, model, agent), sum)| UsageCell { launch_id, period, model, agent, sum })
            .collect()
    }

    /// Returns what wanted rows of wanted launches add up to.
    fn add_up(&self, rows: impl IntoIterator<Item = (UsageRow, ComputedCost)>) -> BTreeMap<Place, UsageSum> {
        let mut cells: BTreeMap<Place, UsageSum> = BTreeMap::new();
        for (row, cost) in rows {
            let (place, allowed) = self.place_of(&row);
            if allowed {
                cells.entry(place).or_default().add(&row, cost);
            }
        }
        cells
    }

    fn place_of(&self, row: &UsageRow) -> (Place, bool) {
        let report = &row.record.report;
        let period = report.observed_at.map(period_of);
        let allowed = self.allows(period, report.model.as_deref(), &report.agent);
        ((row.record.launch_id, period, report.model.clone(), report.agent.clone()), allowed)
    }
}

#[cfg(test)]
mod tests;
