//! Pure crates do no I/O and read no clock, randomness, environment or thread.
//!
//! The compiler enforces it: without `std` there is nothing to call, and clippy refuses the rest by the list in the
//! crate's own `clippy.toml`. What is checked here is that neither of the two was taken away.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::layers::LAYERS;
use crate::source::Source;
use crate::workspace::{Crate, Problem, Workspace};

/// What each pure crate's `clippy.toml` lists at least.
const DISALLOWED: &[(&str, &[&str])] = &[
    (
        "disallowed-methods",
        &[
            "std::env::args",
            "std::env::current_dir",
            "std::env::var",
            "std::env::var_os",
            "std::env::vars",
            "std::fs::read",
            "std::fs::read_to_string",
            "std::fs::write",
            "std::process::exit",
            "std::process::id",
            "std::thread::sleep",
            "std::thread::spawn",
            "std::time::Instant::now",
            "std::time::SystemTime::now",
            "time::OffsetDateTime::now_utc",
            "uuid::Uuid::new_v4",
            "uuid::Uuid::now_v7",
        ],
    ),
    (
        "disallowed-types",
        &[
            "std::collections::HashMap",
            "std::collections::HashSet",
            "std::fs::File",
            "std::fs::OpenOptions",
            "std::net::TcpStream",
            "std::process::Command",
            "std::time::Instant",
            "std::time::SystemTime",
        ],
    ),
    ("disallowed-macros", &["std::eprint", "std::eprintln", "std::print", "std::println", "std::thread_local"]),
];

/// Returns every way in which a pure crate could have become impure.
pub(crate) fn check(workspace: &Workspace) -> Vec<Problem> {
    let pure = LAYERS.iter().filter(|layer| layer.pure.is_some());
    let members = pure.filter_map(|layer| workspace.find(layer.name));
    members.flat_map(|member| [check_clippy(workspace, member), check_sources(workspace, member)].concat()).collect()
}

fn check_clippy(workspace: &Workspace, member: &Crate) -> Vec<Problem> {
    let path = format!("{}/clippy.toml", member.dir);
    let Some(text) = workspace.text(&path) else {
        return vec![Problem::in_file(path, "a pure crate has a clippy.toml of its own")];
    };
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return vec![Problem::in_file(path, format!("not TOML: {error}"))],
    };
    let mut problems = Vec::new();
    for (list, paths) in DISALLOWED {
        let listed = listed_paths(table.get(*list));
        let missing = paths.iter().filter(|path| !listed.contains(**path));
        problems.extend(missing.map(|entry| Problem::in_file(&path, format!("{list} lacks `{entry}`"))));
    }
    problems
}

/// Returns the paths of a list whose entries are text, or tables with a `path`.
fn listed_paths(list: Option<&Value>) -> BTreeSet<&str> {
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| entry.as_str().or_else(|| entry.get("path")?.as_str())).collect()
}

fn check_sources(workspace: &Workspace, member: &Crate) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut sources = Vec::new();
    for (path, text) in workspace.sources(member) {
        match Source::parse(text) {
            Ok(source) => sources.push((path, source)),
            Err(error) => problems.push(Problem::in_file(path, error.to_string())),
        }
    }
    let root = format!("{}/src/lib.rs", member.dir);
    let declares_no_std =
        sources.iter().any(|(path, source)| *path == root && !source.lines_of("# ! [ no_std ]").is_empty());
    if !declares_no_std {
        problems.push(Problem::in_file(root, "a pure crate begins with `#![no_std]`"));
    }
    let for_tests: Vec<String> = sources.iter().flat_map(|(path, source)| test_files(path, source)).collect();
    for (path, source) in &sources {
        if for_tests
            .iter()
            .any(|test| path.strip_prefix(test.as_str()).is_some_and(|rest| rest.starts_with(['.', '/'])))
        {
            continue;
        }
        let externs = source.lines_of_outside_tests("extern crate std");
        problems.extend(
            externs
                .into_iter()
                .map(|line| Problem::at_line(*path, line, "a pure crate has `extern crate std` in tests only")),
        );
        let uses = source.lines_of_outside_tests("std : :");
        problems.extend(
            uses.into_iter().map(|line| Problem::at_line(*path, line, "a pure crate uses `std::` in tests only")),
        );
    }
    problems
}

/// Returns where the test modules that the file at `path` declares live, without `.rs` or `/`.
fn test_files(path: &str, source: &Source) -> Vec<String> {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let dir = match stem.rsplit_once('/') {
        Some((dir, "lib" | "main" | "mod")) => dir,
        _ => stem,
    };
    source.test_modules.iter().map(|module| format!("{dir}/{module}")).collect()
}
