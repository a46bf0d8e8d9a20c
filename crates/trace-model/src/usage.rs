//! Usage records: what the provider reported that one request, turn or session cost in tokens.

use alloc::string::String;
use core::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    id::{LaunchId, TurnId},
    money::NanoUsd,
    text_enum::serde_as_text,
    timestamp::Timestamp,
    totals::add_known,
    words::{Grain, Quality},
};

/// The agent that spoke or spent: the main one, or a subagent by its own id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Agent {
    /// The agent that was launched.
    #[default]
    Main,
    /// An agent that the main one delegated to, under the provider's id for it.
    Sub(String),
}

impl Agent {
    /// Tells whether this is the agent that was launched.
    pub const fn is_main(&self) -> bool {
        matches!(self, Self::Main)
    }

    /// Returns `main`, or the subagent's id.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Main => "main",
            Self::Sub(id) => id,
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Agent {
    type Err = core::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "main" { Self::Main } else { Self::Sub(String::from(text)) })
    }
}

serde_as_text!(Agent);

/// Where a usage record comes from, read off its key.
///
/// Within one turn, records of finer origin stand instead of coarser ones: see [`supersedes`](Self::supersedes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsageOrigin {
    /// `event:<seq>`: one usage event of a stream without keys.
    Event,
    /// `turn:<turn id>`: the provider's figure for a whole turn.
    Turn,
    /// `cost:<turn id>`: what a result said in money; it carries no tokens and is never superseded.
    Cost,
    /// `remainder:<n>:<model>`: what the n-th running total holds beyond the records before it.
    Remainder,
    /// Any other key: one request, under the provider's own name for it.
    Request,
}

impl UsageOrigin {
    /// Returns the key of a usage event.
    pub fn event_key(seq: u64) -> String {
        alloc::format!("event:{seq}")
    }

    /// Returns the key of the provider's figure for a turn.
    pub fn turn_key(turn: TurnId) -> String {
        alloc::format!("turn:{turn}")
    }

    /// Returns the key of what a result of the turn said in money.
    pub fn cost_key(turn: TurnId) -> String {
        alloc::format!("cost:{turn}")
    }

    /// Returns the key of what the n-th running total, counted from 1, holds of a model beyond the records before it.
    ///
    /// The model's `[…]` suffix is left out.
    pub fn remainder_key(total: u64, model: &str) -> String {
        alloc::format!("remainder:{total}:{}", base_model(model))
    }

    /// Returns the origin that the key tells.
    pub fn of_key(key: &str) -> Self {
        match key.split_once(':') {
            Some(("event", _)) => Self::Event,
            Some(("turn", _)) => Self::Turn,
            Some(("cost", _)) => Self::Cost,
            Some(("remainder", _)) => Self::Remainder,
            _ => Self::Request,
        }
    }

    /// Tells whether a record of this origin stands instead of one of the other origin in the same turn.
    pub const fn supersedes(self, other: Self) -> bool {
        match (self, other) {
            (Self::Request | Self::Remainder, Self::Turn | Self::Event) => true,
            (Self::Turn, other) => matches!(other, Self::Event),
            _ => false,
        }
    }
}

/// What a provider reported of one request, turn or session, before it is known which launch it belongs to.
///
/// The four classes of tokens (`input`, `cache_read`, `cache_write`, `output`) do not overlap; their sum is what went
/// through the model. Absent means unknown, never zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageReport {
    /// Its name, unique in its launch. A later report of the same key is merged into the earlier one.
    ///
    /// A request has the provider's own name for it. The beginnings `event:`, `turn:`, `cost:` and `remainder:` are
    /// taken: they say what else a record is, see [`UsageOrigin`].
    pub key: String,
    /// The provider's own id of the reply, unique over all launches.
    pub request_key: Option<String>,
    /// Who spent it.
    #[serde(default)]
    pub agent: Agent,
    /// The model, as the provider names it.
    pub model: Option<String>,
    /// When it was first seen.
    pub observed_at: Option<Timestamp>,
    /// Prompt tokens neither read from nor written to a cache.
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
    /// The size of the request's prompt: how full the context window was.
    pub context_tokens: Option<u64>,
    /// The size of the context window.
    pub context_window_tokens: Option<u64>,
    /// The provider's own figure of the cost.
    pub reported_cost_usd: Option<NanoUsd>,
    /// What the record covers.
    pub grain: Grain,
    /// How far its numbers can be trusted.
    pub quality: Quality,
}

