use std::{string::ToString, vec::Vec};

use trace_model::{usage::UsageReport, usage_sum::ComputedCost};

use super::{
    super::{
        UsageBy, UsageView,
        tests::{Sample, at, dollars, keys, request},
    },
    *,
};

fn used_at(key: &str, time: &str) -> UsageReport {
    UsageReport { observed_at: Some(at(time)), ..request(key) }
}

fn sample(times: &[&str]) -> Sample {
    let used = |sample: Sample, time: &&str| sample.used(1, used_at(time, time), dollars(1));
    times.iter().fold(Sample::new().launch(1, |_, _| {}), used)
}

fn windows(view: &UsageView) -> Vec<Window> {
    view.rows.iter().filter_map(|row| row.subject.window).collect()
}

#[test]
fn a_window_begins_at_the_hour_and_the_next_one_with_the_next_request() {
    // 05:59 is of the first window, 06:00 begins the second one.
    let view = sample(&["01:20", "05:59", "06:00", "06:10"]).view(UsageBy::Blocks);
    assert_eq!(keys(&view), [Some("2026-11-30T01:00"), Some("2026-11-30T06:00")]);
    let [first, second] = windows(&view).try_into().unwrap();
    assert_eq!((first.starts_at, first.ends_at), (at("01:00"), at("06:00")));
    assert_eq!((second.starts_at, second.ends_at), (at("06:00"), at("11:00")));
    assert_eq!(view.rows.iter().map(|row| row.totals.requests).collect::<Vec<_>>(), [Some(2), Some(2)]);
    assert!(!first.is_running && !second.is_running);
    assert_eq!(first.left, None);
    assert_eq!((first.projected_total_tokens, first.projected_cost_usd), (None, None));
}

#[test]
fn the_rate_of_a_window_that_is_over_is_that_of_the_time_of_its_requests() {
    // From 01:15 to 02:15: four quarters of an hour.
    let [window] = windows(&sample(&["01:20", "02:10"]).view(UsageBy::Blocks)).try_into().unwrap();
    assert_eq!(window.tokens_per_hour, Some(22));
    assert_eq!(window.cost_usd_per_hour, Some(NanoUsd::from_nanos(2_000_000_000)));
    // One quarter alone.
    let [window] = windows(&sample(&["01:20"]).view(UsageBy::Blocks)).try_into().unwrap();
    assert_eq!(window.tokens_per_hour, Some(44));
}

#[test]
fn a_running_window_is_projected_to_its_end() {
    // It is 12:00: two hours of the window, which began at 10:00, are over, and three are left.
    let [window] = windows(&sample(&["10:00", "11:30"]).view(UsageBy::Blocks)).try_into().unwrap();
    assert!(window.is_running);
    assert_eq!(window.left, Some(Duration::from_hours(3)));
    assert_eq!(window.tokens_per_hour, Some(11));
    assert_eq!(window.projected_total_tokens, Some(22 + 33));
    assert_eq!(window.projected_cost_usd, Some(NanoUsd::from_nanos(5_000_000_000)));
}

#[test]
fn what_has_just_begun_is_not_projected_from_less_than_a_quarter_of_an_hour() {
    let [window] = windows(&sample(&["12:00"]).view(UsageBy::Blocks)).try_into().unwrap();
    assert!(window.is_running);
    assert_eq!(window.tokens_per_hour, Some(44));
    assert_eq!(window.projected_total_tokens, Some(11 + 5 * 44));
}

#[test]
fn an_unknown_cost_has_no_rate() {
    let view = Sample::new().launch(1, |_, _| {}).used(1, used_at("a", "11:00"), ComputedCost::NoPrice);
    let [window] = windows(&view.view(UsageBy::Blocks)).try_into().unwrap();
    assert_eq!((window.cost_usd_per_hour, window.projected_cost_usd), (None, None));
    assert_eq!(window.tokens_per_hour, Some(11));
}

#[test]
fn each_provider_has_windows_of_its_own() {
    let view = Sample::new()
        .launch(1, |_, _| {})
        .launch(2, |header, _| header.provider = Provider::Codex)
        .used(1, used_at("a", "01:00"), dollars(1))
        .used(2, used_at("b", "03:00"), dollars(1))
        .used(1, used_at("c", "05:00"), dollars(1))
        .view(UsageBy::Blocks);
    let found: Vec<_> = view.rows.iter().map(|row| (row.key.as_deref(), row.subject.provider.clone())).collect();
    let expected =
        [(Some("2026-11-30T01:00"), Some(Provider::Claude)), (Some("2026-11-30T03:00"), Some(Provider::Codex))];
    assert_eq!(found, expected);
}

#[test]
fn a_window_is_that_of_all_usage_whatever_is_wanted_of_it() {
    let other = UsageReport { model: Some("haiku".to_string()), ..used_at("a", "01:00") };
    let sample = sample(&["05:00", "06:30"]).used(1, other, dollars(1));
    let wanted = |cell: &UsageCell| cell.model.as_deref() == Some("opus");
    let view = sample.view_of(UsageBy::Blocks, false, &wanted);
    assert_eq!(keys(&view), [Some("2026-11-30T01:00"), Some("2026-11-30T06:00")]);
    assert_eq!(view.rows[0].totals.requests, Some(1));
    // A window of which nothing is wanted is none.
    let view = sample.view_of(UsageBy::Blocks, false, &|cell| cell.period.is_some_and(|period| period >= at("06:00")));
    assert_eq!(keys(&view), [Some("2026-11-30T06:00")]);
}

#[test]
fn what_has_no_time_is_in_no_window_and_is_told() {
    let sample = sample(&["10:00"]).used(1, UsageReport { observed_at: None, ..request("b") }, dollars(1));
    let view = sample.view(UsageBy::Blocks);
    assert_eq!(view.rows.len(), 1);
    assert_eq!(view.totals.requests, Some(2));
    assert_eq!(view.notes, ["1 record has no time, and is in no window"]);
    assert!(sample.view(UsageBy::Daily).notes.is_empty());
}
