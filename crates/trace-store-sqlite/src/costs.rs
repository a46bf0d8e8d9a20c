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

/// Stands for a version that nothing was computed by: no version has this number.
const NO_VERSION: i64 = 0;

/// Up to so many records are found one by one and then sorted; of more, all are looked at in their order.
const FEW: u32 = 5_000;

/// What the index of versions tells of a record that has no cost by this one.
const IS_UNCOSTED: &str = "(price_version < ?1 OR price_version > ?1 OR price_version IS NULL)";

/// Returns up to that many records with tokens of which no cost is known by the version.
pub(crate) fn uncosted(
    transaction: &Transaction<'_>,
    version: &PriceVersion,
    limit: u32,
) -> Result<Vec<UsageRecord>, Cause> {
    let number = rollups::number_of(transaction, version)?.unwrap_or(NO_VERSION);
    let found: u32 = transaction.prepare_cached(&count_sql())?.query_row((number, FEW), |row| row.get(0))?;
    let sql = if found < FEW { few_uncosted_sql() } else { uncosted_sql() };
    read::all(transaction, &sql, (number, limit), |row| Ok(rows::read_costed(row)?.record))
}

/// Counts records without a cost by the version, with tokens or without, up to a number.
fn count_sql() -> String {
    format!("SELECT count(*) FROM (SELECT 1 FROM usage_records WHERE {IS_UNCOSTED} LIMIT ?2)")
}

fn uncosted_sql() -> String {
    USAGE_RECORDS.select(&format!("WHERE {IS_UNCOSTED} AND {HAS_TOKENS} ORDER BY launch_id, key LIMIT ?2"))
}

/// The sign keeps SQLite from looking at all records for the sake of their order.
fn few_uncosted_sql() -> String {
    USAGE_RECORDS.select(&format!("WHERE {IS_UNCOSTED} AND {HAS_TOKENS} ORDER BY +launch_id, +key LIMIT ?2"))
}

const HAS_TOKENS: &str =
    "(input_tokens <> 0 OR cache_read_tokens <> 0 OR cache_write_tokens <> 0 OR output_tokens <> 0)";

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

#[cfg(test)]
mod tests {
    use trace_testkit::samples;

    use super::*;
    use crate::{SqliteOptions, open_store, read::tests::plan, write};

    #[test]
    fn the_few_that_have_no_cost_are_looked_up_in_an_index() {
        for sql in [count_sql(), few_uncosted_sql()] {
            let plan = plan(&sql);
            assert!(plan.contains("MULTI-INDEX OR") && !plan.contains("SCAN usage_records"), "{sql}: {plan}");
        }
    }

    #[test]
    fn both_ways_find_the_same_records_in_the_same_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open_store(folder.path().join("ledger.db"), SqliteOptions::default()).unwrap();
        let version = PriceVersion(String::from("prices 1"));
        let record = samples::usage_record(1, Some(1), "msg-1-1");
        let found = store.write("fill", |open| {
            for n in [2, 3, 1] {
                write::replace_launch(open, &samples::whole_launch(n))?;
            }
            save(open, &version, &[CostEntry { record: record.clone(), cost: None }])?;
            let number = rollups::number_of(open, &version)?.unwrap_or(NO_VERSION);
            let keys = |sql: &str, number: i64, limit: u32| {
                read::all(open, sql, (number, limit), |row| Ok(rows::read_costed(row)?.record.report.key))
            };
            let all =
                |sql: &str| Ok::<_, Cause>([keys(sql, number, 9)?, keys(sql, number, 2)?, keys(sql, NO_VERSION, 9)?]);
            Ok((all(&uncosted_sql())?, all(&few_uncosted_sql())?))
        });
        let (one_way, other_way) = found.unwrap();
        assert_eq!(one_way, other_way);
        assert_eq!(one_way[0], ["msg-1-2", "msg-2-1", "msg-2-2", "msg-3-1", "msg-3-2"]);
        assert_eq!((one_way[1].len(), one_way[2].len()), (2, 6));
    }

    #[test]
    fn of_many_the_first_ones_come_in_their_order() {
        let plan = plan(&uncosted_sql());
        assert!(plan.contains("INDEX sqlite_autoindex_usage_records_1") && !plan.contains("TEMP B-TREE"), "{plan}");
    }

    #[test]
    fn a_cost_is_saved_where_its_record_is() {
        let plan = plan(&save_sql());
        assert!(
            plan.contains("SEARCH usage_records USING INDEX sqlite_autoindex_usage_records_1 (launch_id=? AND key=?)"),
            "{plan}"
        );
    }
}
