//! One session, the same rows everywhere.

use std::{path::Path, sync::Arc};

use serde_json::Value;
use trace_capture::{
    Capture, CaptureEnv, Home, Labels, LedgerKind, Recorded, ResultCost, Start, StreamEvent, open_home_ledger,
};
use trace_model::{
    event::{ConversationEvent, Item, UsageFigures},
    ledger::Ledger,
    money::NanoUsd,
    turn::{Basis, Outcome},
    usage::UsageReport,
    words::{Grain, InputOp, OutputStream, Provider, Quality},
};
use trace_testkit::samples;

use super::support::{dump, env, prompt, start, text};

/// Records a launch with a bit of everything in it.
pub(super) fn scripted_session(env: &CaptureEnv) {
    let labels = Labels {
        wave: Some("w".to_owned()),
        task: Some("t".to_owned()),
        tags: [("kind".parse().unwrap(), "nightly".to_owned())].into(),
        parent_launch_id: Some("launch_01923456789a7bcd8ef0123456789abc".parse().unwrap()),
        ..Labels::new("run_1".parse().unwrap(), "process_1".parse().unwrap(), "/repo", "/work")
    };
    let start = Start {
        raw: true,
        gather_ms: 3,
        render_ms: 4,
        basis: Some(Basis { epoch_id: "e".to_owned(), revision: 7 }),
        ..Start::new(Provider::Unknown, "headless")
    };
    let capture = Capture::blocking_begin(env, labels, prompt("Fix the parser."), start).unwrap();
    talk(&capture);
    capture.blocking_finish(Outcome::Failed, Recorded::Conversation);
}

fn talk(capture: &Capture) {
    capture.record_raw(OutputStream::Stdout, b"{\"session_id\":\"s-1\"}\n");
    let turn_id = Some("p1".to_owned());
    capture.record_conversation(ConversationEvent::TurnStarted { turn_id: turn_id.clone() });
    let delta = |content: &str| ConversationEvent::TextDelta { turn_id: turn_id.clone(), content: content.to_owned() };
    capture.record_conversation(delta("Grüße, "));
    capture.record_conversation(delta("Welt."));
    let item = Item::Message { id: "i1".to_owned(), text: "Grüße, Welt.".to_owned(), phase: None };
    capture.record_conversation(ConversationEvent::ItemCompleted { turn_id: turn_id.clone(), item });
    capture.record_usage(UsageReport {
        request_key: Some("msg_1".to_owned()),
        input_tokens: Some(10),
        cache_write_tokens: Some(20),
        output_tokens: Some(1),
        ..UsageReport::new("msg_1", Grain::Request, Quality::LowerBound)
    });

    capture.blocking_begin_turn(InputOp::Steer, "And the lexer.").unwrap();
    let usage = UsageFigures { output_tokens: Some(5), ..UsageFigures::default() };
    capture.record_conversation(ConversationEvent::TurnUsage { turn_id, usage });
    capture.record_stream_event(StreamEvent::ToolUse { name: "grep".to_owned(), summary: "lexer".to_owned() });
    capture.record_stream_event(StreamEvent::Usage {
        input_tokens: Some(7),
        output_tokens: Some(2),
        cache_read_tokens: Some(30),
    });
    let cost = Some(ResultCost::RunningTotal(NanoUsd::from_nanos(1_234)));
    capture.record_stream_event(StreamEvent::Result { status: Outcome::Completed, cost, duration_secs: Some(1.5) });
    capture.blocking_finish_turn(Outcome::Completed);

    capture.blocking_begin_turn_with(InputOp::Queued, prompt("Commit."), None).unwrap();
    capture.record_stream_event(text("Done."));
    capture.set_provider_session_path("/sessions/s-1.jsonl");
}

