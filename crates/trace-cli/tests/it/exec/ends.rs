//! How the agent ended, and what that means.

use std::fs;

use super::bench::{Bench, stderr};

/// Runs a script, and compares exit code, outcome of the launch and status of its turn.
fn check(script: &str, code: i32, outcome: &str) {
    let bench = Bench::new();
    let output = bench.shell(script).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{script}: {}", stderr(&output));
    let shown = bench.show();
    assert_eq!(shown["launch"]["outcome"], outcome, "{script}");
    assert_eq!(shown["turns"][0]["status"], outcome, "{script}");
    assert_eq!(shown["launch"]["capture_status"], "prompt_only", "{script}");
}

#[test]
fn the_exit_code_is_the_agents() {
    check("exit 0", 0, "completed");
    check("exit 3", 3, "failed");
    check("exit 255", 255, "failed");
}

#[test]
fn an_agent_that_a_signal_ended_is_128_and_the_signal() {
    check("kill -KILL $$", 137, "interrupted");
    check("kill -TERM $$", 143, "interrupted");
}

#[test]
fn an_agent_starts_with_no_signal_ignored_or_blocked() {
    for (signal, number) in [("INT", 2), ("QUIT", 3), ("HUP", 1), ("PIPE", 13), ("USR1", 10), ("USR2", 12)] {
        // The numbers of the last two differ between systems.
        let number = if cfg!(target_os = "macos") {
            number
                + if number == 10 {
                    20
                } else if number == 12 {
                    19
                } else {
                    0
                }
        } else {
            number
        };
        check(&format!("ulimit -c 0; kill -{signal} $$; echo it lives"), 128 + number, "interrupted");
    }
}

#[test]
fn a_program_that_is_not_there_is_127() {
    let bench = Bench::new();
    let output = bench.exec(&[], &["no-such-program-anywhere"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(stderr(&output).contains("no-such-program-anywhere"), "{}", stderr(&output));
    assert_eq!(bench.show()["launch"]["outcome"], "failed");
}

#[test]
fn a_program_that_cannot_be_executed_is_126() {
    let bench = Bench::new();
    fs::write(bench.path("no-program"), "just text").unwrap();
    let output = bench.exec(&[], &["./no-program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(stderr(&output).contains("no-program"), "{}", stderr(&output));
}

#[test]
fn one_line_tells_what_was_recorded_unless_it_is_unwanted() {
    let bench = Bench::new();
    let output = bench.shell("echo hello").output().unwrap();
    let text = stderr(&output);
    let id = bench.only_launch().file_name().unwrap().to_str().unwrap().to_owned();
    let short = &id[id.len() - 8..];
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains(&format!("trace show {short}")), "{text}");

    let output = bench.exec(&["--quiet"], &["sh", "-c", "echo hello"]).output().unwrap();
    assert_eq!(stderr(&output), "");
}
