//! The only sum of usage records.

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    id::{LaunchId, TurnId},
    money::NanoUsd,
    usage::{UsageOrigin, UsageRecord, UsageRow},
    words::{Grain, Quality},
};

/// What a set of usage records adds up to. Absent means that no record knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// The number of requests, if every one of them has a record.
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
    /// What the providers themselves said that it cost.
    pub cost_usd: Option<NanoUsd>,
    /// The worst quality among the records of tokens that no exact total covers; unknown for no such record at all.
    pub quality: Quality,
}

impl Totals {
    /// Returns the sum of the records.
    ///
    /// * A replay counts nothing.
    /// * A record whose numbers are a lower bound is covered by an exact remainder of the same launch in its own or a
    ///   later turn, if that is among the records: the remainder holds what the record lacks. Turn ids of one launch
    ///   ascend. A remainder that is a lower bound itself is covered by nothing: its process stated no whole total.
    /// * The requests are unknown where a record that is no single request holds prompt tokens, or does not know
    ///   whether it does: there were, or may have been, requests that no record shows.
    pub fn of(rows: &[UsageRow]) -> Self {
        let counted = || rows.iter().filter(|row| row.replay_of.is_none()).map(|row| &row.record);
        let sum = |class: fn(&UsageRecord) -> Option<u64>| add_known(counted().map(class));
        let input_tokens = sum(|record| record.report.input_tokens);
        let cache_read_tokens = sum(|record| record.report.cache_read_tokens);
        let cache_write_tokens = sum(|record| record.report.cache_write_tokens);
        let output_tokens = sum(|record| record.report.output_tokens);
        Self {
            requests: requests(counted()),
            input_tokens,
            cache_read_tokens,
            cache_write_tokens,
            output_tokens,
            reasoning_tokens: sum(|record| record.report.reasoning_tokens),
            total_tokens: add_known([input_tokens, cache_read_tokens, cache_write_tokens, output_tokens]),
            cost_usd: counted().filter_map(|record| record.report.reported_cost_usd).reduce(NanoUsd::saturating_add),
            quality: quality(counted).unwrap_or(Quality::Unknown),
        }
    }
}

/// Adds what is known; nothing known is unknown.
pub fn add_known(values: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    values.into_iter().flatten().reduce(u64::saturating_add)
}

/// Returns the worst quality among the records of tokens that no exact remainder covers.
fn quality<'a, I: Iterator<Item = &'a UsageRecord>>(records: impl Fn() -> I) -> Option<Quality> {
    let mut last_remainder: BTreeMap<LaunchId, Option<TurnId>> = BTreeMap::new();
    for record in records().filter(|record| record.report.quality == Quality::Exact) {
        if record.report.origin() == UsageOrigin::Remainder {
            let turn = last_remainder.entry(record.launch_id).or_insert(record.turn_id);
            *turn = record.turn_id.max(*turn);
        }
    }
    let is_covered = |record: &UsageRecord| {
        let total = last_remainder.get(&record.launch_id);
        record.report.origin() != UsageOrigin::Remainder && total.is_some_and(|turn| record.turn_id <= *turn)
    };
    records()
        .filter(|record| record.report.origin() != UsageOrigin::Cost)
        .map(|record| if is_covered(record) { Quality::Exact } else { record.report.quality })
        .min()
}

fn requests<'a>(mut records: impl Iterator<Item = &'a UsageRecord>) -> Option<u64> {
    let mut seen = false;
    let count = records.try_fold(0_u64, |count, record| {
        let report = &record.report;
        if report.origin() == UsageOrigin::Cost {
            return Some(count);
        }
        seen = true;
        match report.grain {
            Grain::Request => Some(count + 1),
            Grain::Turn | Grain::Session => (report.prompt_tokens() == Some(0)).then_some(count),
        }
    });
    count.filter(|_| seen)
}

#[cfg(test)]
mod tests {
    use std::{format, vec::Vec};

    use uuid::Uuid;

    use super::*;
    use crate::usage::UsageReport;

    fn row(key: &str, turn: u128, grain: Grain, quality: Quality, input: u64, output: u64) -> UsageRow {
        UsageRow {
            record: UsageRecord {
                launch_id: LaunchId::from_uuid(Uuid::from_u128(1)),
                turn_id: Some(TurnId::from_uuid(Uuid::from_u128(turn))),
                report: UsageReport {
                    input_tokens: Some(input),
                    output_tokens: Some(output),
                    ..UsageReport::new(key, grain, quality)
                },
            },
            replay_of: None,
        }
    }

    #[test]
    fn nothing_adds_up_to_unknown_and_not_to_zero() {
        let totals = Totals::of(&[]);
        assert_eq!((totals.requests, totals.total_tokens, totals.cost_usd), (None, None, None));
        assert_eq!(totals.quality, Quality::Unknown);
    }

    #[test]
    fn an_exact_remainder_makes_the_lower_bounds_before_it_exact() {
        let mut rows = Vec::from([row("msg_1", 1, Grain::Request, Quality::LowerBound, 100, 1)]);
        assert_eq!(Totals::of(&rows).quality, Quality::LowerBound);
        rows.push(row("remainder:1:m", 2, Grain::Turn, Quality::Exact, 0, 50));
        let totals = Totals::of(&rows);
        assert_eq!((totals.output_tokens, totals.requests, totals.quality), (Some(51), Some(1), Quality::Exact));
        rows.push(row("msg_2", 3, Grain::Request, Quality::LowerBound, 100, 1));
        assert_eq!(Totals::of(&rows).quality, Quality::LowerBound);
    }

    #[test]
    fn a_process_that_stated_no_whole_total_is_not_covered_by_the_next_one() {
        let rows = [
            row("msg_1", 1, Grain::Request, Quality::LowerBound, 100, 1),
            row("remainder:1:m", 1, Grain::Turn, Quality::LowerBound, 0, 0),
            row("remainder:2:m", 2, Grain::Turn, Quality::Exact, 0, 50),
        ];
        assert_eq!(Totals::of(&rows).quality, Quality::LowerBound);
    }

    #[test]
    fn requests_without_records_of_their_own_are_not_guessed() {
        let rows = [
            row("msg_1", 1, Grain::Request, Quality::LowerBound, 100, 1),
            row("remainder:1:m", 1, Grain::Turn, Quality::Exact, 100, 50),
        ];
        assert_eq!(Totals::of(&rows).requests, None);
    }

    #[test]
    fn where_nothing_is_known_of_a_turn_its_requests_are_unknown_and_not_zero() {
        let mut unstated = row("remainder:1:m", 1, Grain::Turn, Quality::LowerBound, 0, 0);
        (unstated.record.report.input_tokens, unstated.record.report.output_tokens) = (None, None);
        let totals = Totals::of(&[unstated.clone()]);
        assert_eq!((totals.requests, totals.total_tokens, totals.quality), (None, None, Quality::LowerBound));
        let rows = [row("msg_1", 1, Grain::Request, Quality::Exact, 100, 1), unstated];
        assert_eq!(Totals::of(&rows).requests, None);
    }

    #[test]
    fn a_replay_counts_nothing() {
        let mut rows: Vec<_> =
            (0..3).map(|n| row(&format!("msg_{n}"), 1, Grain::Request, Quality::Exact, 10, 1)).collect();
        rows[1].replay_of = Some(LaunchId::from_uuid(Uuid::from_u128(9)));
        let totals = Totals::of(&rows);
        assert_eq!((totals.requests, totals.total_tokens), (Some(2), Some(22)));
    }
}