impl UsageReport {
    /// Returns a report that knows nothing yet but its key, for struct update syntax.
    pub fn new(key: impl Into<String>, grain: Grain, quality: Quality) -> Self {
        Self {
            key: key.into(),
            request_key: None,
            agent: Agent::Main,
            model: None,
            observed_at: None,
            input_tokens: None,
            cache_read_tokens: None,
            cache_write_tokens: None,
            cache_write_5m_tokens: None,
            cache_write_1h_tokens: None,
            output_tokens: None,
            reasoning_tokens: None,
            context_tokens: None,
            context_window_tokens: None,
            reported_cost_usd: None,
            grain,
            quality,
        }
    }

    /// Returns the origin that the key tells.
    pub fn origin(&self) -> UsageOrigin {
        UsageOrigin::of_key(&self.key)
    }

    /// Returns the prompt tokens, whether they came from a cache or not; unknown where no class of them is known.
    pub fn prompt_tokens(&self) -> Option<u64> {
        add_known([self.input_tokens, self.cache_read_tokens, self.cache_write_tokens])
    }

    /// Returns what is known when `new` comes after `old` under one key.
    ///
    /// Field by field: the better quality wins, at equal quality the later value; an absent value erases nothing. The
    /// time is that of the first sight, for it orders replays.
    #[must_use]
    pub fn merge(old: &Self, new: &Self) -> Self {
        let mut merged = old.clone();
        merged.merge_in(new.clone());
        merged
    }

    /// Becomes what is known when `new` comes after it under its key: see [`merge`](Self::merge).
    pub fn merge_in(&mut self, new: Self) {
        let mut old = core::mem::replace(self, Self::new(String::new(), new.grain, new.quality));
        let key = core::mem::take(&mut old.key);
        let observed_at = match (old.observed_at, new.observed_at) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => old.or(new),
        };
        let (over, under) = if new.quality < old.quality { (old, new) } else { (new, old) };
        *self = Self {
            key,
            request_key: over.request_key.or(under.request_key),
            agent: over.agent,
            model: over.model.or(under.model),
            observed_at,
            input_tokens: over.input_tokens.or(under.input_tokens),
            cache_read_tokens: over.cache_read_tokens.or(under.cache_read_tokens),
            cache_write_tokens: over.cache_write_tokens.or(under.cache_write_tokens),
            cache_write_5m_tokens: over.cache_write_5m_tokens.or(under.cache_write_5m_tokens),
            cache_write_1h_tokens: over.cache_write_1h_tokens.or(under.cache_write_1h_tokens),
            output_tokens: over.output_tokens.or(under.output_tokens),
            reasoning_tokens: over.reasoning_tokens.or(under.reasoning_tokens),
            context_tokens: over.context_tokens.or(under.context_tokens),
            context_window_tokens: over.context_window_tokens.or(under.context_window_tokens),
            reported_cost_usd: over.reported_cost_usd.or(under.reported_cost_usd),
            grain: over.grain,
            quality: over.quality,
        };
    }
}

/// What one request, turn or session of a launch cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRecord {
    /// The launch that it belongs to.
    pub launch_id: LaunchId,
    /// The turn that it belongs to, if that is known.
    pub turn_id: Option<TurnId>,
    /// What was reported.
    #[serde(flatten)]
    pub report: UsageReport,
}

