//! Events through one handle, beside plain writes and beside one fsync per event.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use trace_capture::Recorded;
use trace_model::turn::Outcome;

use crate::{
    launches::{LINE, begin, env, event, folder},
    report::{Gate, report},
};

const ROUNDS: usize = 25;
const EVENTS: u32 = 50_000;
/// As many as take about as long: a round of either finds the machine as quiet as a round of the other.
const WRITES: u32 = 150_000;
const SYNCED_EVENTS: u32 = 100;
/// A disk that syncs faster than this does not sync.
const FASTEST_SYNC: Duration = Duration::from_micros(50);

pub(crate) fn measure() {
    let folder = folder();
    let env = env(folder.path());
    let [mut recorded, mut written, mut synced] = [Duration::MAX; 3];
    for round in 0..ROUNDS {
        let path = folder.path().join(format!("round-{round}"));
        written = written.min(write_plainly(&path) / WRITES);
        recorded = recorded.min(record(&env) / EVENTS);
        synced = synced.min(write_and_sync(&path) / SYNCED_EVENTS);
    }
    let of_writes = written.as_secs_f64() / recorded.as_secs_f64();
    let note = format!("{recorded:?} an event, {written:?} a write, best of {ROUNDS}");
    report("events of 300 bytes, syncing every 50 ms", Some(of_writes), "x plain writes", Gate::Min(0.3), &note);

    let times_faster = synced.as_secs_f64() / recorded.as_secs_f64();
    let sync = time_to_sync(&folder.path().join("sync"));
    let (value, note) = if sync < FASTEST_SYNC {
        (None, format!("fdatasync takes {sync:?}: this disk does not sync"))
    } else {
        (Some(times_faster), format!("{synced:?} an event with open, append, fdatasync {sync:?} and close"))
    };
    report("events of 300 bytes, beside one fsync each", value, "x faster", Gate::Min(40.0), &note);
}

fn record(env: &trace_capture::CaptureEnv) -> Duration {
    let capture = begin(env);
    let start = Instant::now();
    for _ in 0..EVENTS {
        capture.record_stream_event(event());
    }
    let time = start.elapsed();
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
    let mut times: Vec<_> = (0..101)
        .map(|_| {
            file.write_all(&[b'x'; LINE]).unwrap();
            let start = Instant::now();
            file.sync_data().unwrap();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn append(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).unwrap()
}
