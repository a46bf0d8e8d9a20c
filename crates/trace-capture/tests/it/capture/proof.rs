//! What holds for every harness: whatever it does in whatever order, and whatever fails.
//!
//! `steps` is what may happen, `reference` retells it independently, and `world` lets it happen.

mod reference;
mod steps;
mod world;

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;
use trace_capture::{LedgerKind, MemoryLedger, reindex::reindex};
use trace_model::{
    event::{Event, Payload},
    money::NanoUsd,
    totals::Totals,
    words::ReservationState,
};

use self::{
    reference::Reference,
    steps::{Story, stories},
    world::{Told, tell},
};
use super::support::{dump, read_events};

/// How many stories each kind of ledger is told: writing to a disk takes its time.
fn cases(kind: LedgerKind) -> u32 {
    if kind.file_name().is_none() { 160 } else { 24 }
}

/// Tells stories to a ledger of that kind, and checks all that holds of any.
fn check(kind: LedgerKind) {
    let config = ProptestConfig { cases: cases(kind), ..ProptestConfig::default() };
    proptest!(config, |(story in stories())| {
        let told = tell(&story, kind);
        the_files_are_whole(&told);
        the_rows_are_the_fold_of_the_files(&told, kind);
        what_ended_is_as_it_was_ended(&told);
        usage_is_counted_once(&told);
        reservations_are_taken_by_their_launches(&told, &story);
    });
}

#[test]
fn every_story_is_recorded_rightly_in_memory() {
    check(LedgerKind::Memory);
}

/// Whatever kinds this build has; a new one needs no word here.
#[test]
fn every_story_is_recorded_rightly_on_every_disk_ledger() {
    super::support::disk_kinds().for_each(check);
}

/// Every launch that was begun has its files, each line is an event, the seqs have no gap, each turn opens and ends
/// once, and nothing comes after the end.
fn the_files_are_whole(told: &Told) {
    let dirs = told.home.list_launch_artifact_dirs().unwrap();
    assert_eq!(dirs.len(), told.reference.launches.len(), "a launch is published whole or not at all");
    for dir in dirs {
        let (events, skipped) = read_events(&told.home, &dir);
        assert_eq!(skipped, 0, "every line is an event");
        assert!(events.iter().zip(0..).all(|(event, seq)| event.seq == seq), "the seqs have no gap: {events:?}");
        let ends = |event: &&Event| matches!(event.payload, Payload::LaunchEnded { .. });
        assert_eq!(events.iter().filter(ends).count(), 1, "it ends once: {events:?}");
        assert!(events.last().as_ref().is_some_and(ends), "nothing comes after the end: {events:?}");
        let (mut opened, mut ended) = (BTreeSet::new(), BTreeSet::new());
        for event in &events {
            match &event.payload {
                Payload::TurnOpened { turn, .. } => assert!(opened.insert(turn.id), "{events:?}"),
                Payload::TurnEnded { .. } => assert!(ended.insert(event.turn_id.unwrap()), "{events:?}"),
                _ => {}
            }
        }
        assert!(ended.is_subset(&opened), "{events:?}");
    }
}

/// The ledger holds what a fold of the files finds, and finding it anew changes nothing.
fn the_rows_are_the_fold_of_the_files(told: &Told, kind: LedgerKind) {
    let folded = MemoryLedger::new();
    pollster::block_on(reindex(&told.home, &folded, &mut |_| {})).unwrap();
    let folded = dump(&folded);
    check_rows(&dump(&*told.ledger), &folded, &format!("the {kind} ledger"));
    pollster::block_on(reindex(&told.home, &*told.ledger, &mut |_| {})).unwrap();
    check_rows(&dump(&*told.ledger), &folded, &format!("the {kind} ledger after a reindex"));
}

/// Compares rows launch by launch, so that a difference is told where it is.
fn check_rows(found: &Value, folded: &Value, whose: &str) {
    let (found, folded) = (found.as_array().unwrap(), folded.as_array().unwrap());
    assert_eq!(found.len(), folded.len(), "{whose}");
    for (found, folded) in found.iter().zip(folded) {
        assert_eq!(found, folded, "{whose}");
    }
}

/// The first end of each launch is the one that counts; without one it was interrupted.
fn what_ended_is_as_it_was_ended(told: &Told) {
    for launch in &told.reference.launches {
        let row = pollster::block_on(told.ledger.launch(launch.id)).unwrap();
        let (_, outcome) = row.state.columns();
        let expected = launch.outcome.unwrap_or(trace_model::turn::Outcome::Interrupted);
        assert_eq!(outcome, expected.into(), "{launch:?}");
        for turn in pollster::block_on(told.ledger.turns(launch.id)).unwrap() {
            assert_ne!(turn.turn.state, trace_model::turn::TurnState::Running, "{launch:?}");
        }
    }
}

/// Each launch has spent what the harness said that it spent, and nothing twice.
fn usage_is_counted_once(told: &Told) {
    let Reference { launches, .. } = &told.reference;
    for launch in launches {
        let totals = Totals::of(&pollster::block_on(told.ledger.usage(launch.id)).unwrap());
        let cost = totals.cost_usd.map_or(0, NanoUsd::as_nanos);
        let found = (totals.input_tokens.unwrap_or(0), cost);
        assert_eq!(found, told.reference.spent(launch), "{launch:?}");
    }
}

/// A launch whose id was reserved has taken its reservation; any other reservation waits or was given up, and at most
/// one of a control run waits.
fn reservations_are_taken_by_their_launches(told: &Told, story: &Story) {
    let begun: BTreeSet<_> = told.reference.launches.iter().map(|launch| launch.id).collect();
    let mut waiting = BTreeSet::new();
    for reservation in pollster::block_on(told.ledger.reservations()).unwrap() {
        let is_taken = reservation.state == ReservationState::Taken;
        assert_eq!(is_taken, begun.contains(&reservation.launch_id), "{reservation:?}");
        if reservation.state == ReservationState::Waiting {
            assert!(waiting.insert(reservation.control.run_id.clone()), "{reservation:?}");
        }
    }
    if story.fault.is_none() {
        let found: Vec<_> = waiting.into_iter().collect();
        let expected: Vec<_> = told.waiting.keys().cloned().collect();
        assert_eq!(found, expected);
    }
}
