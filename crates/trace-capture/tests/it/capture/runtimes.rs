//! Runtimes and threads.

use std::{collections::BTreeSet, thread};

use trace_capture::{Capture, Recorded};
use trace_model::{turn::Outcome, words::InputOp};

use super::support::{Rig, events, kinds, labels, prompt, start, text, texts};

/// Records a whole session with the asynchronous half of the handle.
async fn session(rig: &Rig) {
    let capture = Capture::begin(&rig.env, labels(), prompt("Fix the parser."), start()).await.unwrap();
    capture.record_stream_event(text("one"));
    capture.begin_turn(InputOp::Message, "Again.").await.unwrap();
    capture.finish_turn(Outcome::Completed).await;
    capture.finish(Outcome::Completed, Recorded::Conversation).await;
}

fn check(rig: Rig) {
    let whole = ["turn_opened", "user_input", "legacy_text", "turn_ended", "turn_opened", "user_input", "turn_ended"];
    assert_eq!(kinds(&events(&rig.home))[..7], whole);
    assert_eq!(rig.rows()[0]["launch"]["capture_status"], "complete");
}

#[test]
fn a_session_is_recorded_without_any_runtime() {
    let rig = Rig::new();
    pollster::block_on(session(&rig));
    check(rig);
}

#[tokio::test(flavor = "current_thread")]
async fn a_session_is_recorded_on_a_runtime_of_one_thread() {
    let rig = Rig::new();
    session(&rig).await;
    check(rig);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_recorded_on_a_runtime_of_many_threads() {
    let rig = Rig::new();
    session(&rig).await;
    check(rig);
}

#[tokio::test(flavor = "current_thread")]
async fn the_blocking_half_works_inside_of_a_runtime_too() {
    let rig = Rig::new();
    let capture = rig.begin();
    capture.record_stream_event(text("one"));
    capture.blocking_begin_turn(InputOp::Message, "Again.").unwrap();
    capture.blocking_finish_turn(Outcome::Completed);
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    check(rig);
}

#[test]
fn many_threads_record_one_launch_and_no_event_is_lost_or_torn() {
    let rig = Rig::new();
    let capture = rig.begin();
    thread::scope(|scope| {
        for writer in 0..8 {
            let capture = capture.clone();
            scope.spawn(move || {
                for n in 0..250 {
                    capture.record_stream_event(text(format!("{writer}:{n}")));
                }
            });
        }
        scope.spawn(|| {
            for n in 0..5 {
                capture.blocking_begin_turn(InputOp::Steer, &n.to_string()).unwrap();
            }
        });
    });
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let events = events(&rig.home);
    let texts = texts(&events);
    assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), 2_000);
    for writer in 0..8 {
        let own = format!("{writer}:");
        let order: Vec<u32> = texts.iter().filter_map(|text| text.strip_prefix(&own)?.parse().ok()).collect();
        assert!(order.is_sorted(), "each thread's events are in its order");
    }
    assert_eq!(rig.rows()[0]["turns"].as_array().unwrap().len(), 6);
}

#[test]
fn many_launches_are_recorded_at_once() {
    let rig = Rig::new();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let capture = rig.begin();
                for n in 0..100 {
                    capture.record_stream_event(text(n.to_string()));
                }
                capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
            });
        }
    });
    let rows = rig.rows();
    let launches = rows.as_array().unwrap();
    assert_eq!(launches.len(), 8);
    assert!(launches.iter().all(|launch| launch["launch"]["conversation_event_count"] == 104));
}

#[test]
fn a_handle_goes_to_any_thread() {
    fn check<T: Clone + Send + Sync + 'static>(_: &T) {}
    check(&Capture::disabled());
    check(&Rig::new().env);
}
