//! The rules of the contract that a write can break, in the order in which they are looked at.

use std::collections::{BTreeMap, BTreeSet};

use trace_model::{
    Entity,
    control::Reservation,
    id::TurnId,
    launch::LaunchState,
    ledger::{LedgerError, check_boundary, check_launch_rows, check_launch_update, check_turn_update},
    rows::{BoundaryRows, LaunchChange, LaunchRows, TurnRows, UsageChange},
    turn::Turn,
    usage::UsageRecord,
    words::ReservationState,
};

use crate::state::State;

/// Checks that the rows of a boundary may be applied.
pub(crate) fn boundary(state: &State, rows: &BoundaryRows) -> Result<(), LedgerError> {
    check_boundary(rows)?;
    let launch = rows.launch.launch().header.id;
    launch_change(state, rows)?;
    let opened = new_turns(&rows.turns_opened, |id| state.turn(id), |ordinal| state.turn_at(launch, ordinal))?;
    for new in rows.turns_updated.values() {
        let old = state.turn(new.id).or_else(|| opened.get(&new.id).copied());
        check_turn_update(old.ok_or_else(|| LedgerError::not_found(Entity::Turn, new.id))?, new)?;
    }
    let is_here = |id| opened.contains_key(&id) || state.turn(id).is_some_and(|turn| turn.launch_id == launch);
    rows.usage.values().try_for_each(|change| match change {
        UsageChange::Saved(record) => usage(record, is_here),
        UsageChange::Deleted => Ok(()),
    })
}

/// Checks that the rows may stand in place of those of their launch.
pub(crate) fn replacement(state: &State, rows: &LaunchRows) -> Result<(), LedgerError> {
    check_launch_rows(rows)?;
    let of_others = |id| state.turn(id).filter(|turn| turn.launch_id != rows.launch.header.id);
    let turns = new_turns(&rows.turns, of_others, |_| None)?;
    rows.usage.values().try_for_each(|record| usage(record, |id| turns.contains_key(&id)))
}

/// Checks that the reservation may be recorded.
pub(crate) fn reservation(state: &State, new: &Reservation) -> Result<(), LedgerError> {
    let (launch, run) = (new.launch_id, &new.control.run_id);
    if state.reservations().any(|old| old.launch_id == launch) {
        return Err(LedgerError::already_exists(Entity::Reservation, launch));
    }
    if new.state != ReservationState::Waiting {
        return Ok(());
    }
    if state.launch(launch).is_some() {
        return Err(LedgerError::already_exists(Entity::Launch, launch));
    }
    match state.reservation(run) {
        Some(old) if old.state == ReservationState::Waiting => {
            Err(LedgerError::already_exists(Entity::Reservation, run))
        }
        _ => Ok(()),
    }
}

fn launch_change(state: &State, rows: &BoundaryRows) -> Result<(), LedgerError> {
    let new = rows.launch.launch();
    let id = new.header.id;
    match (&rows.launch, state.launch(id)) {
        (LaunchChange::Opened(_), None) => Ok(()),
        (LaunchChange::Opened(_), Some(_)) => Err(LedgerError::already_exists(Entity::Launch, id)),
        (LaunchChange::Updated(_), None) => Err(LedgerError::not_found(Entity::Launch, id)),
        (LaunchChange::Updated(_), Some(old)) => {
            check_launch_update(old, new)?;
            match (old.state, rows.turns_opened.first()) {
                (LaunchState::Ended { .. }, Some(first)) => Err(LedgerError::launch_has_ended(first.turn.id)),
                _ => Ok(()),
            }
        }
    }
}

/// Checks that no id, ordinal or position is taken, among the new turns or by what is here, and returns them by id.
fn new_turns<'a>(
    turns: &'a [TurnRows],
    turn: impl Fn(TurnId) -> Option<&'a Turn>,
    turn_at: impl Fn(u32) -> Option<&'a Turn>,
) -> Result<BTreeMap<TurnId, &'a Turn>, LedgerError> {
    let mut by_id = BTreeMap::new();
    let mut ordinals = BTreeSet::new();
    for TurnRows { turn: new, assets, decisions } in turns {
        if turn(new.id).is_some() || by_id.insert(new.id, new).is_some() {
            return Err(LedgerError::already_exists(Entity::Turn, new.id));
        }
        if turn_at(new.ordinal).is_some() || !ordinals.insert(new.ordinal) {
            return Err(LedgerError::place_is_taken(Entity::Turn, new.launch_id, new.ordinal));
        }
        positions(Entity::Asset, new.id, assets.iter().map(|asset| asset.position))?;
        positions(Entity::Decision, new.id, decisions.iter().map(|decision| decision.position))?;
    }
    Ok(by_id)
}

fn positions(entity: Entity, turn: TurnId, positions: impl Iterator<Item = u32>) -> Result<(), LedgerError> {
    let mut taken = BTreeSet::new();
    for position in positions {
        if !taken.insert(position) {
            return Err(LedgerError::place_is_taken(entity, turn, position));
        }
    }
    Ok(())
}

fn usage(record: &UsageRecord, is_here: impl Fn(TurnId) -> bool) -> Result<(), LedgerError> {
    match record.turn_id {
        Some(turn) if !is_here(turn) => Err(LedgerError::not_found(Entity::Turn, turn)),
        _ => Ok(()),
    }
}
