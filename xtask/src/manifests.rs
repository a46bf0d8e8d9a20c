//! Manifests of one shape: everything shared is inherited, everything listed is sorted, every exception is explained.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::features;
use crate::workspace::{Crate, Kind, Problem, Workspace};

/// The fields of a package that come from the workspace.
const INHERITED: &[&str] = &["edition", "license", "publish", "rust-version", "version"];

/// Returns every manifest that is out of shape.
pub(crate) fn check(workspace: &Workspace) -> Vec<Problem> {
    let mut problems = check_root(workspace);
    for member in &workspace.crates {
        problems.extend(check_member(workspace, member));
    }
    problems
}

fn check_root(workspace: &Workspace) -> Vec<Problem> {
    let mut messages = Vec::new();
    if workspace.manifest.contains_key("package") {
        messages.push("the root is a virtual manifest".to_owned());
    }
    let root = workspace.manifest.get("workspace").and_then(Value::as_table);
    let package = root.and_then(|root| root.get("package")).and_then(Value::as_table);
    for field in INHERITED.iter().filter(|field| package.is_none_or(|package| !package.contains_key(**field))) {
        messages.push(format!("[workspace.package] lacks `{field}`"));
    }
    let lints = root.and_then(|root| root.get("lints")?.get("rust"));
    if lints.and_then(|lints| lints.get("unsafe_code")).and_then(Value::as_str) != Some("forbid") {
        messages.push("[workspace.lints.rust] forbids `unsafe_code`".to_owned());
    }
    let mut problems: Vec<Problem> =
        messages.into_iter().map(|message| Problem::in_file("Cargo.toml", message)).collect();

    let text = workspace.text("Cargo.toml").unwrap_or_default();
    let names = workspace.names();
    problems.extend(check_order("Cargo.toml", text, "workspace.dependencies", &names));
    let dependencies = root.and_then(|root| root.get("dependencies")).and_then(Value::as_table);
    for (name, value) in dependencies.into_iter().flatten() {
        if value.get("package").is_some() {
            problems
                .push(Problem::in_file("Cargo.toml", format!("`{name}`: a dependency keeps the name of its crate")));
        }
        let version = value.as_str().or_else(|| value.get("version")?.as_str());
        if version.is_some_and(|version| version.starts_with('=')) {
            problems.extend(check_explained(text, "workspace.dependencies", name, "a pinned version"));
        }
    }
    for (tool, lints) in root.and_then(|root| root.get("lints")).and_then(Value::as_table).into_iter().flatten() {
        for (lint, level) in lints.as_table().into_iter().flatten() {
            if level.as_str().or_else(|| level.get("level")?.as_str()) == Some("allow") {
                problems.extend(check_explained(
                    text,
                    &format!("workspace.lints.{tool}"),
                    lint,
                    &format!("an allowed {tool} lint"),
                ));
            }
        }
    }
    problems
}

/// Checks that a comment stands right above the line of the section that sets `key`.
fn check_explained(text: &str, section: &str, key: &str, what: &str) -> Option<Problem> {
    let header = format!("[{section}]");
    let mut above = "";
    let lines = text.lines().skip_while(|line| *line != header).skip(1);
    for line in lines.take_while(|line| !line.starts_with('[')) {
        if key_of(line) == Some(key) && !above.starts_with('#') {
            let message = format!("`{key}`: {what} has a comment above it that gives the reason");
            return Some(Problem::in_file("Cargo.toml", message));
        }
        above = line;
    }
    None
}

fn check_member(workspace: &Workspace, member: &Crate) -> Vec<Problem> {
    let path = member.manifest_path();
    let mut messages = check_package(member);
    for dependency in member.dependencies() {
        let name = dependency.name;
        if !inherits(dependency.value) {
            messages.push(format!("`{name}` is inherited: `{name}.workspace = true`"));
        }
        let asked = dependency.value.get("features").and_then(Value::as_array).into_iter().flatten();
        if let Some(sibling) = workspace.find(name) {
            let declared = sibling.features();
            for feature in asked.filter_map(Value::as_str).filter(|feature| !declared.contains(feature)) {
                messages.push(format!("`{name}` has no feature `{feature}`"));
            }
        }
    }
    messages.extend(check_features(workspace, member));

    let mut problems: Vec<Problem> = messages.into_iter().map(|message| Problem::in_file(&path, message)).collect();
    let text = workspace.text(&path).unwrap_or_default();
    let names = workspace.names();
    for kind in Kind::ALL {
        problems.extend(check_order(&path, text, kind.section(), &names));
    }
    problems
}

