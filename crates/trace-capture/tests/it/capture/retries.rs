//! Retries: a launch that failed, and the one that goes on with its work.

use std::{fs, path::Path};

use serde_json::{Value, json};
use trace_capture::{
    Capture, CaptureError, Home, Labels, LedgerKind, PreparedTurnContext, Prompts, Recorded, ReservationUse, Start,
    TokenizerName, open_home_ledger, reindex::reindex,
};
use trace_model::{
    turn::Outcome,
    usage::UsageReport,
    words::{Grain, InputOp, OutputStream, Provider, Quality},
};

use super::support::{
    Rig, begin, controlled, document, dump, env, events, home_on, kinds, labels, prompt, read_events, start, text,
};

fn retry(capture: &Capture) -> Result<Capture, CaptureError> {
    capture.blocking_retry_as_new_launch(Provider::Codex, Some("o5".to_owned()), "Go on.")
}

/// Returns the fields of the rows of turns that a retry is about.
fn turns(launch: &Value) -> Vec<Value> {
    let fields = ["ordinal", "input_op", "status", "partial_reason", "context_coverage", "root_output"];
    let turns = launch["turns"].as_array().unwrap().iter();
    turns.map(|rows| fields.map(|field| rows["turn"][field].clone()).into()).collect()
}

/// A launch of two turns that fails, and its retry, which is completed.
fn failed_and_retried(root: &Path, kind: LedgerKind) -> String {
    let home = Home::open_real(root).unwrap();
    let ledger = open_home_ledger(&home, Some(kind)).unwrap();
    let env = env(&home, ledger.clone());
    let first = Capture::blocking_begin(&env, labels(), prompt("Fix the parser."), start()).unwrap();
    first.record_stream_event(text("I look "));
    first.record_stream_event(text("into it."));
    first.blocking_begin_turn(InputOp::Steer, "Faster.").unwrap();
    first.record_stream_event(text("As you wish."));
    let second = retry(&first).unwrap();
    second.record_stream_event(text("Done."));
    second.blocking_finish(Outcome::Completed, Recorded::Conversation);
    drop(env);
    let rows = document(&*ledger);
    // The files alone say the same, to every kind of ledger.
    let filled = open_home_ledger(&home, Some(LedgerKind::Memory)).unwrap();
    assert_eq!(document(&*filled), rows, "{kind}");
    pollster::block_on(reindex(&home, &*ledger, &mut |_| {})).unwrap();
    assert_eq!(document(&*ledger), rows, "{kind}");
    rows
}

#[test]
fn a_failed_launch_and_its_retry_say_what_happened_on_every_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = LedgerKind::ALL.iter().filter(|kind| kind.is_compiled()).map(|kind| {
        let root = folder.path().join(kind.as_str());
        fs::create_dir(&root).unwrap();
        failed_and_retried(&root, *kind)
    });
    let rows = all.next().unwrap();
    assert!(all.all(|other| other == rows), "every ledger holds the same");

    let rows: Value = serde_json::from_str(&rows).unwrap();
    let [first, second] = &rows.as_array().unwrap()[..] else { panic!("{rows}") };
    let of = |launch: &Value, field: &str| launch["launch"][field].clone();
    assert_eq!((of(first, "outcome"), of(first, "capture_status")), ("failed".into(), "complete".into()));
    let superseded = json!([1, "initial", "partial", "superseded", "assembled", "I look into it."]);
    let failed = json!([2, "steer", "failed", null, "provider_total_only", "As you wish."]);
    assert_eq!(turns(first), [superseded, failed]);

    assert_eq!((of(second, "outcome"), of(second, "capture_status")), ("completed".into(), "complete".into()));
    assert_eq!((of(second, "provider"), of(second, "model")), ("codex".into(), "o5".into()));
    assert_eq!(turns(second), [json!([1, "message", "completed", null, "provider_total_only", "Done."])]);
    let turn = &second["turns"][0]["turn"];
    for unknown in [
        "provider_turn_id",
        "system_prompt_path",
        "system_tokens",
        "provider_input_tokens",
        "provider_total_input_tokens",
        "peak_input_tokens",
        "provider_output_tokens",
        "reasoning_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost_usd",
    ] {
        assert_eq!(turn[unknown], Value::Null, "{unknown}");
    }
    assert_eq!(second["usage"], json!([]));
}

