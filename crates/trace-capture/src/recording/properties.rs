//! What holds for all sequences of inputs, wherever writing fails.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trace_model::{
    codec,
    event::Event,
    fold::{self, FoldLine},
    ledger::Ledger,
    rows::LaunchRows,
    usage::UsageReport,
    words::{Grain, Quality},
};
use trace_store_memory::MemoryLedger;

use super::{
    tests::{header, open},
    *,
};

/// What a harness does, and whether the write that it makes works.
#[derive(Debug, Clone)]
enum Step {
    Turn,
    EndTurn(Outcome),
    Text,
    Delta(Option<u8>),
    StreamUsage(u64),
    TurnUsage(Option<u8>, u64),
    Result(u64),
    Request(u8, u64),
    Session(u8),
    Trouble,
    /// The ledger is given what changed.
    Sync,
    Finish(Outcome),
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Completed), Just(Outcome::Failed), Just(Outcome::Interrupted)]
}

fn steps() -> impl Strategy<Value = Vec<(Step, bool)>> {
    let provider_turn = prop::option::of(0..3_u8);
    let step = prop_oneof![
        3 => Just(Step::Turn),
        3 => outcomes().prop_map(Step::EndTurn),
        3 => Just(Step::Text),
        4 => provider_turn.clone().prop_map(Step::Delta),
        3 => (0..9_u64).prop_map(Step::StreamUsage),
        3 => (provider_turn, 0..9_u64).prop_map(|(turn, tokens)| Step::TurnUsage(turn, tokens)),
        2 => (0..9_u64).prop_map(Step::Result),
        3 => (0..4_u8, 0..9_u64).prop_map(|(key, tokens)| Step::Request(key, tokens)),
        1 => (0..3_u8).prop_map(Step::Session),
        1 => Just(Step::Trouble),
        3 => Just(Step::Sync),
        1 => outcomes().prop_map(Step::Finish),
    ];
    prop::collection::vec((step, prop::bool::weighted(0.8)), 0..60)
}

fn input(step: &Step, ordinal: u32) -> Option<Input> {
    let name = |turn: &Option<u8>| turn.map(|turn| format!("p{turn}"));
    let conversation = |event| Input::Conversation { event, agent: Agent::Main, raw: None };
    Some(match step {
        Step::Turn => open(ordinal),
        Step::EndTurn(outcome) => Input::EndTurn(*outcome),
        Step::Text => Input::Stream(StreamEvent::Text { text: "text".to_owned() }),
        Step::Delta(turn) => {
            conversation(ConversationEvent::TextDelta { turn_id: name(turn), content: "delta".to_owned() })
        }
        Step::StreamUsage(tokens) => Input::Stream(StreamEvent::Usage {
            input_tokens: Some(*tokens),
            output_tokens: None,
            cache_read_tokens: None,
        }),
        Step::TurnUsage(turn, tokens) => {
            let usage = UsageFigures { input_tokens: Some(*tokens), ..UsageFigures::default() };
            conversation(ConversationEvent::TurnUsage { turn_id: name(turn), usage })
        }
        Step::Result(nanos) => Input::Stream(StreamEvent::Result {
            status: Outcome::Completed,
            cost: Some(ResultCost::RunningTotal(NanoUsd::from_nanos(*nanos))),
            duration_secs: None,
        }),
        Step::Request(key, tokens) => Input::Usage(UsageReport {
            input_tokens: Some(*tokens),
            ..UsageReport::new(format!("msg_{key}"), Grain::Request, Quality::Exact)
        }),
        Step::Session(id) => {
            Input::Observed(Receipt { provider_session_id: Some(format!("s{id}")), ..Receipt::default() })
        }
        Step::Trouble | Step::Sync | Step::Finish(_) => return None,
    })
}

/// A machine, the file that it writes and the ledger that its changes go to.
struct World {
    recording: Recording,
    batch: Batch,
    file: Vec<u8>,
    ledger: MemoryLedger,
}

impl World {
    fn put(&mut self, input: Input, works: bool) {
        self.recording.decide(input, Timestamp::UNIX_EPOCH, &mut self.batch);
        if works {
            self.file.extend_from_slice(self.batch.bytes());
            self.recording.commit(&self.batch, None);
        } else if !self.batch.is_empty() {
            self.recording.lose(&self.batch, "the disk is full");
        }
    }

    fn apply(&mut self) {
        let changes = self.recording.take_changes();
        pollster::block_on(self.ledger.apply(&changes)).expect("what a machine changed can be applied");
    }

    fn take(&mut self, step: &Step, works: bool) {
        match step {
            Step::Sync => self.apply(),
            Step::Trouble => {
                self.recording.take_trouble("a sync failed");
            }
            Step::Finish(outcome) => {
                let recorded = Recorded::Conversation;
                self.recording.begin_end(Ending::Finished { outcome: *outcome, recorded });
                self.put(Input::Close, works);
                self.put(Input::EndLaunch { files: Vec::new() }, works);
            }
            step => {
                let ordinal = self.recording.next_ordinal();
                self.put(input(step, ordinal).expect("the other steps are above"), works);
            }
        }
    }

    fn events(&self) -> Vec<Event> {
        let lines = self.file.split_inclusive(|byte| *byte == b'\n');
        let event = |line| match codec::decode(line) {
            Ok(Line::Event(event)) => event,
            other => panic!("{other:?}"),
        };
        lines.map(event).collect()
    }

