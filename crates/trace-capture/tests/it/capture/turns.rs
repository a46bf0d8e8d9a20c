//! Turns, seen from the files.

use serde_json::Value;
use trace_capture::{Capture, PreparedTurnContext, Prompts, Recorded, StreamEvent, TokenizerName};
use trace_model::{
    event::Payload,
    turn::{EndStatus, Outcome, TurnState},
    words::{InputOp, PartialReason},
};
use trace_testkit::Effect;

use super::support::{Rig, dump, events, kinds, labels, prompt, start, text};

#[test]
fn the_files_of_a_turn_are_on_disk_before_it_is_opened() {
    let rig = Rig::new();
    let capture = rig.begin();
    capture.blocking_begin_turn_with(InputOp::Message, prompt("Again."), None).unwrap();
    let effects = rig.files.effects();
    let last = |wanted: &dyn Fn(&Effect) -> bool| effects.iter().rposition(wanted).unwrap();
    let in_turns = |effect: &Effect| matches!(effect, Effect::SyncDir(path) if path.ends_with("turns"));
    let in_conversation =
        |effect: &Effect| matches!(effect, Effect::Write { path, .. } if path.ends_with("conversation.jsonl"));
    let of_context = |effect: &Effect| matches!(effect, Effect::Sync(path) if path.ends_with("0002-context.json"));
    assert!(last(&of_context) < last(&in_turns));
    assert!(last(&in_turns) < last(&in_conversation));
}

#[test]
fn a_steer_supersedes_the_running_turn_and_loses_nothing() {
    let rig = Rig::new();
    let capture = rig.begin();
    let first = capture.running_turn().unwrap();
    let second = capture.blocking_begin_turn(InputOp::Steer, "Faster.").unwrap().unwrap();
    assert_eq!(capture.running_turn(), Some(second));
    assert!(second > first, "the ids of turns ascend");
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let expected =
        ["turn_opened", "user_input", "turn_ended", "turn_opened", "user_input", "turn_ended", "launch_ended"];
    assert_eq!(kinds(&events(&rig.home)), expected);
    let turns = pollster::block_on(rig.ledger.turns(capture.launch_id().unwrap())).unwrap();
    let status = |n: usize| match turns[n].turn.state {
        TurnState::Ended { status, .. } => status,
        TurnState::Running => panic!("it runs"),
    };
    assert_eq!(status(0), EndStatus::Partial(PartialReason::Superseded));
    assert_eq!(status(1), EndStatus::Of(Outcome::Completed));
    assert_eq!(rig.rows()[0]["launch"]["capture_status"], "complete");
}

#[test]
fn a_turn_that_cannot_be_written_fails_typed_and_the_old_turn_goes_on() {
    let rig = Rig::new();
    let capture = rig.begin();
    let first = capture.running_turn();
    rig.files.fail_once_at(1);
    let error = capture.blocking_begin_turn(InputOp::Message, "Again.").unwrap_err();
    assert_eq!(error.to_string(), "could not record the turn");
    assert_eq!(capture.running_turn(), first);
    assert!(capture.status().trouble.is_some());
    capture.record_stream_event(text("still here"));
    let again = capture.blocking_begin_turn(InputOp::Message, "Again.").unwrap();
    assert_ne!(again, first, "the same place in the launch can be written anew");
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let events = events(&rig.home);
    assert!(events.iter().any(|event| matches!(event.payload, Payload::CaptureError { lost_events: None, .. })));
    assert_eq!(rig.rows()[0]["launch"]["capture_status"], "partial");
}

#[test]
fn a_turn_whose_events_cannot_be_written_leaves_no_file_behind() {
    let rig = Rig::new();
    let capture = rig.begin();
    let before = rig.files.paths();
    rig.files.limit_space(1_000);
    capture.record_stream_event(text("x".repeat(700)));
    let error = capture.blocking_begin_turn(InputOp::Message, "Again.").unwrap_err();
    assert_eq!(error.to_string(), "could not record the turn");
    assert_eq!(rig.files.paths(), before);
    rig.files.heal();
    capture.blocking_begin_turn(InputOp::Message, "Again.").unwrap();
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    events(&rig.home);
}

#[test]
fn an_empty_system_prompt_is_absent_and_leaves_no_file() {
    let rig = Rig::new();
    let capture = rig.begin();
    capture.blocking_begin_turn(InputOp::Message, "").unwrap();
    let turns = dump(&*rig.ledger)[0]["turns"].clone();
    assert_eq!(turns[1]["turn"]["system_prompt_path"], Value::Null);
    assert!(turns[1]["turn"]["task_prompt_path"].as_str().unwrap().ends_with("turns/0002-task.md"));
    assert!(!rig.files.paths().iter().any(|path| path.ends_with("0002-system.md")));
}

#[test]
fn unknown_input_has_no_tokens_and_is_known_by_its_totals_once_usage_comes() {
    let rig = Rig::new();
    let capture = Capture::blocking_begin(&rig.env, labels(), PreparedTurnContext::unknown(), start()).unwrap();
    assert_eq!(kinds(&events(&rig.home)), ["turn_opened"], "there is no input to tell");
    let turn = || dump(&*rig.ledger)[0]["turns"][0]["turn"].clone();
    assert_eq!((&turn()["context_coverage"], &turn()["supplied_context_tokens"]), (&"unknown".into(), &Value::Null));
    capture.record_stream_event(StreamEvent::Usage {
        input_tokens: Some(5),
        output_tokens: Some(1),
        cache_read_tokens: None,
    });
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    assert_eq!(turn()["context_coverage"], "provider_total_only");
    assert_eq!(turn()["supplied_context_tokens"], Value::Null, "what was sent is still not known");
}

#[test]
fn a_follow_up_is_counted_in_the_encoding_of_the_turn_before_it() {
    let rig = Rig::new();
    let prompts = Prompts { system: None, task: Some("Fix the parser.".to_owned()) };
    let prepared = PreparedTurnContext::from_prompts(TokenizerName::O200kBase, prompts);
    let capture = Capture::blocking_begin(&rig.env, labels(), prepared, start()).unwrap();
    capture.blocking_begin_turn(InputOp::Message, "Again.").unwrap();
    let turns = dump(&*rig.ledger)[0]["turns"].clone();
    assert_eq!(turns[1]["turn"]["tokenizer"], "o200k_base");
}
