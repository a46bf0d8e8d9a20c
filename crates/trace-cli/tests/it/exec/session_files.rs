//! Agents whose output tells no usage: what they wrote in their session file is brought to the launch.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
};

use serde_json::{Value, json};
use trace_capture::{Clock, SystemClock};

use super::bench::{Bench, stderr, stdout};

/// What the agents answer: it is printed, and it is in their files.
const ANSWER: &str = "done";

/// The time while an agent runs, and where it runs.
#[derive(Debug)]
pub(crate) struct Moment {
    /// In RFC 3339, to the microsecond.
    pub(crate) now: String,
    /// The folder that the agent works in.
    pub(crate) folder: PathBuf,
    /// The person's own folder.
    pub(crate) person: PathBuf,
}

impl Moment {
    /// Writes a file below the person's folder.
    fn write(&self, file: &str, lines: &[Value]) {
        let path = self.person.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        fs::write(path, lines.join("\n") + "\n").unwrap();
    }
}

/// Makes a program of the name of an agent that prints an answer. While it runs, once, what it is to write is written.
pub(crate) fn agent(bench: &Bench, name: &str, writes: impl FnOnce(&Moment) + Send + 'static) -> PathBuf {
    script(bench, name, &format!("echo {ANSWER}"), writes)
}

/// Makes a program of the name of an agent that prints a file. While it runs, once, what it is to write is written.
pub(crate) fn agent_that_prints(
    bench: &Bench,
    name: &str,
    file: &Path,
    writes: impl FnOnce(&Moment) + Send + 'static,
) -> PathBuf {
    script(bench, name, &format!("cat '{}'", file.display()), writes)
}

