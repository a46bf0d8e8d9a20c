//! Processes that share one SQLite ledger.

use std::{
    future,
    path::Path,
    process::Child,
    sync::{Arc, Barrier},
    thread,
};

use trace_capture::{Capture, CaptureEnv, EnvParts, Home, Labels, LedgerKind, Recorded, Start, open_home_ledger};
use trace_model::{query::LaunchQuery, turn::Outcome, words::Provider};

use super::{
    children,
    hooked::HookedLedger,
    support::{prompt, read_events, text, texts},
};

const PROCESSES: usize = 8;
const CAPTURES: usize = 8;
const EVENTS: usize = 200;

/// Records launches side by side into a ledger that others write to.
///
/// It does nothing unless [`processes_share_a_sqlite_ledger`] starts it as a child.
#[test]
fn one_of_many_embedding_processes() {
    let Some(root) = children::home() else { return };
    let home = Home::open_real(&root).unwrap();
    let sqlite = open_home_ledger(&home, Some(LedgerKind::Sqlite)).unwrap();
    let ledger = HookedLedger::new(sqlite, || Box::pin(future::ready(())));
    let errors = ledger.errors();
    let env = CaptureEnv::new(EnvParts::new(home, Arc::new(ledger)));
    let together = Barrier::new(CAPTURES);
    thread::scope(|scope| {
        for _ in 0..CAPTURES {
            scope.spawn(|| {
                together.wait();
                record(&env);
            });
        }
    });
    drop(env);
    let errors = errors.lock().unwrap();
    assert!(errors.is_empty(), "the ledger refused a write: {errors:?}");
}

fn record(env: &CaptureEnv) {
    let process = format!("process_{}", std::process::id()).parse().unwrap();
    let labels = Labels::new("run_1".parse().unwrap(), process, "/repo", "/repo");
    let start = Start::new(Provider::Unknown, "headless");
    let capture = Capture::blocking_begin(env, labels, prompt("Count."), start).unwrap();
    for n in 0..EVENTS {
        capture.record_stream_event(text(n.to_string()));
    }
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    assert_eq!(capture.status().trouble, None);
}

#[test]
fn processes_share_a_sqlite_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let children: Vec<_> = (0..PROCESSES).map(|_| spawn(folder.path())).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let home = Home::open_real(folder.path()).unwrap();
    let ledger = open_home_ledger(&home, None).unwrap();
    let launches = pollster::block_on(ledger.launches(&LaunchQuery::default())).unwrap();
    assert_eq!(launches.len(), PROCESSES * CAPTURES);
    let mut found = 0;
    for launch in launches {
        let (events, skipped) = read_events(&home, &launch.header.artifact_dir());
        assert_eq!(skipped, 0);
        assert_eq!(launch.conversation_event_count, u64::try_from(events.len()).unwrap());
        found += texts(&events).len();
    }
    assert_eq!(found, PROCESSES * CAPTURES * EVENTS);
}

fn spawn(home: &Path) -> Child {
    children::command("capture::processes::one_of_many_embedding_processes", home).spawn().unwrap()
}
