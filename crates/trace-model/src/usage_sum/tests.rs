//! What sums say, however their records are parted.

use core::slice;
use std::{collections::BTreeMap, string::String, vec::Vec};

use proptest::{collection::vec, option, prelude::*, sample::select};
use uuid::Uuid;

use super::*;
use crate::{
    id::LaunchId,
    totals::Totals,
    usage::{UsageRecord, UsageReport},
};

fn launch(n: u128) -> LaunchId {
    LaunchId::from_uuid(Uuid::from_u128(n))
}

fn row(key: &str, turn: Option<u128>, quality: Quality) -> UsageRow {
    UsageRow {
        record: UsageRecord {
            launch_id: launch(1),
            turn_id: turn.map(|turn| TurnId::from_uuid(Uuid::from_u128(turn))),
            report: UsageReport { output_tokens: Some(1), ..UsageReport::new(key, Grain::Request, quality) },
        },
        replay_of: None,
    }
}

fn cost() -> impl Strategy<Value = ComputedCost> {
    let priced = (0_u64..1_000).prop_map(|nanos| ComputedCost::Priced(NanoUsd::from_nanos(nanos)));
    prop_oneof![Just(ComputedCost::NotYet), Just(ComputedCost::NoPrice), priced]
}

/// Records of three launches, of every origin and quality, in a few turns or in none.
fn rows() -> impl Strategy<Value = Vec<(UsageRow, ComputedCost)>> {
    let key = select(["msg", "event:1", "turn:1", "cost:1", "remainder:1:m"].as_slice());
    let tokens = || prop_oneof![3 => option::of(0_u64..5), 1 => Just(Some(u64::MAX))];
    let figures = (tokens(), tokens(), tokens(), option::of(0_u64..1_000));
    let words = (select(Grain::ALL), select(Quality::ALL));
    let place = (0_u128..3, option::of(0_u128..4), option::weighted(0.2, 0_u128..3));
    let row = (key, figures, words, place, cost()).prop_map(|(key, figures, (grain, quality), place, cost)| {
        let (input_tokens, cache_read_tokens, output_tokens, money) = figures;
        let (launch_id, turn, replay_of) = place;
        let report = UsageReport {
            input_tokens,
            cache_read_tokens,
            output_tokens,
            reasoning_tokens: output_tokens,
            reported_cost_usd: money.map(NanoUsd::from_nanos),
            ..UsageReport::new(key, grain, quality)
        };
        let mut row = row(key, turn, quality);
        row.record = UsageRecord { launch_id: launch(launch_id), report, ..row.record };
        row.replay_of = replay_of.map(launch);
        (row, cost)
    });
    vec(row, 0..30)
}

fn sum<'a>(rows: impl IntoIterator<Item = &'a (UsageRow, ComputedCost)>) -> UsageSum {
    let mut sum = UsageSum::default();
    rows.into_iter().for_each(|(row, cost)| sum.add(row, *cost));
    sum
}

/// Returns the quality by its definition: a record counts as exact where an exact remainder of its launch comes in its
/// own turn or later.
fn quality(rows: &[UsageRow]) -> Quality {
    let counted = || rows.iter().filter(|row| row.replay_of.is_none()).map(|row| &row.record);
    let covers = |remainder: &UsageRecord, record: &UsageRecord| {
        remainder.report.origin() == UsageOrigin::Remainder
            && remainder.report.quality == Quality::Exact
            && remainder.launch_id == record.launch_id
            && record.turn_id <= remainder.turn_id
    };
    let of = |record: &UsageRecord| match record.report.origin() {
        UsageOrigin::Remainder => record.report.quality,
        _ if counted().any(|other| covers(other, record)) => Quality::Exact,
        _ => record.report.quality,
    };
    let with_tokens = counted().filter(|record| record.report.origin() != UsageOrigin::Cost);
    with_tokens.map(of).min().unwrap_or(Quality::Unknown)
}

