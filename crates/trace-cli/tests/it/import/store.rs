//! OpenCode's store.

use std::{fs, path::Path, time::SystemTime};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{Bench, document, kinds, lines::session, run, stderr, write};

const STORE: &str = "person/.local/share/opencode/opencode.db";

/// Returns a recorded store.
fn recorded(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace-capture/tests/fixtures").join(name)
}

fn copy(bench: &Bench, name: &str) {
    write(bench, STORE, fs::read(recorded(&format!("{name}/opencode.db"))).unwrap());
}

fn assert_true(totals: &Value, name: &str) {
    let truth: Value = serde_json::from_slice(&fs::read(recorded(&format!("{name}/truth.json"))).unwrap()).unwrap();
    let truth = &truth["all"];
    for (ours, theirs) in [
        ("input_tokens", "input_uncached"),
        ("cache_read_tokens", "cache_read"),
        ("output_tokens", "output_total"),
        ("total_tokens", "total"),
    ] {
        assert_eq!(totals[ours].as_u64().unwrap_or(0), truth[theirs].as_u64().unwrap(), "{name}: {ours}");
    }
}

#[test]
fn each_recorded_store_adds_up_to_what_is_true() {
    for (name, quality) in [("opencode-hello", "exact"), ("opencode-rounds", "exact"), ("opencode-fail", "lower_bound")]
    {
        let bench = Bench::new();
        copy(&bench, name);
        let told = document(&bench, 0, &["import", "--json"]);
        assert_true(&told["totals"], name);
        assert_eq!(told["totals"]["quality"], quality, "{name}");
        fs::remove_file(bench.path(STORE)).unwrap();
        let before = document(&bench, 0, &["ls", "--json", "--no-refresh"]);
        assert!(run(&bench, &["reindex"]).status.success());
        assert_eq!(document(&bench, 0, &["ls", "--json", "--no-refresh"]), before, "{name}: copies tell the same");
    }
}

#[test]
fn a_store_is_read_while_its_writer_is_at_work() {
    let bench = Bench::new();
    copy(&bench, "opencode-rounds");
    let writer = Connection::open(bench.path(STORE)).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    writer.execute("UPDATE session SET title = 'another'", ()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE; DELETE FROM part; DELETE FROM message; DELETE FROM session").unwrap();
    let told = document(&bench, 0, &["import", "--json"]);
    assert_true(&told["totals"], "opencode-rounds");
    assert_eq!(told["totals"]["requests"], 6);
    writer.execute_batch("ROLLBACK").unwrap();
    let again = document(&bench, 0, &["import", "--json"]);
    assert_eq!((&again["bytes"], &again["sessions"]["unchanged"]), (&json!(0), &json!(1)), "{again}");
    writer.execute("UPDATE session SET time_updated = time_updated + 1", ()).unwrap();
    let updated = document(&bench, 0, &["import", "--json"]);
    assert_eq!(updated["sessions"], json!({"new": 0, "updated": 1, "unchanged": 0}));
    assert_true(&updated["totals"], "opencode-rounds");
}

#[test]
fn a_store_that_is_locked_is_told_and_read_the_next_time() {
    let bench = Bench::new();
    copy(&bench, "opencode-hello");
    write(&bench, "person/.claude/projects/p/s1.jsonl", session("s1", 30));
    let writer = Connection::open(bench.path(STORE)).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let told = document(&bench, 1, &["import", "--json"]);
    assert_eq!((&told["files"]["failed"], &told["sessions"]["new"]), (&json!(1), &json!(1)));
    assert_eq!(kinds(&told), ["unreadable"]);
    assert!(told["notes"][0]["detail"].as_str().unwrap().contains("locked by another process"), "{told}");
    let looked = run(&bench, &["ls", "--json"]);
    assert!(looked.status.success() && stderr(&looked).contains("1 file could not be read"), "{}", stderr(&looked));
    drop(writer);
    let told = document(&bench, 0, &["import", "--json"]);
    assert_true(&told["totals"], "opencode-hello");
    // What was known of a store that is locked now is not gone.
    fs::File::options().append(true).open(bench.path(STORE)).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let writer = Connection::open(bench.path(STORE)).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let told = document(&bench, 1, &["import", "--json"]);
    assert_eq!((&told["files"]["failed"], &told["files"]["missing"]), (&json!(1), &json!(0)), "{told}");
}

#[test]
fn the_older_tree_and_the_store_are_never_read_both() {
    let bench = Bench::new();
    copy(&bench, "opencode-hello");
    let store = Connection::open(bench.path(STORE)).unwrap();
    let id: String = store.query_row("SELECT id FROM session", (), |row| row.get(0)).unwrap();
    drop(store);
    let tree = "person/.local/share/opencode/storage";
    let message = |id: &str, output: u64| {
        json!({"id": id, "role": "assistant", "modelID": "m", "providerID": "p", "cost": 0,
            "time": {"created": 1_700_000_000_000_u64, "completed": 1_700_000_001_000_u64},
            "tokens": {"input": 0, "output": output, "reasoning": 0, "cache": {"read": 0, "write": 0}}})
        .to_string()
    };
    for (session, output) in [(id.as_str(), 1_000_000), ("ses_older", 7)] {
        let file = json!({"id": session, "directory": "/src/app", "time": {"created": 1, "updated": 2}}).to_string();
        write(&bench, &format!("{tree}/session/p/{session}.json"), file);
        write(
            &bench,
            &format!("{tree}/message/{session}/msg_{session}.json"),
            message(&format!("msg_{session}"), output),
        );
    }
    let told = document(&bench, 0, &["import", "--json"]);
    assert_eq!(told["sessions"]["new"], 2, "{told}");
    assert_eq!(told["totals"]["output_tokens"], 105 + 7);
}

#[test]
fn a_database_of_something_else_is_none() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path(STORE).parent().unwrap()).unwrap();
    Connection::open(bench.path(STORE)).unwrap().execute_batch("CREATE TABLE session (id TEXT)").unwrap();
    let told = document(&bench, 0, &["import", "--json"]);
    assert_eq!((&told["files"]["failed"], &told["files"]["foreign"]), (&json!(0), &json!(1)));
}
