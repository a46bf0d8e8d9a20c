//! Recordings of real clients, and the truth about each.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::bench::{Bench, stderr};

pub(super) fn session(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sessions").join(name)
}

/// Records `cat STREAM`, and compares what the launch says with the truth.
fn check(name: &str, options: &[&str]) -> Value {
    let stream = session(name).join("stream.jsonl");
    let truth: Value = serde_json::from_slice(&fs::read(session(name).join("truth.json")).unwrap()).unwrap();
    let bench = Bench::new();
    let output = bench.exec(options, &["cat", stream.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(output.stdout == fs::read(stream).unwrap());
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));

    let shown = bench.show();
    let totals = &shown["totals"];
    assert_eq!(shown["launch"]["outcome"], truth["outcome"], "{name}");
    assert_eq!(shown["launch"]["capture_status"], "complete", "{name}");
    assert_eq!(shown["launch"]["provider"], truth["client"], "{name}");
    for (ours, theirs) in [
        ("input_tokens", "input_uncached"),
        ("cache_read_tokens", "cache_read"),
        ("cache_write_tokens", "cache_write"),
        ("output_tokens", "output_total"),
        ("reasoning_tokens", "reasoning_in_output"),
        ("total_tokens", "total"),
    ] {
        let found = totals[ours].as_u64().unwrap_or(0);
        assert_eq!(found, truth["all"][theirs].as_u64().unwrap_or(0), "{name}: {ours} in {totals}");
    }
    let turns = shown["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 1, "{name}");
    assert_eq!(turns[0]["status"], truth["outcome"], "{name}");
    shown
}

#[test]
fn a_session_that_answers_is_what_its_server_charged() {
    check("claude-hello", &[]);
    check("claude-rounds", &[]);
}

#[test]
fn the_summary_tells_what_a_session_cost() {
    let bench = Bench::new();
    let stream = session("claude-hello").join("stream.jsonl");
    let output = bench.exec(&[], &["cat", stream.to_str().unwrap()]).output().unwrap();
    assert!(stderr(&output).contains("completed, 1 turn, 8,512 tokens, $0.0181;"), "{}", stderr(&output));
}

#[test]
fn the_summary_is_a_document_where_that_is_asked_for() {
    let bench = Bench::new();
    let stream = session("claude-hello").join("stream.jsonl");
    let script = "cat \"$0\"; echo words >&2; exit 3";
    let output = bench.exec(&["--json"], &["sh", "-c", script, stream.to_str().unwrap()]).output().unwrap();
    assert!(output.stdout == fs::read(stream).unwrap());
    let text = stderr(&output);
    let (words, document) = text.trim_end().split_once('\n').unwrap();
    assert_eq!(words, "words");
    let document: Value = serde_json::from_str(document).unwrap();
    let shown = bench.show();
    let expected = json!({
        "schema_version": 1,
        "launch_id": shown["launch"]["id"],
        "run_id": shown["launch"]["run_id"],
        "outcome": "failed",
        "exit_code": 3,
        "capture_status": shown["launch"]["capture_status"],
        "trouble": null,
        "index_pending": false,
        "turns": 1,
        "totals": shown["totals"],
        "notes": 0,
    });
    assert_eq!(document, expected);
}

#[test]
fn a_session_with_partial_messages_counts_nothing_twice() {
    check("claude-partial", &[]);
}

#[test]
fn a_session_with_a_subagent_counts_both_agents() {
    check("claude-subagent", &[]);
}

#[test]
fn a_session_that_the_server_refused_failed_though_its_process_did_not() {
    check("claude-fail", &[]);
}

#[test]
fn a_session_of_codex_is_what_its_server_charged() {
    for name in ["codex-hello", "codex-rounds"] {
        let shown = check(name, &[]);
        assert_eq!(shown["totals"]["quality"], "exact", "{name}");
        assert_eq!(shown["totals"]["requests"], Value::Null, "{name}: no line shows a request");
        assert_eq!(shown["turns"][0]["root_output"], "All done: the tool said hello.", "{name}");
    }
}

#[test]
fn what_a_refused_session_of_codex_cost_is_unknown() {
    let shown = check("codex-fail", &[]);
    let totals = &shown["totals"];
    let figures =
        ["requests", "input_tokens", "cache_read_tokens", "output_tokens", "reasoning_tokens", "total_tokens"];
    for figure in figures {
        assert_eq!(totals[figure], Value::Null, "{figure}");
    }
    assert_eq!(totals["quality"], "lower_bound");
    assert_eq!(shown["turns"][0]["context_coverage"], "unknown");
}

/// Returns the sum of all tokens of a launch or a turn, and how far it can be trusted.
fn sum(shown: &Value) -> (Option<u64>, &str) {
    (shown["totals"]["total_tokens"].as_u64(), shown["totals"]["quality"].as_str().unwrap())
}

fn sums_of_turns(shown: &Value) -> Vec<(Option<u64>, &str)> {
    shown["turns"].as_array().unwrap().iter().map(sum).collect()
}

/// Records a program of that name which prints the turns of one thread: 24,363 tokens after the first one, which is
/// that of a recording, and 10 more after the second.
fn record_thread(bench: &Bench, program: &str, arguments: &[&str]) -> Value {
    let first = fs::read_to_string(session("codex-rounds").join("stream.jsonl")).unwrap();
    let second = r#"{"type":"turn.started"}
{"type":"turn.completed","usage":{"input_tokens":24046,"cached_input_tokens":18022,"cache_write_input_tokens":0,"output_tokens":327,"reasoning_output_tokens":42}}
"#;
    fs::write(bench.path("stream"), format!("{first}{second}")).unwrap();
    fs::write(bench.path(program), "#!/bin/sh\ncat stream\n").unwrap();
    fs::set_permissions(bench.path(program), fs::Permissions::from_mode(0o755)).unwrap();
    let program = format!("./{program}");
    let command = [&[program.as_str()], arguments].concat();
    let output = bench.exec(&[], &command).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    bench.show()
}

#[test]
fn a_further_turn_of_a_thread_is_what_its_total_grew() {
    for (program, arguments) in [("codex", &["exec", "--json", "hi"][..]), ("wrapper", &[])] {
        let bench = Bench::new();
        let shown = record_thread(&bench, program, arguments);
        assert_eq!(sums_of_turns(&shown), [(Some(24_363), "exact"), (Some(10), "exact")], "{program}");
        assert_eq!(sum(&shown), (Some(24_373), "exact"), "{program}");
    }
}

#[test]
fn a_resumed_thread_of_codex_goes_on_from_a_total_that_counts_for_nothing() {
    for arguments in [&["exec", "--json", "resume", "--last", "hi"][..], &["exec", "resume", "01a22dad", "--json"]] {
        let bench = Bench::new();
        let shown = record_thread(&bench, "codex", arguments);
        assert_eq!(sums_of_turns(&shown), [(None, "lower_bound"), (Some(10), "exact")], "{arguments:?}");
        assert_eq!(sum(&shown), (Some(10), "lower_bound"), "{arguments:?}");
    }
}

#[test]
fn a_turn_of_codex_that_failed_is_unknown_beside_turns_that_are_known() {
    let bench = Bench::new();
    let stream = fs::read_to_string(session("codex-hello").join("stream.jsonl")).unwrap();
    let failed = fs::read_to_string(session("codex-fail").join("stream.jsonl")).unwrap();
    fs::write(bench.path("stream"), format!("{stream}{failed}")).unwrap();
    assert!(bench.exec(&[], &["cat", "stream"]).status().unwrap().success());
    let shown = bench.show();
    let turns = shown["turns"].as_array().unwrap();
    let statuses: Vec<_> = turns.iter().map(|turn| &turn["status"]).collect();
    assert_eq!(statuses, ["completed", "failed"]);
    assert_eq!(sums_of_turns(&shown), [(Some(8_109), "exact"), (None, "lower_bound")]);
    assert_eq!(sum(&shown), (Some(8_109), "lower_bound"));
    assert_eq!(shown["launch"]["outcome"], "failed");
}

#[test]
fn a_named_provider_is_not_looked_for() {
    check("claude-hello", &["--provider", "claude"]);
    let bench = Bench::new();
    let stream = session("claude-hello").join("stream.jsonl");
    let status = bench.exec(&["--provider", "my-agent"], &["cat", stream.to_str().unwrap()]).status().unwrap();
    assert!(status.success());
    let shown = bench.show();
    assert_eq!(shown["launch"]["provider"], "my-agent");
    assert_eq!(shown["launch"]["capture_status"], "prompt_only");
}

#[test]
fn the_output_of_a_provider_s_own_program_is_understood_whatever_stands_before_it() {
    let bench = Bench::new();
    let stream = fs::read_to_string(session("claude-hello").join("stream.jsonl")).unwrap();
    let long = "x".repeat(2 << 20);
    let foreign = "{\"level\":\"warn\"}\n".repeat(40);
    fs::write(bench.path("stream"), format!("{long}\n{foreign}{stream}")).unwrap();
    fs::write(bench.path("claude"), "#!/bin/sh\ncat stream\n").unwrap();
    fs::set_permissions(bench.path("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let output = bench.exec(&[], &["./claude"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("8,512 tokens, $0.0181, "), "{}", stderr(&output));
    let launch = &bench.show()["launch"];
    assert_eq!((&launch["capture_status"], &launch["provider"]), (&"complete".into(), &"claude".into()));
}

#[test]
fn without_prompts_the_input_is_known_by_what_the_provider_counted() {
    let shown = check("claude-hello", &[]);
    assert_eq!(shown["turns"][0]["context_coverage"], "provider_total_only");
    let bench = Bench::new();
    assert!(bench.shell("echo no stream").status().unwrap().success());
    assert_eq!(bench.show()["turns"][0]["context_coverage"], "unknown");
}

#[test]
fn each_prompt_of_a_process_is_a_turn() {
    let bench = Bench::new();
    let stream = fs::read_to_string(session("claude-hello").join("stream.jsonl")).unwrap();
    let failed = fs::read_to_string(session("claude-fail").join("stream.jsonl")).unwrap();
    fs::write(bench.path("stream"), format!("{stream}{failed}{stream}")).unwrap();
    let status = bench.exec(&[], &["sh", "-c", "cat stream; exit 1"]).status().unwrap();
    assert_eq!(status.code(), Some(1));
    let shown = bench.show();
    let statuses: Vec<_> = shown["turns"].as_array().unwrap().iter().map(|turn| turn["status"].clone()).collect();
    // The last one has its result, and then its process failed.
    assert_eq!(statuses, ["completed", "failed", "failed"]);
    let ops: Vec<_> = shown["turns"].as_array().unwrap().iter().map(|turn| turn["input_op"].clone()).collect();
    assert_eq!(ops, ["initial", "message", "message"]);
    assert_eq!(shown["launch"]["outcome"], "failed");
}

#[test]
fn a_stream_that_nobody_knows_is_kept_raw_only() {
    let bench = Bench::new();
    assert!(bench.shell("echo '{\"type\":\"something\"}'; echo plain").status().unwrap().success());
    let shown = bench.show();
    assert_eq!(shown["launch"]["capture_status"], "prompt_only");
    assert_eq!(shown["launch"]["incomplete_reason"], "provider conversation not captured");
    assert_eq!(bench.artifact("raw/stdout"), b"{\"type\":\"something\"}\nplain\n");
}
