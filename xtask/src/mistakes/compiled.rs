//! The clock in the model again, refused by the compiler and by clippy themselves.

use std::fs;
use std::path::PathBuf;

use super::{replace, scratch};
use crate::commands;

const ROOT: &str = "crates/trace-model/src/lib.rs";

/// Adds `code` to the end of the model's root in a scratch copy, and returns what clippy says when it refuses.
fn lint(code: &str) -> Result<(), String> {
    let mut files = scratch();
    files.get_mut(ROOT).unwrap().push_str(code);
    // The model needs no sibling, so the copy is a workspace of the model alone.
    replace(&mut files, "Cargo.toml", "[\"crates/*\", \"xtask\"]", "[\"crates/trace-model\"]");
    replace(&mut files, "Cargo.toml", "[\"crates/trace-cli\"]", "[\"crates/trace-model\"]");
    let dir = tempfile::tempdir().unwrap();
    let needed = |path: &str| path.starts_with("crates/trace-model/") || !path.contains('/');
    for (path, text) in files.iter().filter(|(path, _)| needed(path)) {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    let clippy = commands::cargo(dir.path()).args(["clippy", "--offline", "--lib", "--package", "trace-model"]);
    let clippy = clippy.env("CARGO_TARGET_DIR", target().to_str().unwrap()).args(["--", "-D", "warnings"]);
    let output = clippy.into_command().output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8(output.stderr).unwrap()) }
}

/// Returns the folder that this test was built in, where the model's dependencies are built already.
fn target() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().to_owned()
}

#[track_caller]
fn check(code: &str, expected: &[&str]) {
    let said = lint(code).unwrap_err();
    for expected in expected {
        assert!(said.contains(expected), "expected {expected:?} in:\n{said}");
    }
}

#[test]
fn the_model_as_it_is_is_accepted() {
    assert_eq!(lint(""), Ok(()));
}

#[test]
fn the_compiler_knows_no_clock_in_the_model() {
    let code = "/// Reads the clock.\npub fn now() -> bool {\n    std::time::SystemTime::now().elapsed().is_ok()\n}\n";
    check(code, &["unlinked crate `std`"]);
}

#[test]
fn clippy_refuses_a_clock_that_comes_back_with_std() {
    let code = "extern crate std;\n\
                /// Reads the clock.\npub fn now() -> bool {\n    std::time::SystemTime::now().elapsed().is_ok()\n}\n";
    check(code, &["use of a disallowed method `std::time::SystemTime::now`", "pure crate: time is an argument"]);
}
