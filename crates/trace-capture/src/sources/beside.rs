//! A session that was recorded while it ran: what of its sources belongs to which of its launches.
//!
//! A request belongs to the recorded launch that has it on record; else to the one that was running when it was made;
//! else to none, and then to the imported launch that holds the rest of the session.

use std::collections::BTreeSet;

use trace_model::{
    fold::Fold,
    launch::{Launch, LaunchState},
    rows::LaunchRows,
    timestamp::Timestamp,
    usage::UsageReport,
};

use super::facts::SessionFacts;

/// What a recorded launch tells of itself.
#[derive(Debug, Clone)]
pub(crate) struct OnRecord {
    keys: BTreeSet<String>,
    from: Timestamp,
    to: Option<Timestamp>,
}

impl OnRecord {
    /// Returns what the launch's own lines tell.
    pub(crate) fn of(rows: &LaunchRows) -> Self {
        Self::new(&rows.launch, rows.usage.keys().cloned().collect())
    }

    /// Returns what the lines of a launch tell that is being folded.
    pub(crate) fn of_fold(fold: &Fold) -> Self {
        Self::new(fold.launch(), fold.usage_keys().map(str::to_owned).collect())
    }

    fn new(launch: &Launch, keys: BTreeSet<String>) -> Self {
        let to = match launch.state {
            LaunchState::Ended { at, .. } => Some(at),
            LaunchState::Running => None,
        };
        Self { keys, from: launch.header.started_at, to }
    }

    fn held(&self, at: Option<Timestamp>) -> bool {
        at.is_some_and(|at| self.from <= at && self.to.is_none_or(|to| at <= to))
    }

    /// Tells whether the request is of this launch.
    pub(crate) fn owns(&self, report: &UsageReport) -> bool {
        self.keys.contains(&report.key) || self.held(report.observed_at)
    }

    /// Takes out of the facts what this launch has.
    pub(crate) fn leave_out(&self, facts: &mut SessionFacts) {
        facts.usage.retain(|_, fact| !self.owns(&fact.report));
        let mut kept = Vec::new();
        let mut places = Vec::new();
        for turn in facts.turns.drain(..) {
            let stays = !self.held(turn.at);
            places.push(stays.then_some(kept.len()));
            if stays {
                kept.push(turn);
            }
        }
        facts.turns = kept;
        for fact in facts.usage.values_mut() {
            fact.turn = fact.turn.and_then(|turn| places.get(turn).copied().flatten());
        }
    }
}
