//! Unit tests of the machine: no directory, no thread, no store.

use std::collections::BTreeMap;

use trace_model::{
    codec,
    context::Sha256Hex,
    event::{Event, SCHEMA_VERSION},
    id::LaunchId,
    turn::TurnState,
    usage::{UsageRecord, UsageReport},
    words::{CaptureStatus, Coverage, Grain, InputOp, Quality, TurnStatus},
};
use uuid::Uuid;

use super::*;

pub(super) fn header() -> LaunchHeader {
    LaunchHeader {
        schema_version: SCHEMA_VERSION,
        id: LaunchId::from_uuid(Uuid::from_u128(1)),
        run_id: "run".parse().unwrap(),
        process_id: "process".parse().unwrap(),
        parent_launch_id: None,
        parent_turn_id: None,
        started_at: Timestamp::UNIX_EPOCH,
        repo: "/repo".to_owned(),
        worktree: "/repo".to_owned(),
        wave: None,
        project: None,
        task: None,
        flow: None,
        skill: None,
        tags: BTreeMap::new(),
        machine_id: None,
        hostname: None,
        os_user: None,
        provider: Provider::Unknown,
        model: None,
        surface: "test".to_owned(),
        raw: false,
        control: None,
    }
}

pub(super) fn turn(ordinal: u32) -> Turn {
    Turn {
        id: turn_id(ordinal),
        launch_id: header().id,
        ordinal,
        provider_turn_id: None,
        started_at: Timestamp::UNIX_EPOCH,
        state: TurnState::Running,
        input_op: if ordinal == 1 { InputOp::Initial } else { InputOp::Message },
        context_coverage: Coverage::ProviderTotalOnly,
        tokenizer: None,
        system_prompt_path: None,
        task_prompt_path: None,
        system_tokens: None,
        task_tokens: None,
        supplied_context_tokens: None,
        context_gather_ms: 0,
        context_render_ms: 0,
        context_persist_ms: 0,
        first_event_seq: None,
        last_event_seq: None,
        root_output: None,
        basis: None,
    }
}

pub(super) fn turn_id(ordinal: u32) -> TurnId {
    TurnId::from_uuid(Uuid::from_u128(100 + u128::from(ordinal)))
}

pub(super) fn open(ordinal: u32) -> Input {
    let text = Some(format!("task {ordinal}"));
    Input::OpenTurn { turn: Box::new(turn(ordinal)), context_sha256: Sha256Hex::of(b""), text }
}

/// A machine whose events go into a file that is a vector.
struct Script {
    recording: Recording,
    batch: Batch,
    file: Vec<u8>,
}

impl Script {
    /// A launch whose first turn runs.
    fn begun() -> Self {
        let mut script = Self { recording: Recording::new(header()), batch: Batch::new(), file: Vec::new() };
        script.put(open(1));
        script
    }

    /// Writes what the input makes, and returns it.
    fn put(&mut self, input: Input) -> Vec<Event> {
        self.recording.decide(input, Timestamp::UNIX_EPOCH, &mut self.batch);
        let events = events(self.batch.bytes());
        self.file.extend_from_slice(self.batch.bytes());
        self.recording.commit(&self.batch, None);
        events
    }

    /// Lets the write of what the input makes fail.
    fn fail(&mut self, input: Input, message: &str) -> Trouble {
        self.recording.decide(input, Timestamp::UNIX_EPOCH, &mut self.batch);
        self.recording.lose(&self.batch, message)
    }

    fn say(&mut self, text: &str) -> Vec<Event> {
        self.put(Input::Stream(StreamEvent::Text { text: text.to_owned() }))
    }

    fn step(&mut self, event: ConversationEvent) -> Vec<Event> {
        self.put(Input::Conversation { event, agent: Agent::Main, raw: None })
    }

    fn delta(&mut self, provider_turn: Option<&str>) -> Option<TurnId> {
        let turn_id = provider_turn.map(str::to_owned);
        self.step(ConversationEvent::TextDelta { turn_id, content: "x".to_owned() })[0].turn_id
    }

    fn turn_usage(&mut self, provider_turn: Option<&str>, usage: UsageFigures) -> Vec<Event> {
        let turn_id = provider_turn.map(str::to_owned);
        self.step(ConversationEvent::TurnUsage { turn_id, usage })
    }

