//! What grows, and what does not.

use std::{fs, path::Path};

use pollster::block_on;
use trace_model::{
    ledger::Ledger,
    rows::{BoundaryRows, LaunchChange},
    turn::{EndStatus, Outcome, Turn},
    usage::UsageRecord,
};
use trace_store_sled::SledLedger;
use trace_testkit::samples;

fn bytes(folder: &Path) -> u64 {
    fs::read_dir(folder).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn twenty_thousand_updates_of_a_launch_leave_a_few_megabytes() {
    // In memory, where that can be: here it matters how much is written, not that it survives.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join("ledger.sled");
    let ledger = SledLedger::open(&path).unwrap();
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
    let mut launch = samples::launch(1);
    for count in 0..20_000 {
        launch.conversation_event_count = count;
        launch.conversation_bytes = 300 * count;
        block_on(ledger.apply(&BoundaryRows::of_launch(LaunchChange::Updated(launch.clone())))).unwrap();
    }
    assert_eq!(block_on(ledger.launch(launch.header.id)).unwrap(), launch);
    drop(ledger);
    let left = bytes(&path);
    assert!(left < 16 << 20, "{left} bytes are left");
}

#[test]
fn what_changes_nothing_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    let ledger = SledLedger::open(&path).unwrap();
    let whole = samples::whole_launch(1);
    block_on(ledger.replace_launch(&whole)).unwrap();
    let data = fs::read(path.join("db")).unwrap();
    block_on(ledger.replace_launch(&whole)).unwrap();
    let update = BoundaryRows::of_launch(LaunchChange::Updated(whole.launch.clone()));
    block_on(ledger.apply(&update)).unwrap();
    assert!(fs::read(path.join("db")).unwrap() == data, "the log has grown");
}

#[test]
fn no_value_and_no_key_is_so_large_that_it_gets_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    let ledger = SledLedger::open(&path).unwrap();
    let long = |n: u32| format!("{n:03}{}", "\0long".repeat(2_000));
    for n in 0..20 {
        let turn = samples::ended_turn(samples::turn(n, 1), EndStatus::Of(Outcome::Completed));
        let turn = Turn { root_output: Some("x".repeat(1 << 20)), ..turn };
        block_on(ledger.apply(&samples::beginning(n))).unwrap();
        let mut launch = samples::launch(n);
        launch.provider_session_id = Some(long(n));
        let records = (0..20).map(|key| {
            let mut record = samples::usage_record(n, Some(1), &long(key));
            record.report.request_key = Some(long(1_000 * n + key));
            (record.report.key.clone(), trace_model::rows::UsageChange::Saved(record))
        });
        let rows = BoundaryRows {
            turns_updated: [(turn.id, turn)].into(),
            usage: records.collect(),
            ..BoundaryRows::of_launch(LaunchChange::Updated(launch))
        };
        block_on(ledger.apply(&rows)).unwrap();
        assert_eq!(fs::read_dir(path.join("blobs")).unwrap().count(), 0, "at launch {n}");
    }
    drop(ledger);
    let ledger = SledLedger::open(&path).unwrap();
    for n in 0..20 {
        let turns = block_on(ledger.turns(samples::launch_id(n))).unwrap();
        assert_eq!(turns[0].turn.root_output.as_ref().map(String::len), Some(1 << 20));
        let usage = block_on(ledger.usage(samples::launch_id(n))).unwrap();
        let keys: Vec<_> = usage.iter().map(|row| row.record.report.key.clone()).collect();
        assert_eq!(keys, (0..20).map(long).collect::<Vec<_>>());
    }
}

#[test]
fn long_keys_that_begin_alike_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SledLedger::open(&folder.path().join("ledger.sled")).unwrap();
    let beginning = "a key of more than a hundred and twenty-eight bytes ".repeat(5);
    let record = |n: u32, end: &str| {
        let mut record: UsageRecord = samples::usage_record(n, Some(1), &format!("{beginning}{end}"));
        record.report.request_key = Some(format!("{beginning}of a request"));
        record
    };
    let ends = ["", "a", "b", "c", "d", "e", "f", "g", "h"];
    for n in [1, 2] {
        block_on(ledger.apply(&samples::beginning(n))).unwrap();
        block_on(ledger.apply(&samples::usage_boundary(n, ends.map(|end| record(n, end))))).unwrap();
    }
    // All are of one time: the first key of the first launch counts.
    for n in [1, 2] {
        let usage = block_on(ledger.usage(samples::launch_id(n))).unwrap();
        let found: Vec<_> = usage.iter().map(|row| (row.record.clone(), row.replay_of)).collect();
        let expected = ends.map(|end| {
            let is_first = n == 1 && end.is_empty();
            (record(n, end), (!is_first).then(|| samples::launch_id(1)))
        });
        assert_eq!(found, expected);
    }
}
