//! What is acknowledged survives the death of its writer.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use pollster::block_on;
use trace_model::ledger::{Ledger, LedgerError};
use trace_store_sled::SledLedger;
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
    let ledger = SledLedger::open(&PathBuf::from(path)).unwrap();
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
    let path = folder.path().join("ledger.sled");
    for (launch, lines) in (0_u32..).zip([1, 0, 2, 0, 3, 5, 0, 8, 13, 0, 21, 34, 0, 55, 89]) {
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

        let ledger = SledLedger::open(&path).unwrap();
        let usage = block_on(ledger.usage(samples::launch_id(launch))).unwrap();
        for key in &acknowledged {
            assert!(usage.iter().any(|row| row.record.report.key == *key), "{key} is lost");
        }
        if !acknowledged.is_empty() {
            assert_eq!(block_on(ledger.assets(samples::turn_id(launch, 1))).unwrap().len(), 2);
        }
    }
}

/// Tells a process that the test below starts which ledger to write to.
const CHILD_FULL_LEDGER: &str = "TRACE_TEST_FULL_LEDGER";

/// This is the program of the process that the test below starts; by itself there is nothing to do.
#[test]
fn child_writes_until_its_files_may_not_grow() {
    let Some(path) = env::var_os(CHILD_FULL_LEDGER) else { return };
    let ledger = SledLedger::open(&PathBuf::from(path)).unwrap();
    for launch in 0_u32.. {
        let Err(error) = block_on(ledger.apply(&samples::beginning(launch))) else {
            println!("{WRITTEN}{launch}");
            continue;
        };
        assert!(matches!(error, LedgerError::Backend { backend: "sled", action: "apply a boundary", .. }), "{error:?}");
        for _ in 0..2 {
            let after = block_on(ledger.launch(samples::launch_id(0))).unwrap_err();
            assert!(matches!(after, LedgerError::Closed { backend: "sled" }), "{after:?}");
        }
        return;
    }
}

#[test]
fn a_write_that_fails_ends_the_ledger_and_what_was_acknowledged_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ && ulimit -f 400 && exec \"$0\" \"$@\""])
        .arg(env::current_exe().unwrap())
        .args(["--exact", "crash::child_writes_until_its_files_may_not_grow", "--nocapture"])
        .env(CHILD_FULL_LEDGER, &path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let written: Vec<u32> =
        text.lines().filter_map(|line| line.split_once(WRITTEN)).map(|(_, launch)| launch.parse().unwrap()).collect();
    assert!(written.len() > 5, "{text}");

    let ledger = SledLedger::open(&path).unwrap();
    for launch in written {
        assert_eq!(block_on(ledger.launch(samples::launch_id(launch))).unwrap(), samples::launch(launch));
    }
    block_on(ledger.apply(&samples::beginning(1_000_000))).unwrap();
}

#[test]
fn a_snapshot_that_was_being_written_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    let ledger = SledLedger::open(&path).unwrap();
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
    drop(ledger);
    for text in ["", "half of a snapshot that is some bytes long"] {
        let unfinished = path.join("snap.7FFFFFFFFFFFFFFF.generating");
        fs::write(&unfinished, text).unwrap();
        let ledger = SledLedger::open(&path).unwrap();
        assert_eq!(block_on(ledger.launch(samples::launch_id(1))).unwrap(), samples::launch(1));
        assert!(!unfinished.exists());
    }
}
