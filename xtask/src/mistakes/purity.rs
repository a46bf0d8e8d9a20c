//! Pure crates that reach for the world.

use super::{refused, replace, write};
use crate::purity::check;

#[test]
fn the_model_reads_no_clock() {
    refused(
        check,
        |files| {
            let text = "//! A clock.\n\npub fn now() -> u128 {\n    std::time::SystemTime::now().elapsed()\n}\n";
            write(files, "crates/trace-model/src/clock.rs", text);
        },
        &["crates/trace-model/src/clock.rs:4: a pure crate uses `std::` in tests only"],
    );
}

#[test]
fn the_model_does_not_bring_std_back() {
    refused(
        check,
        |files| {
            let text = "extern crate std as world;\nuse world::time::Instant;\n";
            write(files, "crates/trace-model/src/clock.rs", text);
        },
        &["crates/trace-model/src/clock.rs:1: a pure crate has `extern crate std` in tests only"],
    );
}

#[test]
fn a_pure_crate_stays_without_std() {
    for member in ["trace-attribution", "trace-model", "trace-providers", "trace-report"] {
        let path = format!("crates/{member}/src/lib.rs");
        refused(
            check,
            |files| replace(files, &path, "#![no_std]", "#![cfg_attr(not(test), no_std)]"),
            &[&format!("{path}: a pure crate begins with `#![no_std]`")],
        );
    }
}

#[test]
fn a_pure_crate_keeps_its_list_for_clippy() {
    for member in ["trace-attribution", "trace-model", "trace-providers", "trace-report"] {
        let path = format!("crates/{member}/clippy.toml");
        refused(
            check,
            |files| replace(files, &path, "std::time::SystemTime::now", "std::time::SystemTime::later"),
            &[&format!("{path}: disallowed-methods lacks `std::time::SystemTime::now`")],
        );
        refused(
            check,
            |files| assert!(files.remove(&path).is_some()),
            &[&format!("{path}: a pure crate has a clippy.toml of its own")],
        );
    }
}

#[test]
fn tests_of_a_pure_crate_may_use_std() {
    refused(
        check,
        |files| {
            write(files, "crates/trace-model/src/a.rs", "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nuse std::vec;\n");
            write(files, "crates/trace-model/src/a/tests.rs", "use std::fs;\n");
            write(files, "crates/trace-model/src/a/tests/more.rs", "use std::fs;\n");
        },
        &[],
    );
}

#[test]
fn a_file_is_not_a_test_by_its_name() {
    refused(
        check,
        |files| {
            write(files, "crates/trace-model/src/a.rs", "mod tests;\n");
            write(files, "crates/trace-model/src/a/tests.rs", "use std::fs;\n");
        },
        &["crates/trace-model/src/a/tests.rs:1: a pure crate uses `std::` in tests only"],
    );
}
