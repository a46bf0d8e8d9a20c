//! `trace usage`: what agents used, as rows, and held against limits.

mod check;
mod days;
mod filters;
mod fresh;
mod prices;
mod torture;
mod views;

use serde_json::Value;

use super::{
    exec::bench::{Bench, stderr},
    import::{document, fixture, lines, print, run, write},
};

/// Puts a file of the fixtures where an agent keeps such files.
fn put(bench: &Bench, name: &str, place: &str) {
    write(bench, &format!("person/{place}"), std::fs::read(fixture(name)).unwrap());
}

/// Writes a transcript below the person's folder.
fn transcript(bench: &Bench, session: &str, lines: &[String]) {
    write(bench, &format!("person/.claude/projects/p/{session}.jsonl"), lines.concat());
}

/// A reply at that time.
fn reply_at(session: &str, at: &str, id: &str, output: u64) -> String {
    let line = lines::reply(session, 0, id, output);
    line.replace("2026-03-02T09:00:00.000Z", at)
}

/// Returns the document of `trace usage` with those arguments.
fn usage(bench: &Bench, arguments: &[&str]) -> Value {
    document(bench, 0, &[&["usage", "--json"], arguments].concat())
}

/// Returns the keys of the rows, each with its output.
fn output_by_key(document: &Value) -> Vec<(&str, Option<u64>)> {
    let rows = document["rows"].as_array().unwrap().iter();
    rows.map(|row| (row["key"].as_str().unwrap_or("–"), row["totals"]["output_tokens"].as_u64())).collect()
}

/// Returns the code of `trace usage` with those arguments, and what it says beside its rows.
fn said(bench: &Bench, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(bench, &[&["usage"], arguments].concat());
    (output.status.code(), super::import::without_paths(bench, &stderr(&output)))
}
