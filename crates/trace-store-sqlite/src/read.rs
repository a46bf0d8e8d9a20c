//! The reads of the contract, each inside of a transaction of the worker.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use rusqlite::{CachedStatement, Params, Row, ToSql, Transaction, params, types::Value, vtab::array::Array};
use trace_model::{
    Entity,
    context::{Asset, Decision},
    control::Reservation,
    id::{ControlRunId, IdSuffix, LaunchId, TurnId},
    launch::Launch,
    ledger::LedgerError,
    query::{LaunchQuery, Order},
    turn::{Turn, TurnRow},
    usage::UsageRow,
};

use crate::{
    columns::FromColumn,
    error::Cause,
    rows::{self, ASSETS, Cost, Costed, DECISIONS, LAUNCHES, RESERVATIONS, TURNS, USAGE_RECORDS},
};

/// How many launches an ambiguous suffix lists.
const LISTED_MATCHES: usize = 10;

/// Returns the reservation of the control run.
pub(crate) fn reservation(transaction: &Transaction<'_>, run: &ControlRunId) -> Result<Reservation, Cause> {
    reservation_of(transaction, run)?.ok_or_else(|| LedgerError::not_found(Entity::Reservation, run).into())
}

/// Returns the reservation of the control run, if there is one.
pub(crate) fn reservation_of(transaction: &Transaction<'_>, run: &ControlRunId) -> Result<Option<Reservation>, Cause> {
    let sql = RESERVATIONS
        .select("WHERE control_run_id = ?1 ORDER BY state = 'waiting' DESC, reserved_at DESC, launch_id DESC LIMIT 1");
    Ok(all(transaction, &sql, [run.as_str()], rows::read_reservation)?.into_iter().next())
}

/// Tells whether the launch has a reservation.
pub(crate) fn is_reserved(transaction: &Transaction<'_>, launch: LaunchId) -> Result<bool, Cause> {
    let mut statement = transaction.prepare_cached("SELECT 1 FROM reservations WHERE launch_id = ?1")?;
    Ok(statement.exists([launch.to_string()])?)
}

/// Tells whether the launch is here.
pub(crate) fn has_launch(transaction: &Transaction<'_>, launch: LaunchId) -> Result<bool, Cause> {
    let mut statement = transaction.prepare_cached("SELECT 1 FROM launches WHERE id = ?1")?;
    Ok(statement.exists([launch.to_string()])?)
}

/// Returns all reservations.
pub(crate) fn reservations(transaction: &Transaction<'_>) -> Result<Vec<Reservation>, Cause> {
    all(transaction, &RESERVATIONS.select("ORDER BY reserved_at, launch_id"), (), rows::read_reservation)
}

/// Returns the launch.
pub(crate) fn launch(transaction: &Transaction<'_>, id: LaunchId) -> Result<Launch, Cause> {
    let found = all(transaction, &LAUNCHES.select("WHERE id = ?1"), [id.to_string()], rows::read_launch)?;
    found.into_iter().next().ok_or_else(|| LedgerError::not_found(Entity::Launch, id).into())
}

/// Returns the launch whose id ends so.
pub(crate) fn find_launch(transaction: &Transaction<'_>, suffix: &IdSuffix) -> Result<Launch, Cause> {
    let start = rows::reversed(suffix.as_str());
    // Behind all that begin so: no digit comes after `f`.
    let end = format!("{start}g");
    let limit = i64::try_from(LISTED_MATCHES).unwrap_or(i64::MAX);
    let mut found = all(transaction, &suffix_sql(), params![start, end, limit], rows::read_launch)?;
    match (found.pop(), found.as_slice()) {
        (None, _) => Err(LedgerError::not_found(Entity::Launch, suffix).into()),
        (Some(launch), []) => Ok(launch),
        (Some(last), others) => {
            let matches = others.iter().chain([&last]).map(|launch| launch.header.id).collect();
            Err(LedgerError::Ambiguous { suffix: suffix.clone(), matches }.into())
        }
    }
}

