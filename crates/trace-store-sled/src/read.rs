//! The reads of the contract. The thread of the worker makes one call after the other, so each sees one state.

use std::ops::Bound;

use trace_model::{
    Entity,
    context::{Asset, Decision},
    control::Reservation,
    id::{ControlRunId, IdSuffix, LaunchId, TurnId},
    launch::Launch,
    ledger::LedgerError,
    query::{LaunchCursor, LaunchQuery, Order},
    turn::{Turn, TurnRow},
    usage::{UsageRecord, UsageRow},
};

use crate::{
    database::Database,
    error::Cause,
    keys::{self, Key},
    trees::Tree,
};

/// How many launches an ambiguous suffix lists.
const LISTED_MATCHES: usize = 10;

/// Returns the launch.
pub(crate) fn launch(database: &Database, id: LaunchId) -> Result<Launch, Cause> {
    let found = database.row(Tree::Launches, &keys::launch(id))?;
    found.ok_or_else(|| LedgerError::not_found(Entity::Launch, id).into())
}

/// Returns the launch whose id ends so.
pub(crate) fn find_launch(database: &Database, suffix: &IdSuffix) -> Result<Launch, Cause> {
    let mut found = Vec::new();
    for entry in database.entries(Tree::LaunchesByEndOfId, &keys::end_of_id(suffix)) {
        found.push(database.row_at(Tree::Launches, &Key::from(&*entry?.1))?);
    }
    match found.as_slice() {
        [] => Err(LedgerError::not_found(Entity::Launch, suffix).into()),
        [_] => Ok(found.remove(0)),
        _ => {
            let in_order = LaunchQuery::default().select(&found);
            let matches = in_order.iter().take(LISTED_MATCHES).map(|launch: &Launch| launch.header.id).collect();
            Err(LedgerError::Ambiguous { suffix: suffix.clone(), matches }.into())
        }
    }
}

/// Returns the launches that the query wants.
pub(crate) fn launches(database: &Database, query: &LaunchQuery) -> Result<Vec<Launch>, Cause> {
    let Some((tree, beginnings)) = narrow_way(query) else { return launches_by_start(database, query) };
    let mut found = Vec::new();
    for beginning in beginnings {
        for entry in database.entries(tree, &beginning) {
            found.push(database.row_at(Tree::Launches, &entry?.0.last_launch())?);
        }
    }
    Ok(query.select(&found))
}

/// Returns where the launches are found that have what the query asks for, if a tree leads to those alone.
fn narrow_way(query: &LaunchQuery) -> Option<(Tree, Vec<Key>)> {
    let LaunchQuery { sessions, parents, runs, .. } = query;
    let texts = |text: &str| Key::default().text(text);
    if !sessions.is_empty() {
        Some((Tree::LaunchesBySession, sessions.iter().map(|session| texts(session)).collect()))
    } else if !parents.is_empty() {
        Some((Tree::LaunchesByParent, parents.iter().map(|parent| Key::default().launch(*parent)).collect()))
    } else if !runs.is_empty() {
        Some((Tree::LaunchesByRun, runs.iter().map(|run| texts(run.as_str())).collect()))
    } else {
        None
    }
}

/// Looks at the launches in the wanted order, and stops when there are enough.
fn launches_by_start(database: &Database, query: &LaunchQuery) -> Result<Vec<Launch>, Cause> {
    let after = |order| {
        let cursor = query.after.filter(|_| query.order == order);
        cursor.map(|LaunchCursor { started_at, id }| Key::default().time(started_at).launch(id))
    };
    let time = |time| Key::default().time(time);
    // One byte more makes the key that comes right behind.
    let behind = after(Order::OldestFirst).map(|key| key.flag(false));
    let start = query.started_from.map(time).into_iter().chain(behind).max();
    let end = query.started_before.map(time).into_iter().chain(after(Order::NewestFirst)).min();
    if let (Some(start), Some(end)) = (&start, &end)
        && start >= end
    {
        return Ok(Vec::new());
    }
    let entries = database.range(
        Tree::LaunchesByStart,
        (start.map_or(Bound::Unbounded, Bound::Included), end.map_or(Bound::Unbounded, Bound::Excluded)),
    );
    let entries: Box<dyn Iterator<Item = _>> = match query.order {
        Order::OldestFirst => Box::new(entries),
        Order::NewestFirst => Box::new(entries.rev()),
    };
    let limit = query.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let mut found: Vec<Launch> = Vec::new();
    for entry in entries {
        if found.len() >= limit {
            break;
        }
        let launch = database.row_at(Tree::Launches, &entry?.0.last_launch())?;
        if query.matches(&launch) {
            found.push(launch);
        }
    }
    Ok(found)
}