#[test]
fn a_retry_has_the_labels_surface_and_raw_output_of_its_launch_and_counts_in_its_encoding() {
    let rig = Rig::new();
    let labels = Labels {
        wave: Some("w".to_owned()),
        project: Some("p".to_owned()),
        task: Some("t".to_owned()),
        flow: Some("f".to_owned()),
        skill: Some("s".to_owned()),
        tags: [("kind".parse().unwrap(), "nightly".to_owned())].into(),
        parent_launch_id: Some("launch_01923456789a7bcd8ef0123456789abc".parse().unwrap()),
        parent_turn_id: Some("turn_01923456789a7bcd8ef0123456789abc".parse().unwrap()),
        ..Labels::new("run_7".parse().unwrap(), "process_7".parse().unwrap(), "/repo", "/work")
    };
    let prompts = Prompts { system: None, task: Some("Fix the parser.".to_owned()) };
    let prepared = PreparedTurnContext::from_prompts(TokenizerName::O200kBase, prompts);
    let start = Start { raw: true, ..Start::new(Provider::Claude, "desk") };
    let first = Capture::blocking_begin(&rig.env, labels, prepared, start).unwrap();
    let second = retry(&first).unwrap();
    second.record_raw(OutputStream::Stdout, b"kept");
    second.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let rows = rig.rows();
    let same =
        ["run_id", "process_id", "repo", "worktree", "wave", "project", "task", "flow", "skill", "tags", "surface"];
    for field in same.into_iter().chain(["parent_launch_id", "parent_turn_id", "hostname", "os_user"]) {
        assert_eq!(rows[0]["launch"][field], rows[1]["launch"][field], "{field}");
        assert_ne!(rows[0]["launch"][field], Value::Null, "{field}");
    }
    assert!(rows[1]["launch"]["provider_events_path"].is_string(), "the output of the second is kept too");
    assert_eq!(rows[1]["turns"][0]["turn"]["tokenizer"], "o200k_base");
}

#[test]
fn a_retried_launch_is_as_complete_as_what_was_recorded_of_its_exchange() {
    let status = |record: &dyn Fn(&Capture)| {
        let rig = Rig::new();
        let first = rig.begin();
        record(&first);
        retry(&first).unwrap();
        let launch = &rig.rows()[0]["launch"];
        (launch["outcome"].clone(), launch["capture_status"].clone(), launch["incomplete_reason"].clone())
    };
    let complete = ("failed".into(), "complete".into(), Value::Null);
    let prompt_only = ("failed".into(), "prompt_only".into(), "provider conversation not captured".into());
    let usage = |capture: &Capture| capture.record_usage(UsageReport::new("r-1", Grain::Request, Quality::Exact));
    assert_eq!(status(&|capture| capture.record_stream_event(text("I look."))), complete);
    assert_eq!(status(&|capture| capture.record_result(Outcome::Failed, None, None, None)), complete);
    assert_eq!(status(&usage), complete);
    assert_eq!(status(&|_| {}), prompt_only);
    let session = |capture: &Capture| {
        capture.set_provider_session_id("s-1");
        capture.record_raw(OutputStream::Stdout, b"words");
        capture.blocking_begin_turn(InputOp::Message, "Again.").unwrap();
    };
    assert_eq!(status(&session), prompt_only, "a receipt and a prompt are no exchange");
}

#[test]
fn a_launch_under_control_is_not_retried_and_goes_on() {
    let rig = Rig::new();
    let capture = Capture::blocking_begin(&rig.env, labels(), prompt("Fix the parser."), controlled()).unwrap();
    let turn = capture.running_turn();
    let before = (events(&rig.home), rig.files.paths());
    let refused = retry(&capture).unwrap_err();
    assert!(matches!(refused, CaptureError::UnderControl), "{refused:?}");
    assert_eq!((events(&rig.home), rig.files.paths()), before);
    assert_eq!(capture.running_turn(), turn);
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    assert_eq!(rig.rows()[0]["launch"]["outcome"], "completed");
}

