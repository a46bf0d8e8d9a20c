use std::fs;

use serde_json::json;

use super::{
    Bench, document, fixture, kinds,
    lines::{prompt, reply, session},
    notes, print, run, stderr, stdout, without_paths, write,
};

/// Lets each agent have a session where it keeps them, and files that are none.
pub(super) fn write_sessions(bench: &Bench) {
    write(bench, "person/.claude/projects/p/s1.jsonl", session("s1", 30));
    write(bench, "person/.claude/settings.json", "{}");
    let rollout = fs::read(fixture("codex-hello/rollout.jsonl")).unwrap();
    write(bench, "person/.codex/sessions/2026/11/30/rollout-1.jsonl", rollout);
    write(bench, "person/.codex/auth.json", "{}");
    let gemini = fs::read(fixture("gemini-hello/session.jsonl")).unwrap();
    write(bench, "person/.gemini/tmp/demo/chats/session-1.jsonl", gemini);
    write(bench, "person/.gemini/tmp/demo/logs.json", "[]");
}

#[test]
fn without_a_path_it_says_where_it_looked() {
    let bench = Bench::new();
    write_sessions(&bench);
    insta::assert_snapshot!("import", print(&bench, 0, &["import"]));
    let document = document(&bench, 0, &["import", "--json"]);
    insta::assert_snapshot!("import.json", without_paths(&bench, &serde_json::to_string_pretty(&document).unwrap()));
}

#[test]
fn where_no_agent_keeps_files_there_is_nothing_to_bring_in() {
    let bench = Bench::new();
    insta::assert_snapshot!("import_nothing", print(&bench, 0, &["import"]));
}

#[test]
fn variables_of_the_agents_say_where_they_keep_their_files() {
    let bench = Bench::new();
    write(&bench, "one/projects/p/s1.jsonl", session("s1", 1));
    write(&bench, "two/projects/p/s2.jsonl", session("s2", 2));
    write(&bench, "person/.claude/projects/p/s3.jsonl", session("s3", 4));
    let rollout = fs::read(fixture("codex-hello/rollout.jsonl")).unwrap();
    write(&bench, "codex/archived_sessions/rollout-1.jsonl", rollout);
    let gemini = fs::read(fixture("gemini-hello/session.jsonl")).unwrap();
    write(&bench, "gemini/.gemini/tmp/demo/chats/session-1.jsonl", gemini);
    let mut trace = bench.trace();
    let both = format!("{}:{}", bench.path("one").display(), bench.path("two").display());
    trace.env("CLAUDE_CONFIG_DIR", both).env("CODEX_HOME", bench.path("codex"));
    trace.env("GEMINI_CLI_HOME", bench.path("gemini")).env("XDG_DATA_HOME", bench.path("data"));
    let output = trace.arg("import").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    insta::assert_snapshot!("import_told", without_paths(&bench, &stdout(&output)));
}

#[test]
fn a_folder_is_walked_and_the_content_tells_what_a_file_is() {
    let bench = Bench::new();
    write(&bench, "files/a/b/c/anything.json", session("s1", 30));
    write(&bench, "files/a/stream.jsonl", fs::read(fixture("claude-hello/stream.jsonl")).unwrap());
    write(
        &bench,
        "files/packed.zst",
        zstd::encode_all(&fs::read(fixture("codex-hello/rollout.jsonl")).unwrap()[..], 3).unwrap(),
    );
    write(&bench, "files/package.json", "{\"name\": \"x\"}");
    write(&bench, "files/notes.txt", session("s9", 1));
    std::os::unix::fs::symlink("..", bench.path("files/a/up")).unwrap();
    insta::assert_snapshot!("import_folder", print(&bench, 0, &["import", "files"]));
    let providers: Vec<_> = bench.launches().iter().map(|launch| launch["provider"].clone()).collect();
    assert_eq!(providers.len(), 3, "{providers:?}");
    // What is named is taken whatever its name is.
    let named = document(&bench, 0, &["import", "--json", "files/notes.txt"]);
    assert_eq!(named["sessions"]["new"], 1);
}

#[test]
fn an_imported_session_is_shown_as_a_recorded_one_is() {
    let bench = Bench::new();
    let text = prompt("s1", 0, "hello")
        + &reply("s1", 1, "msg_1", 30)
        + &prompt("s1", 2, "more")
        + &reply("s1", 3, "msg_2", 5);
    write(&bench, "files/s1.jsonl", text);
    document(&bench, 0, &["import", "--json", "files"]);
    let shown = bench.show();
    assert_eq!(shown["launch"]["surface"], "import");
    assert_eq!(shown["launch"]["repo"], "/src/app");
    let coverage: Vec<_> = shown["turns"].as_array().unwrap().iter().map(|turn| &turn["context_coverage"]).collect();
    assert_eq!(coverage, ["provider_total_only"; 2], "only what each request took is known of its context");
    let events = print(&bench, 0, &["show", "latest", "--events", "--jsonl"]);
    assert!(events.contains(r#""text":"ok""#), "{events}");
    // The record outlives the source.
    fs::remove_file(bench.path("files/s1.jsonl")).unwrap();
    assert_eq!(print(&bench, 0, &["show", "latest", "--events", "--jsonl"]), events);
}

#[test]
fn what_was_named_and_is_not_there_is_a_failure() {
    let bench = Bench::new();
    write(&bench, "s1.jsonl", session("s1", 30));
    write(&bench, "package.json", "{\"name\": \"x\"}");
    let told = document(&bench, 1, &["import", "--json", "nowhere", "package.json", "s1.jsonl"]);
    assert_eq!((&told["files"]["failed"], &told["sessions"]["new"]), (&json!(2), &json!(1)));
    assert_eq!(kinds(&told), ["not_recognised", "unreadable"]);
    let told = document(&bench, 1, &["import", "--json", "nowhere"]);
    assert_eq!(notes(&told), [("nowhere".to_owned(), None, "unreadable".to_owned())]);
}

#[test]
fn only_one_process_imports_into_a_home() {
    let bench = Bench::new();
    write_sessions(&bench);
    print(&bench, 0, &["import", "--index-only"]);
    let lock = fs::File::options().write(true).open(bench.home().join("sources/lock")).unwrap();
    lock.lock().unwrap();
    let output = run(&bench, &["import"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("another process imports"), "{}", stderr(&output));
    // Whoever only looks sees what was known before.
    let output = run(&bench, &["ls"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("this is what was known before"), "{}", stderr(&output));
    assert_eq!(stdout(&output).lines().count(), 4);
}
