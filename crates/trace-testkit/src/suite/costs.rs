//! What records cost by a version of the prices: kept beside them, and never shown for what they are no more.

use std::collections::BTreeMap;

use trace_model::{
    money::NanoUsd,
    query::LaunchQuery,
    rows::{BoundaryRows, LaunchChange, LaunchRows, UsageChange},
    usage::{UsageRecord, UsageReport, UsageRow},
    usage_query::{CostEntry, PriceVersion, UsageCell, UsageQuery},
    usage_sum::ComputedCost,
    words::{Grain, Quality},
};

use super::{Handle, Rows, apply_all};
use crate::samples::{self, usage_boundary, usage_record};

fn prices(n: u32) -> PriceVersion {
    PriceVersion(format!("prices {n}"))
}

/// Returns the entry of a record that costs that many nano-dollars.
fn costs(nanos: u64, record: &UsageRecord) -> CostEntry {
    CostEntry { record: record.clone(), cost: Some(NanoUsd::from_nanos(nanos)) }
}

/// Returns a record of no turn. Its request is its own.
fn record(n: u32, key: &str) -> UsageRecord {
    let mut record = usage_record(n, None, key);
    record.report.request_key = Some(format!("{n} {key}"));
    record
}

/// Opens the launches, each with the records `a` and `b`.
async fn begin(ledger: &Handle, launches: impl IntoIterator<Item = u32>) {
    for n in launches {
        let records = ["a", "b"].map(|key| record(n, key));
        apply_all(ledger, [samples::beginning(n), usage_boundary(n, records)]).await;
    }
}

/// What is known of the costs of a launch: their sum, and how many records are priced, unpriced and uncosted.
type Known = (Option<u64>, u64, u64, u64);

/// Returns what is known by the version, of each launch with usage.
async fn known(ledger: &Handle, version: Option<PriceVersion>) -> Vec<Known> {
    let cells = ledger.usage_cells(&UsageQuery { price_version: version, ..UsageQuery::default() }).await.unwrap();
    let known = |UsageCell { sum, .. }: &UsageCell| {
        (sum.computed_cost_usd.map(NanoUsd::as_nanos), sum.priced, sum.unpriced, sum.uncosted)
    };
    cells.iter().map(known).collect()
}

/// Returns the records without a cost by the version, by their launches' numbers and keys.
async fn uncosted(ledger: &Handle, version: &PriceVersion, limit: u32) -> Vec<(u32, String)> {
    let found = ledger.uncosted(version, limit).await.unwrap();
    let number = |record: &UsageRecord| (0..100).find(|n| samples::launch_id(*n) == record.launch_id).unwrap();
    found.iter().map(|record| (number(record), record.report.key.clone())).collect()
}

fn named(records: &[(u32, &str)]) -> Vec<(u32, String)> {
    records.iter().map(|(n, key)| (*n, String::from(*key))).collect()
}

/// A cost is known by the version that it was computed by, until another version's is saved of the same record.
pub async fn a_cost_is_known_by_the_version_of_its_prices(ledger: Handle) {
    begin(&ledger, [1, 2]).await;
    assert_eq!(known(&ledger, Some(prices(1))).await, [(None, 0, 0, 2); 2]);
    ledger.save_costs(&prices(1), &[costs(5, &record(1, "a")), costs(7, &record(1, "b"))]).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(12), 2, 0, 0), (None, 0, 0, 2)]);
    assert_eq!(known(&ledger, Some(prices(2))).await, [(None, 0, 0, 2); 2]);
    assert_eq!(known(&ledger, None).await, [(None, 0, 0, 2); 2]);
    // One of the other version takes the place of the first one's, and of nothing else.
    ledger.save_costs(&prices(2), &[costs(1, &record(1, "a")), costs(2, &record(2, "b"))]).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(7), 1, 0, 1), (None, 0, 0, 2)]);
    assert_eq!(known(&ledger, Some(prices(2))).await, [(Some(1), 1, 0, 1), (Some(2), 1, 0, 1)]);
    // A newer word of one version counts.
    ledger.save_costs(&prices(2), &[costs(3, &record(1, "a"))]).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(2))).await, [(Some(3), 1, 0, 1), (Some(2), 1, 0, 1)]);
}

/// That the prices do not know a model is a word too: it is no cost of zero, and nobody is asked again.
pub async fn a_model_without_a_price_is_neither_free_nor_uncosted(ledger: Handle) {
    begin(&ledger, [1]).await;
    let unknown = CostEntry { record: record(1, "a"), cost: None };
    ledger.save_costs(&prices(1), &[unknown, costs(0, &record(1, "b"))]).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(0), 1, 1, 0)]);
    assert_eq!(uncosted(&ledger, &prices(1), 9).await, []);
    assert_eq!(uncosted(&ledger, &prices(2), 9).await, named(&[(1, "a"), (1, "b")]));
}

