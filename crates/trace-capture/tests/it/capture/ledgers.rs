//! Ledgers that fail, and how little they are asked.

use std::{
    future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use trace_capture::{LedgerKind, MemoryLedger, Recorded, open_home_ledger};
use trace_model::{event::ConversationEvent, turn::Outcome, words::InputOp};
use trace_testkit::{Fault, FaultLedger, Moment};

use super::{
    hooked::HookedLedger,
    support::{Rig, dump, events, kinds, text},
};

fn delta(content: &str) -> ConversationEvent {
    ConversationEvent::TextDelta { turn_id: Some("p1".to_owned()), content: content.to_owned() }
}

#[test]
fn text_makes_no_ledger_writes_however_much_it_is() {
    let writes = |deltas: usize| {
        let ledger = FaultLedger::new(Arc::new(MemoryLedger::new()), None);
        let rig = Rig::with_ledger(Arc::new(ledger.clone()));
        let capture = rig.begin();
        for _ in 0..deltas {
            capture.record_conversation(delta("word "));
        }
        capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
        drop(rig.env);
        let calls = ledger.calls();
        let rows = dump(&*rig.ledger);
        assert_eq!(rows[0]["turns"][0]["turn"]["root_output"].as_str().unwrap().len(), 5 * deltas);
        calls
    };
    assert_eq!(writes(20_000), writes(20));
}

#[test]
fn wherever_the_ledger_fails_once_the_rows_come_to_be_the_fold_of_the_files() {
    for moment in [Moment::Before, Moment::After] {
        for call in 1.. {
            let memory = MemoryLedger::new();
            let ledger = FaultLedger::new(Arc::new(memory.clone()), Some(Fault { call, moment }));
            let rig = Rig::with_ledger(Arc::new(ledger.clone()));
            let capture = rig.begin();
            capture.record_stream_event(text("one"));
            capture.blocking_begin_turn(InputOp::Steer, "Faster.").unwrap();
            capture.set_provider_session_id("s1");
            capture.blocking_finish_turn(Outcome::Completed);
            capture.blocking_begin_turn(InputOp::Message, "Again.").unwrap();
            capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
            let home = rig.home.clone();
            drop(rig.env);
            let failed = ledger.has_failed();
            assert_eq!(capture.status().trouble, None, "a ledger that fails makes no capture partial");
            assert!(!capture.status().index_pending, "call {call} {moment:?}");
            let filled = open_home_ledger(&home, Some(LedgerKind::Memory)).unwrap();
            assert_eq!(dump(&memory), dump(&*filled), "call {call} {moment:?}");
            if !failed {
                break;
            }
        }
    }
}

#[test]
fn a_ledger_that_fails_at_begin_keeps_the_artifacts_and_is_tried_again() {
    let fault = Fault { call: 1, moment: Moment::Before };
    let ledger = FaultLedger::new(Arc::new(MemoryLedger::new()), Some(fault));
    let rig = Rig::with_ledger(Arc::new(ledger.clone()));
    let capture = rig.begin();
    assert_eq!(rig.home.list_launch_artifact_dirs().unwrap().len(), 1);
    // Nothing is recorded meanwhile: the recorder comes back by itself.
    while capture.status().index_pending {
        std::thread::yield_now();
    }
    assert_eq!(ledger.calls(), 2);
    let launch = pollster::block_on(rig.ledger.launch(capture.launch_id().unwrap())).unwrap();
    assert_eq!(launch.conversation_event_count, 2);
}

#[test]
fn a_ledger_that_panics_is_one_that_failed() {
    let first = AtomicBool::new(true);
    let ledger = HookedLedger::new(Arc::new(MemoryLedger::new()), move || {
        assert!(!first.swap(false, Ordering::SeqCst), "the ledger broke");
        Box::pin(future::ready(()))
    });
    let rig = Rig::with_ledger(Arc::new(ledger));
    let capture = rig.begin();
    capture.record_stream_event(text("one"));
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    assert_eq!(rig.rows()[0]["launch"]["outcome"], "completed");
}

/// Tells how many calls of a ledger were given up.
struct GivenUp(Arc<AtomicU64>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_ledger_that_never_answers_stops_neither_recording_nor_what_begins_and_ends() {
    let given_up = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&given_up);
    let ledger = HookedLedger::new(Arc::new(MemoryLedger::new()), move || {
        let guard = GivenUp(Arc::clone(&count));
        Box::pin(async move {
            future::pending::<()>().await;
            drop(guard);
        })
    });
    let rig = Rig::with_ledger(Arc::new(ledger));
    let capture = rig.begin();
    assert!(capture.status().index_pending);
    capture.record_stream_event(text("one"));
    capture.blocking_begin_turn(InputOp::Message, "Again.").unwrap();
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    assert_eq!(given_up.load(Ordering::SeqCst), 0, "nobody waited until the call was given up");
    assert_eq!(capture.status().trouble, None);
    let kinds = kinds(&events(&rig.home));
    assert_eq!(kinds.last().map(String::as_str), Some("launch_ended"));
    // The environment would wait for the ledger when it is dropped, and this test would wait with it.
    std::mem::forget(rig.env);
}