impl UsageRecord {
    /// Returns what is known when `new` comes after `old` under one key: see [`UsageReport::merge`].
    ///
    /// The record stays with the turn that it was first seen in.
    #[must_use]
    pub fn merge(old: &Self, new: &Self) -> Self {
        Self {
            launch_id: old.launch_id,
            turn_id: old.turn_id.or(new.turn_id),
            report: UsageReport::merge(&old.report, &new.report),
        }
    }

    /// Returns what orders the records of one request key: the smallest one counts, the others are replays.
    ///
    /// A record without a time comes after all that have one.
    pub fn seniority(&self) -> (bool, Option<Timestamp>, LaunchId, &str) {
        (self.report.observed_at.is_none(), self.report.observed_at, self.launch_id, &self.report.key)
    }
}

/// A usage record as a ledger answers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    /// The record.
    #[serde(flatten)]
    pub record: UsageRecord,
    /// The launch whose record of the same request key counts instead of this one.
    ///
    /// It is in no artifact: it changes when another launch is added or forgotten.
    pub replay_of: Option<LaunchId>,
}

/// Returns a model's name without its `[…]` suffix, which selects a context window and not a model.
///
/// ```
/// use trace_model::usage::base_model;
///
/// assert_eq!(base_model("claude-opus-4-8[1m]"), "claude-opus-4-8");
/// assert_eq!(base_model("gpt-5"), "gpt-5");
/// ```
pub fn base_model(model: &str) -> &str {
    match model.split_once('[') {
        Some((base, rest)) if rest.ends_with(']') => base,
        _ => model,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(quality: Quality, output: Option<u64>) -> UsageReport {
        UsageReport { output_tokens: output, ..UsageReport::new("msg_1", Grain::Request, quality) }
    }

    #[test]
    fn a_better_quality_wins_and_then_the_later_value() {
        let merge = |old, new| UsageReport::merge(&old, &new).output_tokens;
        assert_eq!(merge(report(Quality::Exact, Some(5)), report(Quality::LowerBound, Some(9))), Some(5));
        assert_eq!(merge(report(Quality::LowerBound, Some(9)), report(Quality::Exact, Some(5))), Some(5));
        assert_eq!(merge(report(Quality::Exact, Some(5)), report(Quality::Exact, Some(7))), Some(7));
    }

    #[test]
    fn null_erases_no_known_cost() {
        let known =
            UsageReport { reported_cost_usd: Some(NanoUsd::from_nanos(7)), ..report(Quality::LowerBound, Some(1)) };
        let merged = UsageReport::merge(&known, &report(Quality::Exact, Some(3)));
        assert_eq!(merged.reported_cost_usd, Some(NanoUsd::from_nanos(7)));
        assert_eq!((merged.output_tokens, merged.quality), (Some(3), Quality::Exact));
    }

    #[test]
    fn the_time_is_that_of_the_first_sight() {
        let at = |micros| UsageReport { observed_at: Timestamp::from_micros(micros), ..report(Quality::Exact, None) };
        assert_eq!(UsageReport::merge(&at(5), &at(9)).observed_at, Timestamp::from_micros(5));
        assert_eq!(UsageReport::merge(&report(Quality::Exact, None), &at(9)).observed_at, Timestamp::from_micros(9));
    }

    #[test]
    fn finer_origins_stand_instead_of_coarser_ones() {
        use UsageOrigin::{Cost, Event, Remainder, Request, Turn};
        let all = [Event, Turn, Cost, Remainder, Request];
        for (finer, coarser) in all.into_iter().flat_map(|a| all.map(|b| (a, b))) {
            let expected = matches!((finer, coarser), (Request | Remainder, Turn | Event) | (Turn, Event));
            assert_eq!(finer.supersedes(coarser), expected, "{finer:?} over {coarser:?}");
        }
        assert_eq!(UsageOrigin::of_key("remainder:1:claude-opus-4-8"), Remainder);
        assert_eq!(UsageOrigin::of_key("msg_01:req_01"), Request);
    }
}
