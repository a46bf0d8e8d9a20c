//! Launches that were reserved before they began.

use std::{
    future::{self, Future},
    io::Write,
    path::{Path, PathBuf},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Waker},
    thread,
};

use futures_channel::oneshot;
use trace_capture::{
    Capture, CaptureEnv, CaptureError, EnvParts, Labels, LedgerKind, MemoryLedger, Recorded, ReservationUse, Rows,
    artifacts::{FileEffects, Lock},
    open_home_ledger,
};
use trace_model::{
    control::Reservation,
    launch::LaunchState,
    ledger::{Ledger, LedgerError},
    turn::Outcome,
    words::{Provider, ReservationState},
};
use trace_testkit::{Fault, FaultLedger, Moment, samples};

use super::{
    hooked::HookedLedger,
    support::{Rig, begin, controlled, dump, labels, prompt},
};

fn reserve(env: &CaptureEnv) -> Reservation {
    env.blocking_reserve(samples::control(1), Provider::Claude, Some("opus".to_owned()), "headless").unwrap()
}

/// Reserves a launch as another process does.
fn reserved_in(memory: &MemoryLedger) -> Reservation {
    let reservation = samples::reservation(1);
    pollster::block_on(memory.reserve(&reservation)).unwrap();
    reservation
}

fn begin_controlled(env: &CaptureEnv) -> Result<Capture, CaptureError> {
    Capture::blocking_begin(env, labels(), prompt("Fix the parser."), controlled())
}

fn found(ledger: &dyn Ledger) -> Reservation {
    pollster::block_on(ledger.reservation(&samples::control(1).run_id)).unwrap()
}

#[test]
fn a_launch_takes_over_id_and_start_of_its_reservation_and_ends_with_its_outcome() {
    let rig = Rig::new();
    let reserved = reserve(&rig.env);
    assert_eq!(found(&*rig.ledger), reserved);
    let capture = begin_controlled(&rig.env).unwrap();
    assert_eq!(capture.launch_id(), Some(reserved.launch_id));
    assert_eq!(capture.status().reservation, ReservationUse::Taken);
    assert_eq!(found(&*rig.ledger), Reservation { state: ReservationState::Taken, ..reserved.clone() });
    capture.blocking_finish(Outcome::Failed, Recorded::Conversation);
    let launch = pollster::block_on(rig.ledger.launch(reserved.launch_id)).unwrap();
    assert_eq!(launch.header.started_at, reserved.reserved_at);
    assert_eq!(launch.header.control, Some(samples::control(1)));
    assert_eq!(launch.header.provider, Provider::Unknown, "all but id and start is what the launch is begun with");
    assert!(matches!(launch.state, LaunchState::Ended { outcome: Outcome::Failed, .. }));
    assert_eq!(found(&*rig.ledger).state, ReservationState::Taken, "its end is its launch's");
}

#[test]
fn a_launch_without_control_takes_no_reservation() {
    let rig = Rig::new();
    let reserved = reserve(&rig.env);
    let capture = rig.begin();
    assert_eq!(capture.status().reservation, ReservationUse::NotAsked);
    assert_eq!(found(&*rig.ledger), reserved);
}

#[test]
fn a_launch_under_control_that_nobody_reserved_has_an_id_of_its_own() {
    let rig = Rig::new();
    let capture = begin_controlled(&rig.env).unwrap();
    assert_eq!(capture.status().reservation, ReservationUse::NoneWaiting);
    let row = pollster::block_on(rig.ledger.launch(capture.launch_id().unwrap())).unwrap();
    assert_eq!(row.header.control, Some(samples::control(1)));
}

#[test]
fn a_second_launch_of_the_control_run_needs_a_reservation_of_its_own() {
    let rig = Rig::new();
    let reserved = reserve(&rig.env);
    let first = begin_controlled(&rig.env).unwrap();
    let second = begin_controlled(&rig.env).unwrap();
    assert_eq!(
        (first.status().reservation, second.status().reservation),
        (ReservationUse::Taken, ReservationUse::NoneWaiting)
    );
    assert_ne!(second.launch_id(), Some(reserved.launch_id));
    let successor = reserve(&rig.env);
    let third = begin_controlled(&rig.env).unwrap();
    assert_eq!(third.launch_id(), Some(successor.launch_id));
}