fn check_package(member: &Crate) -> Vec<String> {
    let mut messages = Vec::new();
    let place = if member.name == "xtask" { "xtask".to_owned() } else { format!("crates/{}", member.name) };
    if member.dir != place {
        messages.push(format!("`{}` belongs in {place}", member.name));
    }
    let none = Table::new();
    let package = member.manifest.get("package").and_then(Value::as_table).unwrap_or(&none);
    for field in INHERITED.iter().filter(|field| !package.get(**field).is_some_and(inherits)) {
        messages.push(format!("`{field}` is inherited: `{field}.workspace = true`"));
    }
    if package.get("description").and_then(Value::as_str).is_none_or(str::is_empty) {
        messages.push("the package has a description".to_owned());
    }
    if !member.manifest.get("lints").is_some_and(inherits) {
        messages.push("the lints are inherited: `[lints]` with `workspace = true`".to_owned());
    }
    messages
}

/// Checks that features name what exists, and that every one is built by the feature sets of CI.
fn check_features(workspace: &Workspace, member: &Crate) -> Vec<String> {
    let mut messages = Vec::new();
    let declared = member.features();
    let dependencies: BTreeSet<&str> = member.dependencies().iter().map(|dependency| dependency.name).collect();
    let features = member.manifest.get("features").and_then(Value::as_table);
    for (feature, parts) in features.into_iter().flatten() {
        for part in parts.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let exists = match (part.strip_prefix("dep:"), part.split_once('/')) {
                (Some(dependency), _) => dependencies.contains(dependency),
                (None, Some((dependency, inner))) => {
                    let dependency = dependency.trim_end_matches('?');
                    dependencies.contains(dependency)
                        && workspace.find(dependency).is_none_or(|sibling| sibling.features().contains(inner))
                }
                (None, None) => declared.contains(part),
            };
            if !exists {
                messages.push(format!("feature `{feature}` names `{part}`, which does not exist"));
            }
        }
    }
    let sets = features::sets(workspace).into_iter().filter(|set| set.package == member.name);
    let built: BTreeSet<String> = sets.flat_map(|set| set.features).collect();
    for feature in declared.iter().filter(|feature| **feature != "default" && !built.contains(**feature)) {
        messages.push(format!("feature `{feature}` is no ledger of [workspace.metadata.ledgers], and in no set of CI"));
    }
    for feature in built.iter().filter(|feature| !declared.contains(feature.as_str())) {
        messages.push(format!("the ledger `{feature}` of [workspace.metadata.ledgers] has no feature here"));
    }
    messages
}

/// Checks that a section lists the siblings first, then the others, as two sorted blocks.
fn check_order(path: &str, text: &str, section: &str, siblings: &BTreeSet<&str>) -> Option<Problem> {
    let header = format!("[{section}]");
    let lines = text.lines().skip_while(|line| *line != header).skip(1);
    let mut previous: Option<(bool, &str)> = None;
    let mut after_blank = false;
    for line in lines.take_while(|line| !line.starts_with('[')) {
        let Some(key) = key_of(line) else {
            after_blank |= line.is_empty();
            continue;
        };
        let entry = (!siblings.contains(key), key);
        if let Some(previous) = previous {
            let same_block = previous.0 == entry.0;
            if entry < previous || same_block == after_blank {
                let message =
                    format!("`{key}`: [{section}] is two sorted blocks, siblings first, a blank line between");
                return Some(Problem::in_file(path, message));
            }
        }
        previous = Some(entry);
        after_blank = false;
    }
    None
}

/// Returns the key that a line of a section sets: `serde` of `serde.workspace = true`.
fn key_of(line: &str) -> Option<&str> {
    if !line.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_') {
        return None;
    }
    line.split(['.', ' ', '=']).next()
}

fn inherits(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}
