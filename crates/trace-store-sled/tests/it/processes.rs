//! One process has the ledger at a time.

use std::{
    env,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use pollster::block_on;
use trace_model::{
    ledger::{Ledger, LedgerError},
    query::LaunchQuery,
};
use trace_store_sled::SledLedger;
use trace_testkit::samples;

const PROCESSES: u32 = 8;
const WRITES: u32 = 20;

/// Tells a process that this test starts which ledger to write to, and as which one of them.
const CHILD_LEDGER: &str = "TRACE_TEST_CHILD_LEDGER";
const CHILD_NUMBER: &str = "TRACE_TEST_CHILD_NUMBER";

fn child(path: &Path, number: u32) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "processes::child_records_when_it_can", "--nocapture"])
        .env(CHILD_LEDGER, path)
        .env(CHILD_NUMBER, number.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// This is the program of the processes that the tests below start; by itself there is nothing to do.
#[test]
fn child_records_when_it_can() {
    let (Some(path), Ok(number)) = (env::var_os(CHILD_LEDGER), env::var(CHILD_NUMBER)) else { return };
    let (path, launch) = (PathBuf::from(path), number.parse().unwrap());
    // All children begin together, so that they all find no ledger.
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let ledger = loop {
        match SledLedger::open(&path) {
            Ok(ledger) => break ledger,
            Err(LedgerError::Busy { place }) => assert_eq!(place, path.display().to_string()),
            Err(error) => panic!("{error:?}"),
        }
        thread::yield_now();
    };
    block_on(ledger.apply(&samples::beginning(launch))).unwrap();
    for write in 0..WRITES {
        let record = samples::usage_record(launch, Some(1), &format!("{launch}-{write:03}"));
        block_on(ledger.apply(&samples::usage_boundary(launch, [record]))).unwrap();
    }
}

#[test]
fn processes_that_want_it_at_once_have_it_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    let mut children: Vec<Child> = (0..PROCESSES).map(|number| child(&path, number)).collect();
    for child in &mut children {
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let ledger = SledLedger::open(&path).unwrap();
    let launches = block_on(ledger.launches(&LaunchQuery::default())).unwrap();
    assert_eq!(launches.len(), usize::try_from(PROCESSES).unwrap());
    for launch in launches {
        let usage = block_on(ledger.usage(launch.header.id)).unwrap();
        assert_eq!(usage.len(), usize::try_from(WRITES).unwrap());
    }
}

/// This is the program of the process that the test below starts; by itself there is nothing to do.
#[test]
fn child_is_told_that_it_is_busy() {
    let (Some(path), Err(_)) = (env::var_os(CHILD_LEDGER), env::var(CHILD_NUMBER)) else { return };
    let path = PathBuf::from(path);
    let error = SledLedger::open(&path).unwrap_err();
    let LedgerError::Busy { place } = &error else { panic!("{error:?}") };
    assert_eq!(*place, path.display().to_string());
}

#[test]
fn another_process_is_told_which_ledger_is_busy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    let ledger = SledLedger::open(&path).unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "processes::child_is_told_that_it_is_busy", "--nocapture"])
        .env(CHILD_LEDGER, &path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
}

#[test]
fn a_program_that_has_sled_open_makes_the_ledger_busy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    drop(SledLedger::open(&path).unwrap());
    let other = sled::open(&path).unwrap();
    let error = SledLedger::open(&path).unwrap_err();
    assert!(matches!(&error, LedgerError::Busy { place } if *place == path.display().to_string()), "{error:?}");
    drop(other);
}

#[test]
fn a_ledger_can_be_opened_as_soon_as_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    for launch in 0..30 {
        let ledger = SledLedger::open(&path).unwrap();
        block_on(ledger.apply(&samples::beginning(launch))).unwrap();
    }
}

#[test]
fn the_last_handle_may_be_dropped_by_the_ledger_s_own_thread() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sled");
    let ledger = SledLedger::open(&path).unwrap();
    let (done, is_done) = std::sync::mpsc::channel();
    // Whoever wakes the task runs it to its end: the answer of the ledger does, on the thread of the ledger.
    let task = async move {
        let result = ledger.apply(&samples::beginning(1)).await;
        drop(ledger);
        done.send(result.is_ok()).unwrap();
    };
    run_where_it_is_woken(task);
    assert!(is_done.recv().unwrap());
}

/// Runs the task on the threads that wake it.
fn run_where_it_is_woken(task: impl Future<Output = ()> + Send + 'static) {
    use std::{
        pin::Pin,
        sync::{Arc, Mutex},
        task::{Context, Poll, Wake, Waker},
    };

    struct Task(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            // While the task runs, its place is empty; here it is woken once, by its answer.
            let waker = Waker::from(Arc::clone(&self));
            let mut place = self.0.lock().unwrap();
            if let Some(mut task) = place.take()
                && task.as_mut().poll(&mut Context::from_waker(&waker)) == Poll::Pending
            {
                *place = Some(task);
            }
        }
    }

    Arc::new(Task(Mutex::new(Some(Box::pin(task))))).wake();
}
