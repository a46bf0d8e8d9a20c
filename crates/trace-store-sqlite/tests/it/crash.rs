//! What is acknowledged survives the death of its writer.

use std::{
    env,
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use pollster::block_on;
use trace_model::ledger::Ledger;
use trace_store_sqlite::SqliteLedger;
use trace_testkit::samples;

/// Tells a process that this test starts which ledger to write to, and which launch.
const CHILD_LEDGER: &str = "TRACE_TEST_DYING_LEDGER";
const CHILD_LAUNCH: &str = "TRACE_TEST_DYING_LAUNCH";

/// What [`Child::kill`](std::process::Child::kill) sends.
const SIGKILL: i32 = 9;

/// What a child prints before the key of a record that was written.
const WRITTEN: &str = "written ";

/// This is the program of the processes that the test below starts; by itself there is nothing to do.
#[test]
fn child_writes_until_it_is_killed() {
    let (Some(path), Ok(launch)) = (env::var_os(CHILD_LEDGER), env::var(CHILD_LAUNCH)) else { return };
    let launch = launch.parse().unwrap();
    let ledger = SqliteLedger::open(&PathBuf::from(path)).unwrap();
    block_on(ledger.apply(&samples::beginning(launch))).unwrap();
    for number in 0_u32.. {
        let key = format!("{launch}-{number}");
        let record = samples::usage_record(launch, Some(1), &key);
        block_on(ledger.apply(&samples::usage_boundary(launch, [record]))).unwrap();
        println!("{WRITTEN}{key}");
    }
}

#[test]
fn every_acknowledged_write_outlives_a_killed_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    for (launch, lines) in (0_u32..).zip([1, 2, 3, 5, 8, 13, 21, 34, 55, 89]) {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "crash::child_writes_until_it_is_killed", "--nocapture"])
            .env(CHILD_LEDGER, &path)
            .env(CHILD_LAUNCH, launch.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut acknowledged: Vec<String> = Vec::new();
        let key = |line: String| line.split_once(WRITTEN).map(|(_, key)| String::from(key));
        acknowledged.extend(output.by_ref().filter_map(key).take(lines));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        // It writes without an end, so that nothing else ends it.
        assert_eq!(status.signal(), Some(SIGKILL), "{status}");
        assert_eq!(acknowledged.len(), lines, "launch {launch}: {acknowledged:?}");
        // What it printed before it died counts too.
        acknowledged.extend(output.filter_map(key));

        let ledger = SqliteLedger::open(&path).unwrap();
        let usage = block_on(ledger.usage(samples::launch_id(launch))).unwrap();
        for key in acknowledged {
            assert!(usage.iter().any(|row| row.record.report.key == key), "{key} is lost");
        }
        assert_eq!(block_on(ledger.assets(samples::turn_id(launch, 1))).unwrap().len(), 2);
    }
}
