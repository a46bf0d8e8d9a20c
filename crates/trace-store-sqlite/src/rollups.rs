//! What the usage of each launch adds up to, kept so that nobody has to add it up again.
//!
//! A rollup is derived: it is missing until somebody asks, and after each write that may have made it untrue.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use rusqlite::{OptionalExtension, Transaction, params_from_iter, types::Value};
use trace_model::{
    id::LaunchId,
    usage_query::{PriceVersion, UsageCell, UsageQuery, period_of},
    usage_sum::{ComputedCost, UsageSum},
};

use crate::{
    columns::{FromColumn, Writer},
    error::Cause,
    read,
    rows::{self, Part, Place, USAGE_CELLS},
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
    if missing.is_empty() {
        return Ok((join(transaction, query, &parts)?, None));
    }
    parts.extend(missing.iter().flat_map(|(_, parts)| parts.iter().cloned()));
    parts.sort_by(|a, b| (a.launch, &a.place).cmp(&(b.launch, &b.place)));
    Ok((join(transaction, query, &parts)?, Some(missing)))
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

/// Forgets what a change of the launch's records makes untrue: its own rollup, and those of all launches that have a
/// record of one of the requests.
pub(crate) fn forget(transaction: &Transaction<'_>, launch: LaunchId, requests: BTreeSet<&str>) -> Result<(), Cause> {
    forget_launch(transaction, launch)?;
    let is_any_left = transaction.prepare_cached("SELECT 1 FROM usage_rollups LIMIT 1")?.exists(())?;
    if requests.is_empty() || !is_any_left {
        return Ok(());
    }
    let requests: Vec<Value> = requests.into_iter().map(|request| Value::Text(String::from(request))).collect();
    let mut delete = transaction.prepare_cached(
        "DELETE FROM usage_rollups WHERE launch_id IN (
             SELECT launch_id FROM usage_records WHERE request_key IN rarray(?1)
         )",
    )?;
    delete.execute([Rc::new(requests)])?;
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
    let (mut conditions, values) = read::launch_conditions(&query.launches);
    conditions.push("id NOT IN (SELECT launch_id FROM usage_rollups)");
    let sql = format!("SELECT id FROM launches {}", read::filter(&conditions));
    read::all(transaction, &sql, params_from_iter(values), |row| {
        LaunchId::read(row.get_ref(0)?).map_err(|detail| Cause::Damaged(format!("id in launches: {detail}")))
    })
}

/// Returns the parts that are kept of the launches that the query wants, by launch and place.
fn kept(transaction: &Transaction<'_>, query: &UsageQuery) -> Result<Vec<Part>, Cause> {
    let (conditions, values) = read::launch_conditions(&query.launches);
    let wanted = if conditions.is_empty() {
        String::new()
    } else {
        format!("WHERE launch_id IN (SELECT id FROM launches {})", read::filter(&conditions))
    };
    let sql = USAGE_CELLS.select(&format!("{wanted} ORDER BY launch_id, position"));
    read::all(transaction, &sql, params_from_iter(values), rows::read_part)
}

/// Returns what the launch adds up to, by place.
fn add_up(transaction: &Transaction<'_>, launch: LaunchId) -> Result<Vec<Part>, Cause> {
    let mut parts: BTreeMap<Place, UsageSum> = BTreeMap::new();
    for (row, cost) in read::costed_usage(transaction, launch)? {
        let report = &row.record.report;
        let place = Place {
            period: report.observed_at.map(period_of),
            model: report.model.clone(),
            agent: report.agent.clone(),
            price_version: cost.map(|cost| cost.version),
        };
        let cost = match cost {
            None => ComputedCost::NotYet,
            Some(cost) => cost.cost.map_or(ComputedCost::NoPrice, ComputedCost::Priced),
        };
        parts.entry(place).or_default().add(&row, cost);
    }
    Ok(parts.into_iter().map(|(place, sum)| Part { launch, place, sum }).collect())
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
