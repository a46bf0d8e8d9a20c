//! The rules of the contract that a write can break, in the order in which they are looked at.

use trace_model::{
    Entity,
    control::Reservation,
    id::TurnId,
    launch::LaunchState,
    ledger::{
        LedgerError, check_boundary, check_launch_rows, check_launch_update, check_new_turns, check_reservation,
        check_turn_update,
    },
    rows::{BoundaryRows, LaunchChange, LaunchRows, UsageChange},
    usage::UsageRecord,
};

use crate::state::State;

/// Checks that the rows of a boundary may be applied.
pub(crate) fn boundary(state: &State, rows: &BoundaryRows) -> Result<(), LedgerError> {
    check_boundary(rows)?;
    let launch = rows.launch.launch().header.id;
    launch_change(state, rows)?;
    let opened = check_new_turns::<LedgerError>(
        &rows.turns_opened,
        |id| Ok(state.turn(id).is_some()),
        |ordinal| Ok(state.turn_at(launch, ordinal).is_some()),
    )?;
    for new in rows.turns_updated.values() {
        let old = state.turn(new.id).or_else(|| opened.get(&new.id).copied());
        check_turn_update(old.ok_or_else(|| LedgerError::not_found(Entity::Turn, new.id))?, new, &rows.launch)?;
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
    let is_anothers = |id| Ok(state.turn(id).is_some_and(|turn| turn.launch_id != rows.launch.header.id));
    let turns = check_new_turns::<LedgerError>(&rows.turns, is_anothers, |_| Ok(false))?;
    rows.usage.values().try_for_each(|record| usage(record, |id| turns.contains_key(&id)))
}

/// Checks that the reservation may be recorded.
pub(crate) fn reservation(state: &State, new: &Reservation) -> Result<(), LedgerError> {
    check_reservation(
        new,
        |launch| Ok(state.reservations().any(|old| old.launch_id == launch)),
        |launch| Ok(state.launch(launch).is_some()),
        |run| Ok(state.reservation(run).cloned()),
    )
}

fn launch_change(state: &State, rows: &BoundaryRows) -> Result<(), LedgerError> {
    let new = rows.launch.launch();
    let id = new.header.id;
    match (&rows.launch, state.launch(id)) {
        (LaunchChange::Opened(_), None) => Ok(()),
        (LaunchChange::Opened(_), Some(_)) => Err(LedgerError::already_exists(Entity::Launch, id)),
        (LaunchChange::Updated(_) | LaunchChange::Extended(_), None) => Err(LedgerError::not_found(Entity::Launch, id)),
        (LaunchChange::Updated(_) | LaunchChange::Extended(_), Some(old)) => {
            check_launch_update(old, &rows.launch)?;
            match (&rows.launch, old.state, rows.turns_opened.first()) {
                (LaunchChange::Updated(_), LaunchState::Ended { .. }, Some(first)) => {
                    Err(LedgerError::launch_has_ended(first.turn.id))
                }
                _ => Ok(()),
            }
        }
    }
}

fn usage(record: &UsageRecord, is_here: impl Fn(TurnId) -> bool) -> Result<(), LedgerError> {
    match record.turn_id {
        Some(turn) if !is_here(turn) => Err(LedgerError::not_found(Entity::Turn, turn)),
        _ => Ok(()),
    }
}
