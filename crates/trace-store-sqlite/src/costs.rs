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
    rows::{self, Cost, USAGE_RECORDS},
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

/// Sets the cost of a record that is as it was when that was computed. The parameters are the columns in their order.
fn save_sql() -> String {
    let is_cost = |column: &str| column == "price_version" || column == "computed_cost_nanousd";
    let columns = (1..).zip(USAGE_RECORDS.columns);
    let (costs, record): (Vec<_>, Vec<_>) = columns.partition(|(_, column)| is_cost(column));
    let all = |columns: Vec<(u32, &&str)>, relation: &str, between: &str| {
        let parts: Vec<String> =
            columns.iter().map(|(number, column)| format!("{column} {relation} ?{number}")).collect();
        parts.join(between)
    };
    format!("UPDATE usage_records SET {} WHERE {}", all(costs, "=", ", "), all(record, "IS", " AND "))
}

/// Keeps what records cost by the version.
pub(crate) fn save(transaction: &Transaction<'_>, version: &PriceVersion, costs: &[CostEntry]) -> Result<(), Cause> {
    let number = if let Some(number) = rollups::number_of(transaction, version)? {
        number
    } else {
        transaction.prepare_cached("INSERT INTO price_versions (version) VALUES (?1)")?.insert([&version.0])?
    };
    let mut update = transaction.prepare_cached(&save_sql())?;
    let mut writer = Writer::new(&mut update);
    for CostEntry { record, cost } in costs {
        rows::write_usage(&mut writer, record, Some(Cost { version: number, cost: *cost }))?;
        writer.execute()?;
    }
    // Costs change nothing about replays, so nothing about other launches.
    let launches: BTreeSet<LaunchId> = costs.iter().map(|entry| entry.record.launch_id).collect();
    launches.into_iter().try_for_each(|launch| rollups::forget_launch(transaction, launch))
}
