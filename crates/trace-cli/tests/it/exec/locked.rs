//! A ledger that another process holds.

use std::{fs, os::unix::process::ExitStatusExt, path::Path, thread};

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use trace_capture::Home;

use super::{
    bench::{Bench, stderr, stdout},
    sessions::session,
};

/// Makes the home's ledger, and holds it against all who write until the value is dropped.
fn hold_ledger(bench: &Bench) -> Connection {
    assert!(bench.trace().arg("reindex").status().unwrap().success());
    let connection = Connection::open(bench.home().join("ledger.db")).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

#[test]
fn a_locked_ledger_costs_neither_the_record_nor_the_summary() {
    let bench = Bench::new();
    let held = hold_ledger(&bench);
    let stream = session("claude-hello").join("stream.jsonl");
    let output = bench.exec(&[], &["sh", "-c", "cat \"$0\"; exit 3", stream.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stdout == fs::read(stream).unwrap());
    let text = stderr(&output);
    assert!(text.contains("failed, 1 turn, 8,512 tokens, $0.0181;"), "{text}");
    assert_eq!(text.matches("it is not in the ledger yet, and `trace show").count(), 1, "{text}");
    assert!(has_ended(&bench.only_launch()));
    // Looking waits a moment for the ledger, and not longer.
    let listed = bench.trace().args(["ls", "--json"]).output().unwrap();
    assert!(stdout(&listed).contains("\"launches\": []"), "{}", stdout(&listed));
    assert!(stderr(&listed).contains("`trace reindex` brings them in"), "{}", stderr(&listed));

    drop(held);
    assert_eq!(bench.launches().len(), 1);
    assert_eq!(bench.show()["launch"]["outcome"], "failed");
}

#[test]
fn an_interrupt_ends_the_wait_for_a_locked_ledger() {
    let bench = Bench::new();
    let _held = hold_ledger(&bench);
    let mut trace = bench.shell("true").spawn().unwrap();
    let home = Home::open_real(&bench.home()).unwrap();
    let ended = || home.list_launch_artifact_dirs().unwrap().iter().any(|dir| has_ended(&home.artifact_path(dir)));
    while !ended() {
        thread::yield_now();
    }
    // The launch has ended, and so has its agent. One that comes before the signals are given back does nothing.
    let status = loop {
        kill_process(Pid::from_child(&trace), Signal::INT).unwrap();
        if let Some(status) = trace.try_wait().unwrap() {
            break status;
        }
        thread::yield_now();
    };
    assert_eq!(status.signal(), Some(Signal::INT.as_raw()), "it waited to the end: {status}");
}

fn has_ended(launch: &Path) -> bool {
    fs::read_to_string(launch.join("conversation.jsonl")).is_ok_and(|events| events.contains("\"launch_ended\""))
}
