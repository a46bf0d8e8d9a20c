//! The format of the file: old ones are read, newer ones are refused, and the views say what the ledger says.

use std::{fs, path::Path, sync::Arc};

use pollster::block_on;
use rusqlite::{Connection, types::Value as Sql};
use serde_json::Value;
use trace_model::{
    ledger::{Ledger, LedgerError},
    rows::LaunchRows,
};
use trace_store_sqlite::SqliteLedger;
use trace_testkit::{samples, suite::check_usage_that_is_there};

use crate::{everything, everything_costed};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

/// Returns the statements that made a file what it is, sorted.
fn schema(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql").unwrap();
    statement.query_map((), |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Opens a copy of a ledger of that format: it says what it always said, and is as a new one after that.
fn check_format(name: &str, says: impl Fn(&dyn Ledger) -> Result<Value, LedgerError>) {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old.db"), folder.path().join("new.db"));
    fs::copy(Path::new(FIXTURES).join(format!("{name}.db")), &old).unwrap();
    let expected = fs::read_to_string(Path::new(FIXTURES).join(format!("{name}.json"))).unwrap();
    let ledger: Arc<dyn Ledger> = Arc::new(SqliteLedger::open(&old).unwrap());
    assert_eq!(says(&*ledger).unwrap(), serde_json::from_str::<Value>(&expected).unwrap());
    drop(SqliteLedger::open(&new).unwrap());
    assert_eq!(schema(&old), schema(&new));
    block_on(ledger.reserve(&samples::reservation(77))).unwrap();
    block_on(ledger.apply(&samples::beginning(77))).unwrap();
    check_usage_that_is_there(&ledger);
}

#[test]
fn a_ledger_of_format_1_is_read_back() {
    check_format("ledger-v1", everything);
}

#[test]
fn a_ledger_of_format_2_is_read_back() {
    check_format("ledger-v2", everything);
}

#[test]
fn a_ledger_of_format_3_is_read_back() {
    check_format("ledger-v3", everything_costed);
}

#[test]
fn a_ledger_of_a_newer_format_is_refused_by_name_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    fs::copy(Path::new(FIXTURES).join("ledger-v1.db"), &path).unwrap();
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 7").unwrap();
    let bytes = fs::read(&path).unwrap();
    let error = SqliteLedger::open(&path).unwrap_err();
    assert!(matches!(error, LedgerError::FutureSchema { found: 7, supported: 3, .. }), "{error:?}");
    assert!(fs::read(&path).unwrap() == bytes, "the file was changed");
}

#[test]
fn a_ledger_that_a_newer_trace_migrates_meanwhile_is_refused_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = SqliteLedger::open(&path).unwrap();
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 4").unwrap();
    for error in [
        block_on(ledger.apply(&samples::beginning(2))).unwrap_err(),
        block_on(ledger.launch(samples::launch_id(1))).unwrap_err(),
    ] {
        assert!(matches!(error, LedgerError::FutureSchema { found: 4, supported: 3, .. }), "{error:?}");
    }
}

/// Returns a ledger of two launches, of which the second one repeats a request of the first, and a connection to it.
fn two_launches(folder: &Path) -> (SqliteLedger, Connection) {
    let path = folder.join("ledger.db");
    let ledger = SqliteLedger::open(&path).unwrap();
    let mut second: LaunchRows = samples::whole_launch(2);
    let mut replay = samples::usage_record(2, Some(1), "replay");
    replay.report.request_key = Some(String::from("request of msg-1-1"));
    second.usage.insert(replay.report.key.clone(), replay);
    for rows in [samples::whole_launch(1), second] {
        block_on(ledger.replace_launch(&rows)).unwrap();
    }
    (ledger, Connection::open(path).unwrap())
}

fn ask(connection: &Connection, sql: &str) -> Vec<Vec<Sql>> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map((), |row| (0..columns).map(|column| row.get(column)).collect()).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn text(text: &(impl ToString + ?Sized)) -> Sql {
    Sql::Text(text.to_string())
}

