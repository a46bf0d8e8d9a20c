//! Recorders inside of recorders: one run, one home, and each session once.

use std::fs;

use serde_json::Value;

use super::{
    bench::{Bench, stderr},
    sessions::session,
};

/// Checks what recorders say that are all quiet: nothing, but for those inside that cannot have the ledger while the
/// outermost one has it.
fn check_quiet(text: &str, inner: usize) {
    let is_shared = cfg!(feature = "sqlite") || cfg!(not(feature = "sled"));
    let warnings = text.lines().filter(|line| line.contains("is held by another process")).count();
    let expected = if is_shared { 0 } else { inner };
    assert_eq!((text.lines().count(), warnings), (expected, expected), "{text}");
}

/// Runs `cat STREAM` beneath that many recorders, and returns the launches, the outermost first.
fn recorded(bench: &Bench, name: &str, levels: usize) -> Vec<Value> {
    let stream = session(name).join("stream.jsonl");
    let program = Bench::program().to_str().unwrap();
    let mut command = Vec::new();
    for _inner in 1..levels {
        command.extend([program, "exec", "--quiet", "--"]);
    }
    command.extend(["cat", stream.to_str().unwrap()]);
    let output = bench.exec(&["--quiet"], &command).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    check_quiet(&stderr(&output), levels - 1);
    assert!(output.stdout == fs::read(&stream).unwrap());

    let mut launches = bench.launches();
    assert_eq!(launches.len(), levels);
    launches.sort_by_key(|launch| launch["id"].as_str().unwrap().to_owned());
    for pair in launches.windows(2) {
        assert_eq!(pair[1]["parent_launch_id"], pair[0]["id"]);
        assert_eq!(pair[1]["run_id"], pair[0]["run_id"]);
    }
    for folder in bench.launch_folders() {
        assert!(fs::read(folder.join("raw/stdout")).unwrap() == output.stdout, "each keeps the bytes");
    }
    launches
}

#[test]
fn a_session_that_several_recorders_see_is_one_launch() {
    for name in ["claude-rounds", "claude-subagent", "codex-rounds"] {
        let alone = recorded(&Bench::new(), name, 1);
        for levels in [2, 3] {
            let launches = recorded(&Bench::new(), name, levels);
            let (inner, around) = launches.split_last().unwrap();
            for same in ["provider", "provider_session_id", "capture_status", "outcome", "totals"] {
                assert_eq!(inner[same], alone[0][same], "{name}: {same}");
                assert!(!inner[same].is_null(), "{name}: {same}");
            }
            for launch in around {
                assert_eq!(launch["provider_session_id"], Value::Null, "{name}");
                assert_eq!(launch["capture_status"], "prompt_only", "{name}");
                let reason = format!("its session is recorded by {}", inner["id"].as_str().unwrap());
                assert_eq!(launch["incomplete_reason"], reason, "{name}");
                assert_eq!(
                    (&launch["outcome"], &launch["totals"]["total_tokens"]),
                    (&"completed".into(), &Value::Null)
                );
            }
        }
    }
}

#[test]
fn the_summary_of_an_outer_recorder_names_who_records_the_session() {
    let bench = Bench::new();
    let stream = session("claude-hello").join("stream.jsonl");
    let program = Bench::program().to_str().unwrap();
    let command = [program, "exec", "--quiet", "--", "cat", stream.to_str().unwrap()];
    let output = bench.exec(&[], &command).output().unwrap();
    let launches = bench.launches();
    let inner = launches.iter().find(|launch| launch["provider_session_id"].is_string()).unwrap();
    let id = inner["id"].as_str().unwrap();
    let short = &id[id.len() - 8..];
    let expected = format!("completed, 1 turn, its session is recorded by {short};");
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
}

#[test]
fn a_nested_recorder_finds_the_home_that_the_outer_one_was_given() {
    let bench = Bench::new();
    fs::create_dir(bench.path("elsewhere")).unwrap();
    let script = format!("cd elsewhere && '{}' exec --quiet -- true", Bench::program().display());
    let mut command = bench.trace();
    command.env("TRACE_HOME", bench.path("not here"));
    let output = command.args(["--home", "home", "exec", "--quiet", "--", "sh", "-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    check_quiet(&stderr(&output), 1);
    assert_eq!(bench.launches().len(), 2);
    assert!(!bench.path("not here").exists());
    assert!(!bench.path("elsewhere/home").exists());
}