#[test]
fn a_control_run_has_one_waiting_reservation_and_it_can_be_released() {
    let rig = Rig::new();
    let run = samples::control(1).run_id;
    let reserved = reserve(&rig.env);
    let refused = rig.env.blocking_reserve(samples::control(1), Provider::Codex, None, "headless").unwrap_err();
    assert!(matches!(refused, CaptureError::Reserve(LedgerError::AlreadyExists { .. })), "{refused:?}");
    assert_eq!(found(&*rig.ledger), reserved);
    rig.env.blocking_release(&run).unwrap();
    assert_eq!(found(&*rig.ledger).state, ReservationState::Released);
    let capture = begin_controlled(&rig.env).unwrap();
    assert_eq!(capture.status().reservation, ReservationUse::NoneWaiting);
    reserve(&rig.env);
    let begun = begin_controlled(&rig.env).unwrap();
    assert_eq!(begun.status().reservation, ReservationUse::Taken);
    let refused = rig.env.blocking_release(&run).unwrap_err();
    assert!(matches!(refused, CaptureError::Release(LedgerError::Conflict { .. })), "{refused:?}");
}

#[test]
fn a_begin_that_fails_leaves_the_reservation_waiting_and_a_second_one_takes_it() {
    for nth in 1.. {
        let rig = Rig::new();
        let reserved = reserve(&rig.env);
        rig.files.fail_once_at(nth);
        let first = begin_controlled(&rig.env);
        let failed = rig.files.has_failed();
        rig.files.heal();
        if let Ok(capture) = first {
            assert_eq!(capture.launch_id(), Some(reserved.launch_id));
            if failed {
                continue;
            }
            assert!(nth > 20, "every effect of a begin was made to fail");
            return;
        }
        assert_eq!(found(&*rig.ledger), reserved, "effect {nth}");
        let second = begin_controlled(&rig.env).unwrap();
        assert_eq!(second.launch_id(), Some(reserved.launch_id), "effect {nth}");
        assert_eq!(found(&*rig.ledger).state, ReservationState::Taken, "effect {nth}");
    }
}

/// Begins two launches of one reservation, the second one before the ledger learns of the first.
fn begin_twice(second_labels: Labels) {
    let memory = MemoryLedger::new();
    let reserved = reserved_in(&memory);
    let (open, gate) = oneshot::channel::<()>();
    let (gate, calls) = (Mutex::new(Some(gate)), AtomicU64::new(0));
    let rig = Rig::with_ledger(Arc::new(HookedLedger::new(Arc::new(memory), move || {
        let is_opening = calls.fetch_add(1, Ordering::SeqCst) == 1;
        let gate = is_opening.then(|| gate.lock().unwrap().take()).flatten();
        Box::pin(async move {
            if let Some(gate) = gate {
                gate.await.unwrap();
            }
        })
    })));
    let first = begin_controlled(&rig.env).unwrap();
    assert_eq!(first.launch_id(), Some(reserved.launch_id));
    let second = Capture::blocking_begin(&rig.env, second_labels, prompt("Fix it too."), controlled()).unwrap();
    assert_ne!(second.launch_id(), first.launch_id());
    assert_eq!(second.status().reservation, ReservationUse::NoneWaiting);
    second.blocking_finish(Outcome::Failed, Recorded::Conversation);
    open.send(()).unwrap();
    first.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let ledger = Arc::clone(&rig.ledger);
    let rows = rig.rows();
    assert_eq!(found(&*ledger).state, ReservationState::Taken);
    assert_eq!(rows.as_array().unwrap().len(), 2);
    let first = rows.as_array().unwrap().iter().find(|row| row["launch"]["id"] == reserved.launch_id.to_string());
    assert_eq!(first.unwrap()["launch"]["outcome"], "completed");
}

#[test]
fn of_two_begins_of_one_reservation_one_has_an_id_of_its_own() {
    begin_twice(labels());
    // Another process, or another run: another folder, but the same id.
    begin_twice(Labels { process_id: "process_2".parse().unwrap(), ..labels() });
    begin_twice(Labels { run_id: "run_2".parse().unwrap(), ..labels() });
}

