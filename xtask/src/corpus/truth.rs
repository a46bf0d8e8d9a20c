//! What the sessions of a corpus cost.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Plan;

/// What was made, and what it cost.
#[derive(Debug, Serialize)]
pub(crate) struct Truth {
    pub(crate) seed: u64,
    pub(crate) bytes: u64,
    pub(crate) files: u64,
    pub(crate) lines: u64,
    pub(crate) sessions: u64,
    pub(crate) subagents: u64,
    pub(crate) totals: Usage,
    pub(crate) models: BTreeMap<String, Usage>,
}

/// Tokens by class: the classes do not overlap, but the cache writes are split once more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Usage {
    pub(crate) requests: u64,
    pub(crate) input_tokens: u64,
    pub(crate) cache_read_tokens: u64,
    pub(crate) cache_write_tokens: u64,
    pub(crate) cache_write_5m_tokens: u64,
    pub(crate) cache_write_1h_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) total_tokens: u64,
}

impl Usage {
    /// Adds one request.
    pub(crate) fn add(&mut self, other: Self) {
        self.requests += 1;
        self.input_tokens += other.input_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.cache_write_5m_tokens += other.cache_write_5m_tokens;
        self.cache_write_1h_tokens += other.cache_write_1h_tokens;
        self.output_tokens += other.output_tokens;
        self.total_tokens +=
            other.input_tokens + other.cache_read_tokens + other.cache_write_tokens + other.output_tokens;
    }
}

impl Truth {
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            seed: plan.seed,
            bytes: 0,
            files: 0,
            lines: 0,
            sessions: 0,
            subagents: 0,
            totals: Usage::default(),
            models: BTreeMap::new(),
        }
    }

    /// Adds one request.
    pub(super) fn add(&mut self, model: &str, usage: Usage) {
        self.totals.add(usage);
        self.models.entry(model.to_owned()).or_default().add(usage);
    }
}
