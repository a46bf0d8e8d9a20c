//! What the usage of a launch adds up to, in a form that is added up further.

use serde::{Deserialize, Serialize};

use crate::{
    id::TurnId,
    money::NanoUsd,
    totals::add_known,
    usage::{UsageOrigin, UsageRecord, UsageReport, UsageRow},
    words::{Grain, Quality},
};

/// What a computed cost is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ComputedCost {
    /// Nobody computed it by this version of the prices.
    #[default]
    NotYet,
    /// The prices do not know the model.
    NoPrice,
    /// This.
    Priced(NanoUsd),
}

/// A sum over usage records of one launch.
///
/// Sums of parts of a launch merge into the sum of the whole, however it was parted. `Totals` comes of sums alone: see
/// [`Totals::of_sums`](crate::totals::Totals::of_sums).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageSum {
    /// The records of tokens that count.
    pub records: u64,
    /// The records that are one request each.
    pub requests: u64,
    /// The records that are no single request and hold prompt tokens, or may.
    pub unlisted: u64,
    /// The records that do not count, because those of other launches do.
    pub replays: u64,
    /// See [`UsageReport::input_tokens`](crate::usage::UsageReport::input_tokens); and so on.
    pub input_tokens: Option<u64>,
    /// Prompt tokens read from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Prompt tokens written to a cache.
    pub cache_write_tokens: Option<u64>,
    /// The part of the written ones that is kept for five minutes.
    pub cache_write_5m_tokens: Option<u64>,
    /// The part of the written ones that is kept for an hour.
    pub cache_write_1h_tokens: Option<u64>,
    /// Tokens produced, thinking included.
    pub output_tokens: Option<u64>,
    /// The part of the produced ones that is thinking.
    pub reasoning_tokens: Option<u64>,
    /// What the provider itself said that it cost.
    pub reported_cost_usd: Option<NanoUsd>,
    /// What it costs by the prices that were asked for.
    pub computed_cost_usd: Option<NanoUsd>,
    /// The records with tokens that the computed cost is of.
    pub priced: u64,
    /// The records with tokens whose model has no price.
    pub unpriced: u64,
    /// The records with tokens of which nobody computed the cost.
    pub uncosted: u64,
    /// What is known of how far the figures can be trusted.
    pub doubts: Doubts,
}

/// How far the figures of a sum can be trusted.
///
/// An exact remainder covers what is less than exact in its own turn and those before; so the last turn of each quality
/// is all that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Doubts {
    /// The last turn with a record of which nothing is known.
    unknown: Last,
    /// The last turn with a record that is a lower bound.
    lower_bound: Last,
    /// The last turn with a remainder that is exact.
    covered: Last,
    /// The worst quality of the remainders, which nothing covers.
    remainders: Option<Quality>,
}

/// The last turn with a record of some kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Last {
    /// There is no such record.
    #[default]
    Nowhere,
    /// Such records belong to no turn: they come before all turns.
    BeforeTurns,
    /// This one.
    In(TurnId),
}

impl UsageSum {
    /// Adds a row; `cost` is what its cost is known to be.
    pub fn add(&mut self, row: &UsageRow, cost: ComputedCost) {
        let report = &row.record.report;
        if row.replay_of.is_some() {
            self.replays += 1;
            return;
        }
        let add = |sum: &mut Option<u64>, value: Option<u64>| *sum = add_known([*sum, value]);
        add(&mut self.input_tokens, report.input_tokens);
        add(&mut self.cache_read_tokens, report.cache_read_tokens);
        add(&mut self.cache_write_tokens, report.cache_write_tokens);
        add(&mut self.cache_write_5m_tokens, report.cache_write_5m_tokens);
        add(&mut self.cache_write_1h_tokens, report.cache_write_1h_tokens);
        add(&mut self.output_tokens, report.output_tokens);
        add(&mut self.reasoning_tokens, report.reasoning_tokens);
        self.reported_cost_usd = add_money(self.reported_cost_usd, report.reported_cost_usd);
        let origin = report.origin();
        if origin == UsageOrigin::Cost {
            return;
        }
        self.records += 1;
        match report.grain {
            Grain::Request => self.requests += 1,
            Grain::Turn | Grain::Session if report.prompt_tokens() == Some(0) => {}
            Grain::Turn | Grain::Session => self.unlisted += 1,
        }
        if report.has_tokens() {
            match cost {
                ComputedCost::Priced(cost) => {
                    self.priced += 1;
                    self.computed_cost_usd = add_money(self.computed_cost_usd, Some(cost));
                }
                ComputedCost::NoPrice => self.unpriced += 1,
                ComputedCost::NotYet => self.uncosted += 1,
            }
        }
        self.doubts.add(origin, report.quality, row.record.turn_id.map_or(Last::BeforeTurns, Last::In));
    }