#[test]
fn two_recorders_of_one_home_take_one_reservation_once() {
    for _ in 0..50 {
        let Rig { files: _files, home, ledger, env } = Rig::new();
        let other = CaptureEnv::new(EnvParts::new(home.clone(), Arc::clone(&ledger)));
        let reserved = reserve(&env);
        let ids = thread::scope(|scope| {
            let begin = |env, run: &'static str| {
                scope.spawn(move || {
                    let labels = Labels { run_id: run.parse().unwrap(), ..labels() };
                    let capture =
                        Capture::blocking_begin(env, labels, prompt("Fix the parser."), controlled()).unwrap();
                    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
                    capture.launch_id().unwrap()
                })
            };
            [begin(&env, "run_1"), begin(&other, "run_2")].map(|begun| begun.join().unwrap())
        });
        assert_eq!(ids.iter().filter(|id| **id == reserved.launch_id).count(), 1, "{ids:?}");
        drop((env, other));
        assert_eq!(dump(&*ledger).as_array().unwrap().len(), 2);
        assert_eq!(home.list_launch_artifact_dirs().unwrap().len(), 2);
    }
}

#[test]
fn a_reservation_whose_launch_died_before_it_was_published_can_be_taken() {
    for torn in ["", "run_9/pro", "run_9/process_9/launch_01990000000070008000000000000099"] {
        let rig = Rig::new();
        let reserved = reserve(&rig.env);
        rig.files.create_dir(Path::new("reserved")).unwrap();
        let claim = PathBuf::from(format!("reserved/{}", reserved.launch_id));
        rig.files.create_file(&claim).unwrap().write_all(torn.as_bytes()).unwrap();
        let capture = begin_controlled(&rig.env).unwrap();
        assert_eq!(capture.launch_id(), Some(reserved.launch_id));
        let dir = capture.artifact_dir().unwrap();
        assert_eq!(rig.files.content(&claim).unwrap(), dir.as_str().as_bytes());
    }
}

#[test]
fn a_reservation_that_another_launch_is_about_to_take_is_not_taken() {
    let rig = Rig::new();
    let reserved = reserve(&rig.env);
    rig.files.create_dir(Path::new("reserved")).unwrap();
    let claim = rig.files.create_file(&PathBuf::from(format!("reserved/{}", reserved.launch_id))).unwrap();
    assert!(claim.try_lock(Lock::Exclusive).unwrap());
    let elsewhere = begin_controlled(&rig.env).unwrap();
    assert_ne!(elsewhere.launch_id(), Some(reserved.launch_id));
    drop(claim);
    assert_eq!(begin_controlled(&rig.env).unwrap().launch_id(), Some(reserved.launch_id));
}

#[test]
fn a_stale_staging_folder_does_not_block_a_reserved_launch() {
    let rig = Rig::new();
    let reserved = reserve(&rig.env);
    let staging = PathBuf::from(format!("traces/run_1/process_1/.{}.staging", reserved.launch_id));
    for folder in ["traces/run_1", "traces/run_1/process_1"] {
        rig.files.create_dir(Path::new(folder)).unwrap();
    }
    rig.files.create_dir(&staging).unwrap();
    // Nobody holds the lease: its writer is dead.
    drop(rig.files.create_file(&staging.join("lease")).unwrap());
    let capture = begin_controlled(&rig.env).unwrap();
    assert_eq!(capture.launch_id(), Some(reserved.launch_id));
    let paths = rig.files.paths();
    let quarantined = PathBuf::from(format!("quarantine/{}.staging/lease", reserved.launch_id));
    assert!(paths.contains(&quarantined) && !paths.contains(&staging), "{paths:?}");
}

#[test]
fn wherever_the_ledger_fails_a_launch_under_control_begins_and_is_recorded() {
    for moment in [Moment::Before, Moment::After] {
        for call in 1.. {
            let memory = MemoryLedger::new();
            let reserved = reserved_in(&memory);
            let ledger = FaultLedger::new(Arc::new(memory.clone()), Some(Fault { call, moment }));
            let rig = Rig::with_ledger(Arc::new(ledger.clone()));
            let capture = begin_controlled(&rig.env).unwrap();
            capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
            let is_lookup = call == 1;
            let expected = if is_lookup { ReservationUse::Unanswered } else { ReservationUse::Taken };
            assert_eq!(capture.status().reservation, expected);
            assert_eq!(capture.status().trouble, None);
            assert_eq!(capture.launch_id() == Some(reserved.launch_id), !is_lookup);
            let home = rig.home.clone();
            drop(rig.env);
            let state = if is_lookup { ReservationState::Waiting } else { ReservationState::Taken };
            assert_eq!(found(&memory).state, state, "call {call} {moment:?}");
            let filled = open_home_ledger(&home, Some(LedgerKind::Memory)).unwrap();
            assert_eq!(dump(&memory), dump(&*filled), "call {call} {moment:?}");
            if !ledger.has_failed() {
                break;
            }
        }
    }
}

