//! Files that fail, tear and forget.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use trace_capture::{Capture, Clock, Home, MemoryLedger, Recorded, artifacts::FileEffects};
use trace_model::{event::Payload, ledger::Ledger, timestamp::Timestamp, turn::Outcome, words::InputOp};
use trace_testkit::{Effect, SimulatedFiles, Unsynced};

use super::support::{
    Rig, TickingClock, begin, dump, env, env_with_clock, events, home_on, kinds, labels, prompt, read_events, start,
    text, texts,
};

#[test]
fn the_first_transient_error_does_not_end_the_capture() {
    let rig = Rig::new();
    let capture = rig.begin();
    capture.record_stream_event(text("one"));
    rig.files.fail_once_at(1);
    capture.record_stream_event(text("two"));
    capture.record_stream_event(text("three"));
    assert_eq!(capture.status().lost_events, 1);
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let events = events(&rig.home);
    assert_eq!(texts(&events), ["one", "three"]);
    let told = events.iter().find_map(|event| match &event.payload {
        Payload::CaptureError { message, lost_events } => Some((message.clone(), *lost_events)),
        _ => None,
    });
    let (message, lost) = told.expect("the loss is told");
    assert_eq!(lost, Some(1));
    let (place, cause) = message.split_once("/conversation.jsonl: ").expect("it names the file and the cause");
    assert!(place.starts_with("could not append to run_1/process_1/launch_") && !cause.is_empty(), "{message}");
    let rows = rig.rows();
    assert_eq!(rows[0]["launch"]["capture_status"], "partial");
    assert_eq!(rows[0]["launch"]["incomplete_reason"], message);
    let turn = &rows[0]["turns"][0]["turn"];
    assert_eq!((&turn["status"], &turn["partial_reason"]), (&"partial".into(), &"capture_failed".into()));
}

#[test]
fn an_error_record_is_never_glued_to_a_torn_line() {
    let rig = Rig::new();
    let capture = rig.begin();
    for torn in [1, 20, 10_000] {
        rig.files.tear_failing_writes(torn);
        rig.files.fail_once_at(1);
        capture.record_stream_event(text("größer als zuvor"));
        rig.files.heal();
        capture.record_stream_event(text("whole"));
    }
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    assert_eq!(texts(&events(&rig.home)), ["whole"; 3]);
}

#[test]
fn recording_opens_no_file_and_syncs_no_event() {
    let rig = Rig::new();
    let capture = rig.begin();
    let before = rig.files.effects().len();
    for n in 0..1_000 {
        capture.record_stream_event(text(n.to_string()));
    }
    let effects = rig.files.effects().split_off(before);
    let count = |wanted: fn(&Effect) -> bool| effects.iter().filter(|effect| wanted(effect)).count();
    assert_eq!(count(|effect| matches!(effect, Effect::Write { .. })), 1_000);
    let others = |effect: &Effect| !matches!(effect, Effect::Write { .. } | Effect::Sync(_));
    assert_eq!(effects.iter().filter(|effect| others(effect)).count(), 0);
    assert!(count(|effect| matches!(effect, Effect::Sync(_))) < 500, "syncing is not done for each event");
}

#[test]
fn what_was_recorded_reaches_the_disk_without_anybody_asking() {
    let rig = Rig::new();
    let capture = rig.begin();
    capture.record_stream_event(text("soon on disk"));
    loop {
        let left = home_on(&rig.files.after_power_cut(Unsynced::Lost));
        if texts(&events(&left)) == ["soon on disk"] {
            break;
        }
        std::thread::yield_now();
    }
}

#[test]
fn what_began_or_ended_survives_a_power_cut_as_soon_as_it_returns() {
    let rig = Rig::new();
    let after_power_cut = || {
        [Unsynced::Lost, Unsynced::Kept { bytes: 3 }].map(|unsynced| {
            let home = home_on(&rig.files.after_power_cut(unsynced));
            let dir = home.list_launch_artifact_dirs().unwrap().remove(0);
            let (events, _) = read_events(&home, &dir);
            kinds(&events)
        })
    };
    let capture = rig.begin();
    let mut expected = vec!["turn_opened", "user_input"];
    assert_eq!(after_power_cut(), [&expected[..], &expected]);
    capture.record_stream_event(text("said"));
    capture.blocking_begin_turn(InputOp::Message, "Again.").unwrap();
    expected.extend(["legacy_text", "turn_ended", "turn_opened", "user_input"]);
    assert_eq!(after_power_cut(), [&expected[..], &expected]);
    capture.blocking_finish_turn(Outcome::Completed);
    expected.push("turn_ended");
    assert_eq!(after_power_cut(), [&expected[..], &expected]);
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    expected.push("launch_ended");
    assert_eq!(after_power_cut(), [&expected[..], &expected]);
}

/// Records a small session, and tells whether its launch could begin.
fn session(home: &Home, ledger: &Arc<dyn Ledger>) -> bool {
    let env = env(home, Arc::clone(ledger));
    let Ok(capture) = Capture::blocking_begin(&env, labels(), prompt("Fix the parser."), start()) else {
        return false;
    };
    capture.record_stream_event(text("one"));
    // A harness may ignore that a turn is not on record.
    let _ = capture.blocking_begin_turn(InputOp::Steer, "Faster.");
    capture.record_stream_event(text("two"));
    capture.set_provider_session_id("s1");
    capture.blocking_finish_turn(Outcome::Completed);
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    true
}