fn script(bench: &Bench, name: &str, prints: &str, writes: impl FnOnce(&Moment) + Send + 'static) -> PathBuf {
    let (program, door) = (bench.path(name), bench.path(&format!("{name}.door")));
    // It waits at a pipe that has a name, for as long as writing takes.
    fs::write(&program, format!("#!/bin/sh\nread word < \"$0.door\"\n{prints}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Command::new("mkfifo").arg(&door).status().unwrap().success());
    let (folder, person) = (bench.path("").components().collect(), bench.path("person"));
    thread::spawn(move || {
        let mut door = fs::File::options().write(true).open(door).unwrap();
        let now = SystemClock.now();
        writes(&Moment { now: now.to_string(), folder, person });
        door.write_all(b"go\n").unwrap();
    });
    program
}

/// Writes a transcript of one request of 30 prompt tokens and 30 of output, made in that folder.
pub(crate) fn claude_session(moment: &Moment, id: &str, folder: &Path) {
    let line = |kind: &str, message: Value| {
        json!({"type": kind, "sessionId": id, "uuid": format!("{kind}-{id}"), "cwd": folder, "version": "2.1.0",
            "isSidechain": false, "timestamp": moment.now, "message": message})
    };
    let usage = json!({"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 20, "output_tokens": 30});
    let reply = json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant",
        "model": "claude-sonnet-4-5-20250929", "content": [{"type": "text", "text": ANSWER}],
        "stop_reason": "end_turn", "usage": usage});
    let lines = [line("user", json!({"role": "user", "content": "hello"})), line("assistant", reply)];
    moment.write(&format!(".claude/projects/p/{id}.jsonl"), &lines);
}

const THREAD: &str = "019e0000-0000-7000-8000-000000000001";

fn codex_session(moment: &Moment) {
    codex_thread(moment, THREAD, &json!("exec"));
}

fn codex_thread(moment: &Moment, thread: &str, source: &Value) {
    let total = json!({"input_tokens": 1000, "cached_input_tokens": 800, "output_tokens": 50,
        "reasoning_output_tokens": 20, "total_tokens": 1050});
    let line = |kind: &str, payload: Value| json!({"timestamp": moment.now, "type": kind, "payload": payload});
    let meta = json!({"id": thread, "cwd": moment.folder, "originator": "codex_exec", "cli_version": "0.100.0",
        "source": source});
    let count = json!({"total_token_usage": total, "last_token_usage": total, "model_context_window": 272_000});
    let lines = [
        line("session_meta", meta),
        line("turn_context", json!({"cwd": moment.folder, "model": "gpt-5.2-codex"})),
        line("event_msg", json!({"type": "user_message", "message": "hi"})),
        line("event_msg", json!({"type": "token_count", "info": count})),
    ];
    moment.write(&format!(".codex/sessions/2026/12/01/rollout-2026-12-01T00-00-00-{thread}.jsonl"), &lines);
}

fn gemini_message(moment: &Moment, kind: &str, more: Value) -> Value {
    let mut message = json!({"id": kind, "timestamp": moment.now, "type": kind, "content": "hello"});
    let Value::Object(more) = more else { panic!("{more}") };
    message.as_object_mut().unwrap().extend(more);
    message
}

/// Returns the two messages of a session, of 100 prompt tokens and, thoughts included, 12 of output.
fn gemini_messages(moment: &Moment) -> [Value; 2] {
    let tokens = json!({"input": 100, "output": 7, "cached": 40, "thoughts": 5, "tool": 0, "total": 112});
    let reply = json!({"model": "gemini-2.5-pro", "content": ANSWER, "tokens": tokens});
    [gemini_message(moment, "user", json!({})), gemini_message(moment, "gemini", reply)]
}

/// Writes the file that the client appends to, and the file that names the folder of its project.
fn gemini_session(moment: &Moment) {
    let head = json!({"sessionId": "g1", "projectHash": "x", "startTime": moment.now, "lastUpdated": moment.now,
        "kind": "main"});
    let [user, reply] = gemini_messages(moment);
    moment.write(".gemini/tmp/demo/chats/session-2026-12-01T00-00-g1.jsonl", &[head, user, reply]);
    fs::write(moment.person.join(".gemini/tmp/demo/.project_root"), moment.folder.to_str().unwrap()).unwrap();
}

/// Writes the document of an older client, in a folder that is named by the hash of the project's.
fn gemini_document(moment: &Moment) {
    let hash = trace_model::context::Sha256Hex::of(moment.folder.as_os_str().as_encoded_bytes()).to_string();
    let document = json!({"sessionId": "g1", "projectHash": hash, "startTime": moment.now, "lastUpdated": moment.now,
        "messages": gemini_messages(moment)});
    moment.write(&format!(".gemini/tmp/{hash}/chats/session-2026-12-01T00-00-g1.json"), &[document]);
}

/// Puts a session of one request into OpenCode's store, beside what is there.
#[cfg(feature = "sqlite")]
fn opencode_session(moment: &Moment, id: &str, folder: &Path) {
    let path = moment.person.join(".local/share/opencode/opencode.db");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let store = rusqlite::Connection::open(path).unwrap();
    store
        .execute_batch(
            "PRAGMA journal_mode = wal;
            CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT, directory TEXT,
                version TEXT, time_created INTEGER, time_updated INTEGER);
            CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
                time_updated INTEGER, data TEXT);
            CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT,
                time_created INTEGER, time_updated INTEGER, data TEXT);",
        )
        .unwrap();
    let at = moment.now.parse::<trace_model::timestamp::Timestamp>().unwrap().as_micros() / 1_000;
    let session = "INSERT INTO session VALUES (?1, NULL, 'title', ?2, '1.18.0', ?3, ?3)";
    store.execute(session, (id, folder.to_str().unwrap(), at)).unwrap();
    let tokens = json!({"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 20, "write": 0}});
    let user = json!({"role": "user", "time": {"created": at}});
    let reply = json!({"role": "assistant", "parentID": format!("u{id}"), "modelID": "m", "providerID": "p", "cost": 0,
        "path": {"cwd": folder}, "time": {"created": at, "completed": at}, "finish": "stop", "tokens": tokens});
    for (message, data) in [(format!("u{id}"), user), (format!("a{id}"), reply)] {
        let row = (message, id, at, data.to_string());
        store.execute("INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)", row).unwrap();
    }
    let step = json!({"type": "step-finish", "reason": "stop", "cost": 0, "tokens": tokens});
    let row = (format!("p{id}"), format!("a{id}"), id, at, step.to_string());
    store.execute("INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)", row).unwrap();
}

/// Runs the agent with those arguments.
fn run(bench: &Bench, program: &Path, arguments: &[&str]) -> Output {
    let command: Vec<&str> = std::iter::once(program.to_str().unwrap()).chain(arguments.iter().copied()).collect();
    let output = bench.exec(&[], &command).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).trim()), (Some(0), ANSWER), "{}", stderr(&output));
    output
}

