//! `trace import`, and what the commands show of that it brought in.

mod bad_input;
mod basics;
mod growth;
pub(crate) mod lines;
mod live;
#[cfg(feature = "sqlite")]
mod store;
mod torture;
mod totals;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::Value;

use super::exec::bench::{Bench, stderr, stdout};

/// Returns a recording or a session file whose true totals are known.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace-providers/tests/fixtures").join(name)
}

/// Writes a file beside the home, or below the person's folder.
pub(crate) fn write(bench: &Bench, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = bench.path(name);
    write_at(&path, text);
    path
}

fn write_at(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Runs the command.
pub(crate) fn run(bench: &Bench, arguments: &[&str]) -> Output {
    bench.trace().args(arguments).output().unwrap()
}

/// Runs the command, which must exit with that code and say nothing beside its data, and returns its document.
pub(crate) fn document(bench: &Bench, code: i32, arguments: &[&str]) -> Value {
    let output = run(bench, arguments);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(code), ""), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs the command, which must exit with that code and say nothing beside its data, and returns what it prints. The
/// path of the folder is replaced.
pub(crate) fn print(bench: &Bench, code: i32, arguments: &[&str]) -> String {
    let output = run(bench, arguments);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(code), ""), "{arguments:?}: {output:?}");
    without_paths(bench, &stdout(&output))
}

/// Returns the text with a word for the folder that all files of the test are in.
pub(crate) fn without_paths(bench: &Bench, text: &str) -> String {
    let folder: PathBuf = bench.path("").components().collect();
    text.replace(folder.to_str().unwrap(), "FOLDER")
}

/// Returns the notes of an import: name of the file, place, kind.
fn notes(document: &Value) -> Vec<(String, Option<u64>, String)> {
    let notes = document["notes"].as_array().unwrap().iter().map(|note| {
        let file = Path::new(note["file"].as_str().unwrap()).file_name().unwrap().to_string_lossy().into_owned();
        (file, note["offset"].as_u64(), note["kind"].as_str().unwrap().to_owned())
    });
    notes.collect()
}

/// Returns the kinds of the notes, sorted.
fn kinds(document: &Value) -> Vec<String> {
    let mut kinds: Vec<String> = notes(document).into_iter().map(|(_, _, kind)| kind).collect();
    kinds.sort();
    kinds
}