#[test]
fn the_view_of_launches_shows_times_that_people_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let (_ledger, connection) = two_launches(folder.path());
    let launch = samples::whole_launch(1).launch;
    let sql = "SELECT launch_id, started_at, ended_at, seconds, artifact_dir, tags ->> '$.team' \
               FROM v_launches ORDER BY started_at LIMIT 1";
    let expected = vec![
        text(&launch.header.id),
        text(&launch.header.started_at),
        text(&launch.state.columns().0.unwrap()),
        Sql::Real(60.0),
        text(&launch.header.artifact_dir()),
        text("core \"one\""),
    ];
    assert_eq!(ask(&connection, sql), [expected]);
}

#[test]
fn the_view_of_turns_sums_up_what_counts_as_the_ledger_does() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, connection) = two_launches(folder.path());
    let number = |number: Option<u64>| number.map_or(Sql::Null, |number| Sql::Integer(number.try_into().unwrap()));
    let mut expected = Vec::new();
    for n in [1, 2] {
        for row in block_on(ledger.turns(samples::launch_id(n))).unwrap() {
            expected.push(vec![
                text(&row.turn.id),
                number(row.usage.provider_input_tokens),
                number(row.usage.provider_output_tokens),
                number(row.usage.reasoning_tokens),
                number(row.usage.cache_read_tokens),
                number(row.usage.cache_write_tokens),
                number(row.usage.peak_input_tokens),
                number(row.usage.context_window_tokens),
                number(row.usage.cost_usd.map(trace_model::money::NanoUsd::as_nanos)),
                Sql::Real(0.012_345_678),
            ]);
        }
    }
    let sql = "SELECT turn_id, provider_input_tokens, provider_output_tokens, reasoning_tokens, cache_read_tokens, \
               cache_write_tokens, peak_input_tokens, context_window_tokens, cost_nanousd, cost_usd \
               FROM v_turns ORDER BY launch_id, ordinal";
    assert_eq!(ask(&connection, sql), expected);
}

#[test]
fn the_view_of_usage_marks_replays() {
    let folder = tempfile::tempdir().unwrap();
    let (_ledger, connection) = two_launches(folder.path());
    let sql = "SELECT key, replay_of, reported_cost_usd FROM v_usage ORDER BY launch_id, key";
    let row = |key: &str, replay_of| vec![text(key), replay_of, Sql::Real(0.012_345_678)];
    let expected = [
        row("msg-1-1", Sql::Null),
        row("msg-1-2", Sql::Null),
        row("msg-2-1", Sql::Null),
        row("msg-2-2", Sql::Null),
        row("replay", text(&samples::launch_id(1))),
    ];
    assert_eq!(ask(&connection, sql), expected);
}

#[test]
fn the_views_of_contexts_name_launch_and_turn() {
    let folder = tempfile::tempdir().unwrap();
    let (_ledger, connection) = two_launches(folder.path());
    for view in ["v_assets", "v_decisions"] {
        let sql = format!("SELECT launch_id, ordinal, position, label FROM {view} WHERE launch_id LIKE '%2'");
        let row = |ordinal, position| {
            let launch = text(&samples::launch_id(2));
            vec![launch, Sql::Integer(ordinal), Sql::Integer(position), text(&format!("guide {position}"))]
        };
        assert_eq!(ask(&connection, &format!("{sql} ORDER BY ordinal, position")), [row(1, 0), row(2, 0), row(2, 1)]);
    }
}

#[test]
fn the_views_show_control_runs_and_what_they_reserved() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, connection) = two_launches(folder.path());
    let reserved = samples::reservation(3);
    block_on(ledger.reserve(&reserved)).unwrap();
    let runs = ask(&connection, "SELECT control_run_id FROM v_launches ORDER BY started_at");
    assert_eq!(runs, [vec![text("control-1")], vec![text("control-2")]]);
    let sql = "SELECT launch_id, control_run_id, reserved_at, state, control ->> '$.home_id' FROM v_reservations";
    let expected = vec![
        text(&reserved.launch_id),
        text("control-3"),
        text(&reserved.reserved_at),
        text("waiting"),
        text("home-7"),
    ];
    assert_eq!(ask(&connection, sql), [expected]);
}