    /// Puts a record in place of one that was added, and tells whether that could be done: of a figure that is full,
    /// and of what is doubted, a sum does not tell what it is without the old one. Else nothing changes.
    ///
    /// Neither record is a replay, and of neither a cost is known.
    #[must_use]
    pub fn replace(&mut self, old: &UsageRecord, new: &UsageRecord) -> bool {
        let counts_as = |record: &UsageRecord| {
            let report = &record.report;
            let holds = (report.has_tokens(), report.prompt_tokens() == Some(0));
            (record.turn_id, report.origin(), report.grain, report.quality, holds)
        };
        if counts_as(old) != counts_as(new) {
            return false;
        }
        let mut sum = *self;
        let (old, new) = (&old.report, &new.report);
        let is_done = replace(&mut sum.input_tokens, old.input_tokens, new.input_tokens)
            && replace(&mut sum.cache_read_tokens, old.cache_read_tokens, new.cache_read_tokens)
            && replace(&mut sum.cache_write_tokens, old.cache_write_tokens, new.cache_write_tokens)
            && replace(&mut sum.cache_write_5m_tokens, old.cache_write_5m_tokens, new.cache_write_5m_tokens)
            && replace(&mut sum.cache_write_1h_tokens, old.cache_write_1h_tokens, new.cache_write_1h_tokens)
            && replace(&mut sum.output_tokens, old.output_tokens, new.output_tokens)
            && replace(&mut sum.reasoning_tokens, old.reasoning_tokens, new.reasoning_tokens)
            && replace_money(&mut sum.reported_cost_usd, old.reported_cost_usd, new.reported_cost_usd);
        if is_done {
            *self = sum;
        }
        is_done
    }

    /// Forgets computed costs: nobody computed any.
    pub fn forget_costs(&mut self) {
        self.uncosted += self.priced + self.unpriced;
        (self.priced, self.unpriced, self.computed_cost_usd) = (0, 0, None);
    }

    /// Adds the sum over other records of the same launch.
    pub fn merge(&mut self, other: &Self) {
        self.merge_figures(other);
        self.doubts.merge(&other.doubts);
    }

    /// Adds up figures; that of what may be different launches.
    pub(crate) fn merge_figures(&mut self, other: &Self) {
        self.records += other.records;
        self.requests += other.requests;
        self.unlisted += other.unlisted;
        self.replays += other.replays;
        self.priced += other.priced;
        self.unpriced += other.unpriced;
        self.uncosted += other.uncosted;
        let add = |sum: &mut Option<u64>, value: Option<u64>| *sum = add_known([*sum, value]);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.cache_read_tokens, other.cache_read_tokens);
        add(&mut self.cache_write_tokens, other.cache_write_tokens);
        add(&mut self.cache_write_5m_tokens, other.cache_write_5m_tokens);
        add(&mut self.cache_write_1h_tokens, other.cache_write_1h_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.reasoning_tokens, other.reasoning_tokens);
        self.reported_cost_usd = add_money(self.reported_cost_usd, other.reported_cost_usd);
        self.computed_cost_usd = add_money(self.computed_cost_usd, other.computed_cost_usd);
    }

    /// Returns the worst quality among the records that no exact remainder covers; nothing for no record.
    pub fn quality(&self) -> Option<Quality> {
        (self.records > 0).then(|| self.doubts.quality())
    }
}

impl Doubts {
    fn add(&mut self, origin: UsageOrigin, quality: Quality, turn: Last) {
        match (origin, quality) {
            (UsageOrigin::Remainder, quality) => {
                self.remainders = Some(self.remainders.map_or(quality, |worst| worst.min(quality)));
                if quality == Quality::Exact {
                    self.covered = self.covered.max(turn);
                }
            }
            (_, Quality::Unknown) => self.unknown = self.unknown.max(turn),
            (_, Quality::LowerBound) => self.lower_bound = self.lower_bound.max(turn),
            (_, Quality::Exact) => {}
        }
    }

    fn merge(&mut self, other: &Self) {
        self.unknown = self.unknown.max(other.unknown);
        self.lower_bound = self.lower_bound.max(other.lower_bound);
        self.covered = self.covered.max(other.covered);
        self.remainders = match (self.remainders, other.remainders) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    fn quality(&self) -> Quality {
        let of = |last: Last, quality| if last > self.covered { quality } else { Quality::Exact };
        let requests = of(self.unknown, Quality::Unknown).min(of(self.lower_bound, Quality::LowerBound));
        self.remainders.map_or(requests, |worst| worst.min(requests))
    }
}

impl UsageReport {
    /// Tells whether it holds any token, whatever it is.
    pub fn has_tokens(&self) -> bool {
        self.prompt_tokens().is_some_and(|tokens| tokens > 0) || self.output_tokens.is_some_and(|tokens| tokens > 0)
    }
}

/// Puts the new value in place of the old one in the sum, and tells whether the sum can be told then.
fn replace(sum: &mut Option<u64>, old: Option<u64>, new: Option<u64>) -> bool {
    *sum = match (*sum, old, new) {
        (all, old, new) if old == new => all,
        (all, None, new) => add_known([all, new]),
        // Of the others nothing may be known, or more than there is room for.
        (_, _, None) | (None | Some(u64::MAX), _, _) => return false,
        (Some(all), Some(old), Some(new)) => {
            let Some(others) = all.checked_sub(old) else { return false };
            Some(others.saturating_add(new))
        }
    };
    true
}

fn replace_money(sum: &mut Option<NanoUsd>, old: Option<NanoUsd>, new: Option<NanoUsd>) -> bool {
    let nanos = |money: Option<NanoUsd>| money.map(NanoUsd::as_nanos);
    let mut all = nanos(*sum);
    let is_done = replace(&mut all, nanos(old), nanos(new));
    *sum = all.map(NanoUsd::from_nanos);
    is_done
}

fn add_money(one: Option<NanoUsd>, other: Option<NanoUsd>) -> Option<NanoUsd> {
    [one, other].into_iter().flatten().reduce(NanoUsd::saturating_add)
}

#[cfg(test)]
mod tests;