fn suffix_sql() -> String {
    LAUNCHES.select("WHERE id_reversed >= ?1 AND id_reversed < ?2 ORDER BY started_at, id LIMIT ?3")
}

/// Returns the launches that the query wants.
pub(crate) fn launches(transaction: &Transaction<'_>, query: &LaunchQuery) -> Result<Vec<Launch>, Cause> {
    let (sql, values) = launches_sql(query);
    all(transaction, &sql, rusqlite::params_from_iter(values), rows::read_launch)
}

/// The parameters of a question.
pub(crate) type Values = Vec<Box<dyn ToSql>>;

/// Returns the question for the launches, with its parameters.
fn launches_sql(query: &LaunchQuery) -> (String, Values) {
    let (mut conditions, mut values) = launch_conditions(query);
    let (beyond, order) = match query.order {
        Order::OldestFirst => ("(started_at, id) > (?, ?)", "ORDER BY started_at, id"),
        Order::NewestFirst => ("(started_at, id) < (?, ?)", "ORDER BY started_at DESC, id DESC"),
    };
    if let Some(after) = query.after {
        conditions.push(beyond);
        values.push(Box::new(after.started_at.as_micros()));
        values.push(Box::new(after.id.to_string()));
    }
    let limit = if query.limit.is_some() { "LIMIT ?" } else { "" };
    values.extend(query.limit.map(|limit| -> Box<dyn ToSql> { Box::new(limit) }));
    (LAUNCHES.select(&format!("{} {order} {limit}", filter(&conditions))), values)
}

/// Returns what stands behind the table's name for rows that meet all conditions.
pub(crate) fn filter(conditions: &[&str]) -> String {
    if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) }
}

/// Returns what the query wants of a launch, on whichever page, as conditions on its columns, with their parameters.
pub(crate) fn launch_conditions(query: &LaunchQuery) -> (Vec<&'static str>, Values) {
    let mut conditions = Vec::new();
    let mut values: Values = Vec::new();
    let sets = [
        ("run_id IN rarray(?)", texts(&query.runs)),
        ("parent_launch_id IN rarray(?)", texts(&query.parents)),
        ("provider IN rarray(?)", texts(&query.providers)),
        ("outcome IN rarray(?)", texts(&query.outcomes)),
        ("repo IN rarray(?)", texts(&query.repos)),
        ("project IN rarray(?)", texts(&query.projects)),
        ("provider_session_id IN rarray(?)", texts(&query.sessions)),
    ];
    for (condition, allowed) in sets {
        if !allowed.is_empty() {
            conditions.push(condition);
            values.push(Box::new(allowed));
        }
    }
    if let Some(from) = query.started_from {
        conditions.push("started_at >= ?");
        values.push(Box::new(from.as_micros()));
    }
    if let Some(before) = query.started_before {
        conditions.push("started_at < ?");
        values.push(Box::new(before.as_micros()));
    }
    (conditions, values)
}

/// Returns the texts of a set, as one parameter.
fn texts<T: ToString>(set: &BTreeSet<T>) -> Array {
    Rc::new(set.iter().map(|item| Value::Text(item.to_string())).collect())
}

/// Returns the turn, if it is here.
pub(crate) fn turn(transaction: &Transaction<'_>, id: TurnId) -> Result<Option<Turn>, Cause> {
    let found = all(transaction, &TURNS.select("WHERE id = ?1"), [id.to_string()], rows::read_turn)?;
    Ok(found.into_iter().next())
}

/// Returns the turns of the launch.
pub(crate) fn turns(transaction: &Transaction<'_>, launch: LaunchId) -> Result<Vec<TurnRow>, Cause> {
    let sql = TURNS.select("WHERE launch_id = ?1 ORDER BY ordinal");
    let turns = all(transaction, &sql, [launch.to_string()], rows::read_turn)?;
    Ok(TurnRow::of_launch(turns, usage(transaction, launch)?))
}

