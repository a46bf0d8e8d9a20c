//! What an import costs the ledger, and what it costs to ask it for usage, at the size of a year of work: 95,000 records
//! of 600 launches, one of which has 36,000.
//!
//! Prints one JSON object a line, as `store` does. Times are those of the process's CPU, so a disk that is slow to sync
//! changes nothing.

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use pollster::block_on;
use rusqlite::{Connection, TransactionBehavior, params};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use trace_model::{
    ledger::Ledger,
    money::NanoUsd,
    query::LaunchQuery,
    rows::LaunchRows,
    usage::{UsageRecord, UsageReport},
    usage_query::{CostEntry, PriceVersion, UsageQuery},
    words::{Grain, Quality},
};
use trace_store_sqlite::SqliteLedger;
use trace_testkit::samples;

const LAUNCHES: u32 = 600;
const LARGE: u32 = 36_000;
const SMALL: u32 = 99;
/// Every so many requests there is a new turn.
const REQUESTS_OF_A_TURN: u32 = 20;
const ROUNDS: u32 = 20;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("ledger.db");
    let ledger = SqliteLedger::open(&path).expect("a new ledger can be opened");
    let launches: Vec<LaunchRows> = (0..LAUNCHES).map(launch).collect();
    let records = launches.iter().map(|rows| rows.usage.len()).sum::<usize>();

    let (large, import) = import(&ledger, &launches);
    let floor = plain_import(&folder.path().join("plain.db"), &launches);
    let note = format!("{} records, {:.0} ms of CPU", records, millis(import));
    print(
        "import of 600 launches",
        floor.as_secs_f64() / import.as_secs_f64(),
        "x plain inserts",
        &json!({ "min": 0.3 }),
        &note,
    );
    print("replace_launch of a new launch with 36,000 records", millis(large), "ms of CPU", &Value::Null, "");
    let again = cpu(|| block_on(ledger.replace_launch(&launches[0])).expect("it can be replaced"));
    print("the same rows again", millis(again), "ms of CPU", &Value::Null, "");

    let (uncosted, saved) = costs(&ledger);
    print("uncosted, all records", millis(uncosted), "ms of CPU", &Value::Null, "");
    print("save_costs, all records", millis(saved), "ms of CPU", &Value::Null, "");
    drop(ledger);

    let mut opened = None;
    let open = cpu(|| opened = Some(SqliteLedger::open(&path).expect("the ledger can be opened")));
    print("opening", millis(open), "ms of CPU", &Value::Null, "");
    let ledger = opened.expect("it was opened");
    let query = UsageQuery { price_version: Some(version()), ..UsageQuery::default() };
    let mut cells = Vec::new();
    let first = cpu(|| cells = block_on(ledger.usage_cells(&query)).expect("usage adds up"));
    print("usage_cells, asked for the first time", millis(first), "ms of CPU", &Value::Null, "");
    let warm = median(|| drop(block_on(ledger.usage_cells(&query)).expect("usage adds up")));
    let note = format!("{} cells", cells.len());
    print("usage_cells, asked again", millis(warm), "ms", &Value::Null, &note);
    let one = UsageQuery {
        launches: LaunchQuery { sessions: [String::from("session 7")].into(), ..LaunchQuery::default() },
        ..query.clone()
    };
    let warm = median(|| drop(block_on(ledger.usage_cells(&one)).expect("usage adds up")));
    print("usage_cells of one session", millis(warm), "ms", &Value::Null, "");
    for n in [0, 1] {
        let read = median(|| drop(block_on(ledger.usage(samples::launch_id(n))).expect("usage can be read")));
        let name = format!(
            "usage of a launch with {} records",
            launches[usize::try_from(n).expect("it is small")].usage.len()
        );
        print(&name, millis(read), "ms", &Value::Null, "");
    }
    let none = cpu(|| assert!(block_on(ledger.uncosted(&version(), 1)).expect("it can be read").is_empty()));
    print("uncosted, where all is known", millis(none), "ms of CPU", &Value::Null, "");
    let grown = samples::usage_boundary(
        1,
        [UsageRecord { launch_id: samples::launch_id(1), turn_id: None, report: report(1, 500_000) }],
    );
    let grown = trace_model::rows::BoundaryRows {
        launch: trace_model::rows::LaunchChange::Extended(launches[1].launch.clone()),
        ..grown
    };
    let apply = cpu(|| block_on(ledger.apply(&grown)).expect("it is new"));
    print("apply of one record more", millis(apply), "ms of CPU", &Value::Null, "");
    let after = cpu(|| drop(block_on(ledger.usage_cells(&query)).expect("usage adds up")));
    print("usage_cells after that", millis(after), "ms of CPU", &Value::Null, "");
}

