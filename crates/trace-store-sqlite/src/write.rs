//! The writes of the contract, each inside of a transaction of the worker.

use rusqlite::{CachedStatement, Transaction};
use trace_model::{
    Entity,
    control::Reservation,
    id::{ControlRunId, LaunchId, TurnId},
    launch::{Launch, LaunchState},
    ledger::{
        LedgerError, check_boundary, check_launch_rows, check_launch_update, check_reservation, check_turn_update,
    },
    rows::{BoundaryRows, LaunchChange, LaunchRows, TurnRows, UsageChange},
    turn::Turn,
    usage::UsageRecord,
    words::ReservationState,
};

use crate::{
    columns::Writer,
    error::Cause,
    read,
    rows::{self, ASSETS, DECISIONS, LAUNCHES, RESERVATIONS, TURNS, USAGE_RECORDS},
};

/// Applies what one boundary changed.
pub(crate) fn apply(transaction: &Transaction<'_>, rows: &BoundaryRows) -> Result<(), Cause> {
    check_boundary(rows)?;
    match &rows.launch {
        LaunchChange::Opened(launch) => insert_launch(transaction, launch)?,
        LaunchChange::Updated(launch) => {
            let old = read::launch(transaction, launch.header.id)?;
            check_launch_update(&old, launch)?;
            if let (LaunchState::Ended { .. }, Some(first)) = (old.state, rows.turns_opened.first()) {
                return Err(LedgerError::launch_has_ended(first.turn.id).into());
            }
            if old != *launch {
                put_launch(transaction, LAUNCHES.upsert, launch)?;
            }
        }
    }
    insert_turns(transaction, &rows.turns_opened)?;
    for turn in rows.turns_updated.values() {
        update_turn(transaction, turn)?;
    }
    let launch = rows.launch.launch().header.id;
    let mut delete = transaction.prepare_cached("DELETE FROM usage_records WHERE launch_id = ?1 AND key = ?2")?;
    let mut upsert = transaction.prepare_cached(USAGE_RECORDS.upsert)?;
    for (key, change) in &rows.usage {
        match change {
            UsageChange::Saved(record) => put_usage(&mut upsert, record)?,
            UsageChange::Deleted => {
                delete.execute((launch.to_string(), key))?;
            }
        }
    }
    Ok(())
}

/// Puts all rows of a launch in place of whatever rows it had.
pub(crate) fn replace_launch(transaction: &Transaction<'_>, rows: &LaunchRows) -> Result<(), Cause> {
    check_launch_rows(rows)?;
    delete_launch(transaction, rows.launch.header.id)?;
    insert_launch(transaction, &rows.launch)?;
    insert_turns(transaction, &rows.turns)?;
    let mut insert = transaction.prepare_cached(USAGE_RECORDS.insert)?;
    rows.usage.values().try_for_each(|record| put_usage(&mut insert, record))
}

/// Records a reservation.
pub(crate) fn reserve(transaction: &Transaction<'_>, reservation: &Reservation) -> Result<(), Cause> {
    check_reservation(
        reservation,
        |launch| read::is_reserved(transaction, launch),
        |launch| read::has_launch(transaction, launch),
        |run| read::reservation_of(transaction, run),
    )?;
    let mut statement = transaction.prepare_cached(RESERVATIONS.insert)?;
    let mut writer = Writer::new(&mut statement);
    rows::write_reservation(&mut writer, reservation)?;
    writer.execute()
}

/// Gives up the reservation of the control run.
pub(crate) fn release(transaction: &Transaction<'_>, run: &ControlRunId) -> Result<(), Cause> {
    let reservation = read::reservation(transaction, run)?;
    if reservation.state == ReservationState::Taken {
        return Err(LedgerError::launch_has_begun(run).into());
    }
    set_reservation(transaction, reservation.launch_id, ReservationState::Released)
}

fn set_reservation(transaction: &Transaction<'_>, launch: LaunchId, state: ReservationState) -> Result<(), Cause> {
    let mut update = transaction.prepare_cached("UPDATE reservations SET state = ?2 WHERE launch_id = ?1")?;
    update.execute((launch.to_string(), state.as_str()))?;
    Ok(())
}

