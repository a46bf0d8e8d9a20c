//! What the usage of each launch adds up to, kept so that nobody has to add it up again.
//!
//! A rollup is derived: it is missing until somebody asks, and after each write that may have made it untrue. The
//! writes of a launch that goes on make none untrue: its rollup follows them, for a long session is asked for again
//! and again.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use rusqlite::{OptionalExtension, Transaction, params_from_iter, types::Value};
use trace_model::{
    id::LaunchId,
    timestamp::Timestamp,
    usage::{UsageRecord, UsageRow},
    usage_query::{PriceVersion, UsageCell, UsageQuery, period_of},
    usage_sum::{ComputedCost, UsageSum},
};

use crate::{
    columns::{FromColumn, Writer},
    error::Cause,
    read::{self, Values},
    rows::{self, Cost, Costed, Part, Place, USAGE_CELLS},
};

/// Rollups that were missing: launches with their parts.
pub(crate) type Missing = Vec<(LaunchId, Vec<Part>)>;

/// Returns the cells that the query wants, and the rollups that had to be made for it.
pub(crate) fn cells(
    transaction: &Transaction<'_>,
    query: &UsageQuery,
) -> Result<(Vec<UsageCell>, Option<Missing>), Cause> {
    let mut missing = Missing::new();
    for launch in without_rollup(transaction, query)? {
        missing.push((launch, add_up(transaction, launch)?));
    }
    let mut parts = kept(transaction, query)?;
    parts.extend(missing.iter().flat_map(|(_, parts)| parts.iter().cloned()));
    // A part that came later than its rollup is behind the others.
    parts.sort_by(|a, b| (a.launch, &a.place).cmp(&(b.launch, &b.place)));
    let cells = join(transaction, query, &parts)?;
    Ok((cells, Some(missing).filter(|missing| !missing.is_empty())))
}

/// Keeps rollups that were missing. The transaction is the one in which they were made.
pub(crate) fn keep(transaction: &Transaction<'_>, missing: &Missing) -> Result<(), Cause> {
    let mut rollup = transaction.prepare_cached("INSERT INTO usage_rollups (launch_id) VALUES (?1)")?;
    let mut cell = transaction.prepare_cached(USAGE_CELLS.insert)?;
    let mut writer = Writer::new(&mut cell);
    for (launch, parts) in missing {
        rollup.execute([launch.to_string()])?;
        for (position, part) in (0..).zip(parts) {
            rows::write_part(&mut writer, part, position)?;
            writer.execute()?;
        }
    }
    Ok(())
}

/// Makes the rollup of the launch follow what changed in its records, which was written before. Where a rollup does not
/// tell what it is then, it is forgotten, and so are those of other launches that it may make untrue.
pub(crate) fn follow(transaction: &Transaction<'_>, launch: LaunchId, changes: &[Changed<'_>]) -> Result<(), Cause> {
    if changes.is_empty() {
        return Ok(());
    }
    let is_kept =
        transaction.prepare_cached("SELECT 1 FROM usage_rollups WHERE launch_id = ?1")?.exists([launch.to_string()])?;
    if is_kept && concerns_no_other(transaction, changes)? && follow_alone(transaction, launch, changes)? {
        return Ok(());
    }
    let requests = changes.iter().flat_map(|change| [change.old_request(), change.new_request()]);
    forget(transaction, launch, requests.flatten())
}

/// A record that was changed.
pub(crate) struct Changed<'a> {
    /// What it was, with what was known of its cost; nothing if it is new.
    pub(crate) old: Option<Costed>,
    /// What it is, without a known cost; nothing if it is gone.
    pub(crate) new: Option<&'a UsageRecord>,
}

impl Changed<'_> {
    fn old_request(&self) -> Option<&str> {
        self.old.as_ref()?.record.report.request_key.as_deref()
    }

    fn new_request(&self) -> Option<&str> {
        self.new?.report.request_key.as_deref()
    }
}

