//! What records cost by a version of the prices: a cache beside their rows.

use trace_model::{
    query::LaunchQuery,
    usage::UsageRecord,
    usage_query::{CostEntry, PriceVersion, UsageCell, UsageQuery},
    usage_sum::ComputedCost,
};

use crate::{
    changes::Changes,
    database::Database,
    error::Cause,
    keys, read,
    rows::{self, StoredCost},
    trees::Tree,
};

/// Returns the cells that the query wants.
pub(crate) fn cells(database: &Database, query: &UsageQuery) -> Result<Vec<UsageCell>, Cause> {
    let mut launches = read::launches(database, &LaunchQuery { after: None, limit: None, ..query.launches.clone() })?;
    launches.sort_by_key(|launch| launch.header.id);
    let mut cells = Vec::new();
    for launch in launches {
        let mut rows = Vec::new();
        for row in read::usage(database, launch.header.id)? {
            let cost = of_record(database, &row.record, query.price_version.as_ref())?;
            rows.push((row, cost));
        }
        cells.extend(query.cells([(&launch, rows)]));
    }
    Ok(cells)
}

/// Returns up to that many records with tokens of which no cost is known by the version.
pub(crate) fn uncosted(database: &Database, version: &PriceVersion, limit: u32) -> Result<Vec<UsageRecord>, Cause> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut launches = read::launches(database, &LaunchQuery::default())?;
    launches.sort_by_key(|launch| launch.header.id);
    let mut found = Vec::new();
    for launch in launches {
        for record in read::usage_records(database, launch.header.id)? {
            if found.len() >= limit {
                return Ok(found);
            }
            let is_costed = || Ok::<_, Cause>(of_record(database, &record, Some(version))? != ComputedCost::NotYet);
            if record.report.has_tokens() && !is_costed()? {
                found.push(record);
            }
        }
    }
    Ok(found)
}

/// Keeps what records cost by the version.
pub(crate) fn save(database: &Database, version: &PriceVersion, costs: &[CostEntry]) -> Result<(), Cause> {
    let mut changes = Changes::default();
    for CostEntry { record, cost } in costs {
        let key = keys::usage(record.launch_id, &record.report.key);
        if database.row(Tree::Usage, &key)?.as_ref() == Some(record) {
            for old in database.entries(Tree::Costs, &key) {
                changes.delete(Tree::Costs, old?.0);
            }
            changes.set_row(Tree::Costs, &key, &rows::encode(&StoredCost::new(version, *cost)));
        }
    }
    database.commit(changes)
}

/// Returns what the record is known to cost by the version.
fn of_record(database: &Database, record: &UsageRecord, version: Option<&PriceVersion>) -> Result<ComputedCost, Cause> {
    let Some(version) = version else { return Ok(ComputedCost::NotYet) };
    let stored: Option<StoredCost> = database.row(Tree::Costs, &keys::usage(record.launch_id, &record.report.key))?;
    Ok(stored.map_or(ComputedCost::NotYet, |stored| stored.by(version)))
}