/// A cost uses all of its 64 bits, and their sum stops at the largest number.
pub async fn costs_stop_at_the_largest_number(ledger: Handle) {
    begin(&ledger, [1]).await;
    for nanos in [1 << 63, u64::MAX] {
        ledger.save_costs(&prices(1), &[costs(nanos, &record(1, "a"))]).await.unwrap();
        assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(nanos), 1, 0, 1)]);
    }
    ledger.save_costs(&prices(1), &[costs(1, &record(1, "b"))]).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(u64::MAX), 2, 0, 0)]);
}

/// The cost of what a record was is not that of what it is: it is forgotten, even if the record is as it was again.
pub async fn a_cost_of_a_record_that_changed_is_forgotten(ledger: Handle) {
    type Change = fn(&mut UsageReport);
    let spoilers: [Change; 6] = [
        |report| report.output_tokens = Some(41),
        |report| report.cache_write_1h_tokens = None,
        |report| report.model = Some(String::from("claude-opus-4-7")),
        |report| report.observed_at = Some(samples::time(91)),
        |report| report.quality = Quality::LowerBound,
        |report| report.request_key = None,
    ];
    begin(&ledger, [1]).await;
    for spoil in spoilers {
        ledger.save_costs(&prices(1), &["a", "b"].map(|key| costs(5, &record(1, key)))).await.unwrap();
        assert_eq!(known(&ledger, Some(prices(1))).await.iter().map(|known| known.1).sum::<u64>(), 2);
        let mut changed = record(1, "a");
        spoil(&mut changed.report);
        ledger.apply(&usage_boundary(1, [changed])).await.unwrap();
        assert_eq!(uncosted(&ledger, &prices(1), 9).await, named(&[(1, "a")]));
        assert_eq!(known(&ledger, Some(prices(1))).await.iter().map(|known| known.1).sum::<u64>(), 1);
        ledger.apply(&usage_boundary(1, [record(1, "a")])).await.unwrap();
        assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(5), 1, 0, 1)]);
    }
    ledger.save_costs(&prices(1), &[costs(5, &record(1, "a"))]).await.unwrap();
    let deletion = BTreeMap::from([(String::from("a"), UsageChange::Deleted)]);
    ledger.apply(&BoundaryRows { usage: deletion, ..usage_boundary(1, []) }).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(5), 1, 0, 0)]);
    ledger.apply(&usage_boundary(1, [record(1, "a")])).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(5), 1, 0, 1)]);
}

/// A record that is saved or put in place as it was keeps its cost; one that is not does not.
pub async fn a_record_that_stays_as_it_was_keeps_its_cost(ledger: Handle) {
    begin(&ledger, [1, 2]).await;
    let all: Vec<CostEntry> = [1, 2].iter().flat_map(|n| ["a", "b"].map(|key| costs(5, &record(*n, key)))).collect();
    ledger.save_costs(&prices(1), &all).await.unwrap();
    ledger.apply(&usage_boundary(1, [record(1, "a")])).await.unwrap();
    let extended = BoundaryRows { launch: LaunchChange::Extended(samples::launch(1)), ..usage_boundary(1, []) };
    ledger.apply(&extended).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(10), 2, 0, 0); 2]);
    let mut rows = LaunchRows { launch: samples::launch(1), ..samples::whole_launch(1) };
    rows.usage = ["a", "b"].map(|key| (String::from(key), record(1, key))).into();
    for _ in 0..2 {
        ledger.replace_launch(&rows).await.unwrap();
        assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(10), 2, 0, 0); 2]);
    }
    // One changed, one is gone, and one is new.
    rows.usage.remove("a");
    rows.usage.insert(String::from("c"), record(1, "c"));
    rows.usage.get_mut("b").unwrap().report.output_tokens = Some(1);
    ledger.replace_launch(&rows).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(None, 0, 0, 2), (Some(10), 2, 0, 0)]);
    rows.usage = ["a", "b"].map(|key| (String::from(key), record(1, key))).into();
    ledger.replace_launch(&rows).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(None, 0, 0, 2), (Some(10), 2, 0, 0)]);
}

