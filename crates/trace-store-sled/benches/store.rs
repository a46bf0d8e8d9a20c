//! What the ledger costs beside plain sled with the same rows, settings and syncs.
//!
//! Prints one JSON object a line; `cargo xtask bench` makes a table of them and holds the gate. Both sides take turns,
//! and the median round of each counts.

use std::{
    fs::File,
    path::Path,
    time::{Duration, Instant},
};

use pollster::block_on;
use serde_json::{Value, json};
use trace_model::{
    ledger::Ledger,
    query::{LaunchQuery, Order},
    rows::{BoundaryRows, LaunchChange, TurnRows},
    usage::UsageRecord,
};
use trace_store_sled::SledLedger;
use trace_testkit::samples;

/// The assets of the turn, and as many decisions.
const CONTEXTS: u32 = 50;
const ROUNDS: u32 = 300;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("ledger.sled");
    let ledger = SledLedger::open(&path).expect("a new ledger can be opened");
    let plain = Plain::open(&folder.path().join("plain.sled"));

    let (apply, batch) = turns(&ledger, &plain);
    let held = json!({ "min": 0.5 });
    print("apply of a turn with 50 assets and 50 decisions", ratio(batch, apply), "x plain batch", &held, &took(apply));
    let rows = f64::from(ROUNDS * (2 + 2 * CONTEXTS));
    let note = "launch, turn, assets and decisions";
    print("disk space of those turns", bytes(&path) / rows, "bytes a row", &Value::Null, note);
    let plain_path = folder.path().join("plain.sled");
    print("disk space of the plain batches", bytes(&plain_path) / rows, "bytes a row", &Value::Null, note);
    let (apply, batch) = single_rows(&ledger, &plain);
    print("apply of one usage record, durable", ratio(batch, apply), "x plain batch", &Value::Null, &took(apply));
    print("durable applies of one record", per_second(1, apply), "a second", &Value::Null, "");
    print("plain durable batches of one record", per_second(1, batch), "a second", &Value::Null, "");
    let read = assets(&ledger);
    print("assets read", per_second(CONTEXTS, read), "rows a second", &Value::Null, "50 a call");
    let read = launches(&ledger);
    print("newest 50 launches", read.as_secs_f64() * 1e6, "µs", &Value::Null, "of all that the bench made");
}

/// A database without any order of its own.
struct Plain {
    sled: sled::Db,
    file: File,
}

impl Plain {
    fn open(path: &Path) -> Self {
        let sled = sled::Config::new().path(path).flush_every_ms(None).cache_capacity(64 << 20).open();
        let file = File::open(path.join("db"));
        Self { sled: sled.expect("a new database can be opened"), file: file.expect("it has a file") }
    }

    /// Writes the entries as one batch, as durably as the ledger does.
    fn write(&self, batch: sled::Batch) {
        self.sled.apply_batch(batch).expect("a batch can be applied");
        self.sled.flush().expect("it can be flushed");
        self.file.sync_all().expect("it can be synced");
    }

    /// Writes the rows as a program would that knows only these, and looks for them by their keys alone.
    fn write_turn(&self, rows: &BoundaryRows) {
        let mut batch = sled::Batch::default();
        let launch = rows.launch.launch();
        batch.insert(launch.header.id.as_uuid().as_bytes(), json(launch));
        for TurnRows { turn, assets, decisions } in &rows.turns_opened {
            let key = |kind: u8, position: u32| {
                [turn.id.as_uuid().as_bytes().as_slice(), &[kind], &position.to_be_bytes()].concat()
            };
            batch.insert(turn.id.as_uuid().as_bytes(), json(turn));
            for asset in assets {
                batch.insert(key(0, asset.position), json(asset));
            }
            for decision in decisions {
                batch.insert(key(1, decision.position), json(decision));
            }
        }
        self.write(batch);
    }

    fn write_usage(&self, record: &UsageRecord) {
        let mut batch = sled::Batch::default();
        batch.insert([record.launch_id.as_uuid().as_bytes(), record.report.key.as_bytes()].concat(), json(record));
        self.write(batch);
    }
}

fn json(row: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(row).expect("rows are JSON")
}

/// Writes whole turns of new launches both ways, and returns the median times.
fn turns(ledger: &SledLedger, plain: &Plain) -> (Duration, Duration) {
    both(|round, plainly| {
        let rows = BoundaryRows {
            turns_opened: vec![samples::turn_rows(samples::turn(round, 1), CONTEXTS)],
            ..BoundaryRows::of_launch(LaunchChange::Opened(samples::launch(round)))
        };
        let start = Instant::now();
        if plainly {
            plain.write_turn(&rows);
        } else {
            block_on(ledger.apply(&rows)).expect("the rows are new");
        }
        start.elapsed()
    })
}

/// Writes single usage records both ways, each durable on its own, and returns the median times.
fn single_rows(ledger: &SledLedger, plain: &Plain) -> (Duration, Duration) {
    both(|round, plainly| {
        let record = samples::usage_record(0, Some(1), &format!("{round}-{plainly}"));
        let start = Instant::now();
        if plainly {
            plain.write_usage(&record);
        } else {
            block_on(ledger.apply(&samples::usage_boundary(0, [record]))).expect("the launch is there");
        }
        start.elapsed()
    })
}

fn assets(ledger: &SledLedger) -> Duration {
    median((0..ROUNDS).map(|round| {
        let start = Instant::now();
        let found = block_on(ledger.assets(samples::turn_id(round, 1))).expect("the turn can be read");
        assert_eq!(found.len(), 50, "all assets are there");
        start.elapsed()
    }))
}

fn launches(ledger: &SledLedger) -> Duration {
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

/// Returns the size of the files of a database.
fn bytes(path: &Path) -> f64 {
    let files = std::fs::read_dir(path).expect("it is a folder");
    let sizes = files.map(|file| file.and_then(|file| file.metadata()).expect("its files have sizes").len());
    f64::from(u32::try_from(sizes.sum::<u64>()).expect("the bench writes less than that"))
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
