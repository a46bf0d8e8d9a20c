//! `trace statusline`: one line about the session that Claude Code names.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    exec::bench::{Bench, stdout},
    import::{document, fixture, lines, run, write},
};

/// Returns the line that the command prints, which says nothing else.
fn line(command: &mut Command, input: &str) -> String {
    let mut child = command.arg("statusline").stdin(Stdio::piped()).spawn().unwrap();
    // It may have its answer before it reads all of it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let printed = stdout(&output);
    assert_eq!(printed.lines().count(), 1, "{printed}");
    printed.trim_end().to_owned()
}

/// Returns what Claude Code would say of the session, with those fields beside.
fn said(bench: &Bench, session: &str, beside: &Value) -> String {
    let mut said = json!({"session_id": session, "transcript_path": path(bench, session),
        "model": {"id": "claude-sonnet-4-5-20250929", "display_name": "Sonnet 4.5"},
        "context_window": {"context_window_size": 200_000, "used_percentage": 16}});
    said.as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
    said.to_string()
}

fn path(bench: &Bench, session: &str) -> String {
    bench.path(&format!("person/.claude/projects/p/{session}.jsonl")).to_str().unwrap().to_owned()
}

/// Writes a transcript of one reply of 1,000 tokens, which costs $0.01503, by that many lines.
fn transcript(bench: &Bench, session: &str, ids: &[&str]) {
    let replies = ids.iter().map(|id| lines::reply(session, 1, &format!("msg_of_this_session_{session}_{id}"), 1_000));
    write(bench, &format!("person/.claude/projects/p/{session}.jsonl"), replies.collect::<String>());
}

/// Returns a bench on which the costs of two sessions are stored.
fn with_costs() -> Bench {
    let bench = Bench::new();
    transcript(&bench, "s1", &["a"]);
    transcript(&bench, "s2", &["a", "b"]);
    document(&bench, 0, &["usage", "--json"]);
    bench
}

#[test]
fn it_tells_of_the_session_that_is_named_and_not_of_the_newest() {
    let bench = with_costs();
    assert_eq!(line(&mut bench.trace(), &said(&bench, "s1", &json!({}))), "Sonnet 4.5 · 16 % of 200k · $0.0150");
    assert_eq!(line(&mut bench.trace(), &said(&bench, "s2", &json!({}))), "Sonnet 4.5 · 16 % of 200k · $0.0301");
    // A session that nobody knows has no cost, and no other one's.
    assert_eq!(line(&mut bench.trace(), &said(&bench, "s3", &json!({}))), "Sonnet 4.5 · 16 % of 200k");
    let by_file = json!({"session_id": null, "transcript_path": path(&bench, "s1")});
    assert_eq!(line(&mut bench.trace(), &said(&bench, "s1", &by_file)), "Sonnet 4.5 · 16 % of 200k · $0.0150");
}

#[test]
fn the_cost_of_the_process_stands_beside_the_stored_one() {
    let bench = with_costs();
    let cost = json!({"cost": {"total_cost_usd": 0.5}});
    let expected = "Sonnet 4.5 · 16 % of 200k · $0.0150 · claude says $0.5000";
    assert_eq!(line(&mut bench.trace(), &said(&bench, "s1", &cost)), expected);
}

#[test]
fn a_suffix_selects_the_window_and_is_dropped_for_the_price() {
    let bench = Bench::new();
    let reply = lines::reply_of("claude-opus-4-8[1m]", "s1", 1, "msg_with_a_large_window", 1_000);
    write(&bench, "person/.claude/projects/p/s1.jsonl", reply);
    document(&bench, 0, &["usage", "--json"]);
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 249_990, "output_tokens": 9_999});
    let beside = json!({"model": {"id": "claude-opus-4-8[1m]"},
        "context_window": {"context_window_size": 200_000, "used_percentage": 100, "current_usage": usage}});
    let expected = "claude-opus-4-8 · 25 % of 1M · $0.0251";
    assert_eq!(line(&mut bench.trace(), &said(&bench, "s1", &beside)), expected);
}