/// Returns the turn, if it is here.
pub(crate) fn turn(database: &Database, id: TurnId) -> Result<Option<Turn>, Cause> {
    let place = database.entry(Tree::TurnsById, &Key::default().turn(id))?;
    place.map(|place| database.row_at(Tree::Turns, &Key::from(&*place))).transpose()
}

/// Returns the turns of the launch.
pub(crate) fn turns(database: &Database, launch: LaunchId) -> Result<Vec<TurnRow>, Cause> {
    let turns = database.rows(Tree::Turns, &keys::launch(launch))?;
    Ok(TurnRow::of_launch(turns, usage(database, launch)?))
}

/// Returns the assets of the turn.
pub(crate) fn assets(database: &Database, turn: TurnId) -> Result<Vec<Asset>, Cause> {
    database.rows(Tree::Assets, &Key::default().turn(turn))
}

/// Returns the decisions of the turn.
pub(crate) fn decisions(database: &Database, turn: TurnId) -> Result<Vec<Decision>, Cause> {
    database.rows(Tree::Decisions, &Key::default().turn(turn))
}

/// Returns the usage records of the launch, replays marked.
pub(crate) fn usage(database: &Database, launch: LaunchId) -> Result<Vec<UsageRow>, Cause> {
    let row = |record: UsageRecord| Ok(UsageRow { replay_of: replay_of(database, &record)?, record });
    usage_records(database, launch)?.into_iter().map(row).collect()
}

/// Returns the usage records of the launch.
pub(crate) fn usage_records(database: &Database, launch: LaunchId) -> Result<Vec<UsageRecord>, Cause> {
    let mut records: Vec<UsageRecord> = database.rows(Tree::Usage, &keys::launch(launch))?;
    // Only keys that are cut are not in order.
    records.sort_by(|a, b| a.report.key.cmp(&b.report.key));
    Ok(records)
}

/// Returns the launch whose record of the same request counts instead of this one.
fn replay_of(database: &Database, record: &UsageRecord) -> Result<Option<LaunchId>, Cause> {
    let (Some(request), Some(own)) = (&record.report.request_key, keys::request(record)) else { return Ok(None) };
    let request = keys::of_request(request);
    let first = database.entries(Tree::Requests, &request).next().transpose()?;
    let (first, _) = first.ok_or_else(|| Cause::Damaged(String::from("no index leads to a usage record")))?;
    let record_at = |entry: &Key| -> Result<UsageRecord, Cause> {
        database.row_at(Tree::Usage, &keys::usage_of_request(entry, &request))
    };
    let Some(common) = first.before_cut() else {
        return if first == own { Ok(None) } else { Ok(Some(record_at(&first)?.launch_id)) };
    };
    // Which of those that begin alike is the first one, their whole keys tell.
    let mut first = record_at(&first)?;
    for entry in database.entries(Tree::Requests, &common) {
        let other = record_at(&entry?.0)?;
        if other.seniority() < first.seniority() {
            first = other;
        }
    }
    Ok((first.seniority() != record.seniority()).then_some(first.launch_id))
}

/// Returns the reservation that is the control run's.
pub(crate) fn reservation(database: &Database, run: &ControlRunId) -> Result<Option<Reservation>, Cause> {
    let last = database.entries(Tree::ReservationsByRun, &keys::of_control_run(run)).next_back().transpose()?;
    last.map(|(key, _)| database.row_at(Tree::Reservations, &key.last_launch())).transpose()
}

/// Returns all reservations.
pub(crate) fn reservations(database: &Database) -> Result<Vec<Reservation>, Cause> {
    let mut all: Vec<Reservation> = database.rows(Tree::Reservations, &Key::default())?;
    all.sort_by_key(|reservation| (reservation.reserved_at, reservation.launch_id));
    Ok(all)
}
