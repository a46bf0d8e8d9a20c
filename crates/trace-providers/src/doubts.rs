//! That a request may have cost something which no source tells.

use serde::{Deserialize, Serialize};
use trace_model::{
    timestamp::Timestamp,
    usage::{Agent, UsageOrigin, UsageReport},
    words::{Grain, Quality},
};

/// The remainders without figures of a source.
///
/// An agent that breaks a request off does not learn what it cost, and writes nothing. A remainder without any figure
/// then says that what is known of its turn is a lower bound, and that there may have been requests that no record
/// shows.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Doubts {
    /// How many there are.
    told: u64,
    /// Whether the turn has one.
    of_turn: bool,
}

impl Doubts {
    /// Notes that another turn begins.
    pub(crate) const fn begin_turn(&mut self) {
        self.of_turn = false;
    }

    /// Returns the remainder for the turn, if it has none.
    pub(crate) fn tell(&mut self, agent: &Agent, at: Option<Timestamp>) -> Option<UsageReport> {
        if core::mem::replace(&mut self.of_turn, true) {
            return None;
        }
        self.told += 1;
        // A subagent may have a source of its own, with a count of its own.
        let of = if agent.is_main() { "unknown" } else { agent.as_str() };
        let key = UsageOrigin::remainder_key(self.told, of);
        let report = UsageReport::new(key, Grain::Turn, Quality::LowerBound);
        Some(UsageReport { agent: agent.clone(), observed_at: at, ..report })
    }
}
