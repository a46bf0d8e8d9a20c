//! Signals that a process sends to us.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Output},
};

use rustix::process::{Pid, Signal, kill_process};

use super::bench::{Bench, stdout};

/// An agent that names each signal that it gets, and ends at USR1 with code 7.
const LISTENER: &str = "
    trap 'echo TERM' TERM; trap 'echo HUP' HUP; trap 'echo USR2' USR2; trap 'echo INT' INT; trap 'echo QUIT' QUIT
    trap 'echo end; exit 7' USR1
    echo ready
    while :; do sleep 0.02 & wait $!; done";

fn send(trace: &Child, signal: Signal) {
    kill_process(Pid::from_child(trace), signal).unwrap();
}

#[test]
fn what_a_process_sends_reaches_the_agent_once() {
    let bench = Bench::new();
    let mut trace = bench.shell(LISTENER).spawn().unwrap();
    let mut lines = BufReader::new(trace.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!(next(), "ready");
    for (signal, name) in [
        (Signal::TERM, "TERM"),
        (Signal::HUP, "HUP"),
        (Signal::USR2, "USR2"),
        (Signal::INT, "INT"),
        (Signal::QUIT, "QUIT"),
    ] {
        send(&trace, signal);
        assert_eq!(next(), name);
    }
    // A second copy of any of them would be named before the end.
    send(&trace, Signal::USR1);
    assert_eq!(next(), "end");
    assert!(lines.next().is_none());
    assert_eq!(trace.wait().unwrap().code(), Some(7));
    assert_eq!(bench.show()["launch"]["outcome"], "failed");
}

#[test]
fn a_signal_that_the_agent_does_not_catch_ends_it_and_is_recorded() {
    let bench = Bench::new();
    let mut trace = bench.shell("echo ready; exec sleep 600").spawn().unwrap();
    let mut lines = BufReader::new(trace.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    send(&trace, Signal::TERM);
    assert_eq!(trace.wait().unwrap().code(), Some(143));
    let shown = bench.show();
    assert_eq!(shown["launch"]["outcome"], "interrupted");
    assert_eq!(shown["turns"][0]["status"], "interrupted");
}

#[test]
fn output_without_end_is_left_at_a_signal_after_the_agents_exit() {
    let bench = Bench::new();
    let mut trace = bench.shell("yes & echo $!; exit 4").spawn().unwrap();
    let mut reader = BufReader::new(trace.stdout.take().unwrap());
    let mut grandchild = String::new();
    reader.read_line(&mut grandchild).unwrap();
    let drain = std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
    // The agent may not have exited yet, and then the signal is its own.
    while trace.try_wait().unwrap().is_none() {
        send(&trace, Signal::USR2);
        std::thread::yield_now();
    }
    drain.join().unwrap().unwrap();
}

/// Runs `trace exec` with that script from a shell that ignores the signal. Not every `sh` can ignore CHLD.
fn ignoring(signal: &str, bench: &Bench, script: &str) -> Output {
    let program = Bench::program().to_str().unwrap();
    let mut bash = bench.command("bash");
    bash.args(["-c", "trap '' $1; exec $0 exec -- sh -c \"$2\"", program, signal, script]).output().unwrap()
}

/// Where the system does not tell what is ignored, such a signal is caught and forwarded as any other.
#[cfg(target_os = "linux")]
#[test]
fn what_was_ignored_before_us_stays_ignored_for_the_agent() {
    let output = ignoring("HUP", &Bench::new(), "kill -HUP $PPID; kill -HUP $$; echo it lives");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stdout(&output), "it lives\n");
}

#[test]
fn the_agents_end_is_known_although_ends_of_children_were_ignored_before_us() {
    let bench = Bench::new();
    let output = ignoring("CHLD", &bench, "exit 3");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(bench.show()["launch"]["outcome"], "failed");
}