#[test]
fn the_launch_after_one_under_control_is_reserved_first() {
    let rig = Rig::new();
    let first = Capture::blocking_begin(&rig.env, labels(), prompt("Fix the parser."), controlled()).unwrap();
    first.blocking_finish(Outcome::Failed, Recorded::Conversation);
    let control = controlled().control.unwrap();
    let reserved = rig.env.blocking_reserve(control, Provider::Claude, None, "headless").unwrap();
    let next = Start { input_op: InputOp::Message, ..controlled() };
    let second = Capture::blocking_begin(&rig.env, labels(), prompt("Go on."), next).unwrap();
    assert_eq!(second.status().reservation, ReservationUse::Taken);
    assert_eq!(second.launch_id(), Some(reserved.launch_id));
}

#[test]
fn a_launch_that_has_ended_stays_as_it_is_when_it_is_retried() {
    let rig = Rig::new();
    let first = rig.begin();
    first.blocking_finish(Outcome::Interrupted, Recorded::PromptOnly);
    let before = read_events(&rig.home, &first.artifact_dir().unwrap());
    let second = retry(&first).unwrap();
    assert_ne!(second.launch_id(), first.launch_id());
    assert_eq!(read_events(&rig.home, &first.artifact_dir().unwrap()), before);
    let rows = rig.rows();
    assert_eq!(
        (&rows[0]["launch"]["outcome"], &rows[1]["launch"]["outcome"]),
        (&"interrupted".into(), &"running".into())
    );
}

/// The origin went on with the handle of the first launch, which had ended.
#[test]
fn a_failed_retry_appends_nothing_to_the_finished_launch() {
    let effects_of_the_end = {
        let Rig { files, env, .. } = Rig::new();
        let capture = begin(&env);
        capture.record_stream_event(text("one"));
        let before = files.effects().len();
        capture.blocking_finish(Outcome::Failed, Recorded::Conversation);
        u64::try_from(files.effects().len() - before).unwrap()
    };
    for nth in 1.. {
        let rig = Rig::new();
        let capture = rig.begin();
        capture.record_stream_event(text("one"));
        rig.files.fail_once_at(effects_of_the_end + nth);
        let retried = retry(&capture);
        let has_failed = rig.files.has_failed();
        rig.files.heal();
        let dir = capture.artifact_dir().unwrap();
        let (recorded, _) = read_events(&rig.home, &dir);
        assert_eq!(kinds(&recorded)[2..], ["legacy_text", "turn_ended", "launch_ended"], "effect {nth}");

        capture.record_stream_event(text("too late"));
        capture.set_provider_session_id("late");
        assert!(matches!(capture.blocking_begin_turn(InputOp::Message, "Again."), Err(CaptureError::Ended)));
        capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
        assert_eq!(read_events(&rig.home, &dir), (recorded, 0), "effect {nth}");

        if let Err(error) = retried {
            assert!(matches!(error, CaptureError::Begin(_) | CaptureError::FirstEvents(_)), "{error:?}");
            // It can be tried again, from the same handle.
            let second = retry(&capture).unwrap();
            second.blocking_finish(Outcome::Completed, Recorded::Conversation);
            let rows = rig.rows();
            let outcomes: Vec<_> = rows.as_array().unwrap().iter().map(|rows| &rows["launch"]["outcome"]).collect();
            assert_eq!(outcomes, ["failed", "completed"], "effect {nth}");
        } else if !has_failed {
            assert!(nth > 15, "every effect of a begin was made to fail");
            return;
        }
    }
}

#[test]
fn a_disabled_capture_retries_as_a_disabled_one() {
    assert_eq!(retry(&Capture::disabled()).unwrap().launch_id(), None);
}

#[test]
fn a_retry_is_recorded_after_its_environment_is_gone() {
    let Rig { env, home, ledger, files } = Rig::new();
    let first = begin(&env);
    drop(env);
    let second = retry(&first).unwrap();
    second.blocking_finish(Outcome::Completed, Recorded::Conversation);
    assert_eq!(dump(&*ledger).as_array().unwrap().len(), 2);
    assert_eq!(home_on(&files).list_launch_artifact_dirs().unwrap().len(), 2);
    drop(home);
}
