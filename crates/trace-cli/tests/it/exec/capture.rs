//! The launch around the agent: its labels and parents, and what happens when it cannot be recorded.

use std::{fs, io::Read, os::unix::fs::PermissionsExt};

use rustix::process::{Pid, Signal, kill_process};

use super::bench::{Bench, stderr, stdout};

#[test]
fn an_agent_knows_its_run_launch_and_turn() {
    let bench = Bench::new();
    let script = "echo $TRACE_RUN_ID; echo $TRACE_PARENT_LAUNCH; echo $TRACE_PARENT_TURN";
    let output = bench.shell(script).output().unwrap();
    let shown = bench.show();
    let ids = [&shown["launch"]["run_id"], &shown["launch"]["id"], &shown["turns"][0]["id"]];
    assert_eq!(stdout(&output).lines().collect::<Vec<_>>(), ids.map(|id| id.as_str().unwrap()));
}

#[test]
fn a_nested_exec_joins_the_run_as_a_child() {
    let bench = Bench::new();
    let program = Bench::program().to_str().unwrap();
    let output = bench.exec(&[], &[program, "exec", "--", "echo", "inner"]).output().unwrap();
    assert_eq!(stdout(&output), "inner\n");
    let launches = bench.launches();
    assert_eq!(launches.len(), 2);
    let is_outer = |index: &usize| launches[*index]["parent_launch_id"].is_null();
    let outer = (0..2).find(is_outer).unwrap();
    let (outer, inner) = (&launches[outer], &launches[1 - outer]);
    assert_eq!(inner["parent_launch_id"], outer["id"]);
    assert!(inner["parent_turn_id"].is_string());
    assert_eq!(inner["run_id"], outer["run_id"]);
    assert_ne!(inner["process_id"], outer["process_id"]);
}

#[test]
fn parents_that_make_no_sense_are_ignored_with_a_word() {
    let bench = Bench::new();
    let output = bench.shell("true").env("TRACE_RUN_ID", "../etc").env("TRACE_PARENT_LAUNCH", "x").output().unwrap();
    assert!(output.status.success());
    assert_eq!(stderr(&output).matches("is ignored").count(), 2, "{}", stderr(&output));
    assert!(bench.show()["launch"]["parent_launch_id"].is_null());
}

#[test]
fn a_launch_is_in_the_top_of_its_working_tree() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("tree/.git")).unwrap();
    fs::create_dir_all(bench.path("tree/inner")).unwrap();
    let status = bench.shell("true").current_dir(bench.path("tree/inner")).status().unwrap();
    assert!(status.success());
    let launch = bench.show()["launch"].clone();
    let real = |name| bench.path(name).canonicalize().unwrap().to_str().unwrap().to_owned();
    assert_eq!(launch["repo"], real("tree"));
    assert_eq!(launch["worktree"], real("tree/inner"));
    assert_eq!(launch["surface"], "headless");
    assert_eq!(launch["provider"], "unknown");
}

#[test]
fn a_launch_of_now_is_found_by_how_long_ago_it_was() {
    let bench = Bench::new();
    assert!(bench.shell("true").status().unwrap().success());
    let listed = |option, time| {
        let output = bench.trace().args(["ls", option, time, "--json"]).output().unwrap();
        stdout(&output).matches("\"id\": \"launch_").count()
    };
    assert_eq!(["1h", "2d", "yesterday"].map(|time| listed("--since", time)), [1, 1, 1]);
    assert_eq!(["1h", "2d", "yesterday"].map(|time| listed("--before", time)), [0, 0, 0]);
}

#[test]
fn an_agent_that_cannot_be_recorded_runs_unrecorded_with_one_warning() {
    let bench = Bench::new();
    fs::write(bench.home(), "a file where the folder should be").unwrap();
    let output = bench.shell("echo on; echo and on >&2; exit 5").output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(stdout(&output), "on\n");
    let text = stderr(&output);
    assert_eq!(text.matches("warning").count(), 1, "{text}");
    assert!(text.contains("without being recorded") && text.ends_with("and on\n"), "{text}");
}

