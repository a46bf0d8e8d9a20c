//! Agents whose output tells no usage: what they wrote in their session file is brought to the launch.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::bench::{Bench, stderr};

/// Makes a program of the name of an agent that prints plain text and runs the script of a shell before it.
fn agent(bench: &Bench, name: &str, script: &str) -> PathBuf {
    let path = bench.path(name);
    fs::write(&path, format!("#!/bin/sh\nNOW=$(date -u +%Y-%m-%dT%H:%M:%S.999Z)\n{script}\necho done\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Returns the lines of a script that write a file below the person's folder. `@NOW` and `@HERE` stand for the time and
/// the folder.
fn writes(file: &str, lines: &[Value]) -> String {
    let folder = Path::new(file).parent().unwrap().display();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!(
        "mkdir -p \"$HOME/{folder}\"\nsed -e \"s|@NOW|$NOW|g\" -e \"s|@HERE|$PWD|g\" > \"$HOME/{file}\" <<'END'\n{text}END"
    )
}

fn claude_session(id: &str, place: &str) -> String {
    let line = |kind: &str, message: Value| {
        json!({"type": kind, "sessionId": id, "uuid": format!("{kind}-{id}"), "cwd": place, "version": "2.1.0",
            "isSidechain": false, "timestamp": "@NOW", "message": message})
    };
    let usage = json!({"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 20, "output_tokens": 30});
    let reply = json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
        "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "usage": usage});
    let lines = [line("user", json!({"role": "user", "content": "hello"})), line("assistant", reply)];
    writes(&format!(".claude/projects/p/{id}.jsonl"), &lines)
}

/// Returns prompt tokens, output tokens and session of the only launch.
fn only_launch(bench: &Bench) -> (u64, u64, String) {
    let launches = bench.launches();
    assert_eq!(launches.len(), 1, "{launches:?}");
    let totals = &launches[0]["totals"];
    let sum = ["input_tokens", "cache_read_tokens", "cache_write_tokens"].map(|class| totals[class].as_u64().unwrap_or(0));
    let session = launches[0]["provider_session_id"].as_str().unwrap().to_owned();
    (sum.iter().sum(), totals["output_tokens"].as_u64().unwrap(), session)
}

#[test]
fn claude_code_in_text_is_counted_by_its_transcript() {
    let bench = Bench::new();
    let program = agent(&bench, "claude", &claude_session("s1", "@HERE"));
    let output = bench.exec(&[], &[program.to_str().unwrap(), "-p", "hello"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(only_launch(&bench), (30, 30, "s1".to_owned()));
    let shown = bench.show();
    assert_eq!(shown["launch"]["surface"], "headless", "it is the recorded launch, and no second one");
    assert!(shown["launch"]["provider_session_path"].as_str().unwrap().ends_with("s1.jsonl"));
    assert_eq!(shown["turns"][0]["cache_read_tokens"], 20, "the usage is of the turn");
}

#[test]
fn codex_without_json_is_counted_by_its_rollout() {
    let bench = Bench::new();
    let id = "019e0000-0000-7000-8000-000000000001";
    let total = json!({"input_tokens": 1000, "cached_input_tokens": 800, "output_tokens": 50, "reasoning_output_tokens": 20, "total_tokens": 1050});
    let line = |kind: &str, payload: Value| json!({"timestamp": "@NOW", "type": kind, "payload": payload});
    let lines = [
        line("session_meta", json!({"id": id, "cwd": "@HERE", "originator": "codex_exec", "cli_version": "0.100.0", "source": "exec"})),
        line("turn_context", json!({"cwd": "@HERE", "model": "gpt-5.2-codex"})),
        line("event_msg", json!({"type": "user_message", "message": "hi"})),
        line("event_msg", json!({"type": "token_count", "info": {"total_token_usage": total, "last_token_usage": total, "model_context_window": 272000}})),
    ];
    let script = writes(&format!(".codex/sessions/2026/12/01/rollout-2026-12-01T00-00-00-{id}.jsonl"), &lines);
    let program = agent(&bench, "codex", &script);
    let output = bench.exec(&[], &[program.to_str().unwrap(), "exec", "hi"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(only_launch(&bench), (1000, 50, id.to_owned()));
}

#[test]
fn two_sessions_of_one_folder_are_not_guessed_between() {
    let bench = Bench::new();
    let script = claude_session("s1", "@HERE") + "\n" + &claude_session("s2", "@HERE");
    let program = agent(&bench, "claude", &script);
    let output = bench.exec(&[], &[program.to_str().unwrap()]).output().unwrap();
    let said = stderr(&output);
    assert!(said.contains("2 session files could be the agent's"), "{said}");
    let launches = bench.trace().args(["ls", "--json", "--no-refresh"]).output().unwrap();
    let launches: Value = serde_json::from_slice(&launches.stdout).unwrap();
    assert_eq!(launches["launches"][0]["totals"]["total_tokens"], Value::Null);
}

#[test]
fn a_session_of_another_folder_is_not_taken() {
    let bench = Bench::new();
    let program = agent(&bench, "claude", &claude_session("s1", "/somewhere/else"));
    let output = bench.exec(&[], &[program.to_str().unwrap()]).output().unwrap();
    let said = stderr(&output);
    assert!(said.contains("of 1 session file written meanwhile none is of this folder"), "{said}");
}

#[test]
fn an_agent_that_wrote_nothing_is_said_to_have_written_nothing() {
    let bench = Bench::new();
    let program = agent(&bench, "claude", "true");
    let output = bench.exec(&[], &[program.to_str().unwrap()]).output().unwrap();
    let said = stderr(&output);
    assert!(said.contains("the agent wrote no session file while it ran"), "{said}");
    // Of a program that is no agent's, nothing is looked for.
    let output = bench.exec(&[], &["echo", "hi"]).output().unwrap();
    assert!(!stderr(&output).contains("session file"), "{}", stderr(&output));
}
