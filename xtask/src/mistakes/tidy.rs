//! Untidy files.

use super::{refused, replace, write};
use crate::tidy::check;

/// Adds a source file.
#[track_caller]
fn check_source(text: &str, expected: &[&str]) {
    let path = "crates/trace-cli/src/mistake.rs";
    let expected: Vec<String> = expected.iter().map(|problem| format!("{path}{problem}")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    refused(check, |files| write(files, path, text), &expected);
}

#[test]
fn a_file_has_at_most_600_lines() {
    check_source(&"fn f() {}\n".repeat(600), &[]);
    check_source(&"fn f() {}\n".repeat(601), &[": 601 lines are more than 600: look for a seam"]);
}

#[test]
fn a_comment_has_at_most_120_columns() {
    let line = |columns: usize| format!("    /// {}\nfn f() {{}}\n", "é".repeat(columns - 8));
    check_source(&line(120), &[]);
    check_source(&line(121), &[":1: the comment is longer than 120 columns"]);
    check_source(&format!("/// | a | {} |\nfn f() {{}}\n", "b".repeat(120)), &[]);
}

#[test]
fn nothing_is_left_unfinished() {
    check_source("fn f() {\n    todo!()\n}\n", &[":2: `todo!`: finish it, or leave it out"]);
    check_source("fn f() {\n    unimplemented!()\n}\n", &[":2: `unimplemented!`: finish it, or leave it out"]);
    check_source(concat!("// FIX", "ME: later\n"), &[concat!(":1: `FIX", "ME`: mend it, or file it")]);
}

#[test]
fn no_test_is_ignored() {
    let message = "`#[ignore]`: assert what happens today, and say why it is wrong";
    check_source("#[test]\n#[ignore]\nfn f() {}\n", &[&format!(":2: {message}")]);
    check_source("#[test]\n#[ignore = \"slow\"]\nfn f() {}\n", &[&format!(":2: {message}")]);
}

#[test]
fn words_in_comments_and_texts_are_free() {
    check_source("//! No unsafe, no todo!().\nconst A: &str = \"unimplemented!()\";\n", &[]);
}

#[test]
fn there_is_no_unsafe_code() {
    check_source("fn f() {\n    unsafe { g() }\n}\n", &[":2: unsafe code is not on the list of xtask/src/tidy.rs"]);
}

#[test]
fn the_documents_are_there() {
    for path in
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "deny.toml", ".ci/run"]
    {
        refused(check, |files| assert!(files.remove(path).is_some()), &[&format!("{path}: is missing or empty")]);
    }
}

#[test]
fn the_changes_have_a_place() {
    let changes = |files: &mut _| replace(files, "CHANGELOG.md", "Unreleased", "Released");
    refused(check, changes, &["CHANGELOG.md: has no section `Unreleased`"]);
}

#[test]
fn the_map_names_every_crate() {
    refused(
        check,
        |files| {
            let map = files.get_mut("ARCHITECTURE.md").unwrap();
            *map = map.replace("trace-report", "the reports");
        },
        &["ARCHITECTURE.md: does not name `trace-report`"],
    );
}
