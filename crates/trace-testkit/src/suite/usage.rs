//! Usage records: saved, replaced, deleted, marked as replays, and summed up for their turns.

use std::collections::BTreeMap;

use trace_model::{
    Entity,
    id::LaunchId,
    ledger::LedgerError,
    money::NanoUsd,
    rows::{BoundaryRows, LaunchRows, UsageChange},
    timestamp::Timestamp,
    turn::{TurnRow, TurnUsage},
    usage::{Agent, UsageRecord, UsageReport},
    words::{Grain, Quality},
};

use super::{Handle, apply_all, assert_refused};
use crate::samples::{self, usage_boundary, usage_record};

/// Returns a record of a request, as seen at a time.
fn seen(n: u32, key: &str, request: &str, at: Option<Timestamp>) -> UsageRecord {
    let mut record = usage_record(n, Some(1), key);
    record.report.request_key = Some(String::from(request));
    record.report.observed_at = at;
    record
}

/// Returns the records of the launch, each by its key with what it is a replay of.
async fn replays(ledger: &Handle, n: u32) -> Vec<(String, Option<LaunchId>)> {
    let rows = ledger.usage(samples::launch_id(n)).await.unwrap();
    rows.into_iter().map(|row| (row.record.report.key, row.replay_of)).collect()
}

fn marked(rows: &[(&str, Option<u32>)]) -> Vec<(String, Option<LaunchId>)> {
    rows.iter().map(|(key, of)| (String::from(*key), of.map(samples::launch_id))).collect()
}

/// Every value of a record comes back, unknown ones as unknown, by ascending key.
pub async fn records_come_back_by_key(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let bare = |key, grain, quality| UsageRecord {
        launch_id: samples::launch_id(1),
        turn_id: None,
        report: UsageReport { agent: Agent::Sub(String::from("sub-1")), ..UsageReport::new(key, grain, quality) },
    };
    let mut records = Vec::from([
        bare("é", Grain::Session, Quality::Unknown),
        bare("B", Grain::Turn, Quality::LowerBound),
        usage_record(1, Some(1), "a:1"),
        usage_record(1, None, "a"),
        bare("\u{10000}", Grain::Request, Quality::Exact),
        bare("\u{ffff}", Grain::Request, Quality::Exact),
        bare("", Grain::Request, Quality::Exact),
    ]);
    ledger.apply(&usage_boundary(1, records.clone())).await.unwrap();
    records.sort_by(|a, b| a.report.key.cmp(&b.report.key));
    let found = ledger.usage(samples::launch_id(1)).await.unwrap();
    assert_eq!(found.into_iter().map(|row| row.record).collect::<Vec<_>>(), records);
}

/// A saved record replaces the one of its key as a whole, and may change its turn.
pub async fn a_saved_record_stands_instead_of_one_of_its_key(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    ledger.apply(&usage_boundary(1, [usage_record(1, Some(1), "a"), usage_record(1, None, "b")])).await.unwrap();
    let mut new = usage_record(1, None, "a");
    new.report = UsageReport { output_tokens: Some(1), ..UsageReport::new("a", Grain::Turn, Quality::LowerBound) };
    ledger.apply(&usage_boundary(1, [new.clone()])).await.unwrap();
    let found: Vec<_> = ledger.usage(samples::launch_id(1)).await.unwrap().into_iter().map(|row| row.record).collect();
    assert_eq!(found, [new, usage_record(1, None, "b")]);
}

/// Deleting a key that is not there, or no longer there, is fine; other launches keep theirs.
pub async fn a_deleted_record_is_gone_and_may_be_deleted_again(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    for n in [1, 2] {
        ledger.apply(&usage_boundary(n, [usage_record(n, None, "a"), usage_record(n, None, "b")])).await.unwrap();
    }
    let deletion = BoundaryRows {
        usage: BTreeMap::from(["a", "never"].map(|key| (String::from(key), UsageChange::Deleted))),
        ..usage_boundary(1, [])
    };
    for _ in 0..2 {
        ledger.apply(&deletion).await.unwrap();
        let keys = |rows: Vec<(String, _)>| rows.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(keys(replays(&ledger, 1).await), ["b"]);
        assert_eq!(keys(replays(&ledger, 2).await), ["a", "b"]);
    }
}

/// A record may name no turn, or one of its own launch; no other.
pub async fn a_record_of_a_turn_that_is_not_here_is_not_found(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    let missing = usage_record(1, Some(2), "a");
    assert_refused(
        ledger.apply(&usage_boundary(1, [missing])).await,
        &LedgerError::not_found(Entity::Turn, samples::turn_id(1, 2)),
    );
    let of_another = UsageRecord { turn_id: Some(samples::turn_id(2, 1)), ..usage_record(1, None, "a") };
    assert_refused(
        ledger.apply(&usage_boundary(1, [of_another])).await,
        &LedgerError::not_found(Entity::Turn, samples::turn_id(2, 1)),
    );
    assert_eq!(ledger.usage(samples::launch_id(1)).await.unwrap(), []);
    let opened_beside = BoundaryRows {
        turns_opened: vec![samples::turn_rows(samples::turn(1, 2), 0)],
        ..usage_boundary(1, [usage_record(1, Some(2), "a")])
    };
    ledger.apply(&opened_beside).await.unwrap();
}