/// Who computed the cost of a record that somebody changed meanwhile saves nothing of it.
pub async fn a_cost_of_what_a_record_is_no_more_is_not_saved(ledger: Handle) {
    begin(&ledger, [1]).await;
    let seen = ledger.uncosted(&prices(1), 9).await.unwrap();
    let mut changed = record(1, "a");
    changed.report.output_tokens = Some(310);
    ledger.apply(&usage_boundary(1, [changed.clone()])).await.unwrap();
    let entries: Vec<CostEntry> = seen.iter().map(|record| costs(5, record)).collect();
    ledger.save_costs(&prices(1), &entries).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(5), 1, 0, 1)]);
    assert_eq!(ledger.uncosted(&prices(1), 9).await.unwrap(), [changed.clone()]);
    // Every value of it has to be the same, also those that are unknown.
    let spoilers: [fn(&mut UsageRecord); 4] = [
        |record| record.turn_id = Some(samples::turn_id(1, 1)),
        |record| record.report.context_tokens = None,
        |record| record.report.reported_cost_usd = None,
        |record| record.report.grain = Grain::Turn,
    ];
    for spoil in spoilers {
        let mut other = changed.clone();
        spoil(&mut other);
        ledger.save_costs(&prices(1), &[costs(9, &other)]).await.unwrap();
        assert_eq!(uncosted(&ledger, &prices(1), 9).await, named(&[(1, "a")]), "{other:?}");
    }
    ledger.save_costs(&prices(1), &[costs(9, &changed)]).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(14), 2, 0, 0)]);
}

/// A record that is not here is passed over, and has no cost when it comes; the others of the call are saved.
pub async fn costs_of_records_that_are_not_here_are_passed_over(ledger: Handle) {
    ledger.save_costs(&prices(1), &[]).await.unwrap();
    ledger.save_costs(&prices(1), &[costs(5, &record(1, "a"))]).await.unwrap();
    assert_eq!(ledger.launches(&LaunchQuery::default()).await.unwrap(), []);
    begin(&ledger, [1]).await;
    assert_eq!(known(&ledger, Some(prices(1))).await, [(None, 0, 0, 2)]);
    let entries = [costs(5, &record(1, "c")), costs(6, &record(1, "a")), costs(7, &record(2, "a"))];
    ledger.save_costs(&prices(1), &entries).await.unwrap();
    begin(&ledger, [2]).await;
    ledger.apply(&usage_boundary(1, [record(1, "c")])).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(6), 1, 0, 2), (None, 0, 0, 2)]);
}

/// Records with tokens come once, by launch and key, up to the limit, until their cost is known.
pub async fn what_has_no_cost_comes_by_launch_and_key_up_to_the_limit(ledger: Handle) {
    begin(&ledger, [2, 1]).await;
    let with = |key, change: fn(&mut UsageReport)| {
        let report = UsageReport { request_key: None, ..UsageReport::new(key, Grain::Turn, Quality::Exact) };
        let mut record = UsageRecord { launch_id: samples::launch_id(1), turn_id: None, report };
        change(&mut record.report);
        record
    };
    let records = [
        with("unknown", |_| {}),
        with("none", |report| (report.input_tokens, report.output_tokens) = (Some(0), Some(0))),
        with("cost:1", |report| report.reported_cost_usd = Some(NanoUsd::from_nanos(5))),
        with("reasoning", |report| report.reasoning_tokens = Some(5)),
        with("é", |report| report.output_tokens = Some(1 << 63)),
        with("B", |report| report.cache_read_tokens = Some(1)),
        with("C", |report| report.cache_write_tokens = Some(u64::MAX)),
        with("D", |report| report.input_tokens = Some(1)),
    ];
    ledger.apply(&usage_boundary(1, records)).await.unwrap();
    // A replay may come to count.
    let mut replay = record(2, "replay");
    replay.report.request_key = record(1, "a").report.request_key;
    ledger.apply(&usage_boundary(2, [replay])).await.unwrap();
    let all = named(&[(1, "B"), (1, "C"), (1, "D"), (1, "a"), (1, "b"), (1, "é"), (2, "a"), (2, "b"), (2, "replay")]);
    for limit in [0, 1, 5, 8, 9, 10, u32::MAX] {
        let up_to = all.len().min(usize::try_from(limit).unwrap());
        assert_eq!(uncosted(&ledger, &prices(1), limit).await, all[..up_to], "{limit}");
    }
    // Piece by piece, each one comes once.
    let mut seen = Vec::new();
    loop {
        let records = ledger.uncosted(&prices(1), 4).await.unwrap();
        if records.is_empty() {
            break;
        }
        seen.extend(uncosted(&ledger, &prices(1), 4).await);
        let entries: Vec<CostEntry> = records.iter().map(|record| costs(5, record)).collect();
        ledger.save_costs(&prices(1), &entries).await.unwrap();
    }
    assert_eq!(seen, all);
    assert_eq!(uncosted(&ledger, &prices(2), u32::MAX).await, all);
}

