use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use trace_capture::{
    Capture, CaptureEnv, Clock, EnvParts, Labels, PreparedTurnContext, Prompts, Recorded, Start, TokenizerName,
    intake::import::Keep,
};
use trace_model::{
    event::Receipt,
    timestamp::Timestamp,
    turn::Outcome,
    usage::UsageReport,
    words::{Grain, Provider, Quality},
};

use super::world::{World, prompt, reply};

/// A clock that goes on by half a minute each time it is asked.
#[derive(Debug)]
struct SlowClock(AtomicI64);

impl Clock for SlowClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(30_000_000, Ordering::Relaxed)).unwrap()
    }
}

/// Records a launch of the session that knows of one request, with the placeholder that streams have.
fn record(world: &World, session: &str, from: &str) {
    let from: Timestamp = from.parse().unwrap();
    let clock = Arc::new(SlowClock(AtomicI64::new(from.as_micros())));
    let parts = EnvParts { clock, ..EnvParts::new(world.home.clone(), world.ledger.clone()) };
    let env = CaptureEnv::new(parts);
    let labels = Labels::new("run_1".parse().unwrap(), "process_1".parse().unwrap(), "/repo", "/repo");
    let prompts = Prompts { system: None, task: Some("one".to_owned()) };
    let prepared = PreparedTurnContext::from_prompts(TokenizerName::Cl100kBase, prompts);
    let start = Start::new(Provider::Claude, "headless");
    let capture = Capture::blocking_begin(&env, labels, prepared, start).unwrap();
    capture.record_receipt(Receipt { provider_session_id: Some(session.to_owned()), ..Receipt::default() });
    capture.record_usage(UsageReport {
        input_tokens: Some(10),
        output_tokens: Some(1),
        ..UsageReport::new("msg_1", Grain::Request, Quality::LowerBound)
    });
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
}

#[test]
fn a_session_that_was_recorded_is_not_imported_a_second_time() {
    let world = World::new();
    record(&world, "s1", "2026-03-02T08:59:00Z");
    let text = prompt("s1", 0, "one") + &reply("s1", 1, "msg_1", 5);
    world.write("projects/p/s1.jsonl", text);
    let report = world.import(Keep::Copies);
    assert_eq!((report.sessions.new, report.sessions.updated), (0, 1));
    let rows = world.rows();
    let [launch] = rows.as_slice() else { panic!("one launch: {rows:?}") };
    assert_eq!(launch.launch.header.surface, "headless");
    let record = &launch.usage["msg_1"].report;
    assert_eq!((record.output_tokens, record.quality), (Some(5), Quality::Exact), "the finer source counts");
    assert_eq!(world.reindexed(), rows);
    let again = world.import(Keep::Copies);
    assert_eq!((again.files.unchanged, again.bytes, again.sessions.unchanged), (1, 0, 1), "it is known where it is");
    assert_eq!(world.rows(), rows);
}

#[test]
fn a_recorded_launch_is_as_complete_as_it_was_when_its_session_file_is_gone() {
    let world = World::new();
    record(&world, "s1", "2026-03-02T08:59:00Z");
    let file = world.write("projects/p/s1.jsonl", prompt("s1", 0, "one") + &reply("s1", 1, "msg_1", 5));
    world.import(Keep::Index);
    let rows = world.rows();
    std::fs::remove_file(file).unwrap();
    assert_eq!(world.import(Keep::Index).files.missing, 1);
    assert_eq!(world.rows(), rows);
}

#[test]
fn what_was_not_recorded_of_a_session_is_a_launch_of_its_own() {
    let world = World::new();
    record(&world, "s1", "2026-03-02T09:02:00Z");
    let text = prompt("s1", 0, "one") + &reply("s1", 1, "msg_0", 50) + &reply("s1", 3, "msg_1", 5);
    world.write("projects/p/s1.jsonl", text);
    let report = world.import(Keep::Copies);
    assert_eq!((report.sessions.new, report.sessions.updated), (1, 1));
    let rows = world.rows();
    assert_eq!(rows.len(), 2);
    assert_eq!(world.totals().output_tokens, Some(55));
    let imported = rows.iter().find(|rows| rows.launch.header.surface == "import").unwrap();
    assert_eq!(imported.usage.keys().collect::<Vec<_>>(), ["msg_0"]);
    assert_eq!(world.reindexed(), rows);
    let again = world.import(Keep::Copies);
    assert_eq!((again.files.read, world.rows()), (0, rows));
}
