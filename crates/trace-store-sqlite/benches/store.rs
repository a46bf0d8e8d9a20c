//! What the ledger costs beside plain rusqlite with the same file, settings and rows.
//!
//! Prints one JSON object a line; `cargo xtask bench` makes a table of them and holds the gate. Both sides take turns,
//! and the median round of each counts.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use pollster::block_on;
use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::{Value, json};
use trace_model::{
    ledger::Ledger,
    query::{LaunchQuery, Order},
    rows::{BoundaryRows, LaunchChange, TurnRows},
    usage::UsageRecord,
};
use trace_store_sqlite::SqliteLedger;
use trace_testkit::samples;

/// The assets of the turn, and as many decisions.
const CONTEXTS: u32 = 500;
const ROUNDS: u32 = 60;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("ledger.db");
    let ledger = SqliteLedger::open(&path).expect("a new ledger can be opened");
    let mut plain = plain_connection(&path);

    let (apply, insert) = turns(&ledger, &mut plain);
    let held = json!({ "min": 0.5 });
    print(
        "apply of a turn with 500 assets and 500 decisions",
        ratio(insert, apply),
        "x plain inserts",
        &held,
        &took(apply),
    );
    let (apply, insert) = single_rows(&ledger, &mut plain);
    print("apply of one usage record, durable", ratio(insert, apply), "x plain insert", &Value::Null, &took(apply));
    print("durable applies of one record", per_second(1, apply), "a second", &Value::Null, "");
    print("plain durable inserts of one record", per_second(1, insert), "a second", &Value::Null, "");
    let read = assets(&ledger);
    print("assets read", per_second(CONTEXTS, read), "rows a second", &Value::Null, "500 a call");
    let read = launches(&ledger);
    print("newest 50 launches", read.as_secs_f64() * 1e6, "µs", &Value::Null, "of all that the bench made");
}

/// Returns a connection with the settings of the ledger's own.
fn plain_connection(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("the ledger is a database");
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON").expect("these are settings");
    connection
}

/// Writes whole turns of new launches both ways, and returns the median times.
fn turns(ledger: &SqliteLedger, plain: &mut Connection) -> (Duration, Duration) {
    let boundary = |n| BoundaryRows {
        turns_opened: vec![samples::turn_rows(samples::turn(n, 1), CONTEXTS)],
        ..BoundaryRows::of_launch(LaunchChange::Opened(samples::launch(n)))
    };
    both(|round, plainly| {
        let rows = boundary(2 * round + u32::from(plainly));
        let start = Instant::now();
        if plainly {
            insert_turn(plain, &rows).expect("the rows are new");
        } else {
            block_on(ledger.apply(&rows)).expect("the rows are new");
        }
        start.elapsed()
    })
}

/// Writes single usage records both ways, each in a transaction of its own, and returns the median times.
fn single_rows(ledger: &SqliteLedger, plain: &mut Connection) -> (Duration, Duration) {
    both(|round, plainly| {
        let record = samples::usage_record(0, Some(1), &format!("{round}-{plainly}"));
        let start = Instant::now();
        if plainly {
            insert_usage(plain, &record).expect("the record is new");
        } else {
            block_on(ledger.apply(&samples::usage_boundary(0, [record]))).expect("the launch is there");
        }
        start.elapsed()
    })
}

fn assets(ledger: &SqliteLedger) -> Duration {
    median((0..ROUNDS).map(|round| {
        let start = Instant::now();
        let found = block_on(ledger.assets(samples::turn_id(2 * round, 1))).expect("the turn can be read");
        assert_eq!(found.len(), 500, "all assets are there");
        start.elapsed()
    }))
}

fn launches(ledger: &SqliteLedger) -> Duration {
    let query = LaunchQuery { order: Order::NewestFirst, limit: Some(50), ..LaunchQuery::default() };
    median((0..ROUNDS).map(|_| {
        let start = Instant::now();
        block_on(ledger.launches(&query)).expect("launches can be read");
        start.elapsed()
    }))
}

