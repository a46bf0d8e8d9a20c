//! Embedding processes that are killed.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    sync::Arc,
};

use trace_capture::{Capture, CaptureEnv, EnvParts, Home, LedgerKind, MemoryLedger, Start, open_home_ledger};
use trace_model::{
    usage::UsageReport,
    words::{Grain, InputOp, OutputStream, Provider, Quality},
};

use super::{
    children,
    support::{dump, labels, prompt, read_events, text, texts},
};

/// How often a process is killed; more by the variable of that name.
const ROUNDS: u64 = 10;
const ROUNDS_VARIABLE: &str = "TRACE_KILL_ROUNDS";

/// Records without end and acknowledges each text once it is recorded.
///
/// It does nothing unless [`what_was_acknowledged_survives_a_kill`] starts it as a child.
#[test]
fn an_embedding_process_that_is_killed() {
    let Some(root) = children::home() else { return };
    let home = Home::open_real(&root).unwrap();
    let env = CaptureEnv::new(EnvParts::new(home, Arc::new(MemoryLedger::new())));
    let start = Start { raw: true, ..Start::new(Provider::Unknown, "headless") };
    let capture = Capture::blocking_begin(&env, labels(), prompt("Never end."), start).unwrap();
    let mut out = std::io::stdout().lock();
    for n in 0_u64.. {
        capture.record_raw(OutputStream::Stdout, format!("{n}\n").as_bytes());
        capture.record_stream_event(text(n.to_string()));
        if n % 50 == 49 {
            capture.blocking_begin_turn(InputOp::Steer, &"x".repeat(10_000)).unwrap();
        }
        if n % 7 == 0 {
            capture.record_usage(UsageReport {
                output_tokens: Some(1),
                ..UsageReport::new(format!("msg_{n}"), Grain::Request, Quality::Exact)
            });
        }
        writeln!(out, "ack {n}").unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let rounds = env::var(ROUNDS_VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let mut random = u64::from(std::process::id());
    for round in 0..rounds {
        // A linear congruential generator is random enough to stop at different places.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let folder = tempfile::tempdir().unwrap();
        let acknowledged = kill_after(1 + (random >> 33) % 400, folder.path());
        check(folder.path(), acknowledged, round);
    }
}

/// Kills a child behind that many acknowledgements, and returns how many it gave.
fn kill_after(acknowledgements: u64, home: &Path) -> u64 {
    let mut child = children::command("capture::kill::an_embedding_process_that_is_killed", home).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last = None;
    let mut killed = false;
    // What it wrote before it died is read to the end.
    while let Some(Ok(line)) = lines.next() {
        // The test runner writes the name of the test before the first one.
        if let Some(n) = line.rsplit_once("ack ").and_then(|(_, n)| n.parse::<u64>().ok()) {
            last = Some(n);
        }
        if !killed && last.is_some_and(|last| last + 1 >= acknowledgements) {
            child.kill().unwrap();
            killed = true;
        }
    }
    let status = child.wait().unwrap();
    assert!(killed, "the child ended by itself: {status}");
    last.unwrap() + 1
}

fn check(root: &Path, acknowledged: u64, round: u64) {
    let home = Home::open_real(root).unwrap();
    let dir = home.list_launch_artifact_dirs().unwrap().remove(0);
    let (events, skipped) = read_events(&home, &dir);
    assert!(skipped <= 1, "round {round}: only the last line can be torn");
    let texts = texts(&events);
    assert!(events.iter().zip(0..).all(|(event, seq)| event.seq == seq), "round {round}");
    for n in 0..acknowledged {
        let index = usize::try_from(n).unwrap();
        assert_eq!(texts.get(index), Some(&n.to_string().as_str()), "round {round}");
    }
    let ledger = open_home_ledger(&home, Some(LedgerKind::Memory)).unwrap();
    let launch = &dump(&*ledger)[0]["launch"];
    assert_eq!(launch["outcome"], "running", "nobody ended it");
    assert_eq!(launch["conversation_event_count"], events.len());
}