/// Tells whether none of the records is, was, or has a replay.
fn concerns_no_other(transaction: &Transaction<'_>, changes: &[Changed<'_>]) -> Result<bool, Cause> {
    let (mut old, mut new) = (BTreeSet::new(), BTreeSet::new());
    for change in changes {
        let is_shared = |request: Option<&str>, seen: &mut BTreeSet<i64>| {
            request.is_some_and(|request| !seen.insert(rows::request_hash(request)))
        };
        if is_shared(change.old_request(), &mut old) || is_shared(change.new_request(), &mut new) {
            return Ok(false);
        }
    }
    // Requests with the same hash are taken for one: then a rollup is forgotten in vain.
    let mut found = transaction.prepare_cached(COUNT_REQUEST)?;
    for request in old.union(&new) {
        let found: i64 = found.query_row([request], |row| row.get(0))?;
        if found != i64::from(new.contains(request)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How many parts are changed one by one before it is better to add up the launch again.
const FEW_PARTS: usize = 50;

/// Changes the parts of the launch's rollup, and tells whether all changes could be followed. If not, the rollup is of
/// no use any more.
fn follow_alone(transaction: &Transaction<'_>, launch: LaunchId, changes: &[Changed<'_>]) -> Result<bool, Cause> {
    let mut parts: BTreeMap<Place, (Option<u32>, UsageSum)> = BTreeMap::new();
    for Changed { old, new } in changes {
        let Some(new) = new else { return Ok(false) };
        let place = place_of(new, None);
        if !parts.contains_key(&place) {
            let part = part_at(transaction, launch, &place)?;
            parts.insert(place.clone(), part.map_or_else(Default::default, |(position, sum)| (Some(position), sum)));
        }
        let (_, sum) = parts.entry(place.clone()).or_default();
        let is_followed = match old {
            None => {
                sum.add(&UsageRow { record: (*new).clone(), replay_of: None }, ComputedCost::NotYet);
                true
            }
            Some(old) => place_of(&old.record, old.cost) == place && sum.replace(&old.record, new),
        };
        if !is_followed || parts.len() > FEW_PARTS {
            return Ok(false);
        }
    }
    let mut next: u32 = transaction
        .prepare_cached("SELECT coalesce(max(position) + 1, 0) FROM usage_cells WHERE launch_id = ?1")?
        .query_row([launch.to_string()], |row| row.get(0))?;
    let mut upsert = transaction.prepare_cached(USAGE_CELLS.upsert)?;
    let mut writer = Writer::new(&mut upsert);
    for (place, (position, sum)) in parts {
        let position = position.unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        rows::write_part(&mut writer, &Part { launch, place, sum }, position)?;
        writer.execute()?;
    }
    Ok(true)
}

/// Returns the part of records without a cost at the place, with its position.
fn part_at(transaction: &Transaction<'_>, launch: LaunchId, place: &Place) -> Result<Option<(u32, UsageSum)>, Cause> {
    let period = place.period.map(Timestamp::as_micros);
    let values = (launch.to_string(), period, place.model.as_deref(), place.agent.as_str());
    let found = read::all(transaction, &part_sql(), values, rows::read_placed_part)?;
    Ok(found.into_iter().next().map(|(position, part)| (position, part.sum)))
}

fn part_sql() -> String {
    USAGE_CELLS.select("WHERE launch_id = ?1 AND period IS ?2 AND model IS ?3 AND agent = ?4 AND price_version IS NULL")
}

/// Forgets the rollups of all launches that have a record of one of the requests.
const FORGET_SHARED: &str = "DELETE FROM usage_rollups WHERE launch_id IN (
    SELECT launch_id FROM usage_records WHERE request_hash IN rarray(?1)
)";

/// Counts the records of a request, or of several with the same hash.
const COUNT_REQUEST: &str = "SELECT count(*) FROM usage_records WHERE request_hash = ?1";

/// Forgets what a change of the launch's records makes untrue: its own rollup, and those of all launches that have a
/// record of one of the requests.
pub(crate) fn forget<'a>(
    transaction: &Transaction<'_>,
    launch: LaunchId,
    requests: impl Iterator<Item = &'a str>,
) -> Result<(), Cause> {
    forget_launch(transaction, launch)?;
    if !transaction.prepare_cached("SELECT 1 FROM usage_rollups LIMIT 1")?.exists(())? {
        return Ok(());
    }
    let requests: BTreeSet<i64> = requests.map(rows::request_hash).collect();
    let requests: Vec<Value> = requests.into_iter().map(Value::Integer).collect();
    transaction.prepare_cached(FORGET_SHARED)?.execute([Rc::new(requests)])?;
    Ok(())
}

