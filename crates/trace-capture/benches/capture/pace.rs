//! How long one call of `record_…` takes at the pace of a fast agent.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{
    launches::{begin, env, event, folder},
    report::{Gate, report},
};

const PER_SECOND: u32 = 2_000;
const SECONDS: u32 = 3;

pub(crate) fn measure() {
    let folder = folder();
    let env = env(folder.path());
    let capture = begin(&env);
    let begun = Instant::now();
    let mut times: Vec<Duration> = (0..PER_SECOND * SECONDS)
        .map(|n| {
            let due = begun + Duration::from_secs(1) / PER_SECOND * n;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let event = event();
            let start = Instant::now();
            capture.record_stream_event(event);
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |hundredths: usize| times[times.len() * hundredths / 100].as_secs_f64() * 1e6;
    let note = format!("median {:.1} us, longest {:?}", at(50), times[times.len() - 1]);
    report("p99 of record at 2,000 events a second", Some(at(99)), "us", Gate::None, &note);
}
