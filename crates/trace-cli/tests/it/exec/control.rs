//! A launch that an orchestrator controls.

use std::fs;

use super::bench::{Bench, stderr, stdout};
use crate::scripted::CONTROL;

/// Returns a home beside which the control stands.
fn bench_with_control() -> Bench {
    let bench = Bench::new();
    fs::write(bench.path("control.json"), CONTROL).unwrap();
    bench
}

#[cfg(any(feature = "sled", feature = "sqlite"))]
#[test]
fn a_launch_under_control_takes_over_what_was_reserved() {
    let bench = bench_with_control();
    let reserve = || bench.trace().args(["reserve", "--control", "control.json", "--json"]).output().unwrap();
    let reserved: serde_json::Value = serde_json::from_slice(&reserve().stdout).unwrap();
    let output = bench.exec(&["--control", "control.json", "--quiet"], &["sh", "-c", "exit 3"]).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(3), ""));

    let launch = bench.show()["launch"].clone();
    assert_eq!(launch["id"], reserved["launch_id"]);
    assert_eq!(launch["started_at"], reserved["reserved_at"]);
    assert_eq!((&launch["control"], &launch["outcome"]), (&reserved["control"], &"failed".into()));
    let listed = stdout(&bench.trace().args(["reservations", "--json"]).output().unwrap());
    assert!(listed.contains("\"state\": \"taken\""), "{listed}");
    let released = bench.trace().args(["release", "order-7"]).output().unwrap();
    assert_eq!(released.status.code(), Some(1));
    assert!(stderr(&released).contains("its launch has begun"), "{}", stderr(&released));
    assert_ne!(stdout(&reserve()), "", "the next one can be reserved");
}

#[test]
fn a_launch_for_which_nothing_is_reserved_is_recorded_with_a_warning() {
    let bench = bench_with_control();
    let output = bench.exec(&["--control", "control.json", "--quiet"], &["echo", "on"]).output().unwrap();
    assert_eq!(stdout(&output), "on\n");
    let why = "no launch is reserved for it";
    let warning = format!("warning: the launch for the control run order-7 has an id of its own: {why}\n");
    assert_eq!(stderr(&output), warning);
    let header = String::from_utf8(bench.artifact("launch.json")).unwrap();
    assert!(header.contains("\"order-7\""), "{header}");
}

#[cfg(feature = "sqlite")]
#[test]
fn a_ledger_that_cannot_tell_what_is_reserved_is_not_taken_for_an_empty_one() {
    let bench = bench_with_control();
    fs::create_dir(bench.home()).unwrap();
    fs::write(bench.home().join("ledger.db"), "no database ".repeat(1000)).unwrap();
    let output = bench.exec(&["--control", "control.json", "--quiet"], &["echo", "on"]).output().unwrap();
    assert_eq!(stdout(&output), "on\n");
    let text = stderr(&output);
    assert!(
        text.contains("order-7 has an id of its own: the ledger does not tell what is reserved for it\n"),
        "{text}"
    );
}

#[test]
fn the_agent_learns_nothing_of_its_control() {
    let bench = bench_with_control();
    let program = Bench::program().to_str().unwrap();
    let script = format!("env; '{program}' exec --quiet -- env");
    let output = bench.exec(&["--control", "control.json", "--quiet"], &["sh", "-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!stdout(&output).contains("order"), "{}", stdout(&output));
    let headers =
        bench.launch_folders().into_iter().map(|folder| fs::read_to_string(folder.join("launch.json")).unwrap());
    let controlled: Vec<bool> = headers.map(|header| header.contains("order-7")).collect();
    assert_eq!(controlled.iter().filter(|is_controlled| **is_controlled).count(), 1, "{controlled:?}");
    assert_eq!(controlled.len(), 2);
}

#[test]
fn a_file_that_holds_no_control_is_wrong_usage_and_nothing_runs() {
    let bench = bench_with_control();
    fs::write(bench.path("wrong.json"), CONTROL.replace("home_id", "homeid")).unwrap();
    for (file, error) in [
        ("wrong.json", "error: wrong.json holds no control\ncause: unknown field `homeid`, expected one of `run_id`"),
        ("nowhere", "error: cannot read nowhere\n"),
        ("-", "error: --control reads a file, and not standard input\n"),
    ] {
        let output = bench.exec(&["--control", file], &["touch", "started"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{file}: {}", stderr(&output));
        assert!(stderr(&output).starts_with(error), "{file}: {}", stderr(&output));
    }
    assert!(!bench.path("started").exists() && !bench.home().exists());
}