/// Asserts that the only launch is the recorded one, and has the prompt and output tokens of the session.
pub(crate) fn assert_counted(bench: &Bench, session: &str, prompt: u64, output: u64) -> Value {
    let launches = bench.launches();
    assert_eq!(launches.len(), 1, "{launches:?}");
    let totals = &launches[0]["totals"];
    let of = |class: &str| totals[class].as_u64().unwrap_or(0);
    let classes = (of("input_tokens") + of("cache_read_tokens") + of("cache_write_tokens"), of("output_tokens"));
    assert_eq!(classes, (prompt, output));
    let shown = bench.show();
    assert_ne!(shown["launch"]["surface"], "import", "it is the recorded launch, and no second one");
    assert_eq!(shown["launch"]["provider_session_id"], session);
    let turn = &shown["turns"][0];
    let of_turn = (&turn["provider_total_input_tokens"], &turn["provider_output_tokens"]);
    assert_eq!(of_turn, (&json!(prompt), &json!(output)), "the usage is of the turn");
    assert_eq!(shown["launch"]["capture_status"], "complete", "a copy of the exchange is kept: {shown}");
    assert!(shown["launch"]["model"].is_string(), "{shown}");
    let turns: Vec<&Value> = shown["turns"].as_array().unwrap().iter().map(|turn| &turn["id"]).collect();
    // The exchange is read from that copy, behind the launch's own events.
    let events = bench.trace().args(["show", "latest", "--events", "--jsonl"]).output().unwrap();
    let events: Vec<Value> = stdout(&events).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = events.iter().filter(|event| event["payload"]["type"] == "user_input");
    assert!(said.clone().count() > 0 && said.clone().all(|event| event["turn_id"] == *turns[0]), "{events:?}");
    assert!(events.iter().enumerate().all(|(place, event)| event["seq"] == place), "{events:?}");
    shown
}

#[test]
fn claude_code_in_text_is_counted_by_its_transcript() {
    let bench = Bench::new();
    let program = agent(&bench, "claude", |moment| claude_session(moment, "s1", &moment.folder));
    run(&bench, &program, &["-p", "hello"]);
    let shown = assert_counted(&bench, "s1", 30, 30);
    assert!(shown["launch"]["provider_session_path"].as_str().unwrap().ends_with("s1.jsonl"));
    assert_eq!(shown["turns"][0]["cache_read_tokens"], 20);
    // What is imported later is the same session.
    let imported = bench.trace().args(["import", "--json"]).output().unwrap();
    assert!(imported.status.success(), "{}", stderr(&imported));
    assert_counted(&bench, "s1", 30, 30);
}

#[test]
fn codex_without_json_is_counted_by_its_rollout() {
    let bench = Bench::new();
    let program = agent(&bench, "codex", codex_session);
    run(&bench, &program, &["exec", "hi"]);
    assert_counted(&bench, THREAD, 1000, 50);
}

