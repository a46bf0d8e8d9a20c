//! What ended stays ended.

use trace_capture::{Capture, CaptureError, Recorded};
use trace_model::{
    context::Sha256Hex,
    event::{Payload, Receipt},
    turn::Outcome,
    words::{InputOp, OutputStream},
};

use super::support::{Rig, events, text};

#[test]
fn nothing_is_recorded_after_finish_and_a_second_finish_changes_nothing() {
    let rig = Rig::new();
    let capture = rig.begin();
    capture.blocking_finish_turn(Outcome::Failed);
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let before = (events(&rig.home), rig.files.paths());

    capture.record_stream_event(text("too late"));
    capture.record_raw(OutputStream::Stdout, b"{\"session_id\":\"late\"}\n");
    capture.record_receipt(Receipt { model: Some("late".to_owned()), ..Receipt::default() });
    capture.set_provider_session_id("late");
    capture.blocking_finish_turn(Outcome::Completed);
    capture.blocking_finish(Outcome::Failed, Recorded::PromptOnly);
    let refused = capture.blocking_begin_turn(InputOp::Message, "Again.");
    assert!(matches!(refused, Err(CaptureError::Ended)), "{refused:?}");
    assert_eq!(capture.running_turn(), None);

    drop(capture);
    assert_eq!((events(&rig.home), rig.files.paths()), before);
    let rows = rig.rows();
    assert_eq!(
        (&rows[0]["launch"]["outcome"], &rows[0]["turns"][0]["turn"]["status"]),
        (&"completed".into(), &"failed".into())
    );
}

#[test]
fn a_launch_without_its_conversation_is_prompt_only() {
    let rig = Rig::new();
    rig.begin().blocking_finish(Outcome::Completed, Recorded::PromptOnly);
    let launch = &rig.rows()[0]["launch"];
    assert_eq!(launch["capture_status"], "prompt_only");
    assert_eq!(launch["incomplete_reason"], "provider conversation not captured");
}

#[test]
fn the_end_names_every_file_with_its_hash() {
    let rig = Rig::new();
    let capture = rig.begin();
    capture.blocking_begin_turn(InputOp::Message, "Again.").unwrap();
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let events = events(&rig.home);
    let Payload::LaunchEnded { files, .. } = &events.last().unwrap().payload else { panic!("{events:?}") };
    let dir = rig.home.list_launch_artifact_dirs().unwrap().remove(0);
    let names: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    let expected = [
        "conversation.jsonl",
        "launch.json",
        "turns/0001-context.json",
        "turns/0001-system.md",
        "turns/0001-task.md",
        "turns/0002-context.json",
        "turns/0002-task.md",
    ];
    assert_eq!(names, expected);
    for file in files {
        let path = std::path::Path::new("traces").join(dir.as_str()).join(&file.path);
        let mut content = rig.files.content(&path).unwrap();
        // The conversation is hashed as it was before its last line.
        content.truncate(usize::try_from(file.bytes).unwrap());
        assert_eq!(Sha256Hex::of(&content), file.sha256, "{}", file.path);
    }
}

#[test]
fn a_disabled_capture_does_nothing() {
    let capture = Capture::disabled();
    capture.record_stream_event(text("nowhere"));
    assert_eq!(capture.blocking_begin_turn(InputOp::Message, "x").unwrap(), None);
    capture.blocking_finish_turn(Outcome::Completed);
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    assert_eq!((capture.launch_id(), capture.run_id(), capture.running_turn()), (None, None, None));
    assert_eq!(capture.status(), trace_capture::CaptureReport::default());
}
