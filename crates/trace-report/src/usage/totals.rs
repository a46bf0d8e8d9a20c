//! What usage adds up to, in tokens and in money.

use alloc::collections::BTreeMap;

use serde::Serialize;
use trace_model::{
    id::LaunchId, launch::Launch, money::NanoUsd, totals::Totals, usage_query::UsageCell, words::Quality,
};

/// What cells add up to. The computed cost and the provider's own figure stand side by side, and are never added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct UsageTotals {
    /// The sessions that used something.
    pub sessions: u64,
    /// The requests, if every one of them has a record.
    pub requests: Option<u64>,
    /// Prompt tokens neither read from nor written to a cache.
    pub input_tokens: Option<u64>,
    /// Prompt tokens read from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Prompt tokens written to a cache.
    pub cache_write_tokens: Option<u64>,
    /// Tokens produced, thinking included.
    pub output_tokens: Option<u64>,
    /// The part of the produced ones that is thinking.
    pub reasoning_tokens: Option<u64>,
    /// The four classes together.
    pub total_tokens: Option<u64>,
    /// What the tokens cost by the prices, as far as they have any.
    pub cost_usd: Option<NanoUsd>,
    /// How far the computed cost can be trusted: it is a lower bound where tokens are, and where some have no price.
    pub cost_quality: Quality,
    /// What the providers said that it cost.
    pub reported_cost_usd: Option<NanoUsd>,
    /// The records with tokens that have no computed cost.
    pub unpriced: u64,
    /// The records that do not count, as they are copies of others.
    pub replays: u64,
    /// How far the tokens can be trusted.
    pub quality: Quality,
}

impl UsageTotals {
    /// Returns what the cells add up to.
    pub fn of(launches: &BTreeMap<LaunchId, Launch>, cells: &[&UsageCell]) -> Self {
        let totals = Totals::of_sums(cells.iter().map(|cell| (cell.launch_id, &cell.sum)));
        let sum = |count: fn(&UsageCell) -> u64| cells.iter().map(|cell| count(cell)).sum::<u64>();
        let unpriced = sum(|cell| cell.sum.unpriced + cell.sum.uncosted);
        let cost_usd = cells.iter().filter_map(|cell| cell.sum.computed_cost_usd).reduce(NanoUsd::saturating_add);
        let cost_quality = match cost_usd {
            None => Quality::Unknown,
            Some(_) if unpriced > 0 || totals.quality != Quality::Exact => Quality::LowerBound,
            Some(_) => Quality::Exact,
        };
        Self {
            sessions: super::sessions(launches, cells),
            requests: totals.requests,
            input_tokens: totals.input_tokens,
            cache_read_tokens: totals.cache_read_tokens,
            cache_write_tokens: totals.cache_write_tokens,
            output_tokens: totals.output_tokens,
            reasoning_tokens: totals.reasoning_tokens,
            total_tokens: totals.total_tokens,
            cost_usd,
            cost_quality,
            reported_cost_usd: totals.cost_usd,
            unpriced,
            replays: sum(|cell| cell.sum.replays),
            quality: totals.quality,
        }
    }

    /// Says that there may be more of it than is counted.
    pub(super) fn lower_bound(&mut self) {
        self.quality = self.quality.min(Quality::LowerBound);
        self.cost_quality = self.cost_quality.min(Quality::LowerBound);
        self.requests = None;
    }

    /// Returns what orders rows by how much they are.
    pub(super) const fn weight(&self) -> (Option<NanoUsd>, Option<u64>) {
        (self.cost_usd, self.total_tokens)
    }
}
