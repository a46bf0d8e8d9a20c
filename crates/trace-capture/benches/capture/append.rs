//! Events through one handle, beside plain writes and beside one fsync per event.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use trace_capture::{CaptureEnv, Recorded};
use trace_model::turn::Outcome;

use crate::{
    launches::{LINE, begin, env, event, folder},
    report::{Gate, report},
};

const ROUNDS: usize = 25;
const EVENTS: u32 = 50_000;
const PIECE: u32 = 500;
/// As many as take about as long: a round of either finds the machine as quiet as a round of the other.
const WRITES: u32 = 150_000;
const SYNCED_EVENTS: u32 = 100;
/// A disk that syncs faster than this does not sync.
const FASTEST_SYNC: Duration = Duration::from_micros(50);

pub(crate) fn measure() {
    let folder = folder();
    let env = env(folder.path());
    let rounds: Vec<[Duration; 3]> = (0..ROUNDS)
        .map(|round| {
            let path = folder.path().join(format!("round-{round}"));
            [write_plainly(&path) / WRITES, record(&env) / EVENTS, write_and_sync(&path) / SYNCED_EVENTS]
        })
        .collect();
    let [written, recorded, synced] = [0, 1, 2].map(|way| median(rounds.iter().map(|round| round[way])));
    let ratio = |way: usize| median(rounds.iter().map(|round| round[way].as_secs_f64() / round[1].as_secs_f64()));

    let note = format!("{recorded:?} an event, {written:?} a write; medians of {ROUNDS} rounds");
    report("events of 300 bytes, syncing every 50 ms", Some(ratio(0)), "x plain writes", Gate::Min(0.3), &note);

    let sync = time_to_sync(&folder.path().join("sync"));
    let (value, note) = if sync < FASTEST_SYNC {
        (None, format!("fdatasync takes {sync:?}: this disk does not sync"))
    } else {
        (Some(ratio(2)), format!("{synced:?} an event with open, append, fdatasync and close"))
    };
    report("events of 300 bytes, beside one fsync each", value, "x faster", Gate::Min(40.0), &note);
}

/// Records in pieces whose events are made before: an agent's are made by somebody else, and are still in the cache.
fn record(env: &CaptureEnv) -> Duration {
    let capture = begin(env);
    let mut time = Duration::ZERO;
    for _ in 0..EVENTS / PIECE {
        let events: Vec<_> = (0..PIECE).map(|_| event()).collect();
        let start = Instant::now();
        for event in events {
            capture.record_stream_event(event);
        }
        time += start.elapsed();
    }
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    assert_eq!(capture.status().trouble, None);
    time
}

fn write_plainly(path: &Path) -> Duration {
    let mut file = append(path);
    let line = [b'x'; LINE];
    let start = Instant::now();
    for _ in 0..WRITES {
        file.write_all(&line).unwrap();
    }
    start.elapsed()
}

fn write_and_sync(path: &Path) -> Duration {
    let line = [b'x'; LINE];
    let start = Instant::now();
    for _ in 0..SYNCED_EVENTS {
        let mut file = append(path);
        file.write_all(&line).unwrap();
        file.sync_data().unwrap();
    }
    start.elapsed()
}

/// Returns the median time of a sync behind a write.
fn time_to_sync(path: &Path) -> Duration {
    let mut file = append(path);
    median((0..101).map(|_| {
        file.write_all(&[b'x'; LINE]).unwrap();
        let start = Instant::now();
        file.sync_data().unwrap();
        start.elapsed()
    }))
}

fn median<T: PartialOrd + Copy>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable_by(|left, right| left.partial_cmp(right).expect("times and their ratios are ordered"));
    values[values.len() / 2]
}

fn append(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).unwrap()
}
