//! Which cells hold which records.

use proptest::{collection::vec as some, option, prelude::*, sample::select};
use uuid::Uuid;

use super::*;
use crate::{
    id::TurnId,
    totals::Totals,
    usage::{UsageRecord, UsageReport},
    words::{Grain, Quality},
};

/// 1 October 2026, 09:00:00 UTC.
const NINE: i64 = 1_790_845_200_000_000;

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap()
}

#[test]
fn a_period_begins_at_a_quarter_of_an_hour_before_and_after_1970() {
    for (micros, begins) in [
        (NINE, NINE),
        (NINE + PERIOD_MICROS - 1, NINE),
        (NINE + PERIOD_MICROS, NINE + PERIOD_MICROS),
        (NINE - 1, NINE - PERIOD_MICROS),
        (0, 0),
        (-1, -PERIOD_MICROS),
        (-PERIOD_MICROS, -PERIOD_MICROS),
    ] {
        assert_eq!(period_of(at(micros)), at(begins), "{micros}");
    }
}

#[test]
fn the_bounds_want_whole_quarters_of_an_hour() {
    let query = UsageQuery {
        observed_from: Some(at(NINE + 1)),
        observed_before: Some(at(NINE + 2 * PERIOD_MICROS)),
        ..UsageQuery::default()
    };
    let wants =
        |query: &UsageQuery, quarters: i64| query.allows(Some(at(NINE + quarters * PERIOD_MICROS)), None, &Agent::Main);
    let wanted = |query: &UsageQuery| (-1..4).map(|quarters| wants(query, quarters)).collect::<Vec<_>>();
    assert_eq!(wanted(&query), [false, true, true, false, false]);
    let longer = UsageQuery { observed_before: Some(at(NINE + 2 * PERIOD_MICROS + 1)), ..query.clone() };
    assert_eq!(wanted(&longer), [false, true, true, true, false]);
    // What has no time is in no span of time, and in all of it.
    assert!(!query.allows(None, None, &Agent::Main));
    assert!(UsageQuery::default().allows(None, None, &Agent::Main));
}

#[test]
fn a_set_of_models_or_agents_allows_those_alone() {
    let sub = Agent::Sub(String::from("agent-7"));
    let of = |models: &[&str], agents: &[&Agent]| UsageQuery {
        models: models.iter().map(|model| String::from(*model)).collect(),
        agents: agents.iter().map(|agent| (*agent).clone()).collect(),
        ..UsageQuery::default()
    };
    for (query, model, agent, allowed) in [
        (of(&["a"], &[]), Some("a"), &sub, true),
        (of(&["a"], &[]), Some("A"), &sub, false),
        (of(&["a"], &[]), None, &sub, false),
        (of(&[], &[&sub]), None, &sub, true),
        (of(&[], &[&sub]), None, &Agent::Main, false),
        (of(&["a", "b"], &[&sub, &Agent::Main]), Some("b"), &Agent::Main, true),
    ] {
        assert_eq!(query.allows(None, model, agent), allowed, "{query:?} {model:?} {agent:?}");
    }
}

/// Rows of three launches, of which some share a cell, with what each costs.
fn rows() -> impl Strategy<Value = Vec<(UsageRow, ComputedCost)>> {
    let keys = select(["msg", "event:1", "turn:1", "cost:1", "remainder:1:m"].as_slice());
    let place = (0_u128..3, option::of(0_u128..3), option::of(0_i64..3), option::of(0..2), 0..2);
    let figures = (option::of(0_u64..5), prop_oneof![3 => 0_u64..5, 1 => Just(u64::MAX)], option::of(0_u64..9));
    let words = (select(Grain::ALL), select(Quality::ALL), prop::bool::weighted(0.2));
    let cost = prop_oneof![
        Just(ComputedCost::NotYet),
        Just(ComputedCost::NoPrice),
        (0_u64..9).prop_map(|nanos| ComputedCost::Priced(NanoUsd::from_nanos(nanos))),
    ];
    let row = (keys, place, figures, words, cost).prop_map(
        |(key, (launch, turn, quarter, model, agent), (input, output, money), (grain, quality, is_replay), cost)| {
            let report = UsageReport {
                agent: if agent == 0 { Agent::Main } else { Agent::Sub(String::from("sub")) },
                model: model.map(|model| String::from(if model == 0 { "a" } else { "b" })),
                observed_at: quarter.map(|quarter| at(NINE + quarter * PERIOD_MICROS)),
                input_tokens: input,
                output_tokens: Some(output),
                reported_cost_usd: money.map(NanoUsd::from_nanos),
                ..UsageReport::new(key, grain, quality)
            };
            let turn_id = turn.map(|turn| TurnId::from_uuid(Uuid::from_u128(turn)));
            let record = UsageRecord { launch_id: LaunchId::from_uuid(Uuid::from_u128(launch)), turn_id, report };
            (UsageRow { replay_of: is_replay.then_some(record.launch_id), record }, cost)
        },
    );
    some(row, 0..40)
}

/// Some cells, and the records in them.
type Group = (Vec<(Place, UsageSum)>, Vec<UsageRow>);

fn total(cells: &[(Place, UsageSum)]) -> Totals {
    Totals::of_sums(cells.iter().map(|(place, sum)| (place.0, sum)))
}

proptest! {
    #[test]
    fn cells_add_up_to_the_totals_of_their_records_however_they_are_grouped(
        rows in rows(),
        groups in some(0_usize..4, 120),
    ) {
        let mut by_group: BTreeMap<usize, Group> = BTreeMap::new();
        let cells = UsageQuery::default().add_up(rows.clone());
        for ((place, sum), group) in cells.into_iter().zip(groups) {
            let of_cell = rows.iter().filter(|(row, _)| UsageQuery::default().place_of(row).0 == place);
            let (cells, records) = by_group.entry(group).or_default();
            records.extend(of_cell.map(|(row, _)| row.clone()));
            cells.push((place, sum));
        }
        let (mut all_cells, mut all_records) = (Vec::new(), Vec::new());
        for (mut cells, mut records) in by_group.into_values() {
            prop_assert_eq!(total(&cells), Totals::of(&records));
            cells.reverse();
            prop_assert_eq!(total(&cells), Totals::of(&records));
            all_cells.append(&mut cells);
            all_records.append(&mut records);
        }
        prop_assert_eq!(all_records.len(), rows.len());
        prop_assert_eq!(total(&all_cells), Totals::of(&all_records));
    }

    #[test]
    fn a_filter_leaves_whole_cells_out_and_changes_none(
        rows in rows(),
        model in option::of(select(["a", "b", "c"].as_slice())),
        bounds in (option::of(0_i64..4), option::of(0_i64..4)),
    ) {
        let bound = |quarter: Option<i64>, micros| quarter.map(|quarter| at(NINE + quarter * PERIOD_MICROS + micros));
        let query = UsageQuery {
            models: model.into_iter().map(String::from).collect(),
            observed_from: bound(bounds.0, 7),
            observed_before: bound(bounds.1, 0),
            ..UsageQuery::default()
        };
        let mut expected = UsageQuery::default().add_up(rows.clone());
        expected.retain(|(_, period, model, agent), _| query.allows(*period, model.as_deref(), agent));
        prop_assert_eq!(query.add_up(rows), expected);
    }
}