/// Deletes the launch with all that refers to it.
fn delete_launch(transaction: &Transaction<'_>, id: LaunchId) -> Result<(), Cause> {
    transaction.prepare_cached("DELETE FROM launches WHERE id = ?1")?.execute([id.to_string()])?;
    Ok(())
}

/// Adds the launch, which takes its reservation, if it has one.
fn insert_launch(transaction: &Transaction<'_>, launch: &Launch) -> Result<(), Cause> {
    set_reservation(transaction, launch.header.id, ReservationState::Taken)?;
    put_launch(transaction, LAUNCHES.insert, launch).map_err(|cause| {
        if cause.is_constraint() { LedgerError::already_exists(Entity::Launch, launch.header.id).into() } else { cause }
    })
}

fn put_launch(transaction: &Transaction<'_>, sql: &str, launch: &Launch) -> Result<(), Cause> {
    let mut statement = transaction.prepare_cached(sql)?;
    let mut writer = Writer::new(&mut statement);
    rows::write_launch(&mut writer, launch)?;
    writer.execute()
}

fn insert_turns(transaction: &Transaction<'_>, turns: &[TurnRows]) -> Result<(), Cause> {
    let mut turn_insert = transaction.prepare_cached(TURNS.insert)?;
    let mut asset_insert = transaction.prepare_cached(ASSETS.insert)?;
    let mut decision_insert = transaction.prepare_cached(DECISIONS.insert)?;
    for TurnRows { turn, assets, decisions } in turns {
        let mut writer = Writer::new(&mut turn_insert);
        rows::write_turn(&mut writer, turn)?;
        writer.execute().or_else(|cause| name_taken_turn(transaction, turn, cause))?;
        let mut writer = Writer::new(&mut asset_insert);
        for asset in assets {
            rows::write_asset(&mut writer, turn.id, asset)?;
            writer.execute().map_err(|cause| name_taken_place(Entity::Asset, turn.id, asset.position, cause))?;
        }
        let mut writer = Writer::new(&mut decision_insert);
        for decision in decisions {
            rows::write_decision(&mut writer, turn.id, decision)?;
            writer.execute().map_err(|cause| name_taken_place(Entity::Decision, turn.id, decision.position, cause))?;
        }
    }
    Ok(())
}

/// Says whether the id or the ordinal of a turn is taken. Its launch is there, so nothing else can break.
fn name_taken_turn(transaction: &Transaction<'_>, turn: &Turn, cause: Cause) -> Result<(), Cause> {
    if !cause.is_constraint() {
        return Err(cause);
    }
    Err(match read::turn(transaction, turn.id)? {
        Some(_) => LedgerError::already_exists(Entity::Turn, turn.id),
        None => LedgerError::place_is_taken(Entity::Turn, turn.launch_id, turn.ordinal),
    }
    .into())
}

/// Says that the position of an asset or decision is taken. Its turn is there, so nothing else can break.
fn name_taken_place(entity: Entity, turn: TurnId, position: u32, cause: Cause) -> Cause {
    if cause.is_constraint() { LedgerError::place_is_taken(entity, turn, position).into() } else { cause }
}

fn update_turn(transaction: &Transaction<'_>, turn: &Turn) -> Result<(), Cause> {
    let old = read::turn(transaction, turn.id)?.ok_or_else(|| LedgerError::not_found(Entity::Turn, turn.id))?;
    check_turn_update(&old, turn)?;
    let mut statement = transaction.prepare_cached(TURNS.upsert)?;
    let mut writer = Writer::new(&mut statement);
    rows::write_turn(&mut writer, turn)?;
    writer.execute()
}

/// Writes the record. Its launch is there and its key may be taken, so only its turn can be missing.
fn put_usage(statement: &mut CachedStatement<'_>, record: &UsageRecord) -> Result<(), Cause> {
    let mut writer = Writer::new(statement);
    rows::write_usage(&mut writer, record)?;
    writer.execute().map_err(|cause| match record.turn_id {
        Some(turn) if cause.is_constraint() => LedgerError::not_found(Entity::Turn, turn).into(),
        _ => cause,
    })
}
