use std::fs;

use trace_capture::intake::import::Keep;
use trace_model::{
    launch::{CaptureState, LaunchState},
    turn::Outcome,
    usage::Agent,
    words::Coverage,
};

use super::world::{World, holds, kinds, of_agent, prompt, reply};

fn session(id: &str) -> String {
    [prompt(id, 0, "one"), reply(id, 1, "msg_1", 5), prompt(id, 2, "two"), reply(id, 3, "msg_2", 7)].concat()
}

#[test]
fn a_session_becomes_a_launch_with_turns_and_usage() {
    let world = World::new();
    world.write("projects/p/s1.jsonl", session("s1"));
    let report = world.import(Keep::Copies);
    assert_eq!((report.sessions.new, report.files.read, report.note_count), (1, 1, 0), "{report:?}");
    let rows = world.rows();
    let [launch] = rows.as_slice() else { panic!("one launch: {rows:?}") };
    assert_eq!(launch.launch.header.surface, "import");
    assert_eq!(launch.launch.header.worktree, "/home/ada/work");
    assert_eq!(launch.launch.provider_session_id.as_deref(), Some("s1"));
    assert_eq!(launch.launch.capture, CaptureState::Complete);
    let LaunchState::Ended { outcome, .. } = launch.launch.state else { panic!("it ended") };
    assert_eq!(outcome, Outcome::Completed);
    assert_eq!(launch.turns.len(), 2);
    assert!(launch.turns.iter().all(|rows| rows.turn.context_coverage == Coverage::ProviderTotalOnly));
    assert_eq!(launch.usage["msg_2"].turn_id, Some(launch.turns[1].turn.id));
    assert_eq!(world.totals().output_tokens, Some(12));
    assert_eq!(world.reindexed(), rows, "the folder alone tells the same");
}

#[test]
fn subagents_are_of_the_session_that_started_them() {
    let world = World::new();
    world.write("projects/p/s1.jsonl", session("s1"));
    let agent = of_agent(&(prompt("s1", 2, "look") + &reply("s1", 3, "msg_a", 100)), "ab12");
    world.write("projects/p/s1/subagents/agent-ab12.jsonl", agent);
    let report = world.import(Keep::Copies);
    assert_eq!((report.sessions.new, report.files.read), (1, 2));
    let rows = world.rows();
    let [launch] = rows.as_slice() else { panic!("one launch: {rows:?}") };
    let record = &launch.usage["msg_a"];
    assert_eq!(record.report.agent, Agent::Sub("ab12".to_owned()));
    assert_eq!(record.turn_id, Some(launch.turns[1].turn.id), "it ran in the second turn");
    assert_eq!(launch.turns.len(), 2, "its prompt is no turn of a person");
    assert_eq!(world.reindexed(), rows);
}

#[test]
fn what_did_not_change_is_not_read_again() {
    let world = World::new();
    world.write("projects/p/s1.jsonl", session("s1"));
    world.write("notes.json", "{\"no\": \"session\"}");
    world.import(Keep::Copies);
    let before = world.rows();
    let report = world.import(Keep::Copies);
    assert_eq!((report.bytes, report.files.read, report.files.unchanged, report.files.foreign), (0, 0, 1, 1));
    assert_eq!((report.sessions.new, report.sessions.updated, report.sessions.unchanged), (0, 0, 1));
    assert_eq!(world.rows(), before);
}

#[test]
fn an_index_keeps_no_copies_until_they_are_wanted() {
    let world = World::new();
    world.write("projects/p/s1.jsonl", session("s1"));
    world.import(Keep::Index);
    let rows = world.rows();
    let CaptureState::Partial { reason } = &rows[0].launch.capture else { panic!("it says what is missing") };
    assert!(reason.contains("indexed only"), "{reason}");
    assert!(!holds(world.home.root(), "source-1.zst"));
    assert_eq!(world.reindexed(), rows, "it is read where it is");

    let report = world.import(Keep::Copies);
    assert_eq!((report.files.read, report.sessions.updated), (1, 1));
    assert_eq!(world.rows()[0].launch.capture, CaptureState::Complete);
    assert!(holds(world.home.root(), "source-1.zst"));
    fs::remove_dir_all(world.files()).unwrap();
    assert_eq!(world.reindexed(), world.rows(), "the record outlives the source");
}

#[test]
fn a_copied_session_counts_once_and_is_told() {
    let world = World::new();
    world.write("projects/p/s1.jsonl", session("s1"));
    world.write("projects/p/s2.jsonl", session("s2") + &reply("s2", 9, "msg_3", 100));
    let report = world.import(Keep::Copies);
    assert_eq!(report.sessions.new, 2);
    assert_eq!(kinds(&report), ["replayed"]);
    assert!(report.notes[0].detail.starts_with("2 requests"), "{:?}", report.notes);
    let totals = world.totals();
    assert_eq!((totals.output_tokens, totals.requests), (Some(112), Some(3)));
}

#[test]
fn one_file_of_two_sessions_is_two_launches_with_one_copy() {
    let world = World::new();
    world.write("both.jsonl", session("s1") + &session("s2").replace("msg_", "msg_b"));
    assert_eq!(world.import(Keep::Copies).sessions.new, 2);
    let rows = world.rows();
    assert_eq!(rows.len(), 2);
    fs::remove_dir_all(world.files()).unwrap();
    assert_eq!(world.reindexed(), rows);
}

#[test]
fn a_ledger_that_was_deleted_is_filled_again() {
    let mut world = World::new();
    world.write("projects/p/s1.jsonl", session("s1"));
    world.import(Keep::Copies);
    let rows = world.rows();
    world.ledger = std::sync::Arc::new(trace_capture::MemoryLedger::new());
    let report = world.import(Keep::Copies);
    assert_eq!(report.files.read, 1);
    assert_eq!(world.rows(), rows);
}
