//! What the dependencies are licensed under and where they come from, held against `deny.toml`.
//!
//! cargo-deny reads the same file; `cargo xtask advisories` runs it. Here it is read without it, so that a bare machine
//! builds one tool less before the first check.

use std::path::Path;

use anyhow::{Context as _, Result};
use cargo_metadata::MetadataCommand;
use spdx::{Expression, Licensee, ParseMode};
use toml::{Table, Value};

use crate::workspace::Problem;

/// What `deny.toml` allows.
#[derive(Debug)]
pub(crate) struct Policy {
    targets: Vec<String>,
    licences: Vec<Licensee>,
    registries: Vec<String>,
}

/// A package of the dependency graph.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) licence: Option<String>,
    /// The registry; none for a member of the workspace.
    pub(crate) source: Option<String>,
}

impl Policy {
    /// Reads the text of a `deny.toml`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse().context("deny.toml is not TOML")?;
        let licences = list(&table, "licenses", "allow")?;
        let licences: Result<_> = licences
            .iter()
            .map(|licence| Licensee::parse(licence).with_context(|| format!("deny.toml allows `{licence}`")))
            .collect();
        Ok(Self {
            targets: list(&table, "graph", "targets")?,
            licences: licences?,
            registries: list(&table, "sources", "allow-registry")?,
        })
    }
}

fn list(table: &Table, section: &str, key: &str) -> Result<Vec<String>> {
    let values = table.get(section).and_then(|section| section.get(key)).and_then(Value::as_array);
    let values = values.with_context(|| format!("deny.toml has no list `{key}` in [{section}]"))?;
    Ok(values.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// Returns every package of the graph, on the targets of the policy.
pub(crate) fn packages(root: &Path, policy: &Policy) -> Result<Vec<Package>> {
    let mut options = vec!["--locked".to_owned()];
    for target in &policy.targets {
        options.extend(["--filter-platform".to_owned(), target.clone()]);
    }
    let metadata = MetadataCommand::new().current_dir(root).other_options(options).exec()?;
    let packages = metadata.packages.into_iter().map(|package| Package {
        name: format!("{} {}", package.name, package.version),
        licence: package.license,
        source: package.source.map(|source| source.repr),
    });
    Ok(packages.collect())
}

/// Returns every package whose licence or source is not allowed.
pub(crate) fn check(policy: &Policy, packages: &[Package]) -> Vec<Problem> {
    packages
        .iter()
        .flat_map(|package| [check_licence(policy, package), check_source(policy, package)])
        .flatten()
        .collect()
}

fn check_licence(policy: &Policy, package: &Package) -> Option<Problem> {
    let Some(text) = &package.licence else {
        return Some(Problem::in_file(&package.name, "names no licence"));
    };
    match Expression::parse_mode(text, ParseMode::LAX) {
        Ok(expression) => {
            let allowed = expression.evaluate(|asked| policy.licences.iter().any(|licence| licence.satisfies(asked)));
            (!allowed)
                .then(|| Problem::in_file(&package.name, format!("the licence `{text}` is not allowed by deny.toml")))
        }
        Err(error) => Some(Problem::in_file(&package.name, format!("the licence `{text}` does not read: {error}"))),
    }
}

fn check_source(policy: &Policy, package: &Package) -> Option<Problem> {
    let source = package.source.as_deref()?;
    let allowed =
        source.strip_prefix("registry+").is_some_and(|url| policy.registries.iter().any(|allowed| allowed == url));
    (!allowed).then(|| Problem::in_file(&package.name, format!("the source `{source}` is not allowed by deny.toml")))
}

#[cfg(test)]
mod tests {
    use super::{Package, Policy, check, packages};

    fn policy() -> Policy {
        let text = std::fs::read_to_string(crate::root().join("deny.toml")).unwrap();
        Policy::parse(&text).unwrap()
    }

    fn messages(licence: Option<&str>, source: Option<&str>) -> Vec<String> {
        let package = Package {
            name: "some 1.0.0".to_owned(),
            licence: licence.map(str::to_owned),
            source: source.map(str::to_owned),
        };
        check(&policy(), &[package]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_allowed_choice_is_enough() {
        let crates_io = Some("registry+https://github.com/rust-lang/crates.io-index");
        assert!(messages(Some("MIT OR GPL-3.0-only"), crates_io).is_empty());
        assert!(messages(Some("MIT/Apache-2.0"), crates_io).is_empty());
    }

    #[test]
    fn every_part_must_be_allowed() {
        let refused = ["some 1.0.0: the licence `MIT AND GPL-3.0-only` is not allowed by deny.toml"];
        assert_eq!(messages(Some("MIT AND GPL-3.0-only"), None), refused);
    }

    #[test]
    fn a_licence_that_is_absent_or_unreadable_is_refused() {
        assert_eq!(messages(None, None), ["some 1.0.0: names no licence"]);
        let message = messages(Some("do what you want"), None).concat();
        assert!(message.starts_with("some 1.0.0: the licence `do what you want` does not read"), "{message}");
    }

    #[test]
    fn a_source_beside_crates_io_is_refused() {
        let refused = ["some 1.0.0: the source `git+https://example.invalid/some` is not allowed by deny.toml"];
        assert_eq!(messages(Some("MIT"), Some("git+https://example.invalid/some")), refused);
    }

    #[test]
    fn the_graph_of_this_workspace_is_seen_whole() {
        let packages = packages(crate::root(), &policy()).unwrap();
        for name in ["trace-model ", "serde ", "libsqlite3-sys ", "tiktoken-rs "] {
            assert!(packages.iter().any(|package| package.name.starts_with(name)), "{name}");
        }
    }
}