#[test]
fn it_reads_on_in_the_sessions_file_alone_and_prices_nothing() {
    let bench = with_costs();
    transcript(&bench, "s1", &["a", "b"]);
    transcript(&bench, "s2", &["a", "b", "c"]);
    // Reading on is cut off where it takes too long, and goes on the next time.
    let is_known = |bench: &Bench| {
        let shown = line(&mut bench.trace(), &said(bench, "s1", &json!({})));
        // The new reply has no stored cost, so that the sum is a lower bound.
        shown.ends_with("· ≥ $0.0150")
    };
    assert!((0..200).any(|_| is_known(&bench)), "the new reply was never brought in");
    let sessions = document(&bench, 0, &["usage", "session", "--json", "--no-refresh"]);
    let requests: Vec<&Value> =
        sessions["rows"].as_array().unwrap().iter().map(|row| &row["totals"]["requests"]).collect();
    assert_eq!(requests, [&json!(2), &json!(2)], "the other file was left alone");
    // Now its cost is stored.
    assert_eq!(line(&mut bench.trace(), &said(&bench, "s1", &json!({}))), "Sonnet 4.5 · 16 % of 200k · $0.0301");
}

#[test]
fn a_model_without_a_price_leaves_a_lower_bound_or_nothing() {
    let bench = Bench::new();
    let unknown = lines::reply_of("claude-unknown-9", "s1", 2, "msg_of_an_unknown_model", 5);
    write(&bench, "person/.claude/projects/p/s1.jsonl", &unknown);
    document(&bench, 0, &["usage", "--json"]);
    assert_eq!(line(&mut bench.trace(), &said(&bench, "s1", &json!({}))), "Sonnet 4.5 · 16 % of 200k");
    let known = lines::reply("s1", 3, "msg_of_a_known_model", 1_000);
    write(&bench, "person/.claude/projects/p/s1.jsonl", unknown + &known);
    document(&bench, 0, &["usage", "--json"]);
    assert_eq!(line(&mut bench.trace(), &said(&bench, "s1", &json!({}))), "Sonnet 4.5 · 16 % of 200k · ≥ $0.0150");
}

#[test]
fn without_input_it_is_the_last_session_of_the_folder() {
    let bench = Bench::new();
    let stream = fixture("claude-hello/stream.jsonl");
    let output = bench.exec(&["--quiet"], &["cat", stream.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success());
    // Nobody computed a cost yet: the one that is stored is the provider's own.
    assert_eq!(line(&mut bench.trace(), ""), "claude-opus-4-8 · 0 % of 1M · claude said $0.0181");
    document(&bench, 0, &["usage", "--json"]);
    assert_eq!(line(&mut bench.trace(), " \n"), "claude-opus-4-8 · 0 % of 1M · $0.0181");
    std::fs::create_dir(bench.path("elsewhere")).unwrap();
    let nothing = "trace: nothing is known of this session";
    assert_eq!(line(bench.trace().current_dir(bench.path("elsewhere")), ""), nothing);
}

#[test]
fn on_a_fresh_machine_it_tells_what_it_is_told_and_makes_no_folder() {
    let bench = Bench::new();
    assert_eq!(line(&mut bench.trace(), &said(&bench, "s1", &json!({}))), "Sonnet 4.5 · 16 % of 200k");
    assert_eq!(line(&mut bench.trace(), ""), "trace: nothing is known of this session");
    assert!(!bench.home().exists());
}

#[test]
fn what_is_no_document_is_no_session() {
    let bench = with_costs();
    for input in ["{", "[]", "nonsense", "{\"session_id\": 7}"] {
        assert_eq!(line(&mut bench.trace(), input), "trace: nothing is known of this session", "{input}");
    }
    let steering = json!({"model": {"display_name": "Sonnet\u{1b}[2J\n4.5"}});
    let expected = "Sonnet\\u{1b}[2J\\n4.5 · 16 % of 200k · $0.0150";
    assert_eq!(line(&mut bench.trace(), &said(&bench, "s1", &steering)), expected);
}

#[test]
fn a_ledger_that_cannot_be_opened_is_no_error_of_a_status_line() {
    let bench = Bench::new();
    write(&bench, "home", "a file where the folder should be");
    assert_eq!(line(&mut bench.trace(), &said(&bench, "s1", &json!({}))), "Sonnet 4.5 · 16 % of 200k");
    assert_eq!(run(&bench, &["statusline"]).status.code(), Some(0));
}