    fn finish(&mut self, ending: Ending) -> Vec<Event> {
        self.recording.begin_end(ending);
        let mut events = self.put(Input::Close);
        events.extend(self.put(Input::EndLaunch { files: Vec::new() }));
        events
    }

    fn turn(&self, ordinal: u32) -> &Turn {
        self.recording.fold.turns().find(|turn| turn.ordinal == ordinal).unwrap()
    }

    fn records(&mut self) -> BTreeMap<String, UsageRecord> {
        let changes = self.recording.take_changes().usage.into_iter();
        changes.filter_map(|(key, _)| Some((key.clone(), self.recording.fold.usage_record(&key)?.clone()))).collect()
    }
}

fn events(bytes: &[u8]) -> Vec<Event> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines
        .map(|line| match codec::decode(line).unwrap() {
            Line::Event(event) => event,
            Line::Unknown(event) => panic!("{event:?}"),
        })
        .collect()
}

/// Returns the words of the payloads.
fn kinds(events: &[Event]) -> Vec<String> {
    let kind = |event: &Event| serde_json::to_value(&event.payload).unwrap()["type"].as_str().unwrap().to_owned();
    events.iter().map(kind).collect()
}

const FINISHED: Ending = Ending::Finished { outcome: Outcome::Completed, recorded: Recorded::Conversation };

fn cost(nanos: u64) -> NanoUsd {
    NanoUsd::from_nanos(nanos)
}

