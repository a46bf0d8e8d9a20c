//! Whether the questions are answered through indexes.

use std::time::Duration;

use rusqlite::Connection;
use trace_model::{id::LaunchId, query::LaunchCursor, timestamp::Timestamp};
use uuid::Uuid;

use super::*;
use crate::{SqliteOptions, open_store};

/// Returns what SQLite plans to do for the question.
pub(crate) fn plan(sql: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions { patience: Duration::ZERO, ..SqliteOptions::default() };
    let store = open_store(folder.path().join("ledger.db"), options).unwrap();
    explain(&store.connection, sql).join("\n")
}

fn explain(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let rows = statement.raw_query().mapped(|row| row.get(3));
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_end_of_an_id_is_looked_up_in_an_index() {
    let plan = plan(&suffix_sql());
    assert!(
        plan.contains("SEARCH launches USING INDEX launches_by_suffix (id_reversed>? AND id_reversed<?)"),
        "{plan}"
    );
}

#[test]
fn launches_come_from_an_index_in_their_order() {
    let after = LaunchCursor { started_at: Timestamp::UNIX_EPOCH, id: LaunchId::from_uuid(Uuid::nil()) };
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let all = LaunchQuery { order, limit: Some(9), ..LaunchQuery::default() };
        for (query, way) in [
            (all.clone(), "SCAN launches USING INDEX launches_by_start"),
            (LaunchQuery { after: Some(after), ..all.clone() }, "SEARCH launches USING INDEX launches_by_start"),
            (
                LaunchQuery { started_from: Some(after.started_at), ..all.clone() },
                "SEARCH launches USING INDEX launches_by_start",
            ),
        ] {
            let plan = plan(&launches_sql(&query).0);
            assert!(plan.contains(way) && !plan.contains("TEMP B-TREE"), "{query:?}: {plan}");
        }
    }
}

#[test]
fn launches_of_a_run_a_session_or_a_parent_are_looked_up_in_an_index() {
    let all = LaunchQuery::default;
    for (query, way) in [
        (LaunchQuery { runs: BTreeSet::from(["run".parse().unwrap()]), ..all() }, "launches_by_run (run_id=?)"),
        (
            LaunchQuery { sessions: BTreeSet::from([String::from("session")]), ..all() },
            "launches_by_session (provider_session_id=?)",
        ),
        (
            LaunchQuery { parents: BTreeSet::from([LaunchId::from_uuid(Uuid::nil())]), ..all() },
            "launches_by_parent (parent_launch_id=?)",
        ),
    ] {
        let plan = plan(&launches_sql(&query).0);
        assert!(plan.contains(&format!("SEARCH launches USING INDEX {way}")), "{query:?}: {plan}");
    }
}

#[test]
fn what_a_record_is_a_replay_of_is_looked_up_in_an_index() {
    let plan = plan(&usage_sql());
    assert!(plan.contains("SEARCH other USING COVERING INDEX usage_by_request (request_hash=?)"), "{plan}");
    assert!(plan.contains("SEARCH senior USING INDEX usage_by_request (request_hash=?)"), "{plan}");
    assert!(plan.contains("SEARCH record USING INDEX sqlite_autoindex_usage_records_1 (launch_id=?)"), "{plan}");
    assert!(!plan.contains("SCAN record") && !plan.contains("SCAN senior"), "{plan}");
}

#[test]
fn no_question_for_the_rows_of_a_launch_or_turn_reads_a_whole_table() {
    for sql in [
        LAUNCHES.select("WHERE id = ?1"),
        TURNS.select("WHERE id = ?1"),
        TURNS.select("WHERE launch_id = ?1 ORDER BY ordinal"),
        ASSETS.select("WHERE turn_id = ?1 ORDER BY position"),
        DECISIONS.select("WHERE turn_id = ?1 ORDER BY position"),
    ] {
        let plan = plan(&sql);
        assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{sql}: {plan}");
    }
}
