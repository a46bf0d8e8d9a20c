use std::{string::ToString, vec, vec::Vec};

use trace_model::{usage::UsageReport, usage_sum::ComputedCost, words::Grain};

use super::{
    super::{
        UsageBy,
        tests::{Sample, dollars, request},
    },
    *,
};

fn sample() -> Sample {
    let haiku = UsageReport { model: Some("haiku".to_string()), ..request("b") };
    Sample::new().launch(1, |_, _| {}).used(1, request("a"), dollars(3)).used(1, haiku, dollars(5))
}

fn limits(max_cost: Option<u64>, max_tokens: Option<u64>) -> Limits {
    let max_cost_usd = max_cost.map(|dollars| NanoUsd::from_nanos(dollars * 1_000_000_000));
    Limits { max_cost_usd, max_tokens, allow_unpriced: false }
}

fn allowing(limits: Limits) -> Limits {
    Limits { allow_unpriced: true, ..limits }
}

#[test]
fn what_keeps_its_limits_is_no_finding() {
    let view = sample().view(UsageBy::Model);
    assert_eq!(view.check(limits(Some(8), Some(22))), []);
    assert_eq!(view.check(limits(None, None)), []);
}

#[test]
fn what_is_over_a_limit_is_named_with_the_rows_that_are_the_most_of_it() {
    let view = sample().view(UsageBy::Model);
    let money = |dollars: u64| NanoUsd::from_nanos(dollars * 1_000_000_000);
    let part = |key: &str, dollars| Part { key: Some(key.to_string()), amount: money(dollars) };
    let cost = Finding::Cost {
        cost_usd: money(8),
        cost_quality: Quality::Exact,
        max_cost_usd: money(7),
        most: vec![part("haiku", 5), part("opus", 3)],
    };
    let part = |key: &str| Part { key: Some(key.to_string()), amount: 11 };
    let tokens = Finding::Tokens {
        total_tokens: 22,
        quality: Quality::Exact,
        max_tokens: 21,
        most: vec![part("haiku"), part("opus")],
    };
    assert_eq!(view.check(limits(Some(7), Some(21))), [cost, tokens]);
}

#[test]
fn no_more_rows_are_named_than_one_can_read() {
    let used = |sample: Sample, number: u32| {
        let model = Some(number.to_string());
        sample.used(1, UsageReport { model: model.clone(), ..request(&number.to_string()) }, dollars(number.into()))
    };
    let view = (1..10).fold(Sample::new().launch(1, |_, _| {}), used).view(UsageBy::Model);
    let [Finding::Cost { most, .. }] = &view.check(limits(Some(1), None))[..] else { panic!("one finding") };
    let keys: Vec<_> = most.iter().filter_map(|part| part.key.as_deref()).collect();
    assert_eq!(keys, ["9", "8", "7", "6", "5"]);
}

#[test]
fn an_unknown_cost_is_a_finding_unless_it_is_passed_over() {
    let invented = UsageReport { model: Some("invented".to_string()), ..request("c") };
    let view = sample().used(1, invented, ComputedCost::NoPrice).view(UsageBy::Model);
    let unpriced = Finding::Unpriced { records: 1, models: vec![Some("invented".to_string())] };
    assert_eq!(view.check(limits(Some(8), None)), [unpriced]);
    assert_eq!(view.check(allowing(limits(Some(8), None))), []);
    // A limit of tokens does not ask what they cost.
    assert_eq!(view.check(limits(None, Some(33))), []);
    // What is known to cost is over the limit, whatever the rest costs.
    let [Finding::Cost { cost_quality, .. }] = view.check(allowing(limits(Some(7), None)))[..] else {
        panic!("one finding")
    };
    assert_eq!(cost_quality, Quality::LowerBound);
}

#[test]
fn usage_of_which_nothing_is_known_keeps_no_limit() {
    let unknown = UsageReport::new("c", Grain::Turn, Quality::Unknown);
    let view = sample().used(1, unknown, ComputedCost::NotYet).view(UsageBy::Model);
    let findings = [Finding::Unknown { limit: "max_cost" }, Finding::Unknown { limit: "max_tokens" }];
    assert_eq!(view.check(limits(Some(8), Some(22))), findings);
    assert_eq!(view.check(allowing(limits(Some(8), Some(22)))), []);
}

#[test]
fn a_turn_that_failed_without_a_figure_keeps_no_limit_alone() {
    let failed = || UsageReport::new("c", Grain::Turn, Quality::LowerBound);
    let alone = Sample::new().launch(1, |_, _| {}).used(1, failed(), ComputedCost::NotYet).view(UsageBy::Model);
    let findings = [Finding::Unknown { limit: "max_cost" }, Finding::Unknown { limit: "max_tokens" }];
    assert_eq!(alone.check(limits(Some(8), Some(22))), findings);
    // Beside others it is a part of a lower bound.
    let beside = sample().used(1, failed(), ComputedCost::NotYet).view(UsageBy::Model);
    assert_eq!(beside.check(limits(Some(8), Some(22))), []);
}

#[test]
fn no_usage_keeps_every_limit() {
    assert_eq!(Sample::new().view(UsageBy::Daily).check(limits(Some(0), Some(0))), []);
}