#[test]
fn a_turn_is_its_opening_its_input_and_its_end() {
    let mut script = Script::begun();
    script.say("hello");
    script.put(Input::EndTurn(Outcome::Completed));
    let ended = script.finish(FINISHED);
    assert_eq!(kinds(&ended), ["launch_ended"]);
    let all = events(&script.file);
    assert_eq!(kinds(&all), ["turn_opened", "user_input", "legacy_text", "turn_ended", "launch_ended"]);
    assert_eq!(all.iter().map(|event| event.seq).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(script.turn(1).root_output.as_deref(), Some("hello"));
}

#[test]
fn an_ordinary_steer_ends_the_turn_as_superseded_and_is_no_capture_loss() {
    let mut script = Script::begun();
    let events = script.put(open(2));
    assert_eq!(kinds(&events), ["turn_ended", "turn_opened", "user_input"]);
    assert_eq!(script.turn(1).state.columns().2, Some(PartialReason::Superseded));
    let changes = script.recording.take_changes();
    assert_eq!(changes.turns_opened.len(), 2, "both ends of the change go to the ledger together");
    script.finish(FINISHED);
    assert_eq!(script.recording.launch().capture, CaptureState::Complete);
}

#[test]
fn a_new_turn_does_not_inherit_the_old_provider_turn_id() {
    let mut script = Script::begun();
    assert_eq!(script.delta(Some("p1")), Some(turn_id(1)));
    script.put(open(2));
    assert_eq!(script.turn(2).provider_turn_id, None);
    assert_eq!(script.delta(Some("p2")), Some(turn_id(2)));
    assert_eq!(script.turn(2).provider_turn_id.as_deref(), Some("p2"));
}

#[test]
fn an_event_that_names_an_earlier_turn_goes_there() {
    let mut script = Script::begun();
    script.delta(Some("p1"));
    script.put(open(2));
    assert_eq!(script.delta(Some("p1")), Some(turn_id(1)), "late, and named");
    assert_eq!(script.delta(None), Some(turn_id(2)));
    assert_eq!(script.delta(Some("p2")), Some(turn_id(2)));
    assert_eq!(script.delta(Some("nobody's")), Some(turn_id(2)), "the running turn has another name");
    assert_eq!(script.turn(2).provider_turn_id.as_deref(), Some("p2"));
    script.put(Input::EndTurn(Outcome::Completed));
    assert_eq!(script.delta(Some("nobody's")), None, "no turn runs");
}

#[test]
fn late_usage_counts_to_the_turn_that_ended() {
    let mut script = Script::begun();
    script.delta(Some("p1"));
    script.put(open(2));
    let usage = UsageFigures { output_tokens: Some(7), ..UsageFigures::default() };
    let events = script.turn_usage(Some("p1"), usage.clone());
    assert!(events.iter().all(|event| event.turn_id == Some(turn_id(1))));
    script.put(Input::EndTurn(Outcome::Completed));
    let events = script.turn_usage(None, usage);
    assert!(events.iter().all(|event| event.turn_id == Some(turn_id(2))));
    let records = script.records();
    assert_eq!(records.values().map(|record| record.turn_id).collect::<Vec<_>>(), [Some(turn_id(1)), Some(turn_id(2))]);
}

#[test]
fn a_request_stays_with_the_turn_that_it_was_first_seen_in() {
    let mut script = Script::begun();
    let report = |output| UsageReport {
        output_tokens: Some(output),
        ..UsageReport::new("msg_1", Grain::Request, Quality::LowerBound)
    };
    script.put(Input::Usage(report(1)));
    script.put(open(2));
    let events = script.put(Input::Usage(report(9)));
    assert_eq!(events[0].turn_id, Some(turn_id(1)));
    let records = script.records();
    assert_eq!((records.len(), records["msg_1"].report.output_tokens), (1, Some(9)));
}

#[test]
fn stream_usage_is_told_as_the_sum_of_the_turn_and_recorded_one_by_one() {
    let mut script = Script::begun();
    let usage = |input| {
        Input::Stream(StreamEvent::Usage { input_tokens: Some(input), output_tokens: Some(1), cache_read_tokens: None })
    };
    script.put(usage(10));
    let events = script.put(usage(20));
    let Payload::Usage { usage: sum } = &events[0].payload else { panic!("{events:?}") };
    assert_eq!((sum.input_tokens, sum.output_tokens, sum.cache_read_tokens), (Some(30), Some(2), None));
    let Payload::UsageRecord { record } = &events[1].payload else { panic!("{events:?}") };
    assert_eq!(record.report.key, format!("event:{}", events[0].seq));
    assert_eq!((record.report.input_tokens, record.report.cache_read_tokens), (Some(20), None));
    script.put(open(2));
    let events = script.put(usage(5));
    let Payload::Usage { usage: sum } = &events[0].payload else { panic!("{events:?}") };
    assert_eq!(sum.input_tokens, Some(5), "a new turn begins its own sum");
}

#[test]
fn the_figures_of_a_turn_replace_each_other_and_its_stream_usage() {
    let mut script = Script::begun();
    script.put(Input::Stream(StreamEvent::Usage {
        input_tokens: Some(10),
        output_tokens: Some(1),
        cache_read_tokens: None,
    }));
    for total in [40, 50] {
        let usage = UsageFigures {
            total_input_tokens: Some(total),
            cache_read_tokens: Some(30),
            peak_input_tokens: Some(total),
            ..UsageFigures::default()
        };
        script.turn_usage(Some("p1"), usage);
    }
    let records = script.records();
    let [record] = records.values().collect::<Vec<_>>()[..] else { panic!("{records:?}") };
    let report = &record.report;
    assert_eq!(report.key, format!("turn:{}", turn_id(1)));
    assert_eq!((report.input_tokens, report.cache_read_tokens, report.context_tokens), (Some(20), Some(30), Some(50)));
}

#[test]
fn a_running_total_of_the_cost_is_recorded_as_its_difference() {
    let mut script = Script::begun();
    let result = |cost| Input::Stream(StreamEvent::Result { status: Outcome::Completed, cost, duration_secs: None });
    script.put(result(Some(ResultCost::RunningTotal(cost(100)))));
    script.put(open(2));
    script.put(result(None));
    script.put(result(Some(ResultCost::RunningTotal(cost(150)))));
    script.put(result(Some(ResultCost::RunningTotal(cost(175)))));
    let events = script.put(result(Some(ResultCost::RunningTotal(cost(5)))));
    assert_eq!(kinds(&events), ["result", "usage_record"]);
    let costs: Vec<_> = script.records().values().map(|record| record.report.reported_cost_usd).collect();
    assert_eq!(costs, [Some(cost(100)), Some(cost(50 + 25 + 5))], "a smaller total began anew");
    assert!(script.recording.running_turn().is_some(), "a result ends no turn");
}

#[test]
fn a_cost_that_two_places_tell_counts_once() {
    let figures = |nanos| UsageFigures { cost_usd: Some(cost(nanos)), ..UsageFigures::default() };
    let result = |nanos| {
        let cost = Some(ResultCost::Own(cost(nanos)));
        Input::Stream(StreamEvent::Result { status: Outcome::Completed, cost, duration_secs: None })
    };
    for result_comes_first in [true, false] {
        let mut script = Script::begun();
        if result_comes_first {
            script.put(result(100));
        }
        script.turn_usage(None, figures(80));
        script.turn_usage(None, figures(100));
        if !result_comes_first {
            script.put(result(100));
        }
        let sum: NanoUsd = script.records().values().filter_map(|record| record.report.reported_cost_usd).sum();
        assert_eq!(sum, cost(100), "result first: {result_comes_first}");
    }
}

#[test]
fn a_known_cost_survives_finer_records_and_figures_without_one() {
    let known = UsageFigures { input_tokens: Some(7), cost_usd: Some(cost(100)), ..UsageFigures::default() };
    let mut script = Script::begun();
    script.turn_usage(None, known.clone());
    let result =
        StreamEvent::Result { status: Outcome::Completed, cost: Some(ResultCost::Own(cost(100))), duration_secs: None };
    script.put(Input::Stream(result));
    script.turn_usage(None, UsageFigures { cost_usd: None, ..known });
    script.put(Input::Usage(UsageReport::new("msg_1", Grain::Request, Quality::Exact)));
    let sum: Option<NanoUsd> = script.recording.totals().cost_usd;
    assert_eq!(sum, Some(cost(100)));
}

#[test]
fn the_result_of_an_interpreter_is_an_event_and_no_usage() {
    let mut script = Script::begun();
    let result =
        Input::Result { status: Outcome::Failed, cost_usd: Some(cost(3)), duration_secs: Some(1.5), raw: None };
    assert_eq!(kinds(&script.put(result)), ["result"]);
}

#[test]
fn an_observed_receipt_fills_only_what_is_empty_and_a_stated_one_replaces() {
    let mut script = Script::begun();
    let session = |id: &str| Receipt { provider_session_id: Some(id.to_owned()), ..Receipt::default() };
    let known = |script: &Script| script.recording.launch().provider_session_id.clone();
    assert_eq!(script.put(Input::Observed(session(""))).len(), 0, "an empty text tells nothing");
    script.put(Input::Observed(session("s1")));
    assert_eq!(script.put(Input::Observed(session("s2"))).len(), 0);
    assert_eq!(known(&script).as_deref(), Some("s1"));
    script.put(Input::Stated(session("s3")));
    assert_eq!(script.put(Input::Stated(session("s3"))).len(), 0, "nothing new");
    assert_eq!(known(&script).as_deref(), Some("s3"));
    let claude = Receipt { provider: Some(Provider::Claude), model: Some("m".to_owned()), ..Receipt::default() };
    script.put(Input::Observed(claude));
    let codex = Receipt { provider: Some(Provider::Codex), ..Receipt::default() };
    assert_eq!(script.put(Input::Observed(codex)).len(), 0);
    assert_eq!(script.recording.launch().header.provider, Provider::Claude);
}

#[test]
fn nothing_is_recorded_after_finish_and_a_second_finish_changes_nothing() {
    let mut script = Script::begun();
    script.finish(FINISHED);
    let file = script.file.clone();
    let launch = script.recording.launch().clone();
    script.say("too late");
    script.put(open(2));
    script.put(Input::EndTurn(Outcome::Failed));
    script.put(Input::Stated(Receipt { model: Some("m".to_owned()), ..Receipt::default() }));
    script.finish(Ending::Finished { outcome: Outcome::Failed, recorded: Recorded::PromptOnly });
    script.finish(Ending::Dropped);
    assert_eq!(script.file, file);
    assert_eq!(script.recording.launch(), &launch);
}

#[test]
fn nothing_is_recorded_while_the_launch_is_ending() {
    let mut script = Script::begun();
    script.recording.begin_end(FINISHED);
    script.put(Input::Close);
    assert_eq!(script.say("too late").len(), 0);
    let events = script.put(Input::EndLaunch { files: Vec::new() });
    assert_eq!(kinds(&events), ["launch_ended"]);
}

#[test]
fn an_ended_turn_keeps_its_outcome_when_the_launch_ends_otherwise() {
    let mut script = Script::begun();
    script.put(Input::EndTurn(Outcome::Failed));
    script.finish(FINISHED);
    assert_eq!(script.turn(1).state.columns().1, TurnStatus::Failed);
}

#[test]
fn a_launch_tells_how_much_of_it_was_recorded() {
    let of = |trouble: Option<&str>, ending| {
        let mut script = Script::begun();
        if let Some(trouble) = trouble {
            script.recording.take_trouble(trouble);
        }
        script.finish(ending);
        let (status, reason) = script.recording.launch().capture.columns();
        (status, reason.map(str::to_owned), script.turn(1).state.columns().1)
    };
    let prompt_only = Ending::Finished { outcome: Outcome::Failed, recorded: Recorded::PromptOnly };
    assert_eq!(of(None, FINISHED), (CaptureStatus::Complete, None, TurnStatus::Completed));
    let reason = Some("provider conversation not captured".to_owned());
    assert_eq!(of(None, prompt_only), (CaptureStatus::PromptOnly, reason, TurnStatus::Failed));
    let reason = Some("the capture was dropped before it was finished".to_owned());
    assert_eq!(of(None, Ending::Dropped), (CaptureStatus::Interrupted, reason, TurnStatus::Interrupted));
    for ending in [FINISHED, prompt_only, Ending::Dropped] {
        let partial = (CaptureStatus::Partial, Some("disk".to_owned()), TurnStatus::Partial);
        assert_eq!(of(Some("disk"), ending), partial);
    }
}

#[test]
fn a_failed_append_is_counted_and_told_when_writing_works_again() {
    let mut script = Script::begun();
    script.say("one");
    let text = |text: &str| Input::Stream(StreamEvent::Text { text: text.to_owned() });
    assert_eq!(script.fail(text("two"), "disk full"), Trouble::First);
    assert_eq!(script.fail(text("three"), "still full"), Trouble::Further);
    let events = script.say("four");
    assert_eq!(kinds(&events), ["capture_error", "legacy_text"]);
    let told = Payload::CaptureError { message: "disk full".to_owned(), lost_events: Some(2) };
    assert_eq!((events[0].seq, &events[0].payload), (3, &told));
    assert_eq!(kinds(&script.say("five")), ["legacy_text"], "it is told once");
    assert_eq!(script.fail(text("six"), "full again"), Trouble::Further);
    script.finish(FINISHED);
    assert_eq!(script.recording.lost_events(), 3);
    assert_eq!(script.recording.launch().capture, CaptureState::Partial { reason: "disk full".to_owned() });
    assert_eq!(script.turn(1).root_output.as_deref(), Some("onefourfive"));
}

#[test]
fn a_turn_that_could_not_be_opened_leaves_the_old_one_running() {
    let mut script = Script::begun();
    script.fail(open(2), "disk full");
    assert_eq!(script.recording.running_turn().unwrap().id, turn_id(1));
    assert_eq!(script.recording.next_ordinal(), 2);
}

#[test]
fn trouble_without_loss_is_told_once_and_only_the_first_time() {
    let mut script = Script::begun();
    assert_eq!(script.recording.take_trouble("sync failed"), Trouble::First);
    assert_eq!(script.recording.take_trouble("sync failed again"), Trouble::Further);
    let events = script.say("x");
    let told = Payload::CaptureError { message: "sync failed".to_owned(), lost_events: None };
    assert_eq!(events[0].payload, told);
    script.recording.take_trouble("and again");
    assert_eq!(kinds(&script.say("y")), ["legacy_text"]);
}

#[test]
fn what_agents_other_than_the_main_one_say_keeps_their_name_and_its_place() {
    let mut script = Script::begun();
    let raw = RawSpan { stream: trace_model::words::OutputStream::Stdout, offset: 5, len: 9 };
    let event = ConversationEvent::TextDelta { turn_id: None, content: "sub".to_owned() };
    let agent = Agent::Sub("a1".to_owned());
    let events = script.put(Input::Conversation { event, agent: agent.clone(), raw: Some(raw) });
    assert_eq!((&events[0].agent, events[0].raw), (&agent, Some(raw)));
    script.put(Input::EndTurn(Outcome::Completed));
    assert_eq!(script.turn(1).root_output, None);
}
