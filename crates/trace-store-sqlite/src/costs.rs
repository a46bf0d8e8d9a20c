//! What records cost by a version of the prices: a cache in columns beside those of the model.

use std::collections::BTreeSet;

use rusqlite::Transaction;
use trace_model::{
    id::LaunchId,
    usage::UsageRecord,
    usage_query::{CostEntry, PriceVersion},
};

use crate::{
    columns::Writer,
    error::Cause,
    read, rollups,
    rows::{self, USAGE_RECORDS},
};

/// Returns up to that many records with tokens of which no cost is known by the version.
pub(crate) fn uncosted(
    transaction: &Transaction<'_>,
    version: &PriceVersion,
    limit: u32,
) -> Result<Vec<UsageRecord>, Cause> {
    let number = rollups::number_of(transaction, version)?;
    read::all(transaction, &uncosted_sql(), (number, limit), |row| Ok(rows::read_costed(row)?.record))
}

/// A record that nobody computed has no version, and neither has one that is unknown here.
fn uncosted_sql() -> String {
    USAGE_RECORDS.select(
        "WHERE (price_version IS NOT ?1 OR ?1 IS NULL) AND (input_tokens <> 0 OR cache_read_tokens <> 0 \
         OR cache_write_tokens <> 0 OR output_tokens <> 0) ORDER BY launch_id, key LIMIT ?2",
    )
}

/// Keeps what records cost by the version.
pub(crate) fn save(transaction: &Transaction<'_>, version: &PriceVersion, costs: &[CostEntry]) -> Result<(), Cause> {
    let number = match rollups::number_of(transaction, version)? {
        Some(number) => number,
        None => {
            let mut insert = transaction.prepare_cached("INSERT INTO price_versions (version) VALUES (?1)")?;
            insert.insert([&version.0])?
        }
    };
    let mut update = transaction.prepare_cached(
        "UPDATE usage_records SET price_version = ?1, computed_cost_nanousd = ?2 WHERE launch_id = ?3 AND key = ?4",
    )?;
    let mut writer = Writer::new(&mut update);
    for entry in costs {
        writer.put(&number)?;
        writer.put(&entry.cost)?;
        writer.put(&entry.launch_id)?;
        writer.put(&entry.key)?;
        writer.execute()?;
    }
    // Costs change nothing about replays, so nothing about other launches.
    let launches: BTreeSet<LaunchId> = costs.iter().map(|entry| entry.launch_id).collect();
    launches.into_iter().try_for_each(|launch| rollups::forget_launch(transaction, launch))
}