/// A provider may state any number: none is refused or changed.
pub async fn numbers_may_use_all_of_their_64_bits(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    for number in [0, 1, (1 << 63) - 1, 1 << 63, u64::MAX] {
        let mut record = usage_record(1, Some(1), "a");
        record.report.output_tokens = Some(number);
        record.report.reported_cost_usd = Some(NanoUsd::from_nanos(number));
        ledger.apply(&usage_boundary(1, [record.clone()])).await.unwrap();
        assert_eq!(ledger.usage(record.launch_id).await.unwrap()[0].record, record);
    }
}

/// Of the records of one request, over all launches, the one that was seen first counts.
pub async fn the_earliest_record_of_a_request_counts(ledger: Handle) {
    apply_all(&ledger, [1, 2, 3].map(samples::beginning)).await;
    for (n, at) in [(1, 20), (2, 10), (3, 30)] {
        let other = seen(n, "b", &format!("own request of {n}"), Some(samples::time(5)));
        let shared = seen(n, "a", "request", Some(samples::time(at)));
        ledger.apply(&usage_boundary(n, [shared, other])).await.unwrap();
    }
    assert_eq!(replays(&ledger, 1).await, marked(&[("a", Some(2)), ("b", None)]));
    assert_eq!(replays(&ledger, 2).await, marked(&[("a", None), ("b", None)]));
    assert_eq!(replays(&ledger, 3).await, marked(&[("a", Some(2)), ("b", None)]));
}

/// Where times are equal, the smaller launch id counts, and within one launch the smaller key.
pub async fn records_of_one_time_count_by_launch_and_then_key(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    let at = Some(samples::time(10));
    let records = |n| ["é", "b", "a:1"].map(|key| seen(n, key, "request", at));
    for n in [2, 1] {
        ledger.apply(&usage_boundary(n, records(n))).await.unwrap();
    }
    assert_eq!(replays(&ledger, 1).await, marked(&[("a:1", None), ("b", Some(1)), ("é", Some(1))]));
    assert_eq!(replays(&ledger, 2).await, marked(&[("a:1", Some(1)), ("b", Some(1)), ("é", Some(1))]));
}

/// A record without a time comes after all that have one, even after those before 1970.
pub async fn a_record_without_a_time_comes_last(ledger: Handle) {
    apply_all(&ledger, [1, 2, 3].map(samples::beginning)).await;
    ledger.apply(&usage_boundary(1, [seen(1, "a", "request", None)])).await.unwrap();
    ledger.apply(&usage_boundary(2, [seen(2, "a", "request", None)])).await.unwrap();
    assert_eq!(replays(&ledger, 1).await, marked(&[("a", None)]));
    assert_eq!(replays(&ledger, 2).await, marked(&[("a", Some(1))]));
    for (micros, of_first) in [(1, 3), (-1, 3)] {
        ledger.apply(&usage_boundary(3, [seen(3, "a", "request", Timestamp::from_micros(micros))])).await.unwrap();
        assert_eq!(replays(&ledger, 1).await, marked(&[("a", Some(of_first))]));
        assert_eq!(replays(&ledger, 3).await, marked(&[("a", None)]));
    }
}

/// Records whose request has no name have nothing in common.
pub async fn records_without_a_request_are_no_replays(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    for n in [1, 2] {
        let mut record = usage_record(n, None, "a");
        record.report.request_key = None;
        ledger.apply(&usage_boundary(n, [record])).await.unwrap();
        assert_eq!(replays(&ledger, n).await, marked(&[("a", None)]));
    }
}

