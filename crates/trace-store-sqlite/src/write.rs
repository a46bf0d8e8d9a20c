//! The writes of the contract, each inside of a transaction of the worker.

use std::collections::{BTreeMap, BTreeSet};

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
    rollups::{self, Changed},
    rows::{self, ASSETS, Cost, Costed, DECISIONS, LAUNCHES, RESERVATIONS, TURNS, USAGE_RECORDS},
};

/// Applies what one boundary changed.
pub(crate) fn apply(transaction: &Transaction<'_>, rows: &BoundaryRows) -> Result<(), Cause> {
    check_boundary(rows)?;
    match &rows.launch {
        LaunchChange::Opened(launch) => insert_launch(transaction, launch)?,
        LaunchChange::Updated(_) | LaunchChange::Extended(_) => update_launch(transaction, rows)?,
    }
    insert_turns(transaction, &rows.turns_opened)?;
    for turn in rows.turns_updated.values() {
        update_turn(transaction, turn, &rows.launch)?;
    }
    change_usage(transaction, rows.launch.launch().header.id, &rows.usage)
}

/// Puts all rows of a launch in place of whatever rows it had.
pub(crate) fn replace_launch(transaction: &Transaction<'_>, rows: &LaunchRows) -> Result<(), Cause> {
    check_launch_rows(rows)?;
    let id = rows.launch.header.id;
    let old: BTreeMap<String, Costed> = read::usage_records(transaction, id)?;
    delete_launch(transaction, id)?;
    insert_launch(transaction, &rows.launch)?;
    insert_turns(transaction, &rows.turns)?;
    let turns: BTreeSet<TurnId> = rows.turns.iter().map(|rows| rows.turn.id).collect();
    let mut insert = transaction.prepare_cached(USAGE_RECORDS.insert)?;
    for (key, record) in &rows.usage {
        if let Some(turn) = record.turn_id.filter(|turn| !turns.contains(turn)) {
            return Err(LedgerError::not_found(Entity::Turn, turn).into());
        }
        // A record that is as it was keeps what is known of its cost.
        let cost = old.get(key).filter(|old| old.record == *record).and_then(|old| old.cost);
        put_usage(&mut insert, record, cost)?;
    }
    let records = old.values().map(|old| &old.record).chain(rows.usage.values());
    rollups::forget(transaction, id, records.filter_map(request_of))
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

/// Deletes the launch with all that belongs to it.
fn delete_launch(transaction: &Transaction<'_>, id: LaunchId) -> Result<(), Cause> {
    transaction.prepare_cached("DELETE FROM usage_records WHERE launch_id = ?1")?.execute([id.to_string()])?;
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

/// Changes the row of a launch that is there.
fn update_launch(transaction: &Transaction<'_>, rows: &BoundaryRows) -> Result<(), Cause> {
    let new = rows.launch.launch();
    let old = read::launch(transaction, new.header.id)?;
    check_launch_update(&old, &rows.launch)?;
    if let (LaunchChange::Updated(_), LaunchState::Ended { .. }, Some(first)) =
        (&rows.launch, old.state, rows.turns_opened.first())
    {
        return Err(LedgerError::launch_has_ended(first.turn.id).into());
    }
    if old == *new { Ok(()) } else { put_launch(transaction, LAUNCHES.upsert, new) }
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

fn update_turn(transaction: &Transaction<'_>, turn: &Turn, change: &LaunchChange) -> Result<(), Cause> {
    let old = read::turn(transaction, turn.id)?.ok_or_else(|| LedgerError::not_found(Entity::Turn, turn.id))?;
    check_turn_update(&old, turn, change)?;
    let mut statement = transaction.prepare_cached(TURNS.upsert)?;
    let mut writer = Writer::new(&mut statement);
    rows::write_turn(&mut writer, turn)?;
    writer.execute()
}

/// Saves and deletes records of the launch.
fn change_usage(
    transaction: &Transaction<'_>,
    launch: LaunchId,
    changes: &BTreeMap<String, UsageChange>,
) -> Result<(), Cause> {
    let mut delete = transaction.prepare_cached("DELETE FROM usage_records WHERE launch_id = ?1 AND key = ?2")?;
    let mut upsert = transaction.prepare_cached(USAGE_RECORDS.upsert)?;
    let mut records = read::RecordsOf::new(transaction, launch)?;
    let mut turns = BTreeSet::new();
    let mut written = Vec::new();
    for (key, change) in changes {
        let old = records.get(key)?;
        let new = match change {
            // A record that is as it was keeps what is known of its cost.
            UsageChange::Saved(record) if old.as_ref().is_some_and(|old| old.record == *record) => continue,
            UsageChange::Deleted if old.is_none() => continue,
            UsageChange::Saved(record) => {
                if let Some(turn) = record.turn_id.filter(|turn| !turns.contains(turn)) {
                    check_turn_of(transaction, launch, turn)?;
                    turns.insert(turn);
                }
                put_usage(&mut upsert, record, None)?;
                Some(record)
            }
            UsageChange::Deleted => {
                delete.execute((launch.to_string(), key))?;
                None
            }
        };
        written.push(Changed { old, new });
    }
    rollups::follow(transaction, launch, &written)
}

fn request_of(record: &UsageRecord) -> Option<&str> {
    record.report.request_key.as_deref()
}

/// Checks that the launch has the turn.
fn check_turn_of(transaction: &Transaction<'_>, launch: LaunchId, turn: TurnId) -> Result<(), Cause> {
    let mut select = transaction.prepare_cached("SELECT 1 FROM turns WHERE launch_id = ?1 AND id = ?2")?;
    let is_there = select.exists([launch.to_string(), turn.to_string()])?;
    if is_there { Ok(()) } else { Err(LedgerError::not_found(Entity::Turn, turn).into()) }
}

/// Writes the record. Its launch and its turn are there.
fn put_usage(statement: &mut CachedStatement<'_>, record: &UsageRecord, cost: Option<Cost>) -> Result<(), Cause> {
    let mut writer = Writer::new(statement);
    rows::write_usage(&mut writer, record, cost)?;
    writer.execute()
}