/// Returns the assets of the turn.
pub(crate) fn assets(transaction: &Transaction<'_>, turn: TurnId) -> Result<Vec<Asset>, Cause> {
    let sql = ASSETS.select("WHERE turn_id = ?1 ORDER BY position");
    all(transaction, &sql, [turn.to_string()], rows::read_asset)
}

/// Returns the decisions of the turn.
pub(crate) fn decisions(transaction: &Transaction<'_>, turn: TurnId) -> Result<Vec<Decision>, Cause> {
    let sql = DECISIONS.select("WHERE turn_id = ?1 ORDER BY position");
    all(transaction, &sql, [turn.to_string()], rows::read_decision)
}

/// Returns the usage records of the launch, replays marked.
pub(crate) fn usage(transaction: &Transaction<'_>, launch: LaunchId) -> Result<Vec<UsageRow>, Cause> {
    let read = |row: &Row<'_>| Ok(rows::read_usage(row)?.0);
    all(transaction, &format!("{} ORDER BY key", usage_sql()), [launch.to_string()], read)
}

/// Returns the usage records of the launch, replays marked, with what is known of their costs.
pub(crate) fn costed_usage(
    transaction: &Transaction<'_>,
    launch: LaunchId,
) -> Result<Vec<(UsageRow, Option<Cost>)>, Cause> {
    all(transaction, &usage_sql(), [launch.to_string()], rows::read_usage)
}

/// Returns how many replays each launch has. Only requests with more than one record are looked at: they are few.
pub(crate) fn replays(transaction: &Transaction<'_>) -> Result<BTreeMap<LaunchId, u64>, Cause> {
    let sql = "SELECT launch_id, count(*) FROM usage_rows
               WHERE replay_of IS NOT NULL AND request_hash IN (
                   SELECT request_hash FROM usage_records
                   WHERE request_hash IS NOT NULL GROUP BY request_hash HAVING count(*) > 1
               )
               GROUP BY launch_id";
    let damaged = |detail| Cause::Damaged(format!("launch_id in usage_records: {detail}"));
    let found = all(transaction, sql, (), |row| {
        Ok((LaunchId::read(row.get_ref(0)?).map_err(damaged)?, u64::read(row.get_ref(1)?).map_err(damaged)?))
    })?;
    Ok(found.into_iter().collect())
}

/// The records of one launch, by key.
pub(crate) struct RecordsOf<'t> {
    launch: String,
    select: CachedStatement<'t>,
}

impl<'t> RecordsOf<'t> {
    pub(crate) fn new(transaction: &'t Transaction<'_>, launch: LaunchId) -> Result<Self, Cause> {
        let sql = USAGE_RECORDS.select("WHERE launch_id = ?1 AND key = ?2");
        Ok(Self { launch: launch.to_string(), select: transaction.prepare_cached(&sql)? })
    }

    /// Returns the record with what is known of its cost, if it is here.
    pub(crate) fn get(&mut self, key: &str) -> Result<Option<Costed>, Cause> {
        let mut rows = self.select.query((&self.launch, key))?;
        rows.next()?.map(rows::read_costed).transpose()
    }
}

/// Returns the usage records of the launch by their keys, with what is known of their costs.
pub(crate) fn usage_records(
    transaction: &Transaction<'_>,
    launch: LaunchId,
) -> Result<BTreeMap<String, Costed>, Cause> {
    let sql = USAGE_RECORDS.select("WHERE launch_id = ?1");
    let found = all(transaction, &sql, [launch.to_string()], rows::read_costed)?;
    Ok(found.into_iter().map(|costed| (costed.record.report.key.clone(), costed)).collect())
}

fn usage_sql() -> String {
    format!("SELECT {}, replay_of FROM usage_rows WHERE launch_id = ?1", USAGE_RECORDS.columns.join(", "))
}

/// Returns all that the question finds.
pub(crate) fn all<T>(
    transaction: &Transaction<'_>,
    sql: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T, Cause>,
) -> Result<Vec<T>, Cause> {
    let mut statement = transaction.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

#[cfg(test)]
pub(crate) mod tests;
