//! Which cells hold which records.

use alloc::vec;

use super::*;

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
    for (query, model, agent, allowed) in vec![
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