/// Nothing about replays is stored: what counts is decided among the records that are here now.
pub async fn replays_change_when_another_launch_changes(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    ledger.apply(&usage_boundary(1, [seen(1, "a", "request", Some(samples::time(10)))])).await.unwrap();
    ledger.apply(&usage_boundary(2, [seen(2, "a", "request", Some(samples::time(20)))])).await.unwrap();
    assert_eq!(replays(&ledger, 2).await, marked(&[("a", Some(1))]));
    // The senior record becomes one of another request …
    ledger.apply(&usage_boundary(1, [seen(1, "a", "another request", Some(samples::time(10)))])).await.unwrap();
    assert_eq!(replays(&ledger, 2).await, marked(&[("a", None)]));
    // … comes back, is deleted …
    ledger.apply(&usage_boundary(1, [seen(1, "a", "request", Some(samples::time(10)))])).await.unwrap();
    assert_eq!(replays(&ledger, 2).await, marked(&[("a", Some(1))]));
    let deletion = BTreeMap::from([(String::from("a"), UsageChange::Deleted)]);
    ledger.apply(&BoundaryRows { usage: deletion, ..usage_boundary(1, []) }).await.unwrap();
    assert_eq!(replays(&ledger, 2).await, marked(&[("a", None)]));
    // … and a whole launch is put before it.
    let mut whole = samples::whole_launch(3);
    let senior = seen(3, "a", "request", Some(samples::time(1)));
    whole.usage.insert(senior.report.key.clone(), senior);
    ledger.replace_launch(&whole).await.unwrap();
    assert_eq!(replays(&ledger, 2).await, marked(&[("a", Some(3))]));
    whole.usage.clear();
    ledger.replace_launch(&whole).await.unwrap();
    assert_eq!(replays(&ledger, 2).await, marked(&[("a", None)]));
}

/// The replays of each launch are counted, wherever the record that counts is; a launch without any is left out.
pub async fn replays_are_counted_by_launch(ledger: Handle) {
    assert_eq!(ledger.replays().await.unwrap(), BTreeMap::new());
    apply_all(&ledger, [1, 2, 3].map(samples::beginning)).await;
    let at = |seconds| Some(samples::time(seconds));
    ledger.apply(&usage_boundary(1, [seen(1, "a", "one", at(1)), seen(1, "b", "two", at(9))])).await.unwrap();
    assert_eq!(ledger.replays().await.unwrap(), BTreeMap::new());
    let second = [seen(2, "a", "one", at(2)), seen(2, "b", "one", at(3)), seen(2, "c", "two", None)];
    ledger.apply(&usage_boundary(2, second)).await.unwrap();
    let counted = |counts: &[(u32, u64)]| -> BTreeMap<LaunchId, u64> {
        counts.iter().map(|(n, count)| (samples::launch_id(*n), *count)).collect()
    };
    assert_eq!(ledger.replays().await.unwrap(), counted(&[(2, 3)]));
    ledger.apply(&usage_boundary(3, [seen(3, "a", "two", at(4)), seen(3, "b", "three", at(5))])).await.unwrap();
    assert_eq!(ledger.replays().await.unwrap(), counted(&[(1, 1), (2, 3)]));
    let rows = LaunchRows { launch: samples::launch(3), usage: BTreeMap::new(), ..samples::whole_launch(3) };
    ledger.replace_launch(&rows).await.unwrap();
    assert_eq!(ledger.replays().await.unwrap(), counted(&[(2, 3)]));
}

/// What a turn says of its usage is [`TurnUsage::of`] its own records: replays count for nothing.
pub async fn a_turn_says_what_its_records_say(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    let second =
        BoundaryRows { turns_opened: vec![samples::turn_rows(samples::turn(2, 2), 0)], ..usage_boundary(2, []) };
    ledger.apply(&second).await.unwrap();
    let senior = seen(1, "a", "request", Some(samples::time(1)));
    ledger.apply(&usage_boundary(1, [senior])).await.unwrap();
    let records = [
        seen(2, "replay", "request", Some(samples::time(2))),
        usage_record(2, Some(1), "b"),
        usage_record(2, Some(1), "c"),
        usage_record(2, Some(2), "d"),
        usage_record(2, None, "of no turn"),
    ];
    ledger.apply(&usage_boundary(2, records)).await.unwrap();
    let rows = ledger.turns(samples::launch_id(2)).await.unwrap();
    let [first, second]: &[TurnRow; 2] = rows.as_slice().try_into().unwrap();
    let expected = TurnUsage {
        provider_input_tokens: Some(200),
        provider_total_input_tokens: Some(4_800),
        peak_input_tokens: Some(2_400),
        context_window_tokens: Some(200_000),
        provider_output_tokens: Some(80),
        reasoning_tokens: Some(16),
        cache_read_tokens: Some(4_000),
        cache_write_tokens: Some(600),
        cost_usd: Some(NanoUsd::from_nanos(24_691_356)),
    };
    assert_eq!(first.usage, expected);
    assert_eq!((second.usage.provider_output_tokens, second.usage.cache_write_tokens), (Some(40), Some(300)));
}

/// A turn without records, or with replays only, has unknown numbers and not zeros.
pub async fn a_turn_without_records_knows_nothing(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    ledger.apply(&usage_boundary(1, [seen(1, "a", "request", Some(samples::time(1)))])).await.unwrap();
    assert_eq!(ledger.turns(samples::launch_id(2)).await.unwrap()[0].usage, TurnUsage::of(&[]));
    ledger.apply(&usage_boundary(2, [seen(2, "a", "request", Some(samples::time(2)))])).await.unwrap();
    assert_eq!(ledger.turns(samples::launch_id(2)).await.unwrap()[0].usage, TurnUsage::of(&[]));
}
