//! A launch of a million events: what its writer and its reader take of memory and time.
//!
//! Each runs in a process of its own, whose peak the kernel knows. Time is that of the processor, in all of its
//! threads: a launch of this size takes seconds, in which the rest of the machine does not stand still.

use std::{env, fs, path::Path, process::Command, time::Duration};

use rustix::time::{ClockId, clock_gettime};
use trace_capture::{Capture, Home, PreparedTurnContext, Recorded, reindex::launch_rows};
use trace_model::{
    event::{ConversationEvent, ItemData},
    turn::Outcome,
    usage::UsageReport,
    words::{Grain, InputOp, Quality},
};

use crate::{
    launches::{begin, env as open, event, folder},
    report::{Gate, report},
};

const EVENTS: u64 = 1_000_000;
/// The least of so many rounds counts: what else the machine does can only add to it.
const ROUNDS: usize = 9;
const WRITE: &str = "--write";
const READ: &str = "--read";

/// What a child needed of the processor and of memory.
#[derive(Clone, Copy)]
struct Need {
    time: Duration,
    peak_kilobytes: Option<u32>,
}

pub(crate) fn measure() {
    for (job, name) in [(WRITE, "writer"), (READ, "reader")] {
        // A reader's launches are written once, by a process before.
        let launches = [EVENTS / 2, EVENTS].map(|events| (events, folder()));
        if job == READ {
            for (events, folder) in &launches {
                child(WRITE, *events, folder.path());
            }
        }
        let need = |at: usize| match job {
            READ => child(READ, launches[at].0, launches[at].1.path()),
            _ => child(WRITE, launches[at].0, folder().path()),
        };
        let halves = (0..ROUNDS).map(|_| (need(0), need(1)));
        let (mut half, mut whole, mut peak) = (Duration::MAX, Duration::MAX, None);
        for (of_half, of_whole) in halves {
            half = half.min(of_half.time);
            whole = whole.min(of_whole.time);
            peak = peak.max(of_whole.peak_kilobytes);
        }
        let megabytes = peak.map(|kilobytes| f64::from(kilobytes) / 1024.0);
        let note = if peak.is_some() { "peak of a process that does nothing else" } else { "needs Linux's /proc" };
        report(&format!("memory, {name} of 1,000,000 events"), megabytes, "MB", Gate::Max(64.0), note);
        let ratio = whole.as_secs_f64() / half.as_secs_f64();
        let note = format!("{half:?} and {whole:?}");
        report(&format!("processor time, {name}, twice the events"), Some(ratio), "x", Gate::Max(2.2), &note);
    }
}

/// Does the job in a process of its own.
fn child(job: &str, events: u64, root: &Path) -> Need {
    let mut command = Command::new(env::current_exe().unwrap());
    let output = command.args([job, &events.to_string()]).arg(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (nanos, peak) = text.trim().split_once(' ').unwrap();
    Need { time: Duration::from_nanos(nanos.parse().unwrap()), peak_kilobytes: peak.parse().ok() }
}

/// Does a child's job if the arguments ask for one.
pub(crate) fn run_as_child() -> bool {
    let arguments: Vec<_> = env::args().collect();
    let [_, job, events, root] = &arguments[..] else { return false };
    let (events, root) = (events.parse().unwrap(), Path::new(root));
    match job.as_str() {
        WRITE => write(events, root),
        READ => read(root),
        _ => return false,
    }
    let time = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap().as_nanos();
    println!("{time} {}", peak_kilobytes().map_or_else(|| "unknown".to_owned(), |peak| peak.to_string()));
    true
}

/// Records what tools print for the most part, some of what the agent says, some usage, and a turn now and then.
///
/// The answer of a turn is part of its row, up to 1 MiB, so it is what the agent says that a launch holds in memory.
fn write(events: u64, root: &Path) {
    let env = open(root);
    let capture: Capture = begin(&env);
    for n in 0..events {
        if n % 100 == 99 {
            capture.record_usage(UsageReport {
                output_tokens: Some(n),
                ..UsageReport::new(format!("msg_{n}"), Grain::Request, Quality::Exact)
            });
        } else if n % 10_000 == 0 {
            capture.blocking_begin_turn_with(InputOp::Message, PreparedTurnContext::unknown(), None).unwrap();
        } else if n % 10 == 0 {
            capture.record_stream_event(event());
        } else {
            let content = "x".repeat(60);
            let data = ItemData::Output { content };
            capture.record_conversation(ConversationEvent::ItemUpdated {
                turn_id: Some("turn".to_owned()),
                item_id: "item".to_owned(),
                data,
            });
        }
    }
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    assert_eq!(capture.status().trouble, None);
}

fn read(root: &Path) {
    let home = Home::open_real(root).unwrap();
    let dir = home.list_launch_artifact_dirs().unwrap().remove(0);
    let folded = launch_rows(&home, &dir).unwrap();
    assert_eq!(folded.skipped_lines, 0);
}

/// Returns the most memory that this process ever had, where the kernel tells it.
fn peak_kilobytes() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
