//! Handles, environments and futures that are dropped.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, mpsc},
    task::{Context, Waker},
};

use trace_capture::{Capture, CaptureEnv, EnvParts, IdSource, Recorded};
use trace_model::{timestamp::Timestamp, turn::Outcome};
use uuid::Uuid;

use super::support::{CountingIds, Rig, begin, dump, events, kinds, labels, prompt, start, text, texts};

#[test]
fn a_capture_that_is_dropped_ends_its_launch_honestly() {
    let rig = Rig::new();
    let capture = rig.begin();
    let clone = capture.clone();
    drop(capture);
    clone.record_stream_event(text("the launch goes on while a handle lives"));
    drop(clone);
    let home = rig.home.clone();
    let rows = rig.rows();
    assert_eq!(kinds(&events(&home)), ["turn_opened", "user_input", "legacy_text", "turn_ended", "launch_ended"]);
    let launch = &rows[0]["launch"];
    assert_eq!((&launch["outcome"], &launch["capture_status"]), (&"interrupted".into(), &"interrupted".into()));
    assert_eq!(launch["incomplete_reason"], "the capture was dropped before it was finished");
    assert_eq!(rows[0]["turns"][0]["turn"]["status"], "interrupted");
}

/// Ids that are only given when the gate is open.
#[derive(Debug)]
struct GatedIds {
    ids: CountingIds,
    gate: Mutex<mpsc::Receiver<()>>,
}

impl IdSource for GatedIds {
    fn next(&self, now: Timestamp) -> Uuid {
        // The gate opens for good when its other end is dropped.
        let _ = self.gate.lock().unwrap().recv();
        self.ids.next(now)
    }
}

#[test]
fn a_launch_whose_begin_is_not_waited_for_ends_too() {
    let rig = Rig::new();
    let (closed, gate) = mpsc::channel();
    let ids = GatedIds { ids: CountingIds::default(), gate: Mutex::new(gate) };
    let parts = EnvParts::new(rig.home.clone(), Arc::clone(&rig.ledger));
    let env = CaptureEnv::new(EnvParts { ids: Arc::new(ids), ..parts });
    {
        let begin = pin!(Capture::begin(&env, labels(), prompt("Fix the parser."), start()));
        let asked = begin.poll(&mut Context::from_waker(Waker::noop()));
        assert!(asked.is_pending(), "the work is asked for, and nobody waits for the answer");
    }
    drop(closed);
    drop(env);
    let rows = rig.rows();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(rows[0]["launch"]["outcome"], "interrupted");
}

#[test]
fn a_capture_outlives_its_environment() {
    let Rig { env, home, ledger, files: _ } = Rig::new();
    let capture = begin(&env);
    drop(env);
    capture.record_stream_event(text("after"));
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    assert!(!capture.status().index_pending);
    assert_eq!(dump(&*ledger)[0]["launch"]["outcome"], "completed");
    assert_eq!(texts(&events(&home)), ["after"]);
}

#[test]
fn an_environment_that_is_dropped_brings_everything_into_the_ledger() {
    let rig = Rig::new();
    let capture = rig.begin();
    capture.set_provider_session_id("s1");
    let Rig { env, ledger, .. } = rig;
    drop(env);
    assert_eq!(dump(&*ledger)[0]["launch"]["provider_session_id"], "s1");
    drop(capture);
}

#[test]
fn a_dropped_environment_has_let_go_of_its_ledger() {
    for _ in 0..50 {
        let rig = Rig::new();
        let capture = rig.begin();
        capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
        drop(capture);
        drop(rig.env);
        assert_eq!(Arc::strong_count(&rig.ledger), 1);
    }
}

#[test]
fn a_capture_that_outlives_its_environment_keeps_the_ledger() {
    let Rig { env, ledger, .. } = Rig::new();
    let capture = begin(&env);
    drop(env);
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    while dump(&*ledger)[0]["launch"]["outcome"] != "completed" {
        std::thread::yield_now();
    }
}
