//! What usage adds up to and costs, beside others that write.

use std::{path::Path, thread, time::Duration};

use pollster::block_on;
use rusqlite::Connection;
use trace_model::{
    ledger::Ledger,
    money::NanoUsd,
    usage::UsageRecord,
    usage_query::{CostEntry, PriceVersion, UsageQuery},
};
use trace_store_sqlite::{SqliteLedger, SqliteOptions, WriteAhead};
use trace_testkit::samples;

fn prices() -> PriceVersion {
    PriceVersion(String::from("prices 1"))
}

fn with_prices() -> UsageQuery {
    UsageQuery { price_version: Some(prices()), ..UsageQuery::default() }
}

/// Returns a record of a request of its own, which used that many tokens of output.
fn spent(launch: u32, key: &str, output: u64) -> UsageRecord {
    let mut record = samples::usage_record(launch, Some(1), key);
    record.report.request_key = Some(format!("{launch} {key}"));
    record.report.output_tokens = Some(output);
    record
}

fn kept_rollups(connection: &Connection) -> i64 {
    connection.query_row("SELECT count(*) FROM usage_rollups", (), |row| row.get(0)).unwrap()
}

#[test]
fn who_asks_waits_for_no_writer_and_keeps_what_it_added_up_another_time() {
    for write_ahead in [WriteAhead::WhereItWorks, WriteAhead::Never] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let options = SqliteOptions { patience: Duration::ZERO, write_ahead };
        let ledger = SqliteLedger::open_with(&path, options).unwrap();
        block_on(ledger.apply(&samples::beginning(1))).unwrap();
        block_on(ledger.apply(&samples::usage_boundary(1, [spent(1, "a", 5)]))).unwrap();
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("BEGIN IMMEDIATE; UPDATE usage_records SET output_tokens = 7").unwrap();
        for _ in 0..2 {
            let cells = block_on(ledger.usage_cells(&with_prices())).unwrap();
            assert_eq!((cells.len(), cells[0].sum.output_tokens), (1, Some(5)));
            assert_eq!(block_on(ledger.uncosted(&prices(), 9)).unwrap(), [spent(1, "a", 5)]);
        }
        writer.execute_batch("ROLLBACK").unwrap();
        assert_eq!(kept_rollups(&writer), 0);
        block_on(ledger.usage_cells(&with_prices())).unwrap();
        assert_eq!(kept_rollups(&writer), 1);
    }
}

#[test]
fn a_session_that_goes_on_is_not_added_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = SqliteLedger::open(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
    block_on(ledger.apply(&samples::usage_boundary(1, [spent(1, "a", 5)]))).unwrap();
    block_on(ledger.usage_cells(&with_prices())).unwrap();
    for (record, total) in [(spent(1, "b", 6), 11), (spent(1, "b", 8), 13), (spent(1, "c", 1), 14)] {
        block_on(ledger.apply(&samples::usage_boundary(1, [record]))).unwrap();
        assert_eq!(kept_rollups(&other), 1);
        assert_eq!(block_on(ledger.usage_cells(&with_prices())).unwrap()[0].sum.output_tokens, Some(total));
    }
    // A copy of a request in another session is told to both.
    let mut copy = spent(2, "copy", 1);
    copy.report.request_key = spent(1, "c", 1).report.request_key;
    block_on(ledger.apply(&samples::beginning(2))).unwrap();
    block_on(ledger.apply(&samples::usage_boundary(2, [copy]))).unwrap();
    assert_eq!(kept_rollups(&other), 0);
}

/// Opens the ledger on a thread of its own for each launch, and writes records in pairs; the second one of a pair is
/// written again with more tokens.
fn write_pairs(path: &Path, launch: u32, pairs: u32) {
    let ledger = SqliteLedger::open(path).unwrap();
    block_on(ledger.apply(&samples::beginning(launch))).unwrap();
    for pair in 0..pairs {
        let (one, other) = (format!("{pair} one"), format!("{pair} other"));
        let both = [spent(launch, &one, 10), spent(launch, &other, 10)];
        block_on(ledger.apply(&samples::usage_boundary(launch, both))).unwrap();
        let more = [spent(launch, &one, 15), spent(launch, &other, 5)];
        block_on(ledger.apply(&samples::usage_boundary(launch, more))).unwrap();
    }
}

#[test]
fn what_adds_up_beside_writers_is_one_state_of_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let (launches, pairs) = (3, 60);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..launches)
            .map(|launch| {
                let path = &path;
                scope.spawn(move || write_pairs(path, launch, pairs))
            })
            .collect();
        let reader = SqliteLedger::open(&path).unwrap();
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            for cell in block_on(reader.usage_cells(&with_prices())).unwrap() {
                assert_eq!(cell.sum.records % 2, 0, "{cell:?}");
                assert_eq!(cell.sum.output_tokens, Some(cell.sum.records * 10), "{cell:?}");
            }
        }
    });
    let cells = block_on(SqliteLedger::open(&path).unwrap().usage_cells(&with_prices())).unwrap();
    let records: Vec<_> = cells.iter().map(|cell| cell.sum.records).collect();
    assert_eq!(records, vec![u64::from(2 * pairs); usize::try_from(launches).unwrap()]);
}

/// Computes what is not computed yet, a nano-dollar a token, and returns how many records that were.
fn price(ledger: &SqliteLedger) -> usize {
    let records = block_on(ledger.uncosted(&prices(), 7)).unwrap();
    let entry = |record: UsageRecord| CostEntry { cost: record.report.output_tokens.map(NanoUsd::from_nanos), record };
    let entries: Vec<CostEntry> = records.into_iter().map(entry).collect();
    block_on(ledger.save_costs(&prices(), &entries)).unwrap();
    entries.len()
}

#[test]
fn costs_computed_beside_a_writer_are_those_of_what_the_records_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    thread::scope(|scope| {
        let writer = scope.spawn(|| write_pairs(&path, 1, 100));
        let ledger = SqliteLedger::open(&path).unwrap();
        while !writer.is_finished() {
            price(&ledger);
        }
        while price(&ledger) > 0 {}
        let sum = block_on(ledger.usage_cells(&with_prices())).unwrap()[0].sum;
        assert_eq!((sum.priced, sum.uncosted, sum.output_tokens), (200, 0, Some(2_000)));
        assert_eq!(sum.computed_cost_usd, Some(NanoUsd::from_nanos(2_000)));
    });
}