/// Lets both sides take turns, and returns the median of each: the ledger's, and the plain one's.
fn both(mut run: impl FnMut(u32, bool) -> Duration) -> (Duration, Duration) {
    let rounds: Vec<_> = (0..ROUNDS).map(|round| (run(round, false), run(round, true))).collect();
    (median(rounds.iter().map(|round| round.0)), median(rounds.iter().map(|round| round.1)))
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[times.len() / 2]
}

fn ratio(floor: Duration, time: Duration) -> f64 {
    floor.as_secs_f64() / time.as_secs_f64()
}

fn per_second(count: u32, time: Duration) -> f64 {
    f64::from(count) / time.as_secs_f64()
}

fn took(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn print(name: &str, value: f64, unit: &str, gate: &Value, note: &str) {
    let note = if note.is_empty() { Value::Null } else { Value::from(note) };
    println!("{}", json!({ "name": name, "value": value, "unit": unit, "gate": gate, "note": note }));
}

/// Inserts the rows as a program would that knows only these.
fn insert_turn(connection: &mut Connection, rows: &BoundaryRows) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let launch = rows.launch.launch();
    transaction
        .prepare_cached(
            "INSERT INTO launches (id, id_reversed, run_id, process_id, started_at, repo, worktree, tags, provider, \
             surface, outcome, capture_status, conversation_event_count, conversation_bytes) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            launch.header.id.to_string(),
            launch.header.id.as_uuid().simple().to_string(),
            launch.header.run_id.as_str(),
            launch.header.process_id.as_str(),
            launch.header.started_at.as_micros(),
            launch.header.repo,
            launch.header.worktree,
            "{}",
            launch.header.provider.as_str(),
            launch.header.surface,
            "running",
            "capturing",
            0,
            0,
        ])?;
    for TurnRows { turn, assets, decisions } in &rows.turns_opened {
        let id = turn.id.to_string();
        transaction
            .prepare_cached(
                "INSERT INTO turns (id, launch_id, ordinal, started_at, status, input_op, context_coverage, \
                 context_gather_ms, context_render_ms, context_persist_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                id,
                turn.launch_id.to_string(),
                turn.ordinal,
                turn.started_at.as_micros(),
                "running",
                turn.input_op.as_str(),
                turn.context_coverage.as_str(),
                0,
                0,
                0,
            ])?;
        let mut insert =
            transaction.prepare_cached("INSERT INTO assets VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
        for asset in assets {
            insert.execute(params![
                id,
                asset.position,
                asset.channel.as_str(),
                asset.kind.as_str(),
                asset.scope.as_str(),
                asset.label,
                asset.source_path,
                asset.included_by,
                asset.content_sha256.to_string(),
                asset.span.start().cast_signed(),
                asset.span.end().cast_signed(),
                asset.isolated_tokens.cast_signed(),
                asset.attributed_tokens.cast_signed(),
            ])?;
        }
        let mut insert =
            transaction.prepare_cached("INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
        for decision in decisions {
            insert.execute(params![
                id,
                decision.position,
                decision.kind.as_str(),
                decision.scope.as_str(),
                decision.label,
                decision.source_path,
                decision.decision.as_str(),
                decision.reason,
                decision.original_bytes.map(u64::cast_signed),
                decision.original_tokens.map(u64::cast_signed),
                decision.asset_position,
            ])?;
        }
    }
    transaction.commit()
}

fn insert_usage(connection: &mut Connection, record: &UsageRecord) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction
        .prepare_cached(
            "INSERT INTO usage_records (launch_id, key, turn_id, request_key, agent, observed_at, input_tokens, \
             output_tokens, grain, quality) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            record.launch_id.to_string(),
            record.report.key,
            record.turn_id.map(|turn| turn.to_string()),
            record.report.request_key,
            record.report.agent.as_str(),
            record.report.observed_at.map(trace_model::timestamp::Timestamp::as_micros),
            record.report.input_tokens.map(u64::cast_signed),
            record.report.output_tokens.map(u64::cast_signed),
            record.report.grain.as_str(),
            record.report.quality.as_str(),
        ])?;
    transaction.commit()
}
