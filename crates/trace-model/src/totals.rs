//! The only sum of usage records.

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    id::LaunchId,
    money::NanoUsd,
    usage::UsageRow,
    usage_sum::{ComputedCost, UsageSum},
    words::Quality,
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
        let mut sums: BTreeMap<LaunchId, UsageSum> = BTreeMap::new();
        for row in rows {
            sums.entry(row.record.launch_id).or_default().add(row, ComputedCost::NotYet);
        }
        Self::of_sums(sums.iter().map(|(launch, sum)| (*launch, sum)))
    }

    /// Returns what sums over records of launches add up to; see [`of`](Self::of).
    pub fn of_sums<'a>(sums: impl IntoIterator<Item = (LaunchId, &'a UsageSum)>) -> Self {
        let mut launches: BTreeMap<LaunchId, UsageSum> = BTreeMap::new();
        for (launch, sum) in sums {
            launches.entry(launch).or_default().merge(sum);
        }
        let mut all = UsageSum::default();
        for sum in launches.values() {
            all.merge_figures(sum);
        }
        let UsageSum { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, .. } = all;
        Self {
            requests: (all.records > 0 && all.unlisted == 0).then_some(all.requests),
            input_tokens,
            cache_read_tokens,
            cache_write_tokens,
            output_tokens,
            reasoning_tokens: all.reasoning_tokens,
            total_tokens: add_known([input_tokens, cache_read_tokens, cache_write_tokens, output_tokens]),
            cost_usd: all.reported_cost_usd,
            quality: launches.values().filter_map(UsageSum::quality).min().unwrap_or(Quality::Unknown),
        }
    }
}

/// Adds what is known; nothing known is unknown.
pub fn add_known(values: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    values.into_iter().flatten().reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::{format, vec::Vec};

    use uuid::Uuid;

    use super::*;
    use crate::{
        id::TurnId,
        usage::{UsageRecord, UsageReport},
        words::Grain,
    };

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
