//! What an import costs the ledger, and what it costs to ask it for usage, at the size of a year of work: 95,000
//! records of 600 launches, one of which has 36,000.
//!
//! Prints one JSON object a line, as `store` does. Times are those of the process's CPU, so that neither a disk that is
//! slow to sync nor whoever else works on this machine changes much. The floor is a database of usage records alone.

use std::{collections::BTreeMap, path::Path, time::Duration};

use pollster::block_on;
use rusqlite::{Connection, TransactionBehavior, params};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use trace_model::{
    ledger::Ledger,
    money::NanoUsd,
    query::LaunchQuery,
    rows::{BoundaryRows, LaunchChange, LaunchRows},
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
const ROUNDS: usize = 20;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("ledger.db");
    let ledger = SqliteLedger::open(&path).expect("a new ledger can be opened");
    let launches: Vec<LaunchRows> = (0..LAUNCHES).map(launch).collect();
    let mut plain = Plain::open(&folder.path().join("plain.db"));

    writes(&ledger, &mut plain, &launches);
    let costs = costs(&ledger);
    saving(&ledger, &mut plain, &costs);
    cells(&ledger, &plain);
    growth(&ledger, &launches[0]);
    for rows in &launches[..2] {
        let read = median(|| drop(block_on(ledger.usage(rows.launch.header.id)).expect("usage can be read")));
        let name = format!("usage of a launch with {} records", rows.usage.len());
        print(&name, millis(read), "ms of CPU", &Value::Null, "");
    }
}

/// Measures the import of all launches, and of the large one once more.
fn writes(ledger: &SqliteLedger, plain: &mut Plain, launches: &[LaunchRows]) {
    let replace = |rows: &LaunchRows| cpu(|| block_on(ledger.replace_launch(rows)).expect("it can be replaced"));
    let times: Vec<Duration> = launches.iter().map(replace).collect();
    let floors: Vec<Duration> = launches.iter().map(|rows| cpu(|| plain.insert(rows))).collect();
    let held = json!({ "min": 0.3 });
    let (time, floor) = (times.iter().sum(), floors.iter().sum());
    let records: usize = launches.iter().map(|rows| rows.usage.len()).sum();
    let note = format!("{records} records, {}", took(time));
    print("import of 600 launches", ratio(floor, time), "x plain inserts", &held, &note);
    let name = "replace_launch of a new launch with 36,000 records";
    print(name, ratio(floors[0], times[0]), "x plain inserts", &held, &took(times[0]));
    let again = replace(&launches[0]);
    print("the same rows in its place", ratio(floors[0], again), "x plain inserts", &Value::Null, &took(again));
}

/// Prices all records, and returns what they cost.
fn costs(ledger: &SqliteLedger) -> Vec<CostEntry> {
    let mut records = Vec::new();
    let uncosted = cpu(|| records = block_on(ledger.uncosted(&version(), u32::MAX)).expect("they can be read"));
    print("uncosted, all records", millis(uncosted), "ms of CPU", &Value::Null, "");
    let cost = |record: UsageRecord| CostEntry {
        cost: record.report.output_tokens.map(|tokens| NanoUsd::from_nanos(tokens * 25_000)),
        record,
    };
    records.into_iter().map(cost).collect()
}

fn saving(ledger: &SqliteLedger, plain: &mut Plain, costs: &[CostEntry]) {
    let save = cpu(|| block_on(ledger.save_costs(&version(), costs)).expect("the records are there"));
    let floor = cpu(|| plain.save(costs));
    let name = "save_costs of all records";
    print(name, ratio(floor, save), "x plain updates", &json!({ "min": 0.2 }), &took(save));
    let read = || drop(block_on(ledger.uncosted(&version(), 1)).expect("they can be read"));
    print("uncosted, where all costs are known", millis(median(read)), "ms of CPU", &Value::Null, "");
}

/// Measures what all usage, and that of one session, adds up to.
fn cells(ledger: &SqliteLedger, plain: &Plain) {
    let query = UsageQuery { price_version: Some(version()), ..UsageQuery::default() };
    let mut cells = Vec::new();
    let first = cpu(|| cells = block_on(ledger.usage_cells(&query)).expect("usage adds up"));
    let floor = median(|| assert_eq!(plain.sums(), cells.len(), "each sum is a cell"));
    let note = format!("{} cells, {}", cells.len(), took(first));
    print("usage_cells, for the first time", ratio(floor, first), "x a plain sum", &Value::Null, &note);
    let again = median(|| drop(block_on(ledger.usage_cells(&query)).expect("usage adds up")));
    print("usage_cells, again", ratio(floor, again), "x a plain sum", &json!({ "min": 2.0 }), &took(again));
    print("usage_cells, again", millis(again), "ms of CPU", &json!({ "max": 30.0 }), "");
    let one = median(|| drop(block_on(ledger.usage_cells(&of_session(7))).expect("usage adds up")));
    print("usage_cells of a session with 99 records", millis(one), "ms of CPU", &Value::Null, "");
}