/// Forgets the rollup of the launch, and of no other one.
pub(crate) fn forget_launch(transaction: &Transaction<'_>, launch: LaunchId) -> Result<(), Cause> {
    transaction.prepare_cached("DELETE FROM usage_rollups WHERE launch_id = ?1")?.execute([launch.to_string()])?;
    Ok(())
}

/// Returns the number of the version, if anything was computed by it.
pub(crate) fn number_of(transaction: &Transaction<'_>, version: &PriceVersion) -> Result<Option<i64>, Cause> {
    let mut select = transaction.prepare_cached("SELECT id FROM price_versions WHERE version = ?1")?;
    Ok(select.query_row([&version.0], |row| row.get(0)).optional()?)
}

/// Returns the launches that the query wants, of which nobody keeps what they add up to.
fn without_rollup(transaction: &Transaction<'_>, query: &UsageQuery) -> Result<Vec<LaunchId>, Cause> {
    let (sql, values) = without_rollup_sql(query);
    read::all(transaction, &sql, params_from_iter(values), |row| {
        LaunchId::read(row.get_ref(0)?).map_err(|detail| Cause::Damaged(format!("id in launches: {detail}")))
    })
}

fn without_rollup_sql(query: &UsageQuery) -> (String, Values) {
    let (mut conditions, values) = read::launch_conditions(&query.launches);
    conditions.push("id NOT IN (SELECT launch_id FROM usage_rollups)");
    (format!("SELECT id FROM launches {}", read::filter(&conditions)), values)
}

/// Returns the parts that are kept of the launches that the query wants, by launch.
fn kept(transaction: &Transaction<'_>, query: &UsageQuery) -> Result<Vec<Part>, Cause> {
    let (sql, values) = kept_sql(query);
    read::all(transaction, &sql, params_from_iter(values), rows::read_part)
}

fn kept_sql(query: &UsageQuery) -> (String, Values) {
    let (conditions, values) = read::launch_conditions(&query.launches);
    let wanted = if conditions.is_empty() {
        String::new()
    } else {
        format!("WHERE launch_id IN (SELECT id FROM launches {})", read::filter(&conditions))
    };
    (USAGE_CELLS.select(&format!("{wanted} ORDER BY launch_id, position")), values)
}

/// Returns what the launch adds up to, by place.
fn add_up(transaction: &Transaction<'_>, launch: LaunchId) -> Result<Vec<Part>, Cause> {
    let mut parts: BTreeMap<Place, UsageSum> = BTreeMap::new();
    for (row, cost) in read::costed_usage(transaction, launch)? {
        let place = place_of(&row.record, cost);
        let cost = match cost {
            None => ComputedCost::NotYet,
            Some(cost) => cost.cost.map_or(ComputedCost::NoPrice, ComputedCost::Priced),
        };
        parts.entry(place).or_default().add(&row, cost);
    }
    Ok(parts.into_iter().map(|(place, sum)| Part { launch, place, sum }).collect())
}

fn place_of(record: &UsageRecord, cost: Option<Cost>) -> Place {
    let report = &record.report;
    Place {
        period: report.observed_at.map(period_of),
        model: report.model.clone(),
        agent: report.agent.clone(),
        price_version: cost.map(|cost| cost.version),
    }
}

/// Joins parts, which are sorted, to the cells that the query wants: costs by other prices than its own are unknown.
fn join(transaction: &Transaction<'_>, query: &UsageQuery, parts: &[Part]) -> Result<Vec<UsageCell>, Cause> {
    let version = match &query.price_version {
        Some(version) => number_of(transaction, version)?,
        None => None,
    };
    let mut cells: Vec<UsageCell> = Vec::new();
    for Part { launch, place: Place { period, model, agent, price_version }, sum } in parts {
        if !query.allows(*period, model.as_deref(), agent) {
            continue;
        }
        let mut sum = *sum;
        if *price_version != version {
            sum.forget_costs();
        }
        match cells.last_mut() {
            Some(last)
                if (last.launch_id, last.period, &last.model, &last.agent) == (*launch, *period, model, agent) =>
            {
                last.sum.merge(&sum);
            }
            _ => cells.push(UsageCell {
                launch_id: *launch,
                period: *period,
                model: model.clone(),
                agent: agent.clone(),
                sum,
            }),
        }
    }
    Ok(cells)
}

#[cfg(test)]
mod tests;