proptest! {
    #[test]
    fn parts_of_records_add_up_to_the_whole_in_any_order(
        rows in rows(),
        parts in vec(0_usize..4, 30),
    ) {
        let of_launch = |n| rows.iter().filter(move |(row, _)| row.record.launch_id == launch(n)).collect::<Vec<_>>();
        for n in 0..3 {
            let mut by_part: BTreeMap<usize, Vec<&(UsageRow, ComputedCost)>> = BTreeMap::new();
            for (row, part) in of_launch(n).into_iter().zip(&parts) {
                by_part.entry(*part).or_default().push(row);
            }
            let merge = |sums: &mut dyn Iterator<Item = UsageSum>| {
                sums.fold(UsageSum::default(), |mut all, part| {
                    all.merge(&part);
                    all
                })
            };
            let whole = sum(of_launch(n));
            prop_assert_eq!(merge(&mut by_part.values().map(|rows| sum(rows.iter().copied()))), whole);
            prop_assert_eq!(merge(&mut by_part.values().rev().map(|rows| sum(rows.iter().copied()))), whole);
        }
        let sums: Vec<(LaunchId, UsageSum)> =
            rows.iter().map(|row| (row.0.record.launch_id, sum([row]))).collect();
        let rows: Vec<UsageRow> = rows.into_iter().map(|(row, _)| row).collect();
        prop_assert_eq!(Totals::of_sums(sums.iter().map(|(launch, sum)| (*launch, sum))), Totals::of(&rows));
    }

    #[test]
    fn the_quality_of_a_total_is_that_of_the_worst_record_that_nothing_covers(rows in rows()) {
        let rows: Vec<UsageRow> = rows.into_iter().map(|(row, _)| row).collect();
        prop_assert_eq!(Totals::of(&rows).quality, quality(&rows));
    }

    #[test]
    fn every_record_with_tokens_is_priced_or_unpriced_or_uncosted(rows in rows()) {
        let sum = sum(&rows);
        let with_tokens = rows.iter().filter(|(row, _)| {
            row.replay_of.is_none() && row.record.report.has_tokens() && row.record.report.origin() != UsageOrigin::Cost
        });
        prop_assert_eq!(sum.priced + sum.unpriced + sum.uncosted, u64::try_from(with_tokens.count()).unwrap());
        prop_assert_eq!(sum.computed_cost_usd.is_some(), sum.priced > 0);
        prop_assert_eq!(sum.records + sum.replays >= sum.requests + sum.unlisted, true);
    }

    #[test]
    fn without_costs_a_sum_is_as_if_nobody_had_computed_any(rows in rows()) {
        let mut forgotten = sum(&rows);
        forgotten.forget_costs();
        let never: Vec<_> = rows.into_iter().map(|(row, _)| (row, ComputedCost::NotYet)).collect();
        prop_assert_eq!(forgotten, sum(&never));
    }

    #[test]
    fn a_record_that_takes_the_place_of_another_is_added_instead_of_it_or_nothing_changes(
        mut rows in rows(),
        old in any::<prop::sample::Index>(),
        (input, output) in (option::of(0_u64..5), prop_oneof![2 => option::of(0_u64..5), 1 => Just(Some(u64::MAX))]),
        (quality, turn) in (option::weighted(0.2, select(Quality::ALL)), option::weighted(0.2, 0_u128..4)),
    ) {
        rows.retain(|(row, _)| row.record.launch_id == launch(1));
        prop_assume!(!rows.is_empty());
        let place = old.index(rows.len());
        let (row, cost) = &mut rows[place];
        (row.replay_of, *cost) = (None, ComputedCost::NotYet);
        let old = row.record.clone();
        let before = sum(&rows);
        let mut replaced = before;
        let new = &mut rows[place].0.record;
        (new.report.input_tokens, new.report.output_tokens) = (input, output);
        new.report.quality = quality.unwrap_or(new.report.quality);
        new.turn_id = turn.map_or(new.turn_id, |turn| Some(TurnId::from_uuid(Uuid::from_u128(turn))));
        let is_done = replaced.replace(&old, new);
        prop_assert_eq!(replaced, if is_done { sum(&rows) } else { before });
    }

    #[test]
    fn what_a_sum_doubts_survives_json(rows in rows()) {
        let doubts = sum(&rows).doubts;
        let json = serde_json::to_string(&doubts).unwrap();
        prop_assert_eq!(serde_json::from_str::<Doubts>(&json).unwrap(), doubts, "{}", json);
    }
}

#[test]
fn a_doubt_outside_of_turns_is_covered_by_a_remainder_of_any_turn_or_none() {
    let quality = |rows: &[UsageRow]| {
        let mut sum = UsageSum::default();
        for row in rows {
            sum.add(row, ComputedCost::NotYet);
        }
        sum.quality()
    };
    let doubt = row("msg", None, Quality::LowerBound);
    assert_eq!(quality(&[]), None);
    assert_eq!(quality(slice::from_ref(&doubt)), Some(Quality::LowerBound));
    for turn in [None, Some(1)] {
        assert_eq!(quality(&[doubt.clone(), row("remainder:1:m", turn, Quality::Exact)]), Some(Quality::Exact));
    }
    let later = row("msg_2", Some(1), Quality::Unknown);
    assert_eq!(quality(&[later, row("remainder:1:m", None, Quality::Exact)]), Some(Quality::Unknown));
}

#[test]
fn figures_that_grow_take_the_place_of_the_old_ones() {
    let old = row("msg", Some(1), Quality::LowerBound);
    let other = row("msg_2", Some(1), Quality::Exact);
    let mut new = old.clone();
    new.record.report.output_tokens = Some(310);
    new.record.report.input_tokens = Some(7);
    let mut sum = UsageSum::default();
    for row in [&old, &other] {
        sum.add(row, ComputedCost::NotYet);
    }
    assert!(sum.replace(&old.record, &new.record));
    assert_eq!((sum.output_tokens, sum.input_tokens, sum.requests), (Some(311), Some(7), 2));
    // What else there is of the input is not known: it may be nothing.
    assert!(!sum.replace(&new.record, &old.record));
    assert_eq!(sum.input_tokens, Some(7));
    let mut full = new.clone();
    full.record.report.output_tokens = Some(u64::MAX);
    assert!(sum.replace(&new.record, &full.record));
    assert_eq!(sum.output_tokens, Some(u64::MAX));
    assert!(!sum.replace(&full.record, &new.record));
}

#[test]
fn only_tokens_have_a_price() {
    let mut free = row("msg", None, Quality::Exact);
    free.record.report.output_tokens = Some(0);
    let mut sum = UsageSum::default();
    for key in ["cost:1", "msg"] {
        let mut other = free.clone();
        other.record.report.key = String::from(key);
        sum.add(&other, ComputedCost::NoPrice);
    }
    assert_eq!((sum.records, sum.priced, sum.unpriced, sum.uncosted), (1, 0, 0, 0), "{sum:?}");
}