/// Measures what it costs that the large session goes on while somebody looks at what it adds up to.
fn growth(ledger: &SqliteLedger, large: &LaunchRows) {
    let mut grow = (LARGE..).map(|request| {
        let record = UsageRecord { launch_id: samples::launch_id(0), turn_id: None, report: report(0, request) };
        let launch = LaunchChange::Extended(large.launch.clone());
        BoundaryRows { launch, ..samples::usage_boundary(0, [record]) }
    });
    let look = || drop(block_on(ledger.usage_cells(&of_session(0))).expect("usage adds up"));
    look();
    let (mut rests, mut writes, mut looks) = (Vec::new(), Vec::new(), Vec::new());
    for rows in grow.by_ref().take(ROUNDS) {
        rests.push(cpu(look));
        writes.push(cpu(|| block_on(ledger.apply(&rows)).expect("the record is new")));
        looks.push(cpu(look));
    }
    let [still, one_more, moved] = [rests, writes, looks].map(|times| median_of(times.into_iter()));
    print("apply of one record more to a launch with 36,000", millis(one_more), "ms of CPU", &Value::Null, "");
    let name = "usage_cells of that session after it";
    print(name, ratio(moved, still), "x of one that rests", &json!({ "max": 2.0 }), &took(moved));
}

fn of_session(n: u32) -> UsageQuery {
    let launches = LaunchQuery { sessions: [format!("session {n}")].into(), ..LaunchQuery::default() };
    UsageQuery { launches, price_version: Some(version()), ..UsageQuery::default() }
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
    let (one, other) = (scattered(launch, request), scattered(request, launch));
    let key = format!("msg_01{one:024x}:req_011{other:023x}");
    let number = u64::from(request);
    UsageReport {
        request_key: Some(key.clone()),
        model: Some(String::from(if request.is_multiple_of(10) {
            "claude-haiku-4-5-20251001"
        } else {
            "claude-opus-4-8"
        })),
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

/// Returns a number that is nowhere near that of the request before, as ids of requests are.
fn scattered(one: u32, other: u32) -> u128 {
    let seed = (u128::from(one) << 32) + u128::from(other) + 1;
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 36
}

fn version() -> PriceVersion {
    PriceVersion(String::from("genai-prices 0.2.1 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"))
}

/// A database of usage records alone, as a program would make it that knows only these: a table with the same key,
/// and a transaction for each call.
struct Plain(Connection);

impl Plain {
    fn open(path: &Path) -> Self {
        let connection = Connection::open(path).expect("a new file can be opened");
        let schema = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            CREATE TABLE usage_records (launch_id TEXT, key TEXT, turn_id TEXT, request_key TEXT, agent TEXT,
                model TEXT, observed_at INTEGER, input_tokens INTEGER, cache_read_tokens INTEGER,
                cache_write_tokens INTEGER, cache_write_5m_tokens INTEGER, cache_write_1h_tokens INTEGER,
                output_tokens INTEGER, grain TEXT, quality TEXT, cost INTEGER, PRIMARY KEY (launch_id, key))
                WITHOUT ROWID;
            CREATE INDEX usage_by_request ON usage_records (request_key);";
        connection.execute_batch(schema).expect("the file is new");
        Self(connection)
    }

    fn insert(&mut self, rows: &LaunchRows) {
        insert(&mut self.0, rows).expect("the rows are new");
    }

    fn save(&mut self, costs: &[CostEntry]) {
        let save = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let sql = "UPDATE usage_records SET cost = ?3 WHERE launch_id = ?1 AND key = ?2";
            let mut update = transaction.prepare_cached(sql)?;
            for CostEntry { record, cost } in costs {
                let cost = cost.map(|cost| cost.as_nanos().cast_signed());
                update.execute(params![record.launch_id.to_string(), record.report.key, cost])?;
            }
            drop(update);
            transaction.commit()
        };
        save(&mut self.0).expect("the records are there");
    }

    /// Adds up all records as the ledger does, but knows of no replays, and returns how many sums that are.
    fn sums(&self) -> usize {
        let sql = "SELECT launch_id, observed_at / 900000000, model, agent, count(*), sum(input_tokens),
                sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_write_5m_tokens), sum(cache_write_1h_tokens),
                sum(output_tokens), sum(cost)
            FROM usage_records GROUP BY 1, 2, 3, 4";
        let count = || -> rusqlite::Result<usize> {
            let mut statement = self.0.prepare_cached(sql)?;
            statement.query_map((), |row| row.get::<_, i64>(11))?.try_fold(0, |count, sum| sum.map(|_| count + 1))
        };
        count().expect("the records can be read")
    }
}

fn insert(connection: &mut Connection, rows: &LaunchRows) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut insert = transaction
        .prepare_cached("INSERT INTO usage_records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)")?;
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

/// Returns how much CPU all threads of this process spend on the work.
fn cpu(work: impl FnOnce()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec.try_into().expect("it began at 0"), time.tv_nsec.try_into().expect("it is a part"))
    };
    let start = now();
    work();
    now().saturating_sub(start)
}

fn median(mut work: impl FnMut()) -> Duration {
    median_of((0..ROUNDS).map(|_| cpu(&mut work)))
}

fn median_of(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[times.len() / 2]
}

fn ratio(floor: Duration, time: Duration) -> f64 {
    floor.as_secs_f64() / time.as_secs_f64()
}

fn took(time: Duration) -> String {
    format!("{:.1} ms", millis(time))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn print(name: &str, value: f64, unit: &str, gate: &Value, note: &str) {
    let note = if note.is_empty() { Value::Null } else { Value::from(note) };
    println!("{}", json!({ "name": name, "value": value, "unit": unit, "gate": gate, "note": note }));
}