/// Records what an orchestrator makes of launches: one that it reserved, one that starts another, and one that is tried
/// again; and leaves a reservation that waits and one that was given up.
pub(super) fn orchestrated_session(env: &CaptureEnv) {
    let labels = || Labels::new("night".parse().unwrap(), "process_1".parse().unwrap(), "/repo", "/work");
    let begin = |labels, start| Capture::blocking_begin(env, labels, prompt("Sort the names."), start).unwrap();
    let reserve = |n| env.blocking_reserve(samples::control(n), Provider::Claude, None, "headless").unwrap();
    reserve(1);
    let controlled = Start { control: Some(samples::control(1)), ..start() };
    let reserved = begin(labels(), controlled);
    reserved.record_stream_event(text("Sorted."));
    reserved.blocking_finish(Outcome::Completed, Recorded::Conversation);

    let outer = begin(labels(), start());
    let beneath = Labels {
        parent_launch_id: outer.launch_id(),
        parent_turn_id: outer.running_turn(),
        ..Labels::new("night".parse().unwrap(), "process_2".parse().unwrap(), "/repo", "/work")
    };
    let inner = begin(beneath, start());
    inner.record_usage(UsageReport {
        request_key: Some("a request of the inner one".to_owned()),
        output_tokens: Some(9),
        ..UsageReport::new("msg_9", Grain::Request, Quality::Exact)
    });
    inner.blocking_finish(Outcome::Completed, Recorded::Conversation);

    outer.blocking_begin_turn(InputOp::Steer, "In Greek too.").unwrap();
    let again = outer.blocking_retry_as_new_launch(Provider::Codex, Some("gpt-5".to_owned()), "Once more.").unwrap();
    again.record_stream_event(text("Sorted again."));
    again.blocking_finish(Outcome::Completed, Recorded::Conversation);

    reserve(2);
    reserve(3);
    env.blocking_release(&samples::control(3).run_id).unwrap();
}

pub(super) fn recorded(root: &Path, kind: LedgerKind) -> (Home, Arc<dyn Ledger>) {
    recorded_by(scripted_session, root, kind)
}

/// Records a session into a ledger of that kind in a home at `root`.
pub(super) fn recorded_by(session: fn(&CaptureEnv), root: &Path, kind: LedgerKind) -> (Home, Arc<dyn Ledger>) {
    let home = Home::open_real(root).unwrap();
    let ledger = open_home_ledger(&home, Some(kind)).unwrap();
    let env = env(&home, Arc::clone(&ledger));
    session(&env);
    drop(env);
    (home, ledger)
}

#[test]
fn the_rows_of_a_session_say_what_happened() {
    let folder = tempfile::tempdir().unwrap();
    let (_, ledger) = recorded(folder.path(), LedgerKind::Memory);
    let rows = dump(&*ledger);
    let launch = &rows[0]["launch"];
    assert_eq!((&launch["outcome"], &launch["capture_status"]), (&"failed".into(), &"complete".into()));
    assert_eq!(launch["provider_session_id"], "s-1");
    assert_eq!(launch["tags"]["kind"], "nightly");
    assert_eq!(launch["os_user"], "sam");
    let turns = rows[0]["turns"].as_array().unwrap();
    let of = |ordinal: usize, field: &str| turns[ordinal - 1]["turn"][field].clone();
    assert_eq!((of(1, "status"), of(1, "partial_reason")), ("partial".into(), "superseded".into()));
    assert_eq!((of(2, "status"), of(3, "status")), ("completed".into(), "failed".into()));
    assert_eq!(of(1, "root_output"), "Grüße, Welt.");
    assert_eq!((of(1, "context_gather_ms"), of(1, "context_render_ms")), (3.into(), 4.into()));
    assert_eq!(of(1, "basis")["revision"], 7);
    assert_eq!((of(1, "provider_total_input_tokens"), of(1, "provider_output_tokens")), (30.into(), 1.into()));
    assert_eq!(
        (of(2, "context_coverage"), of(3, "context_coverage")),
        ("provider_total_only".into(), "assembled".into())
    );
    assert_eq!(of(2, "provider_turn_id"), Value::Null, "a new turn has no name of its own yet");
    assert_eq!((of(2, "cost_usd"), of(2, "cache_read_tokens")), (1.234e-6.into(), 30.into()));
}
