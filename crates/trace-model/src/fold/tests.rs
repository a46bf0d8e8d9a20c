//! Unit tests of the fold.

use std::{format, string::ToString, vec};

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::{
    codec,
    event::{Item, SCHEMA_VERSION, TextStream},
    id::LaunchId,
    money::NanoUsd,
    totals::Totals,
    turn::Outcome,
    usage::{Agent, UsageReport},
    words::{CaptureStatus, Grain, InputOp, Provider, Quality, TurnStatus},
};

fn launch_id() -> LaunchId {
    LaunchId::from_uuid(Uuid::from_u128(1))
}

fn turn_id(ordinal: u32) -> TurnId {
    TurnId::from_uuid(Uuid::from_u128(100 + u128::from(ordinal)))
}

fn header() -> LaunchHeader {
    LaunchHeader {
        schema_version: SCHEMA_VERSION,
        id: launch_id(),
        run_id: "run".parse().unwrap(),
        process_id: "process".parse().unwrap(),
        parent_launch_id: None,
        parent_turn_id: None,
        started_at: Timestamp::UNIX_EPOCH,
        repo: "/repo".to_string(),
        worktree: "/repo".to_string(),
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
        surface: "test".to_string(),
        raw: true,
        control: None,
    }
}

fn turn(ordinal: u32) -> Turn {
    Turn {
        id: turn_id(ordinal),
        launch_id: launch_id(),
        ordinal,
        provider_turn_id: None,
        started_at: Timestamp::UNIX_EPOCH,
        state: TurnState::Running,
        input_op: InputOp::Initial,
        context_coverage: Coverage::Unknown,
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

/// A fold that is fed with payloads, numbered as a writer would.
struct Feed {
    fold: Fold,
    seq: u64,
}

impl Feed {
    fn new() -> Self {
        Self { fold: Fold::new(header()), seq: 0 }
    }

    fn say(&mut self, turn: Option<u32>, agent: Agent, payload: Payload) -> Boundary {
        let event = Event {
            schema_version: SCHEMA_VERSION,
            seq: self.seq,
            ts: Timestamp::from_micros(i64::try_from(self.seq).unwrap()).unwrap(),
            turn_id: turn.map(turn_id),
            agent,
            raw: None,
            payload,
        };
        self.seq += 1;
        let mut bytes = vec![];
        codec::encode(&event, &mut bytes);
        let line = codec::decode(&bytes).unwrap();
        assert_eq!(line, Line::Event(event), "an event survives its line");
        self.fold.apply(FoldLine { bytes: &bytes, line: Some(&line) }, None)
    }

    fn open(&mut self, ordinal: u32) {
        let payload = Payload::TurnOpened { turn: turn(ordinal), context_sha256: Sha256Hex::of(b"") };
        self.say(Some(ordinal), Agent::Main, payload);
    }

    fn end(&mut self, ordinal: u32, status: TurnStatus) {
        self.say(Some(ordinal), Agent::Main, Payload::TurnEnded { status, partial_reason: None });
    }

    fn step(&mut self, ordinal: u32, agent: Agent, event: ConversationEvent) -> Boundary {
        self.say(Some(ordinal), agent, Payload::Conversation { event })
    }

    fn delta(&mut self, ordinal: u32, text: &str) -> Boundary {
        let event = ConversationEvent::TextDelta { turn_id: None, content: text.to_string() };
        self.step(ordinal, Agent::Main, event)
    }

    fn message(&mut self, ordinal: u32, agent: Agent, text: &str) {
        let item = Item::Message { id: "m".to_string(), text: text.to_string(), phase: None };
        self.step(ordinal, agent, ConversationEvent::ItemCompleted { turn_id: None, item });
    }

    fn usage(&mut self, ordinal: u32, report: UsageReport) {
        let record = UsageRecord { launch_id: launch_id(), turn_id: Some(turn_id(ordinal)), report };
        self.say(Some(ordinal), Agent::Main, Payload::UsageRecord { record });
    }

    fn totals(&self) -> Totals {
        self.fold.totals()
    }

    fn turn(&self, ordinal: u32) -> &Turn {
        self.fold.turns().find(|turn| turn.ordinal == ordinal).unwrap()
    }
}

fn tokens(key: &str, grain: Grain, quality: Quality, input: u64, output: u64) -> UsageReport {
    UsageReport {
        model: Some("m".to_string()),
        input_tokens: Some(input),
        output_tokens: Some(output),
        ..UsageReport::new(key, grain, quality)
    }
}

fn request(key: &str, input: u64, output: u64) -> UsageReport {
    tokens(key, Grain::Request, Quality::LowerBound, input, output)
}

#[test]
fn the_answer_is_what_the_main_agent_said_in_order() {
    let mut feed = Feed::new();
    feed.open(1);
    feed.delta(1, "Hel");
    feed.delta(1, "lo. ");
    feed.message(1, Agent::Main, "Hello. ");
    feed.message(1, Agent::Sub("a1".to_string()), "not this. ");
    feed.message(1, Agent::Main, "Whole. ");
    let text = Payload::LegacyText { stream: TextStream::Assistant, text: "Legacy.".to_string() };
    feed.say(Some(1), Agent::Main, text);
    assert_eq!(feed.turn(1).root_output, None, "a running turn has no answer yet");
    feed.end(1, TurnStatus::Completed);
    feed.delta(1, "too late");
    assert_eq!(feed.turn(1).root_output.as_deref(), Some("Hello. Whole. Legacy."));
}

#[test]
fn a_long_answer_is_cut_at_a_character_and_marked() {
    let mut feed = Feed::new();
    feed.open(1);
    feed.delta(1, &"x".repeat(ROOT_OUTPUT_LIMIT - 1));
    feed.delta(1, "ä and more");
    feed.delta(1, "and more");
    feed.end(1, TurnStatus::Completed);
    let output = feed.turn(1).root_output.clone().unwrap();
    assert_eq!(output, format!("{}\n[… cut at 1 MiB]", "x".repeat(ROOT_OUTPUT_LIMIT - 1)));
}

#[test]
fn text_is_no_boundary_and_what_opens_or_ends_is_one() {
    let mut feed = Feed::new();
    feed.open(1);
    assert_eq!(feed.delta(1, "x"), Boundary::No);
    let opened = Payload::TurnOpened { turn: turn(2), context_sha256: Sha256Hex::of(b"") };
    assert_eq!(feed.say(Some(2), Agent::Main, opened), Boundary::Reached);
    let ended = Payload::TurnEnded { status: TurnStatus::Failed, partial_reason: None };
    assert_eq!(feed.say(Some(2), Agent::Main, ended), Boundary::Reached);
}

#[test]
fn what_ended_stays_ended() {
    let mut feed = Feed::new();
    feed.open(1);
    feed.end(1, TurnStatus::Failed);
    let ended = feed.turn(1).clone();
    feed.end(1, TurnStatus::Completed);
    feed.step(1, Agent::Main, ConversationEvent::TurnStarted { turn_id: Some("p".to_string()) });
    assert_eq!(feed.turn(1), &ended);
}

#[test]
fn a_turn_takes_the_first_name_that_the_provider_gives_it() {
    let mut feed = Feed::new();
    feed.open(1);
    for name in ["p1", "p2"] {
        feed.step(1, Agent::Main, ConversationEvent::TurnStarted { turn_id: Some(name.to_string()) });
    }
    feed.open(2);
    assert_eq!(feed.turn(1).provider_turn_id.as_deref(), Some("p1"));
    assert_eq!(feed.turn(2).provider_turn_id, None);
}

#[test]
fn finer_records_stand_instead_of_coarser_ones_and_never_the_other_way() {
    let mut feed = Feed::new();
    feed.open(1);
    feed.usage(1, tokens("event:4", Grain::Request, Quality::Exact, 10, 1));
    feed.usage(1, tokens("event:5", Grain::Request, Quality::Exact, 20, 2));
    assert_eq!(feed.totals().input_tokens, Some(30));
    feed.usage(1, tokens("turn:p1", Grain::Turn, Quality::Exact, 31, 3));
    feed.usage(1, tokens("turn:p1", Grain::Turn, Quality::Exact, 33, 3));
    feed.usage(1, tokens("event:6", Grain::Request, Quality::Exact, 7, 7));
    assert_eq!(feed.totals().input_tokens, Some(33));
    feed.usage(1, request("msg_1", 40, 4));
    feed.usage(1, tokens("turn:p1", Grain::Turn, Quality::Exact, 50, 5));
    assert_eq!((feed.totals().input_tokens, feed.totals().output_tokens), (Some(40), Some(4)));
    let deleted: Vec<_> = feed.fold.take_changes().usage.into_iter().collect();
    let kept = deleted.iter().filter(|(_, change)| *change != UsageChange::Deleted).count();
    assert_eq!((deleted.len(), kept), (4, 1));
}

#[test]
fn a_cost_survives_the_records_of_tokens() {
    let mut feed = Feed::new();
    feed.open(1);
    let cost = UsageReport {
        reported_cost_usd: Some(NanoUsd::from_nanos(5)),
        ..UsageReport::new("cost:1", Grain::Turn, Quality::Exact)
    };
    feed.usage(1, cost);
    feed.usage(1, request("msg_1", 40, 4));
    let totals = feed.totals();
    assert_eq!((totals.cost_usd, totals.requests), (Some(NanoUsd::from_nanos(5)), Some(1)));
}

#[test]
fn a_total_stays_the_same_when_finer_records_come_after_it() {
    let mut feed = Feed::new();
    feed.open(1);
    feed.usage(1, request("msg_1", 100, 1));
    feed.usage(1, tokens("remainder:1:m", Grain::Turn, Quality::Exact, 100, 109));
    feed.end(1, TurnStatus::Completed);
    let stated = feed.totals();
    feed.usage(1, request("msg_2", 100, 1));
    feed.usage(1, tokens("msg_1", Grain::Request, Quality::Exact, 100, 50));
    assert_eq!(feed.totals().total_tokens, stated.total_tokens);
    let remainder = feed.fold.usage_record("remainder:1:m").unwrap().report.clone();
    assert_eq!((remainder.input_tokens, remainder.output_tokens), (Some(0), Some(59)));
    assert_eq!(feed.totals().requests, Some(2), "the hidden request is not hidden any more");
}

#[test]
fn a_later_turn_takes_nothing_from_an_earlier_total() {
    let mut feed = Feed::new();
    feed.open(1);
    feed.usage(1, tokens("remainder:1:m", Grain::Turn, Quality::Exact, 100, 100));
    feed.end(1, TurnStatus::Completed);
    feed.open(2);
    feed.usage(2, request("msg_9", 30, 30));
    assert_eq!(feed.totals().total_tokens, Some(260));
}

#[test]
fn a_finer_record_is_taken_from_the_first_total_of_its_model_that_holds_it() {
    let mut feed = Feed::new();
    let of = |model: &str, report: UsageReport| UsageReport { model: Some(model.to_string()), ..report };
    let exact = |key, input| tokens(key, Grain::Turn, Quality::Exact, input, 0);
    feed.open(1);
    feed.usage(1, of("a", exact("remainder:1:a", 100)));
    feed.usage(1, of("m[1m]", exact("remainder:1:m", 10)));
    feed.end(1, TurnStatus::Completed);
    feed.open(2);
    feed.usage(2, of("m", exact("remainder:2:m", 50)));
    // Ten of the tokens are in the first total; the request went on, and the next total holds the others.
    feed.usage(1, of("m", request("msg_1", 25, 0)));
    let input = |key| feed.fold.usage_record(key).unwrap().report.input_tokens;
    let left = [input("remainder:1:a"), input("remainder:1:m"), input("remainder:2:m")];
    assert_eq!(left, [Some(100), Some(0), Some(35)]);
    assert_eq!(feed.totals().input_tokens, Some(160));
}

#[test]
fn late_usage_counts_to_the_turn_that_it_names() {
    let mut feed = Feed::new();
    feed.open(1);
    feed.end(1, TurnStatus::Completed);
    feed.open(2);
    feed.usage(1, request("msg_1", 10, 1));
    feed.usage(2, request("msg_1", 10, 2));
    assert_eq!(feed.fold.usage_record("msg_1").unwrap().turn_id, Some(turn_id(1)));
    assert_eq!(feed.turn(1).context_coverage, Coverage::ProviderTotalOnly);
    assert_eq!(feed.turn(2).context_coverage, Coverage::Unknown);
}

#[test]
fn usage_that_knows_no_prompt_tells_nothing_of_the_input() {
    let mut feed = Feed::new();
    feed.open(1);
    feed.usage(1, UsageReport::new("remainder:1:m", Grain::Turn, Quality::LowerBound));
    assert_eq!(feed.turn(1).context_coverage, Coverage::Unknown);
    feed.usage(1, request("msg_1", 0, 1));
    assert_eq!(feed.turn(1).context_coverage, Coverage::ProviderTotalOnly);
}

#[test]
fn the_first_trouble_is_the_reason_and_the_end_has_the_last_word() {
    let mut feed = Feed::new();
    for message in ["disk full", "again"] {
        feed.say(None, Agent::Main, Payload::CaptureError { message: message.to_string(), lost_events: Some(1) });
    }
    assert_eq!(feed.fold.launch().capture, CaptureState::Partial { reason: "disk full".to_string() });
    let ended = Payload::LaunchEnded {
        outcome: Outcome::Completed,
        capture_status: CaptureStatus::Partial,
        reason: Some("disk full".to_string()),
        files: vec![],
    };
    feed.say(None, Agent::Main, ended);
    let launch = feed.fold.launch();
    assert!(matches!(launch.state, LaunchState::Ended { outcome: Outcome::Completed, .. }));
    assert_eq!(launch.conversation_event_count, 3);
    assert!(launch.launch_ended_sha256.is_some());
}

#[test]
fn unknown_events_are_counted_and_change_nothing_else() {
    let mut fold = Fold::new(header());
    let bytes = b"{\"schema_version\":9,\"seq\":0,\"hologram\":true}\n";
    let line = codec::decode(bytes).unwrap();
    assert_eq!(fold.apply(FoldLine { bytes, line: Some(&line) }, None), Boundary::No);
    assert_eq!(fold.apply(FoldLine { bytes: b"torn\n", line: None }, None), Boundary::No);
    assert_eq!((fold.launch().conversation_event_count, fold.launch().conversation_bytes), (1, 50));
}

#[test]
fn changes_taken_piece_by_piece_add_up_to_the_rows() {
    let run = |pieces: bool| {
        let mut feed = Feed::new();
        let mut sent: Option<BoundaryRows> = None;
        let mut take = |feed: &mut Feed| {
            let changes = feed.fold.take_changes();
            match &mut sent {
                Some(sent) => sent.merge(changes),
                None => sent = Some(changes),
            }
        };
        for ordinal in 1..=3 {
            feed.open(ordinal);
            if pieces {
                take(&mut feed);
            }
            feed.delta(ordinal, "text");
            feed.usage(ordinal, tokens("event:1", Grain::Request, Quality::Exact, 1, 1));
            feed.usage(ordinal, request(&format!("msg_{ordinal}"), 10, 1));
            if pieces {
                take(&mut feed);
            }
            feed.end(ordinal, TurnStatus::Completed);
        }
        take(&mut feed);
        sent.unwrap()
    };
    let (mut whole, mut pieces) = (run(false), run(true));
    // A record that came and went between two boundaries is deleted in one and absent in the other.
    whole.usage.retain(|_, change| *change != UsageChange::Deleted);
    pieces.usage.retain(|_, change| *change != UsageChange::Deleted);
    assert_eq!(whole, pieces);
}

#[test]
fn a_turn_whose_end_was_lost_ends_with_what_came_instead() {
    let mut feed = Feed::new();
    feed.open(1);
    feed.open(2);
    assert_eq!(feed.turn(1).state.columns().2, Some(PartialReason::Superseded));
    let ended = Payload::LaunchEnded {
        outcome: Outcome::Completed,
        capture_status: CaptureStatus::Complete,
        reason: None,
        files: vec![],
    };
    feed.say(None, Agent::Main, ended);
    assert_eq!(feed.turn(2).state.columns().2, Some(PartialReason::CaptureFailed));
    assert!(feed.fold.running_turn().is_none());
}

#[test]
fn usage_of_a_turn_whose_opening_is_damaged_belongs_to_none() {
    let mut feed = Feed::new();
    feed.usage(1, request("msg_1", 10, 1));
    let rows = feed.fold.into_rows();
    assert_eq!(rows.usage["msg_1"].turn_id, None);
}

#[test]
fn a_known_cost_of_a_turn_is_not_erased_by_a_later_figure_without_one() {
    let mut feed = Feed::new();
    feed.open(1);
    let cost = Some(NanoUsd::from_nanos(5));
    feed.usage(1, UsageReport { reported_cost_usd: cost, ..tokens("turn:1", Grain::Turn, Quality::Exact, 10, 1) });
    feed.usage(1, tokens("turn:1", Grain::Turn, Quality::Exact, 12, 2));
    assert_eq!((feed.totals().cost_usd, feed.totals().input_tokens), (cost, Some(12)));
}

proptest! {
    /// Lines may be lost, repeated and swapped: the rows are ones that a ledger takes all the same.
    #[test]
    fn whatever_lines_are_left_the_rows_fit_together(
        script in prop::collection::vec((0_u8..6, 1_u32..4, 0_u8..4), 0..40),
    ) {
        let mut feed = Feed::new();
        for (what, ordinal, key) in script {
            match what {
                0 => feed.open(ordinal),
                1 => feed.end(ordinal, TurnStatus::Completed),
                2 => feed.usage(ordinal, request(&format!("msg_{key}"), 10, 1)),
                3 => feed.usage(ordinal, tokens(&format!("event:{key}"), Grain::Request, Quality::Exact, 5, 1)),
                4 => feed.usage(ordinal, tokens("remainder:1:m", Grain::Turn, Quality::Exact, 100, 9)),
                _ => { feed.delta(ordinal, "text"); }
            }
        }
        let rows = feed.fold.into_rows();
        prop_assert!(rows.turns.is_sorted_by(|a, b| a.turn.ordinal < b.turn.ordinal));
        let turns: BTreeSet<TurnId> = rows.turns.iter().map(|rows| rows.turn.id).collect();
        prop_assert_eq!(turns.len(), rows.turns.len());
        let running = rows.turns.iter().filter(|rows| rows.turn.state == TurnState::Running).count();
        prop_assert!(running <= 1);
        for record in rows.usage.values() {
            prop_assert_eq!(record.launch_id, launch_id());
            prop_assert!(record.turn_id.is_none_or(|turn| turns.contains(&turn)));
        }
    }
}
