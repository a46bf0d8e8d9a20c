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

/// A part of a script: recordings, and whether they come through a recorder of their own.
enum Part {
    Direct(&'static str),
    Nested(&'static [&'static str]),
    /// Through two recorders.
    Deep(&'static str),
    /// A line that is no agent's.
    Line(&'static str),
}

impl Part {
    fn names(&self) -> &[&'static str] {
        match self {
            Self::Direct(name) | Self::Deep(name) => std::slice::from_ref(name),
            Self::Nested(names) => names,
            Self::Line(_) => &[],
        }
    }

    fn script(&self) -> String {
        let cat = |name: &&str| format!("cat '{}'", session(name).join("stream.jsonl").display());
        let exec = format!("'{}' exec --quiet --", Bench::program().display());
        match self {
            Self::Direct(name) => cat(name),
            Self::Nested(names) => {
                let files = names.iter().map(cat).collect::<Vec<_>>().join("; ");
                format!("{exec} sh -c \"{files}\"")
            }
            Self::Deep(name) => format!("{exec} {exec} {}", cat(name)),
            Self::Line(line) => format!("echo '{line}'"),
        }
    }
}

fn truth(name: &str) -> u64 {
    let truth: Value = serde_json::from_slice(&fs::read(session(name).join("truth.json")).unwrap()).unwrap();
    truth["all"]["total"].as_u64().unwrap()
}

/// Runs the parts on one output, beneath one recorder, and checks that each session is counted once, where it belongs.
/// Returns the turns of the outermost launch.
fn check_parts(parts: &[Part]) -> Vec<Value> {
    let bench = Bench::new();
    let script = parts.iter().map(Part::script).collect::<Vec<_>>().join("; ");
    let output = bench.exec(&["--quiet"], &["sh", "-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let counted = |launch: &Value| launch["totals"]["total_tokens"].as_u64().unwrap_or(0);
    let sum = |names: &[&str]| names.iter().map(|name| truth(name)).sum::<u64>();
    let (outer, inner): (Vec<_>, Vec<_>) =
        bench.launches().into_iter().partition(|launch| launch["parent_launch_id"].is_null());
    let [outer] = <[Value; 1]>::try_from(outer).unwrap();

    let is_direct = |part: &&Part| matches!(part, Part::Direct(_));
    let direct: u64 = parts.iter().filter(is_direct).map(|part| sum(part.names())).sum();
    assert_eq!(counted(&outer), direct, "{script}");
    let mut found: Vec<_> = inner.iter().map(counted).filter(|tokens| *tokens > 0).collect();
    let mut expected: Vec<_> =
        parts.iter().filter(|part| !is_direct(part)).map(|part| sum(part.names())).filter(|sum| *sum > 0).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{script}");

    let first_direct = parts.iter().find(is_direct);
    assert_eq!(outer["capture_status"], if first_direct.is_some() { "complete" } else { "prompt_only" }, "{script}");
    let first_session = first_direct.map(|part| {
        let recorded = recorded(&Bench::new(), part.names()[0], 1);
        (recorded[0]["provider"].clone(), recorded[0]["provider_session_id"].clone())
    });
    let known = (outer["provider"].clone(), outer["provider_session_id"].clone());
    assert_eq!(known, first_session.unwrap_or(("unknown".into(), Value::Null)), "{script}");
    let shown = bench.trace().args(["show", outer["id"].as_str().unwrap(), "--json"]).output().unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    shown["turns"].as_array().unwrap().clone()
}

#[test]
fn sessions_that_come_directly_and_through_recorders_on_one_output_are_each_counted_once() {
    use Part::{Deep, Direct, Nested};
    let parts = [
        vec![Direct("claude-hello"), Nested(&["claude-rounds"])],
        vec![Nested(&["claude-rounds"]), Direct("claude-hello")],
        vec![Direct("codex-rounds"), Nested(&["codex-hello"])],
        vec![Nested(&["codex-hello"]), Direct("codex-rounds")],
        vec![Direct("claude-hello"), Nested(&["codex-rounds"]), Direct("claude-rounds")],
        vec![Nested(&["claude-hello"]), Direct("codex-rounds"), Nested(&["claude-rounds"])],
        vec![Nested(&["codex-rounds"]), Direct("claude-hello"), Nested(&["codex-hello"]), Direct("claude-rounds")],
        vec![Direct("codex-hello"), Direct("claude-hello"), Deep("codex-rounds"), Direct("claude-rounds")],
        vec![Nested(&["claude-hello", "codex-rounds", "claude-rounds"]), Direct("claude-subagent")],
        vec![Direct("claude-subagent"), Nested(&["claude-hello", "codex-rounds", "claude-rounds"])],
        vec![Deep("claude-hello"), Nested(&["codex-rounds"])],
    ];
    for parts in parts {
        check_parts(&parts);
    }
}

#[test]
fn a_line_of_a_log_that_names_a_session_changes_nothing() {
    use Part::{Direct, Line, Nested};
    let log = || Line(r#"{"level":"info","session_id":"request-7"}"#);
    check_parts(&[log(), Nested(&["codex-rounds"])]);
    check_parts(&[log(), Direct("claude-hello"), log(), Nested(&["claude-rounds"]), log()]);
    check_parts(&[log(), Nested(&["codex-rounds"]), log(), Direct("codex-hello")]);
}

/// What `claude -p --output-format json` prints is one line, which begins no session.
#[test]
fn an_agent_that_prints_its_result_alone_is_counted_once_too() {
    let result = r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","result":"Done.","modelUsage":{"m":{"inputTokens":3,"outputTokens":4,"cacheReadInputTokens":0,"cacheCreationInputTokens":0}}}"#;
    let program = Bench::program().display();
    for (script, expected) in [
        ("cat result".to_owned(), vec![(Some(7), "s-1")]),
        (format!("'{program}' exec --quiet -- cat result"), vec![(None, "null"), (Some(7), "s-1")]),
        (format!("'{program}' exec --quiet --provider claude -- cat result"), vec![(None, "null"), (Some(7), "s-1")]),
    ] {
        for options in [&["--quiet"][..], &["--quiet", "--provider", "claude"]] {
            let bench = Bench::new();
            fs::write(bench.path("result"), format!("{result}\n")).unwrap();
            assert!(bench.exec(options, &["sh", "-c", &script]).status().unwrap().success());
            let mut launches = bench.launches();
            launches.sort_by_key(|launch| launch["id"].as_str().unwrap().to_owned());
            let found: Vec<_> = launches
                .iter()
                .map(|launch| {
                    let session = launch["provider_session_id"].as_str().unwrap_or("null");
                    (launch["totals"]["total_tokens"].as_u64(), session)
                })
                .collect();
            assert_eq!(found, expected, "{script} {options:?}");
        }
    }
}

#[test]
fn the_turns_of_an_outer_launch_are_those_of_its_own_sessions() {
    use Part::{Direct, Nested};
    let turns = |parts: &[Part]| {
        let turns = check_parts(parts).into_iter();
        turns.map(|turn| turn["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let alone = turns(&[Nested(&["claude-hello"]), Direct("claude-rounds"), Nested(&["claude-fail"])]);
    assert_eq!(alone, ["completed"], "the failure is another launch's");
    let two = turns(&[Direct("claude-hello"), Nested(&["codex-rounds", "claude-fail"]), Direct("codex-hello")]);
    assert_eq!(two, ["completed", "completed"]);
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
