//! Arrows that point the wrong way.

use super::{refused, replace, write};
use crate::layers::check;

/// Adds `dependency` to a section of a member's manifest.
#[track_caller]
fn check_arrow(member: &str, section: &str, dependency: &str, expected: &str) {
    let path = format!("crates/{member}/Cargo.toml");
    let expected = format!("{path}: {expected}");
    refused(
        check,
        |files| {
            let line = format!("[{section}]\n{dependency}.workspace = true\n");
            let header = format!("[{section}]\n");
            if files[&path].contains(&header) {
                replace(files, &path, &header, &line);
            } else {
                files.get_mut(&path).unwrap().push_str(&line);
            }
        },
        &[&expected],
    );
}

#[test]
fn the_model_uses_no_sibling() {
    check_arrow("trace-model", "dependencies", "trace-report", "`trace-model` may not use `trace-report`");
}

#[test]
fn a_store_does_not_use_capture() {
    let expected = "`trace-store-memory` may not use `trace-capture`";
    check_arrow("trace-store-memory", "dependencies", "trace-capture", expected);
    check_arrow("trace-store-memory", "dev-dependencies", "trace-capture", expected);
    check_arrow("trace-store-memory", "build-dependencies", "trace-capture", expected);
}

#[test]
fn the_command_reaches_a_store_through_capture_only() {
    check_arrow("trace-cli", "dependencies", "trace-store-sqlite", "`trace-cli` may not use `trace-store-sqlite`");
}

#[test]
fn the_testkit_is_for_tests_only() {
    let expected = "`trace-capture` uses `trace-testkit`, which is for tests only";
    check_arrow("trace-capture", "dependencies", "trace-testkit", expected);
}

#[test]
fn a_driver_stays_in_its_store() {
    let expected = "`trace-attribution` may not use `rusqlite`: only its own store knows it";
    check_arrow("trace-attribution", "dependencies", "rusqlite", expected);
    check_arrow("trace-attribution", "target.'cfg(unix)'.dependencies", "rusqlite", expected);
    let expected = "`trace-capture` may not use `sled`: only its own store knows it";
    check_arrow("trace-capture", "dependencies", "sled", expected);
}

#[test]
fn the_reference_tokenizer_is_for_tests_only() {
    let expected = "`trace-attribution` may not use `tiktoken-rs`: \
                    it panics on long white space; it is the reference of tests";
    check_arrow("trace-attribution", "dependencies", "tiktoken-rs", expected);
}

#[test]
fn a_library_has_errors_of_its_own() {
    let expected = "`trace-capture` may not use `anyhow`: a library has errors of its own";
    check_arrow("trace-capture", "dependencies", "anyhow", expected);
}

#[test]
fn no_crate_knows_a_runtime() {
    let expected = "`trace-capture` may not use `tokio`: no crate knows a runtime";
    check_arrow("trace-capture", "dependencies", "tokio", expected);
}

#[test]
fn a_pure_crate_uses_what_is_on_its_list() {
    let expected = "`trace-report` is pure, and `rustix` is not on its list in xtask/src/layers.rs";
    check_arrow("trace-report", "dependencies", "rustix", expected);
}

#[test]
fn every_crate_has_a_place() {
    refused(
        check,
        |files| write(files, "crates/trace-new/Cargo.toml", "[package]\nname = \"trace-new\"\n"),
        &["crates/trace-new/Cargo.toml: `trace-new` has no place in the layers of xtask/src/layers.rs"],
    );
    refused(
        check,
        |files| files.retain(|path, _| !path.starts_with("crates/trace-report/")),
        &["Cargo.toml: `trace-report` of the layers is not in the workspace"],
    );
}