/// Returns a ledger that holds a reservation and never answers its first call.
fn silent_at_first(memory: &MemoryLedger) -> Arc<dyn Ledger> {
    reserved_in(memory);
    let first = AtomicBool::new(true);
    Arc::new(HookedLedger::new(Arc::new(memory.clone()), move || {
        if first.swap(false, Ordering::SeqCst) { Box::pin(future::pending()) } else { Box::pin(future::ready(())) }
    }))
}

#[test]
fn a_ledger_that_never_tells_the_reservation_holds_up_no_other_launch_and_fails_no_begin() {
    let memory = MemoryLedger::new();
    let rig = Rig::with_ledger(silent_at_first(&memory));
    let capture = {
        let mut waiting = pin!(Capture::begin(&rig.env, labels(), prompt("Fix the parser."), controlled()));
        let asked = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(asked.is_pending());
        let beside = begin(&rig.env);
        beside.blocking_finish(Outcome::Completed, Recorded::Conversation);
        pollster::block_on(waiting).unwrap()
    };
    assert_eq!(capture.status().reservation, ReservationUse::Unanswered);
    assert_eq!(found(&memory).state, ReservationState::Waiting);
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let rows = rig.rows();
    assert_eq!(rows.as_array().unwrap().len(), 2);
}

#[test]
fn an_environment_that_is_dropped_waits_for_the_launch_that_waits_for_its_reservation() {
    let memory = MemoryLedger::new();
    let rig = Rig::with_ledger(silent_at_first(&memory));
    {
        let begin = pin!(Capture::begin(&rig.env, labels(), prompt("Fix the parser."), controlled()));
        assert!(begin.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    let rows = rig.rows();
    assert_eq!(rows[0]["launch"]["outcome"], "interrupted", "nobody waits for its handle");
}

#[test]
fn a_ledger_that_panics_at_the_reservation_fails_no_begin() {
    let first = AtomicBool::new(true);
    let ledger = HookedLedger::new(Arc::new(MemoryLedger::new()), move || {
        assert!(!first.swap(false, Ordering::SeqCst), "the ledger broke");
        Box::pin(future::ready(()))
    });
    let rig = Rig::with_ledger(Arc::new(ledger));
    let capture = begin_controlled(&rig.env).unwrap();
    assert_eq!(capture.status().reservation, ReservationUse::Unanswered);
    drop(capture);
    assert_eq!(rig.rows().as_array().unwrap().len(), 1);
}

#[test]
fn reserving_tells_the_errors_of_the_ledger() {
    let fault = Fault { call: 1, moment: Moment::Before };
    let rig = Rig::with_ledger(Arc::new(FaultLedger::new(Arc::new(MemoryLedger::new()), Some(fault))));
    let error = rig.env.blocking_reserve(samples::control(1), Provider::Claude, None, "headless").unwrap_err();
    assert_eq!(error.to_string(), "could not reserve the launch");
    assert!(matches!(error, CaptureError::Reserve(LedgerError::Backend { .. })), "{error:?}");
    let error = rig.env.blocking_release(&samples::control(1).run_id).unwrap_err();
    assert!(matches!(error, CaptureError::Release(LedgerError::NotFound { .. })), "{error:?}");
}

#[test]
fn nothing_is_reserved_in_a_ledger_that_stands_in_for_the_homes_own() {
    let rig = Rig::new();
    let parts = EnvParts { rows: Rows::Deferred, ..EnvParts::new(rig.home.clone(), Arc::clone(&rig.ledger)) };
    let env = CaptureEnv::new(parts);
    let error = env.blocking_reserve(samples::control(1), Provider::Claude, None, "headless").unwrap_err();
    assert!(matches!(error, CaptureError::NoLedger { .. }), "{error:?}");
    let error = env.blocking_release(&samples::control(1).run_id).unwrap_err();
    assert!(matches!(error, CaptureError::NoLedger { .. }), "{error:?}");
    let capture = begin_controlled(&env).unwrap();
    assert_eq!(capture.status().reservation, ReservationUse::Unanswered);
}