/// Lets each effect fail in turn, once or for good, and checks what is left each time.
fn every_effect_fails(fail: fn(&SimulatedFiles, u64), check: fn(bool, &SimulatedFiles, &Arc<dyn Ledger>)) {
    for nth in 1.. {
        let files = SimulatedFiles::new();
        let home = home_on(&files);
        let ledger: Arc<dyn Ledger> = Arc::new(MemoryLedger::new());
        fail(&files, nth);
        let begun = session(&home, &ledger);
        let failed = files.has_failed();
        files.heal();
        check(begun, &files, &ledger);
        if !failed {
            return;
        }
    }
}

#[test]
fn wherever_files_fail_once_the_rows_are_the_fold_of_what_was_written() {
    every_effect_fails(SimulatedFiles::fail_once_at, |begun, files, ledger| {
        let home = home_on(files);
        let rows = dump(&**ledger);
        let launches = home.list_launch_artifact_dirs().unwrap();
        assert_eq!(launches.len(), usize::from(begun), "a launch is published whole or not at all");
        assert_eq!(rows.as_array().unwrap().len(), launches.len());
        if !begun {
            return;
        }
        let launch = &rows[0]["launch"];
        let events = events(&home);
        let told = events.iter().any(|event| matches!(event.payload, Payload::CaptureError { .. }));
        if told {
            assert_eq!(launch["capture_status"], "partial");
        }
        assert_eq!(launch["outcome"], "completed", "one failure does not keep the launch from ending");
        let filled = trace_capture::open_home_ledger(&home, Some(trace_capture::LedgerKind::Memory)).unwrap();
        assert_eq!(dump(&*filled), rows);
    });
}

#[test]
fn wherever_files_fail_for_good_what_was_written_before_is_whole() {
    every_effect_fails(SimulatedFiles::fail_forever_at, |begun, files, _| {
        let home = home_on(files);
        // A launch that could not begin may be left where its removal failed too, and is whole even then.
        if begun || !home.list_launch_artifact_dirs().unwrap().is_empty() {
            assert_eq!(kinds(&events(&home))[..2], ["turn_opened", "user_input"]);
        }
    });
}

/// A clock that breaks once.
#[derive(Debug)]
struct BreakingClock {
    ticks: TickingClock,
    breaks: AtomicBool,
}

impl Clock for BreakingClock {
    fn now(&self) -> Timestamp {
        assert!(!self.breaks.swap(false, Ordering::SeqCst), "the clock broke");
        self.ticks.now()
    }
}

#[test]
fn a_poisoned_lock_does_not_panic_the_agent() {
    let files = SimulatedFiles::new();
    let home = home_on(&files);
    let clock = Arc::new(BreakingClock { ticks: TickingClock::new(), breaks: AtomicBool::new(false) });
    let env = env_with_clock(&home, Arc::new(MemoryLedger::new()), clock.clone());
    let capture = begin(&env);
    clock.breaks.store(true, Ordering::SeqCst);
    let broken = catch_unwind(AssertUnwindSafe(|| capture.record_stream_event(text("lost"))));
    assert!(broken.is_err(), "the clock is asked while the launch is locked");
    capture.record_stream_event(text("kept"));
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    assert_eq!(texts(&events(&home)), ["kept"]);
}

#[test]
fn a_panic_on_the_recorders_thread_is_the_trouble_of_one_launch_and_ends_no_other() {
    let files = SimulatedFiles::new();
    let home = home_on(&files);
    let clock = Arc::new(BreakingClock { ticks: TickingClock::new(), breaks: AtomicBool::new(false) });
    let env = env_with_clock(&home, Arc::new(MemoryLedger::new()), clock.clone());
    let (capture, beside) = (begin(&env), begin(&env));
    clock.breaks.store(true, Ordering::SeqCst);
    assert!(capture.blocking_begin_turn(InputOp::Message, "Again.").is_err());
    assert!(capture.blocking_begin_turn(InputOp::Message, "And again.").is_ok());
    assert_eq!(capture.status().trouble.as_deref(), Some("the recorder panicked: the clock broke"));
    for capture in [&capture, &beside] {
        capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    }
    assert_eq!(beside.status().trouble, None);
}

#[test]
fn a_sync_that_fails_at_the_end_is_told_and_the_turn_ends_as_not_captured() {
    let rig = Rig::new();
    let capture = rig.begin();
    capture.record_stream_event(text("said"));
    rig.files.fail_once_at(1);
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let ends = ["legacy_text", "capture_error", "turn_ended", "launch_ended"];
    assert_eq!(kinds(&events(&rig.home))[2..], ends);
    let rows = rig.rows();
    assert_eq!(rows[0]["launch"]["capture_status"], "partial");
    let reason = rows[0]["launch"]["incomplete_reason"].as_str().unwrap();
    assert!(reason.starts_with("could not sync run_1/process_1/launch_"), "{reason}");
    assert_eq!(rows[0]["turns"][0]["turn"]["partial_reason"], "capture_failed");
}

#[test]
fn a_launch_whose_files_were_removed_is_partial() {
    let rig = Rig::new();
    let capture = rig.begin();
    let header = format!("traces/{}/launch.json", capture.artifact_dir().unwrap());
    rig.files.remove_file(Path::new(&header)).unwrap();
    capture.record_stream_event(text("said"));
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let rows = rig.rows();
    assert_eq!(rows[0]["launch"]["capture_status"], "partial");
    let reason = "the files of the launch were removed while it was recorded";
    assert_eq!(rows[0]["launch"]["incomplete_reason"], reason);
}
