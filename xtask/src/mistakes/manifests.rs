//! Manifests that are out of shape.

use super::{refused, replace};
use crate::manifests::check;

/// Replaces `old` in the manifest at `path`.
#[track_caller]
fn check_change(path: &str, old: &str, new: &str, expected: &str) {
    refused(check, |files| replace(files, path, old, new), &[&format!("{path}: {expected}")]);
}

#[test]
fn what_packages_share_is_inherited() {
    let path = "crates/trace-model/Cargo.toml";
    for field in ["edition", "license", "publish", "rust-version", "version"] {
        let expected = format!("`{field}` is inherited: `{field}.workspace = true`");
        check_change(path, &format!("\n{field}.workspace = true\n"), "\n", &expected);
    }
    let expected = "`version` is inherited: `version.workspace = true`";
    check_change(path, "version.workspace = true", "version = \"1.0.0\"", expected);
    check_change("Cargo.toml", "license = \"MIT OR Apache-2.0\"\n", "", "[workspace.package] lacks `license`");
}

#[test]
fn a_package_has_a_description() {
    check_change("crates/trace-model/Cargo.toml", "description", "keywords", "the package has a description");
}

#[test]
fn dependencies_are_inherited() {
    let path = "crates/trace-model/Cargo.toml";
    let expected = "`hex` is inherited: `hex.workspace = true`";
    check_change(path, "hex.workspace = true", "hex = \"0.4\"", expected);
    check_change(path, "hex.workspace = true", "hex = { version = \"0.4\", default-features = false }", expected);
    let expected = "`proptest` is inherited: `proptest.workspace = true`";
    check_change(path, "proptest.workspace = true", "proptest = \"1\"", expected);
}

#[test]
fn lints_are_inherited() {
    let expected = "the lints are inherited: `[lints]` with `workspace = true`";
    check_change("crates/trace-model/Cargo.toml", "[lints]\nworkspace = true\n", "", expected);
    check_change("crates/trace-model/Cargo.toml", "[lints]\nworkspace = true\n", "[lints.rust]\n", expected);
}

#[test]
fn a_crate_sits_in_the_folder_of_its_name() {
    refused(
        check,
        |files| {
            let manifest = files.remove("crates/trace-report/Cargo.toml").unwrap();
            files.insert("crates/report/Cargo.toml".to_owned(), manifest);
        },
        &["crates/report/Cargo.toml: `trace-report` belongs in crates/trace-report"],
    );
}

#[test]
fn dependencies_are_two_sorted_blocks() {
    let path = "crates/trace-attribution/Cargo.toml";
    let expected = |key| format!("`{key}`: [dependencies] is two sorted blocks, siblings first, a blank line between");
    let (model, memchr) = ("trace-model.workspace = true\n", "memchr.workspace = true\n");
    check_change(path, memchr, &format!("zip.workspace = true\n{memchr}"), &expected("memchr"));
    check_change(path, &format!("{model}\n"), model, &expected("bpe-openai"));
    check_change(path, memchr, &format!("\n{memchr}"), &expected("memchr"));
    check_change(path, memchr, &format!("{memchr}trace-report.workspace = true\n"), &expected("trace-report"));

    let expected = "`hex`: [workspace.dependencies] is two sorted blocks, siblings first, a blank line between";
    check_change("Cargo.toml", "\nhex = ", "\nmemory = \"1\"\nhex = ", expected);
}

#[test]
fn a_feature_names_what_exists() {
    let path = "crates/trace-capture/Cargo.toml";
    check_change(
        path,
        "default = [\"sqlite\"]",
        "default = [\"sqlite\", \"redb\"]",
        "feature `default` names `redb`, which does not exist",
    );
    check_change(
        path,
        "\"dep:trace-store-sqlite\"]",
        "\"dep:trace-store-sqlite\", \"dep:trace-store-redb\"]",
        "feature `sqlite` names `dep:trace-store-redb`, which does not exist",
    );
    check_change(
        "crates/trace-cli/Cargo.toml",
        "\"trace-capture/sqlite\"",
        "\"trace-capture/sqlite\", \"trace-capture/redb\"",
        "feature `sqlite` names `trace-capture/redb`, which does not exist",
    );
    check_change(
        "crates/trace-cli/Cargo.toml",
        "trace-capture.workspace = true",
        "trace-capture = { workspace = true, features = [\"redb\"] }",
        "`trace-capture` has no feature `redb`",
    );
}

#[test]
fn every_feature_is_in_a_set_that_ci_builds() {
    check_change(
        "crates/trace-capture/Cargo.toml",
        "[features]\n",
        "[features]\nfast = []\n",
        "feature `fast` is no ledger of [workspace.metadata.ledgers], and in no set of CI",
    );
    refused(
        check,
        |files| replace(files, "crates/trace-cli/Cargo.toml", "\nsqlite = ", "\nlite = "),
        &[
            "crates/trace-cli/Cargo.toml: feature `default` names `sqlite`, which does not exist",
            "crates/trace-cli/Cargo.toml: feature `lite` is no ledger of [workspace.metadata.ledgers], and in no set of CI",
            "crates/trace-cli/Cargo.toml: the ledger `sqlite` of [workspace.metadata.ledgers] has no feature here",
        ],
    );
}

#[test]
fn an_exception_gives_its_reason() {
    check_change(
        "Cargo.toml",
        "\nhex = { version = \"",
        "\nhex = { version = \"=",
        "`hex`: a pinned version has a comment above it that gives the reason",
    );
    check_change(
        "Cargo.toml",
        "\ndbg_macro = \"warn\"",
        "\ndbg_macro = \"allow\"",
        "`dbg_macro`: an allowed clippy lint has a comment above it that gives the reason",
    );
}

#[test]
fn a_dependency_keeps_its_name() {
    check_change(
        "Cargo.toml",
        "\nhex = {",
        "\nhex = { package = \"rusqlite\",",
        "`hex`: a dependency keeps the name of its crate",
    );
}

#[test]
fn unsafe_code_stays_forbidden() {
    let expected = "[workspace.lints.rust] forbids `unsafe_code`";
    check_change("Cargo.toml", "unsafe_code = \"forbid\"", "unsafe_code = \"warn\"", expected);
}