    /// The rows that a fold over the file yields.
    fn folded(&self) -> LaunchRows {
        let lines: Vec<Line> = self.events().into_iter().map(Line::Event).collect();
        let bytes = self.file.split_inclusive(|byte| *byte == b'\n');
        fold::fold(
            header(),
            BTreeMap::new(),
            bytes.zip(&lines).map(|(bytes, line)| FoldLine { bytes, line: Some(line) }),
        )
    }

    /// The rows that the ledger holds.
    fn held(&self) -> LaunchRows {
        let launch = header().id;
        pollster::block_on(async {
            let turns = self.ledger.turns(launch).await.unwrap();
            let usage = self.ledger.usage(launch).await.unwrap();
            LaunchRows {
                launch: self.ledger.launch(launch).await.unwrap(),
                turns: turns
                    .into_iter()
                    .map(|row| trace_model::rows::TurnRows { turn: row.turn, assets: vec![], decisions: vec![] })
                    .collect(),
                usage: usage.into_iter().map(|row| (row.record.report.key.clone(), row.record)).collect(),
            }
        })
    }
}

fn world(steps: &[(Step, bool)]) -> World {
    let mut world = World {
        recording: Recording::new(header()),
        batch: Batch::new(),
        file: Vec::new(),
        ledger: MemoryLedger::new(),
    };
    world.put(open(1), true);
    for (step, works) in steps {
        world.take(step, *works);
    }
    world
}

proptest! {
    #[test]
    fn seqs_have_no_gap_wherever_writing_fails(steps in steps()) {
        let seqs: Vec<_> = world(&steps).events().iter().map(|event| event.seq).collect();
        let expected: Vec<_> = (0..).take(seqs.len()).collect();
        prop_assert_eq!(seqs, expected);
    }

    #[test]
    fn the_ledger_holds_the_fold_of_the_file(steps in steps()) {
        let mut world = world(&steps);
        world.apply();
        prop_assert_eq!(world.held(), world.folded());
    }

    #[test]
    fn what_ended_stays_ended(steps in steps(), more in steps()) {
        let mut world = world(&steps);
        let ends = |world: &World| -> Vec<_> {
            let turns = world.recording.fold.turns();
            turns.filter(|turn| turn.state != trace_model::turn::TurnState::Running).map(|turn| (turn.id, turn.state)).collect()
        };
        let before = (ends(&world), world.recording.launch().state);
        let closed = world.recording.is_closed();
        let file = world.file.clone();
        for (step, works) in &more {
            world.take(step, *works);
        }
        let after = ends(&world);
        prop_assert!(before.0.iter().all(|end| after.contains(end)));
        if before.1 != LaunchState::Running {
            prop_assert_eq!((&world.file, world.recording.launch().state), (&file, before.1));
        }
        if closed {
            let kinds = events_after(&world, file.len());
            let ends = |payload: &Payload| {
                matches!(
                    payload,
                    Payload::TurnEnded { .. } | Payload::LaunchEnded { .. } | Payload::CaptureError { .. }
                )
            };
            prop_assert!(kinds.iter().all(ends), "{kinds:?}");
        }
    }

    #[test]
    fn at_most_one_turn_runs_and_it_is_the_last(steps in steps()) {
        let world = world(&steps);
        let running = |turn: &&Turn| turn.state == trace_model::turn::TurnState::Running;
        let runs: Vec<_> = world.recording.fold.turns().filter(running).map(|turn| turn.id).collect();
        prop_assert!(runs.len() <= 1);
        prop_assert_eq!(runs.first().copied(), world.recording.running_turn().map(|turn| turn.id));
    }

    #[test]
    fn usage_is_never_counted_twice(steps in steps()) {
        let world = world(&steps);
        let rows = world.folded();
        // The records of one turn are all of the finest origin that it has, and what the provider stated for a key or a
        // turn last is what counts.
        let mut origins: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for record in rows.usage.values() {
            let origin = record.report.origin();
            origins.entry(record.turn_id).or_default().push(origin);
        }
        for of_turn in origins.values() {
            for (finer, coarser) in of_turn.iter().flat_map(|a| of_turn.iter().map(move |b| (a, b))) {
                prop_assert!(!finer.supersedes(*coarser), "{of_turn:?}");
            }
        }
        let cost: NanoUsd = rows.usage.values().filter_map(|record| record.report.reported_cost_usd).sum();
        let stated = world.events().into_iter().filter_map(|event| match event.payload {
            Payload::Result { cost_usd, .. } => cost_usd,
            _ => None,
        });
        // Running totals add up to what they grew by; one that is smaller than the last began anew.
        let (grown, _) = stated.fold((NanoUsd::ZERO, NanoUsd::ZERO), |(sum, last), total| {
            let before = if last <= total { last } else { NanoUsd::ZERO };
            (sum.saturating_add(total.saturating_sub(before)), total)
        });
        prop_assert_eq!(cost, grown);
    }

    #[test]
    fn every_lost_event_is_counted_and_told(steps in steps()) {
        let mut world = world(&steps);
        let closed = world.recording.is_closed();
        world.take(&Step::Text, true);
        let told: u64 = world.events().iter().map(|event| match &event.payload {
            Payload::CaptureError { lost_events, .. } => lost_events.unwrap_or(0),
            _ => 0,
        }).sum();
        if !closed {
            prop_assert_eq!(told, world.recording.lost_events());
        }
        prop_assert!(told <= world.recording.lost_events());
    }
}

fn events_after(world: &World, len: usize) -> Vec<Payload> {
    let before = world.file[..len].split_inclusive(|byte| *byte == b'\n').count();
    world.events().into_iter().skip(before).map(|event| event.payload).collect()
}
