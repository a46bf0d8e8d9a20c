//! What a step cost: one request to the model.
//!
//! Sources: sst/opencode@31e22f65a23c `session/processor.ts`, pingdotgg/t3code#10926, and recordings of `OpenCode`
//! 1.18.
//!
//! * The counters do not overlap: `input` leaves out both caches, `output` leaves out `reasoning`, and `total` is the
//!   sum of all five (684 of 688 rows of t3code#10926). Versions that left reasoning inside of the output are known
//!   by a `total` that meets the sum without it. A total that meets neither says that something else was counted.
//! * Zero in all counters and no cost means that nobody counted: a request has a prompt. What it cost is unknown.
//! * A cost of zero is that of a subscription or of a free model, and known.

use alloc::string::String;

use trace_model::{
    money::NanoUsd,
    usage::UsageReport,
    words::{Grain, Quality},
};

use crate::json::Json;

/// The counters and the cost of a step or a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spent {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    cost: Option<NanoUsd>,
    pub(super) quality: Quality,
    /// Whether a figure is there and makes no sense.
    pub(super) is_illegible: bool,
}

impl Spent {
    /// Reads what stands in a part or a message.
    pub(super) fn read(tokens: Option<Json<'_>>, cost: Option<Json<'_>>) -> Self {
        let [total, input, output, reasoning, cache] =
            tokens.map(|tokens| tokens.fields(["total", "input", "output", "reasoning", "cache"])).unwrap_or_default();
        let [cache_read, cache_write] = cache.map(|cache| cache.fields(["read", "write"])).unwrap_or_default();
        let fields = [input, cache_read, cache_write, output, reasoning, total];
        let amount = cost.and_then(|cost| cost.source().parse::<NanoUsd>().ok());
        let is_illegible =
            fields.iter().flatten().any(|field| field.number().is_none()) || cost.is_some() != amount.is_some();
        let [input, cache_read, cache_write, output, reasoning, total] =
            fields.map(|field| field.and_then(Json::number));
        let thinking = reasoning.unwrap_or(0);
        let sum =
            [input, cache_read, cache_write, output].into_iter().flatten().reduce(u64::saturating_add).unwrap_or(0);
        let is_inside = thinking > 0 && total == Some(sum);
        let with_thinking = if is_inside { sum } else { sum.saturating_add(thinking) };
        if with_thinking == 0 {
            let cost = amount.filter(|cost| *cost != NanoUsd::ZERO);
            let quality = Quality::Unknown;
            let unknown = None;
            return Self {
                input: unknown,
                cache_read: unknown,
                cache_write: unknown,
                output: unknown,
                reasoning: unknown,
                cost,
                quality,
                is_illegible,
            };
        }
        let meets = total.is_none_or(|total| total == with_thinking);
        let is_exact = meets && !is_illegible && input.is_some() && output.is_some();
        Self {
            input,
            cache_read,
            cache_write,
            output: output.map(|output| if is_inside { output } else { output.saturating_add(thinking) }),
            reasoning,
            cost: amount,
            quality: if is_exact { Quality::Exact } else { Quality::LowerBound },
            is_illegible,
        }
    }

    /// Tells whether anybody counted.
    pub(super) fn is_known(&self) -> bool {
        self.quality != Quality::Unknown || self.cost.is_some()
    }

    /// Notes that there may be more than is told.
    pub(super) fn lessen(&mut self) {
        self.quality = self.quality.min(Quality::LowerBound);
    }

    /// Returns the report under that key.
    pub(super) fn report(&self, key: String) -> UsageReport {
        let prompt = [self.input, self.cache_read, self.cache_write];
        UsageReport {
            input_tokens: self.input,
            cache_read_tokens: self.cache_read,
            cache_write_tokens: self.cache_write,
            output_tokens: self.output,
            reasoning_tokens: self.reasoning,
            context_tokens: prompt.into_iter().flatten().reduce(u64::saturating_add),
            reported_cost_usd: self.cost,
            ..UsageReport::new(key, Grain::Request, self.quality)
        }
    }
}
