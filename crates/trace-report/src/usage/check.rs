//! Usage held against limits.

use alloc::{string::String, vec::Vec};

use serde::Serialize;
use trace_model::{money::NanoUsd, words::Quality};

use super::{UsageView, totals::UsageTotals};

/// What the usage of a view may be at the most, all rows together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// The computed cost.
    pub max_cost_usd: Option<NanoUsd>,
    /// The tokens of all classes.
    pub max_tokens: Option<u64>,
    /// Whether usage without a price is passed over.
    pub allow_unpriced: bool,
}

/// What is over a limit, or cannot be known to keep it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Finding {
    /// The computed cost is over its limit.
    Cost {
        /// The cost.
        cost_usd: NanoUsd,
        /// How far it can be trusted.
        cost_quality: Quality,
        /// The limit.
        max_cost_usd: NanoUsd,
        /// The rows that cost the most, the dearest first.
        most: Vec<Part<NanoUsd>>,
    },
    /// The tokens are over their limit.
    Tokens {
        /// The tokens.
        total_tokens: u64,
        /// How far they can be trusted.
        quality: Quality,
        /// The limit.
        max_tokens: u64,
        /// The rows with the most, the largest first.
        most: Vec<Part<u64>>,
    },
    /// Some usage has no price, so that its cost is unknown.
    Unpriced {
        /// The records without a price.
        records: u64,
        /// Their models; unknown where the records name none.
        models: Vec<Option<String>>,
    },
    /// There is usage of which no tokens are known at all.
    Unknown {
        /// The limit that cannot be held against it.
        limit: &'static str,
    },
}

/// The part that a row has in a total.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part<T> {
    /// The row's key.
    pub key: Option<String>,
    /// What is the row's.
    pub amount: T,
}

/// How many rows a finding names.
const NAMED: usize = 5;

impl UsageView {
    /// Returns what is over the limits.
    pub fn check(&self, limits: Limits) -> Vec<Finding> {
        let UsageTotals { sessions, cost_usd, cost_quality, total_tokens, quality, unpriced, .. } = self.totals;
        let mut findings = Vec::new();
        if let Some(max_cost_usd) = limits.max_cost_usd {
            if let Some(cost_usd) = cost_usd.filter(|cost| *cost > max_cost_usd) {
                let most = self.most(|totals| totals.cost_usd);
                findings.push(Finding::Cost { cost_usd, cost_quality, max_cost_usd, most });
            }
            if unpriced > 0 && !limits.allow_unpriced {
                let models = self.unpriced.iter().map(|unpriced| unpriced.model.clone()).collect();
                findings.push(Finding::Unpriced { records: unpriced, models });
            }
        }
        if let Some(max_tokens) = limits.max_tokens
            && let Some(total_tokens) = total_tokens.filter(|tokens| *tokens > max_tokens)
        {
            let most = self.most(|totals| totals.total_tokens);
            findings.push(Finding::Tokens { total_tokens, quality, max_tokens, most });
        }
        // Where nothing was used, every limit is kept.
        if sessions > 0 && !limits.allow_unpriced {
            let is_unknown = |is_known: bool| quality == Quality::Unknown || (!is_known && quality != Quality::Exact);
            if limits.max_cost_usd.is_some() && is_unknown(cost_usd.is_some() || unpriced > 0) {
                findings.push(Finding::Unknown { limit: "max_cost" });
            }
            if limits.max_tokens.is_some() && is_unknown(total_tokens.is_some()) {
                findings.push(Finding::Unknown { limit: "max_tokens" });
            }
        }
        findings
    }

    fn most<T: Ord>(&self, amount: fn(&UsageTotals) -> Option<T>) -> Vec<Part<T>> {
        let part = |row: &super::UsageEntry| Some(Part { key: row.key.clone(), amount: amount(&row.totals)? });
        let mut parts: Vec<Part<T>> = self.rows.iter().filter_map(part).collect();
        parts.sort_by(|one, other| other.amount.cmp(&one.amount));
        parts.truncate(NAMED);
        parts
    }
}

#[cfg(test)]
mod tests;