/// Records are told apart however long their keys are, and whatever is in these.
pub async fn costs_of_records_with_odd_keys_are_kept_apart(ledger: Handle) {
    let long = "é".repeat(400);
    let keys = [String::new(), String::from("a\0"), String::from("a\0b"), format!("{long}1"), format!("{long}2"), long];
    ledger.apply(&samples::beginning(1)).await.unwrap();
    ledger.apply(&usage_boundary(1, keys.iter().map(|key| record(1, key)))).await.unwrap();
    let mut uncosted: Vec<(u32, String)> = keys.iter().map(|key| (1, key.clone())).collect();
    uncosted.sort();
    assert_eq!(self::uncosted(&ledger, &prices(1), 9).await, uncosted);
    for (key, done) in keys.iter().zip(1..) {
        ledger.save_costs(&prices(1), &[costs(done, &record(1, key))]).await.unwrap();
        uncosted.retain(|(_, other)| other != key);
        assert_eq!(self::uncosted(&ledger, &prices(1), 9).await, uncosted);
        let total = done * (done + 1) / 2;
        assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(total), done, 0, 6 - done)]);
    }
    let deletion = BTreeMap::from([(format!("{}1", keys[5]), UsageChange::Deleted)]);
    ledger.apply(&BoundaryRows { usage: deletion, ..usage_boundary(1, []) }).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(17), 5, 0, 0)]);
}

/// A replay costs nothing; its cost is there when it comes to count.
pub async fn the_cost_of_a_replay_counts_when_the_replay_does(ledger: Handle) {
    begin(&ledger, [1, 2]).await;
    let mut replay = record(2, "a");
    replay.report.request_key = record(1, "a").report.request_key;
    ledger.apply(&usage_boundary(2, [replay.clone()])).await.unwrap();
    let entries = [costs(1, &record(1, "a")), costs(20, &record(1, "b")), costs(300, &replay)];
    ledger.save_costs(&prices(1), &entries).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(21), 2, 0, 0), (None, 0, 0, 1)]);
    let deletion = BTreeMap::from([(String::from("a"), UsageChange::Deleted)]);
    ledger.apply(&BoundaryRows { usage: deletion, ..usage_boundary(1, []) }).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(20), 1, 0, 0), (Some(300), 1, 0, 1)]);
    ledger.apply(&usage_boundary(1, [record(1, "a")])).await.unwrap();
    assert_eq!(known(&ledger, Some(prices(1))).await, [(Some(20), 1, 0, 1), (None, 0, 0, 1)]);
}

/// Costs are no rows: whoever compares the rows of two ledgers sees none of them.
pub async fn costs_are_in_no_row(ledger: Handle) {
    begin(&ledger, [1]).await;
    let before = Rows::of(&ledger, samples::launch_id(1)).await;
    ledger.save_costs(&prices(1), &[costs(5, &record(1, "a"))]).await.unwrap();
    assert_eq!(Rows::of(&ledger, samples::launch_id(1)).await, before);
    assert_eq!(ledger.uncosted(&prices(1), 9).await.unwrap(), [record(1, "b")]);
}

/// See [`check_usage_that_is_there`](super::check_usage_that_is_there).
pub(super) async fn what_is_there_adds_up_and_takes_costs(ledger: &Handle) {
    let version = PriceVersion(String::from("prices of nobody else"));
    let launches = ledger.launches(&LaunchQuery::default()).await.unwrap();
    let mut rows = Vec::new();
    for launch in &launches {
        rows.push((launch, ledger.usage(launch.header.id).await.unwrap()));
    }
    let with_costs = |cost: fn(&UsageRow) -> ComputedCost| {
        let costed = |rows: &Vec<UsageRow>| rows.iter().map(|row| (row.clone(), cost(row))).collect();
        UsageQuery::default().cells(rows.iter().map(|(launch, rows)| (*launch, costed(rows))))
    };
    let before = with_costs(|_| ComputedCost::NotYet);
    assert!(!before.is_empty(), "there is no usage");
    let query = UsageQuery { price_version: Some(version.clone()), ..UsageQuery::default() };
    assert_eq!(ledger.usage_cells(&query).await.unwrap(), before);
    let uncosted = ledger.uncosted(&version, u32::MAX).await.unwrap();
    let mut with_tokens: Vec<&UsageRecord> = rows.iter().flat_map(|(_, rows)| rows).map(|row| &row.record).collect();
    with_tokens.retain(|record| record.report.has_tokens());
    with_tokens.sort_by_key(|record| (record.launch_id, &record.report.key));
    assert_eq!(uncosted.iter().collect::<Vec<_>>(), with_tokens);
    let entries: Vec<CostEntry> = uncosted.iter().map(|record| costs(3, record)).collect();
    ledger.save_costs(&version, &entries).await.unwrap();
    let after = with_costs(|_| ComputedCost::Priced(NanoUsd::from_nanos(3)));
    assert_eq!(ledger.usage_cells(&query).await.unwrap(), after);
    assert_eq!(ledger.uncosted(&version, u32::MAX).await.unwrap(), []);
}
