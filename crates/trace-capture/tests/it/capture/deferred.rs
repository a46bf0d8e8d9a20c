//! Launches that no ledger took while they were recorded.

use std::{fs, future, path::Path, slice, sync::Arc};

use pollster::block_on;
use trace_capture::{CaptureEnv, EnvParts, Home, MemoryLedger, Recorded, Rows, reindex::index_deferred};
use trace_model::turn::Outcome;
use trace_testkit::{Fault, FaultLedger, Moment};

use super::{
    hooked::HookedLedger,
    support::{Rig, begin, dump, text},
};

/// Returns an environment whose ledger is not the home's own.
fn deferring_env(home: &Home) -> CaptureEnv {
    let parts = EnvParts::new(home.clone(), Arc::new(MemoryLedger::new()));
    CaptureEnv::new(EnvParts { rows: Rows::Deferred, ..parts })
}

fn real_home(root: &Path) -> Home {
    Home::open_real(root).unwrap()
}

#[test]
fn a_launch_without_a_ledger_is_brought_in_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let home = real_home(folder.path());
    let ledger = MemoryLedger::new();
    let env = deferring_env(&home);
    let capture = begin(&env);
    let dir = capture.artifact_dir().unwrap();
    assert_eq!(home.deferred_launches().unwrap(), slice::from_ref(&dir), "a process that is killed leaves it so");

    assert_eq!(block_on(index_deferred(&home, &ledger)).unwrap(), 1);
    assert_eq!(dump(&ledger)[0]["launch"]["outcome"], "running");
    assert_eq!(home.deferred_launches().unwrap(), [dir], "its end is still to come");

    capture.record_stream_event(text("one"));
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    drop(env);
    assert_eq!(block_on(index_deferred(&home, &ledger)).unwrap(), 1);
    assert_eq!(dump(&ledger)[0]["launch"]["outcome"], "completed");
    assert_eq!(home.deferred_launches().unwrap(), []);
    assert_eq!(block_on(index_deferred(&home, &ledger)).unwrap(), 0);
}

#[test]
fn a_ledger_that_fails_and_recovers_leaves_no_mark() {
    let fault = Fault { call: 1, moment: Moment::Before };
    let rig = Rig::with_ledger(Arc::new(FaultLedger::new(Arc::new(MemoryLedger::new()), Some(fault))));
    let capture = rig.begin();
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let home = rig.home.clone();
    assert_eq!(rig.rows()[0]["launch"]["outcome"], "completed");
    assert_eq!(home.deferred_launches().unwrap(), []);
}

#[test]
fn what_the_ledger_is_behind_with_when_the_recorder_ends_is_marked() {
    let ledger = HookedLedger::new(Arc::new(MemoryLedger::new()), || Box::pin(future::pending()));
    let rig = Rig::with_ledger(Arc::new(ledger));
    let captures = [rig.begin(), rig.begin()];
    for capture in &captures {
        capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    }
    let Rig { env, home, .. } = rig;
    // It waits for the ledger, and the mark is there before it does.
    let waiting = std::thread::spawn(move || drop(env));
    while home.deferred_launches().unwrap().len() < 2 {
        std::thread::yield_now();
    }
    let later = MemoryLedger::new();
    assert_eq!(block_on(index_deferred(&home, &later)).unwrap(), 2);
    assert_eq!(dump(&later).as_array().unwrap().len(), 2);
    waiting.join().unwrap();
}

#[test]
fn a_mark_of_a_launch_that_is_gone_is_removed_and_one_of_nothing_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let home = real_home(folder.path());
    assert_eq!(home.deferred_launches().unwrap(), []);
    let gone = "run_1/process_1/launch_01923456789a7bcd8ef0123456789abc".parse().unwrap();
    home.defer(&gone).unwrap();
    home.defer(&gone).unwrap();
    fs::write(folder.path().join("deferred/text"), "../../etc").unwrap();
    fs::create_dir(folder.path().join("deferred/folder")).unwrap();
    assert_eq!(home.deferred_launches().unwrap(), slice::from_ref(&gone));
    assert_eq!(block_on(index_deferred(&home, &MemoryLedger::new())).unwrap(), 0);
    assert_eq!(home.deferred_launches().unwrap(), []);
    home.forget_deferred(&gone).unwrap();
}

#[test]
fn a_torn_mark_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let home = real_home(folder.path());
    let launch = "run_1/process_1/launch_01923456789a7bcd8ef0123456789abc".parse().unwrap();
    for torn in ["", "run_1/proc"] {
        home.defer(&launch).unwrap();
        fs::write(folder.path().join("deferred/launch_01923456789a7bcd8ef0123456789abc"), torn).unwrap();
        home.defer(&launch).unwrap();
        assert_eq!(home.deferred_launches().unwrap(), slice::from_ref(&launch));
    }
}

#[test]
fn a_ledger_that_fails_again_keeps_the_mark() {
    let folder = tempfile::tempdir().unwrap();
    let home = real_home(folder.path());
    let env = deferring_env(&home);
    begin(&env).blocking_finish(Outcome::Completed, Recorded::Conversation);
    drop(env);
    let fault = Fault { call: 1, moment: Moment::Before };
    let ledger = FaultLedger::new(Arc::new(MemoryLedger::new()), Some(fault));
    assert!(block_on(index_deferred(&home, &ledger)).is_err());
    assert_eq!(home.deferred_launches().unwrap().len(), 1);
    assert_eq!(block_on(index_deferred(&home, &ledger)).unwrap(), 1);
    assert_eq!(home.deferred_launches().unwrap(), []);
}
