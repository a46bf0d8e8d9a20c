//! Many processes, and many handles of one process, share a ledger.

use std::{
    env,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use pollster::block_on;
use rusqlite::Connection;
use trace_model::{
    ledger::{Ledger, LedgerError},
    query::LaunchQuery,
    usage_query::UsageQuery,
};
use trace_store_sqlite::{SqliteLedger, SqliteOptions};
use trace_testkit::samples;

const PROCESSES: u32 = 8;
const HANDLES: u32 = 8;
const WRITES: u32 = 200;

/// Tells a process that this test starts which ledger to write to, and as which one of them.
const CHILD_LEDGER: &str = "TRACE_TEST_CHILD_LEDGER";
const CHILD_NUMBER: &str = "TRACE_TEST_CHILD_NUMBER";

/// Opens the ledger, begins a launch and saves that many usage records, each in a write of its own.
fn record(path: &Path, launch: u32, writes: u32) {
    let ledger = SqliteLedger::open(path).unwrap();
    block_on(async {
        ledger.apply(&samples::beginning(launch)).await.unwrap();
        for write in 0..writes {
            let record = samples::usage_record(launch, Some(1), &format!("{launch}-{write:03}"));
            ledger.apply(&samples::usage_boundary(launch, [record])).await.unwrap();
            if write % 50 == 0 {
                // What it adds up is kept, and has to follow what the others write.
                ledger.usage_cells(&UsageQuery::default()).await.unwrap();
            }
        }
    });
}

/// Does the work of one of the processes, each handle on a thread of its own.
fn record_with_all_handles(path: &Path, process: u32) {
    thread::scope(|scope| {
        for handle in 0..HANDLES {
            scope.spawn(move || record(path, process * HANDLES + handle, WRITES));
        }
    });
}

fn assert_all_is_there(path: &Path, launches: u32, writes: u32) {
    let ledger = SqliteLedger::open(path).unwrap();
    let found = block_on(ledger.launches(&LaunchQuery::default())).unwrap();
    assert_eq!(found.len(), usize::try_from(launches).unwrap());
    for launch in found {
        let usage = block_on(ledger.usage(launch.header.id)).unwrap();
        assert_eq!(usage.len(), usize::try_from(writes).unwrap());
    }
    let cells = block_on(ledger.usage_cells(&UsageQuery::default())).unwrap();
    assert_eq!(cells.iter().map(|cell| cell.sum.requests).collect::<Vec<_>>(), vec![u64::from(writes); cells.len()]);
    assert_eq!(cells.len(), usize::try_from(if writes == 0 { 0 } else { launches }).unwrap());
}

/// This is the program of the processes that the test below starts; by itself there is nothing to do.
#[test]
fn child_records() {
    let (Some(path), Ok(number)) = (env::var_os(CHILD_LEDGER), env::var(CHILD_NUMBER)) else { return };
    // All children begin together, so that they all find no ledger.
    std::io::stdin().read_line(&mut String::new()).unwrap();
    record_with_all_handles(&PathBuf::from(path), number.parse().unwrap());
}

#[test]
fn eight_processes_with_eight_handles_each_lose_nothing_and_are_never_busy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let mut children: Vec<Child> = (0..PROCESSES)
        .map(|number| {
            Command::new(env::current_exe().unwrap())
                .args(["--exact", "processes::child_records", "--nocapture"])
                .env(CHILD_LEDGER, &path)
                .env(CHILD_NUMBER, number.to_string())
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in &mut children {
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_all_is_there(&path, PROCESSES * HANDLES, WRITES);
}

#[test]
fn many_handles_of_one_process_may_open_a_new_ledger_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = Arc::new(folder.path().join("ledger.db"));
    let threads: Vec<_> = (0..32_u32)
        .map(|launch| {
            let path = Arc::clone(&path);
            thread::spawn(move || record(&path, launch, 3))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_all_is_there(&path, 32, 3);
}

/// Returns a ledger whose calls wait so long, and a connection that holds the ledger's write lock.
fn locked(path: &Path, patience: Duration) -> (SqliteLedger, Connection) {
    let ledger = SqliteLedger::open_with(path, SqliteOptions { patience, ..SqliteOptions::default() }).unwrap();
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
    let other = Connection::open(path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    (ledger, other)
}

#[test]
fn a_lock_beyond_patience_is_busy_and_reading_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let (ledger, other) = locked(&path, Duration::ZERO);
    let error = block_on(ledger.apply(&samples::beginning(2))).unwrap_err();
    let place = path.canonicalize().unwrap().display().to_string();
    assert!(matches!(&error, LedgerError::Busy { place: found } if *found == place), "{error:?}");
    assert_eq!(block_on(ledger.launch(samples::launch_id(1))).unwrap(), samples::launch(1));
    other.execute_batch("ROLLBACK").unwrap();
    block_on(ledger.apply(&samples::beginning(2))).unwrap();
}

#[test]
fn a_lock_within_patience_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let (ledger, other) = locked(&path, Duration::from_mins(10));
    let writer = thread::spawn(move || block_on(ledger.apply(&samples::beginning(2))));
    other.execute_batch("COMMIT").unwrap();
    writer.join().unwrap().unwrap();
}

#[test]
fn a_ledger_that_is_locked_as_a_whole_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let options = SqliteOptions { patience: Duration::ZERO, ..SqliteOptions::default() };
    let error = SqliteLedger::open_with(&path, options).unwrap_err();
    assert!(matches!(error, LedgerError::Busy { .. }), "{error:?}");
}