#[test]
fn a_thread_that_the_agents_own_started_is_not_mistaken_for_it() {
    let bench = Bench::new();
    let program = agent(&bench, "codex", |moment| {
        codex_session(moment);
        let spawned = json!({"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}});
        codex_thread(moment, "019e0000-0000-7000-8000-000000000002", &spawned);
    });
    let said = stderr(&run(&bench, &program, &["exec", "hi"]));
    assert!(said.contains("1,050 tokens, counted by its session file"), "{said}");
    let launches = bench.launches();
    assert_eq!(launches.len(), 2, "the other thread is a launch of its own: {launches:?}");
}

#[test]
fn gemini_in_text_is_counted_by_the_file_that_it_appends_to() {
    let bench = Bench::new();
    let program = agent(&bench, "gemini", gemini_session);
    run(&bench, &program, &["-p", "hello"]);
    assert_counted(&bench, "g1", 100, 12);
}

#[test]
fn an_older_gemini_is_counted_by_its_document() {
    let bench = Bench::new();
    let program = agent(&bench, "gemini", gemini_document);
    run(&bench, &program, &["-p", "hello"]);
    assert_counted(&bench, "g1", 100, 12);
}

#[cfg(feature = "sqlite")]
#[test]
fn opencode_in_text_is_counted_by_its_session_in_the_store() {
    let bench = Bench::new();
    let program = agent(&bench, "opencode", |moment| {
        opencode_session(moment, "ses_other", Path::new("/somewhere/else"));
        opencode_session(moment, "ses_ours", &moment.folder);
    });
    run(&bench, &program, &["run", "hello"]);
    let launches = bench.trace().args(["ls", "--json", "--no-refresh"]).output().unwrap();
    let launches: Value = serde_json::from_slice(&launches.stdout).unwrap();
    let [launch] = launches["launches"].as_array().unwrap().as_slice() else { panic!("{launches}") };
    assert_eq!(launch["provider_session_id"], "ses_ours");
    assert_eq!((&launch["totals"]["total_tokens"], &launch["totals"]["output_tokens"]), (&json!(37), &json!(7)));
    // The other session of the store is another launch as soon as someone looks.
    assert_eq!(bench.launches().len(), 2);
}

#[cfg(feature = "sqlite")]
#[test]
fn two_sessions_of_a_store_are_not_guessed_between() {
    let bench = Bench::new();
    let program = agent(&bench, "opencode", |moment| {
        opencode_session(moment, "ses_1", &moment.folder);
        opencode_session(moment, "ses_2", &moment.folder);
    });
    let said = stderr(&run(&bench, &program, &["run", "hello"]));
    assert!(said.contains("2 sessions could be the agent's"), "{said}");
}

#[test]
fn two_sessions_of_one_folder_are_not_guessed_between() {
    let bench = Bench::new();
    let program = agent(&bench, "claude", |moment| {
        claude_session(moment, "s1", &moment.folder);
        claude_session(moment, "s2", &moment.folder);
    });
    let said = stderr(&run(&bench, &program, &[]));
    assert!(said.contains("2 sessions could be the agent's"), "{said}");
    let launches = bench.trace().args(["ls", "--json", "--no-refresh"]).output().unwrap();
    let launches: Value = serde_json::from_slice(&launches.stdout).unwrap();
    assert_eq!(launches["launches"][0]["totals"]["total_tokens"], Value::Null);
}

#[test]
fn a_session_of_another_folder_is_not_taken() {
    let bench = Bench::new();
    let program = agent(&bench, "claude", |moment| claude_session(moment, "s1", Path::new("/somewhere/else")));
    let said = stderr(&run(&bench, &program, &[]));
    assert!(said.contains("of 1 session written meanwhile none is of this folder"), "{said}");
}

#[test]
fn a_session_that_was_there_before_is_not_taken() {
    let bench = Bench::new();
    let old = Moment {
        now: "2026-01-01T00:00:00Z".to_owned(),
        folder: bench.path("").components().collect(),
        person: bench.path("person"),
    };
    claude_session(&old, "s1", &old.folder);
    let path = bench.path("person/.claude/projects/p/s1.jsonl");
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_hours(490_896);
    fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    let program = agent(&bench, "claude", |_| {});
    let said = stderr(&run(&bench, &program, &[]));
    assert!(said.contains("the agent wrote no session while it ran"), "{said}");
}

#[test]
fn an_agent_that_wrote_nothing_is_said_to_have_written_nothing() {
    let bench = Bench::new();
    let program = agent(&bench, "claude", |_| {});
    let said = stderr(&run(&bench, &program, &[]));
    assert!(said.contains("the agent wrote no session while it ran"), "{said}");
    // Of a program that is no agent's, nothing is looked for.
    let output = bench.exec(&[], &["echo", "hi"]).output().unwrap();
    assert!(!stderr(&output).contains("session"), "{}", stderr(&output));
}