#[test]
fn an_unrecorded_agent_is_a_document_too() {
    let bench = Bench::new();
    fs::write(bench.home(), "a file where the folder should be").unwrap();
    let output = bench.exec(&["--json"], &["sh", "-c", "exit 5"]).output().unwrap();
    let text = stderr(&output);
    let (warning, document) = text.trim_end().split_once('\n').unwrap();
    assert!(warning.starts_with("warning: "), "{text}");
    let document: serde_json::Value = serde_json::from_str(document).unwrap();
    assert!(document["launch_id"].is_null() && document["capture_status"].is_null(), "{document}");
    assert_eq!((&document["outcome"], &document["exit_code"]), (&"failed".into(), &5.into()));
}

#[test]
fn an_unrecorded_agent_has_its_task_all_the_same() {
    let bench = Bench::new();
    fs::write(bench.home(), "a file where the folder should be").unwrap();
    fs::write(bench.path("task"), b"\xff no text \xfe").unwrap();
    let mut command = bench.exec(&["--task-file", "-"], &["cat"]);
    let output = command.stdin(fs::File::open(bench.path("task")).unwrap()).output().unwrap();
    assert_eq!(output.stdout, b"\xff no text \xfe");
}

#[test]
fn a_file_that_is_named_wrongly_is_wrong_usage_and_nothing_runs() {
    let bench = Bench::new();
    fs::write(bench.path("task.md"), "Fix it.").unwrap();
    fs::write(bench.path("binary"), b"\xff").unwrap();
    fs::write(bench.path("specs.json"), "{}").unwrap();
    for options in [
        &["--task-file", "nowhere"][..],
        &["--system-file", "."],
        &["--system-file", "binary"],
        &["--task-file", "task.md", "--asset", "goal=nowhere"],
        &["--task-file", "task.md", "--spec-file", "nowhere"],
        &["--task-file", "task.md", "--spec-file", "specs.json"],
    ] {
        let output = bench.exec(options, &["touch", "started"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", stderr(&output));
        assert!(stderr(&output).starts_with("error: "), "{options:?}: {}", stderr(&output));
    }
    assert!(!bench.path("started").exists());
    assert!(!bench.home().exists());
}

#[test]
fn an_agent_that_must_be_recorded_is_not_started_without() {
    let bench = Bench::new();
    fs::write(bench.home(), "a file where the folder should be").unwrap();
    let output = bench.exec(&["--require-capture"], &["touch", "started"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(!bench.path("started").exists());
    assert!(stderr(&output).contains("error"), "{}", stderr(&output));
}

#[cfg(feature = "sqlite")]
#[test]
fn a_launch_in_a_memory_ledger_is_not_promised_to_be_found() {
    let bench = Bench::new();
    let output = bench.exec(&["--ledger", "memory"], &["true"]).output().unwrap();
    let text = stderr(&output);
    assert!(text.contains("`trace reindex` brings it there") && !text.contains("trace show"), "{text}");
    assert_eq!(bench.launches().len(), 0);
    assert!(bench.trace().arg("reindex").status().unwrap().success());
    assert_eq!(bench.launches().len(), 1);
}

/// Records one more launch in a home whose ledger cannot be opened.
fn check_unopened_ledger(bench: &Bench) {
    let output = bench.shell("echo still here").output().unwrap();
    assert_eq!(stdout(&output), "still here\n");
    let text = stderr(&output);
    assert_eq!(text.matches("warning: ").count(), 1, "{text}");
    assert!(text.contains("is recorded without the ledger, until that is opened next"), "{text}");
    assert!(text.contains("it is not in the ledger yet"), "{text}");
    assert_eq!(bench.artifact("raw/stdout"), b"still here\n");
}

#[cfg(feature = "sqlite")]
#[test]
fn a_damaged_ledger_does_not_keep_the_launch_from_its_files() {
    let bench = Bench::new();
    fs::create_dir(bench.home()).unwrap();
    let ledger = bench.home().join("ledger.db");
    fs::write(&ledger, "no database ".repeat(1000)).unwrap();
    check_unopened_ledger(&bench);
    fs::remove_file(ledger).unwrap();
    assert_eq!(bench.launches().len(), 1, "the next ledger has it without being told");
}

#[cfg(not(feature = "sqlite"))]
#[test]
fn a_ledger_that_is_not_compiled_in_does_not_keep_the_launch_from_its_files() {
    let bench = Bench::new();
    fs::create_dir(bench.home()).unwrap();
    fs::write(bench.home().join("home.json"), r#"{"format_version":1,"ledger":"sqlite"}"#).unwrap();
    check_unopened_ledger(&bench);
}

#[test]
fn a_damaged_home_does_not_keep_the_launch_from_its_files() {
    for (config, next) in [
        ("", "move "),
        ("{\"format_version\":1}", "move "),
        ("{\"format_version\":7,\"ledger\":\"sqlite\"}", "use a newer trace"),
    ] {
        let bench = Bench::new();
        assert!(bench.trace().arg("reindex").status().unwrap().success());
        let path = bench.home().join("home.json");
        fs::write(&path, config).unwrap();
        let output = bench.shell("echo still here").output().unwrap();
        assert_eq!(stdout(&output), "still here\n");
        let text = stderr(&output);
        assert_eq!(text.matches("warning").count(), 1, "{text}");
        assert!(text.contains("home.json") && text.contains(next), "{text}");
        assert_eq!(bench.artifact("raw/stdout"), b"still here\n");

        // What the advice says works.
        let error = bench.trace().arg("ls").output().unwrap();
        assert_eq!(error.status.code(), Some(1));
        assert!(stderr(&error).contains(&format!("\nnext: {next}")), "{}", stderr(&error));
        let listed = bench.trace().args(["ls", "--ledger", "memory", "--json"]).output().unwrap();
        assert!(listed.status.success() && stdout(&listed).contains("\"launch_"), "{}", stderr(&listed));
        fs::rename(&path, bench.path("home.json")).unwrap();
        assert_eq!(bench.launches().len(), 1);
    }
}

#[test]
fn a_launch_whose_files_are_removed_while_it_runs_is_not_called_recorded() {
    for script in ["rm -rf \"$TRACE_HOME\"", "mv \"$TRACE_HOME\" moved", "rm -rf \"$TRACE_HOME\"/traces/*/*/launch_*"] {
        let bench = Bench::new();
        let output = bench.shell(script).output().unwrap();
        assert!(output.status.success());
        let text = stderr(&output);
        assert!(text.starts_with("warning: launch_") && text.contains("is not on record"), "{script}: {text}");
        assert!(!text.contains("trace show") && !text.contains("recorded "), "{script}: {text}");
    }
}

#[test]
fn a_home_that_others_may_change_is_told_and_left_as_it_is() {
    let bench = Bench::new();
    assert_eq!(stderr(&bench.trace().arg("reindex").output().unwrap()), "");
    for mode in [0o770, 0o702] {
        fs::set_permissions(bench.home(), fs::Permissions::from_mode(mode)).unwrap();
        let exec = bench.exec(&["--quiet"], &["true"]).output().unwrap();
        for output in [exec, bench.trace().arg("ls").output().unwrap()] {
            let text = stderr(&output);
            let path = bench.home();
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(text.starts_with("warning: ") && text.contains(&format!("chmod 700 {}", path.display())), "{text}");
        }
        assert_eq!(fs::metadata(bench.home()).unwrap().permissions().mode() & 0o777, mode);
    }
    fs::set_permissions(bench.home(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(stderr(&bench.trace().arg("ls").output().unwrap()), "");
}

#[test]
fn nothing_that_anyone_saw_is_missing_after_a_kill() {
    let bench = Bench::new();
    let mut trace = bench.shell("i=0; while :; do echo line $i; i=$((i+1)); done").spawn().unwrap();
    let mut reader = trace.stdout.take().unwrap();
    let mut seen = vec![0; 100_000];
    reader.read_exact(&mut seen).unwrap();
    kill_process(Pid::from_child(&trace), Signal::KILL).unwrap();
    reader.read_to_end(&mut seen).unwrap();
    trace.wait().unwrap();
    let recorded = bench.artifact("raw/stdout");
    assert!(recorded.starts_with(&seen), "{} bytes seen, {} recorded", seen.len(), recorded.len());
}