/// Returns the rows of an imported launch, all of whose requests have ids of their own.
fn launch(n: u32) -> LaunchRows {
    let requests = if n == 0 { LARGE } else { SMALL };
    let mut rows = samples::whole_launch(n);
    rows.launch.provider_session_id = Some(format!("session {n}"));
    let turns = requests.div_ceil(REQUESTS_OF_A_TURN);
    rows.turns = (1..=turns).map(|ordinal| samples::turn_rows(samples::bare_turn(n, ordinal), 0)).collect();
    let record = |request: u32| UsageRecord {
        launch_id: samples::launch_id(n),
        turn_id: Some(samples::turn_id(n, request / REQUESTS_OF_A_TURN + 1)),
        report: report(n, request),
    };
    rows.usage =
        (0..requests).map(record).map(|record| (record.report.key.clone(), record)).collect::<BTreeMap<_, _>>();
    rows
}

fn report(launch: u32, request: u32) -> UsageReport {
    let key = format!("msg_01{launch:08}{request:014}:req_011{launch:08}{request:013}");
    let number = u64::from(request);
    UsageReport {
        request_key: Some(key.clone()),
        model: Some(String::from(if request % 10 == 0 { "claude-haiku-4-5-20251001" } else { "claude-opus-4-8" })),
        observed_at: Some(samples::time(launch * 7_000 + request * 30)),
        input_tokens: Some(number % 50),
        cache_read_tokens: Some(50_000 + number),
        cache_write_tokens: Some(3_000 + number % 70),
        cache_write_5m_tokens: Some(3_000 + number % 70),
        cache_write_1h_tokens: Some(0),
        output_tokens: Some(200 + number % 900),
        context_tokens: Some(53_000 + number),
        ..UsageReport::new(key, Grain::Request, Quality::Exact)
    }
}

fn version() -> PriceVersion {
    PriceVersion(String::from("genai-prices 0.2.1 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"))
}

/// Returns the times of the large launch, and of all.
fn import(ledger: &SqliteLedger, launches: &[LaunchRows]) -> (Duration, Duration) {
    let times: Vec<Duration> =
        launches.iter().map(|rows| cpu(|| block_on(ledger.replace_launch(rows)).expect("it is new"))).collect();
    (times[0], times.iter().sum())
}

/// Inserts the usage records alone as a program would that knows only these: into a table with the same key, a
/// transaction a launch.
fn plain_import(path: &Path, launches: &[LaunchRows]) -> Duration {
    let mut connection = Connection::open(path).expect("a new file can be opened");
    let schema = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
        CREATE TABLE usage_records (launch_id TEXT, key TEXT, turn_id TEXT, request_key TEXT, agent TEXT, model TEXT,
            observed_at INTEGER, input_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER,
            cache_write_5m_tokens INTEGER, cache_write_1h_tokens INTEGER, output_tokens INTEGER, grain TEXT, quality TEXT,
            PRIMARY KEY (launch_id, key)) WITHOUT ROWID;
        CREATE INDEX usage_by_request ON usage_records (request_key);";
    connection.execute_batch(schema).expect("the file is new");
    cpu(|| {
        for rows in launches {
            insert(&mut connection, rows).expect("the rows are new");
        }
    })
}

fn insert(connection: &mut Connection, rows: &LaunchRows) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut insert =
        transaction.prepare_cached("INSERT INTO usage_records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    for UsageRecord { launch_id, turn_id, report } in rows.usage.values() {
        insert.execute(params![
            launch_id.to_string(),
            report.key,
            turn_id.map(|turn| turn.to_string()),
            report.request_key,
            report.agent.as_str(),
            report.model,
            report.observed_at.map(trace_model::timestamp::Timestamp::as_micros),
            report.input_tokens.map(u64::cast_signed),
            report.cache_read_tokens.map(u64::cast_signed),
            report.cache_write_tokens.map(u64::cast_signed),
            report.cache_write_5m_tokens.map(u64::cast_signed),
            report.cache_write_1h_tokens.map(u64::cast_signed),
            report.output_tokens.map(u64::cast_signed),
            report.grain.as_str(),
            report.quality.as_str(),
        ])?;
    }
    drop(insert);
    transaction.commit()
}

/// Prices all records, and returns how long it took to get them and to save their costs.
fn costs(ledger: &SqliteLedger) -> (Duration, Duration) {
    let mut records = Vec::new();
    let uncosted = cpu(|| records = block_on(ledger.uncosted(&version(), u32::MAX)).expect("they can be read"));
    let cost = |record: UsageRecord| CostEntry {
        cost: record.report.output_tokens.map(|tokens| NanoUsd::from_nanos(tokens * 25_000)),
        record,
    };
    let costs: Vec<CostEntry> = records.into_iter().map(cost).collect();
    let saved = cpu(|| block_on(ledger.save_costs(&version(), &costs)).expect("the records are there"));
    (uncosted, saved)
}

/// Returns how much CPU all threads of this process spend on the work.
fn cpu(work: impl FnOnce()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec.try_into().expect("it began at 0"), time.tv_nsec.try_into().expect("it is a part"))
    };
    let start = now();
    work();
    now() - start
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn print(name: &str, value: f64, unit: &str, gate: &Value, note: &str) {
    let note = if note.is_empty() { Value::Null } else { Value::from(note) };
    println!("{}", json!({ "name": name, "value": value, "unit": unit, "gate": gate, "note": note }));
}
