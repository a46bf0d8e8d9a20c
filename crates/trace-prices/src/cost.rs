//! What one report costs.

use trace_model::{
    money::NanoUsd,
    usage::{UsageOrigin, UsageReport},
    words::Grain,
};

use crate::{
    ModelPrices,
    decimal::{self, Rate},
    prices::{Rates, TieredRate},
};

/// A computed cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The cost, rounded once to nano-dollars.
    pub amount: NanoUsd,
    /// Whether the tokens are those of several requests and some of them may have been dearer.
    ///
    /// Where a long prompt costs more, a sum over requests does not tell which of them were long. Its tokens are priced
    /// as those of short ones, so the amount is a lower bound.
    pub is_base_tier: bool,
}

/// Anthropic's price of writing to a cache that is kept for five minutes, in quarters of the price of input: 1.25
/// times. It stands in where the table has no price of its own; no other provider tells how long its caches are kept.
/// Source: <https://platform.claude.com/docs/en/build-with-claude/prompt-caching#pricing>.
const QUARTERS_5M: u128 = 5;

/// The same for a cache that is kept for an hour: 2 times the price of input.
const QUARTERS_1H: u128 = 8;

impl ModelPrices {
    /// Returns what the report's tokens cost: see [`PriceTable::cost`](crate::PriceTable::cost).
    pub fn cost(&self, report: &UsageReport) -> Option<Cost> {
        report.prompt_tokens().or(report.output_tokens)?;
        let rates = self.at(report.observed_at)?;
        let (prompt, is_base_tier) = tier(rates, report);
        let rate = |class: &Option<TieredRate>| class.as_ref().map(|class| class.for_prompt(prompt));
        let input = rate(&rates.input);
        let multiple = |quarters| input.map(|rate| rate.times_quarters(quarters));
        let writes = CacheWrites::of(report);
        // Cached tokens without a price of their own are tokens of the prompt like others.
        let classes = [
            (report.input_tokens.unwrap_or(0), input),
            (report.output_tokens.unwrap_or(0), rate(&rates.output)),
            (report.cache_read_tokens.unwrap_or(0), rate(&rates.cache_read).or(input)),
            (writes.unsaid, rate(&rates.cache_write).or(input)),
            (writes.five_minutes, rate(&rates.cache_write).or_else(|| multiple(QUARTERS_5M))),
            (writes.an_hour, rate(&rates.cache_write_1h).or_else(|| multiple(QUARTERS_1H))),
        ];
        let units = classes.into_iter().try_fold(0_u128, |units, (tokens, rate)| match (tokens, rate) {
            (0, _) => Some(units),
            (tokens, rate) => rate.map(|rate: Rate| units.saturating_add(rate.of(tokens))),
        })?;
        Some(Cost { amount: NanoUsd::from_nanos(decimal::nanos(units)), is_base_tier })
    }
}

/// Returns how long the prompt counts as, and whether that is less than it may have been.
fn tier(rates: &Rates, report: &UsageReport) -> (u64, bool) {
    let prompt = report.prompt_tokens();
    match (report.grain, rates.thresholds().min()) {
        (_, None) => (0, false),
        (Grain::Request, Some(_)) => (report.context_tokens.or(prompt).unwrap_or(0), false),
        // If all requests together are short, so is each of them. The prompts behind a remainder are in other records.
        (Grain::Turn | Grain::Session, Some(least)) => {
            let is_short = report.origin() != UsageOrigin::Remainder && prompt.is_some_and(|prompt| prompt <= least);
            (0, !is_short)
        }
    }
}

/// The tokens written to a cache, by how long they are kept.
struct CacheWrites {
    five_minutes: u64,
    an_hour: u64,
    /// Those of which it is not said.
    unsaid: u64,
}

impl CacheWrites {
    fn of(report: &UsageReport) -> Self {
        let five_minutes = report.cache_write_5m_tokens.unwrap_or(0);
        let an_hour = report.cache_write_1h_tokens.unwrap_or(0);
        let all = report.cache_write_tokens.unwrap_or(0);
        let unsaid = all.saturating_sub(five_minutes).saturating_sub(an_hour);
        Self { five_minutes, an_hour, unsaid }
    }
}
