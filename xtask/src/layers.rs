//! The one direction of the arrows: which crate may use which.

use std::collections::BTreeMap;

use crate::features;
use crate::workspace::{Crate, Dependency, Kind, Problem, Workspace};

/// What one crate may use.
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    /// The siblings that it may use.
    siblings: &'static [&'static str],
    /// What a pure crate may use from outside. `None` for a crate that is not pure.
    pub(crate) pure: Option<&'static [&'static str]>,
}

/// The architecture, from the bottom up.
#[rustfmt::skip]
pub(crate) const LAYERS: &[Layer] = &[
    Layer {
        name: "trace-model",
        siblings: &[],
        pure: Some(&["async-trait", "hex", "serde", "serde_json", "sha2", "thiserror", "time", "uuid"]),
    },
    Layer {
        name: "trace-attribution",
        siblings: &["trace-model"],
        pure: Some(&["bpe-openai", "memchr", "serde", "sha2", "thiserror"]),
    },
    Layer {
        name: "trace-providers",
        siblings: &["trace-model"],
        pure: Some(&["memchr", "serde", "serde_json"]),
    },
    Layer {
        name: "trace-prices",
        siblings: &["trace-model"],
        pure: Some(&["hex", "serde", "serde_json", "sha2", "thiserror"]),
    },
    Layer { name: "trace-report", siblings: &["trace-model"], pure: Some(&["serde"]) },
    Layer { name: "trace-store-memory", siblings: &["trace-model"], pure: None },
    Layer { name: DISK_STORE, siblings: &["trace-model"], pure: None },
    Layer {
        name: "trace-capture",
        siblings: &["trace-attribution", "trace-model", "trace-providers", "trace-store-memory", DISK_STORE],
        pure: None,
    },
    Layer {
        name: "trace-cli",
        siblings: &["trace-attribution", "trace-capture", "trace-model", "trace-prices", "trace-report"],
        pure: None,
    },
    Layer {
        name: "trace-testkit",
        siblings: &["trace-capture", "trace-model", "trace-store-memory"],
        pure: None,
    },
    Layer { name: "xtask", siblings: &[], pure: None },
];

/// The siblings that any crate's tests may use beside those of its layer.
const FOR_TESTS: &[&str] = &["trace-store-memory", DISK_STORE, "trace-testkit"];

/// Any store with a driver: `trace-store-` and the name of a ledger of `[workspace.metadata.ledgers]`. Another one
/// needs no line here.
const DISK_STORE: &str = "trace-store-*";

/// Drivers that a member beside the driver's own store may use.
const OTHER_USES: &[(&str, &str)] = &[
    // OpenCode keeps its sessions in an SQLite database: the intake reads it, and no ledger is in it.
    ("trace-capture", "rusqlite"),
];

/// Crates from outside that only the named members may use, but in tests.
const ONLY_IN: &[(&str, &[&str], &str)] = &[
    ("anyhow", &["trace-cli", "xtask"], "a library has errors of its own"),
    ("clap", &["trace-cli", "xtask"], "only a program has arguments"),
    ("proptest", &["trace-testkit"], "it is for tests"),
    ("tiktoken-rs", &[], "it panics on long white space; it is the reference of tests"),
    ("tokio", &[], "no crate knows a runtime"),
];

/// Returns every arrow that points the wrong way.
pub(crate) fn check(workspace: &Workspace) -> Vec<Problem> {
    let drivers = features::drivers(workspace);
    let place = |name: &str| match name.strip_prefix("trace-store-") {
        Some(ledger) if drivers.contains_key(ledger) => DISK_STORE.to_owned(),
        _ => name.to_owned(),
    };
    let mut problems = Vec::new();
    let missing = |name: &str| workspace.crates.iter().all(|member| place(&member.name) != name);
    for layer in LAYERS.iter().filter(|layer| missing(layer.name)) {
        problems
            .push(Problem::in_file("Cargo.toml", format!("`{}` of the layers is not in the workspace", layer.name)));
    }
    for ledger in drivers.keys().filter(|ledger| workspace.find(&format!("trace-store-{ledger}")).is_none()) {
        problems
            .push(Problem::in_file("Cargo.toml", format!("the ledger `{ledger}` has no crate `trace-store-{ledger}`")));
    }
    for member in &workspace.crates {
        let Some(layer) = LAYERS.iter().find(|layer| layer.name == place(&member.name)) else {
            let message = format!("`{}` has no place in the layers of xtask/src/layers.rs", member.name);
            problems.push(Problem::in_file(member.manifest_path(), message));
            continue;
        };
        problems.extend(member.dependencies().iter().filter_map(|dependency| {
            let message = if workspace.find(dependency.name).is_some() {
                refuse_sibling(member, layer, dependency, &place(dependency.name))
            } else {
                refuse_outsider(member, layer, dependency, &drivers)
            };
            Some(Problem::in_file(member.manifest_path(), message?))
        }));
    }
    problems
}

/// `place` is what the layers call the sibling.
fn refuse_sibling(member: &Crate, layer: &Layer, dependency: &Dependency<'_>, place: &str) -> Option<String> {
    let name = dependency.name;
    let for_tests = dependency.kind == Kind::Development;
    let allowed = layer.siblings.contains(&place) || for_tests && FOR_TESTS.contains(&place);
    (!allowed).then(|| match name {
        "trace-testkit" => format!("`{}` uses `{name}`, which is for tests only", member.name),
        _ => format!("`{}` may not use `{name}`", member.name),
    })
}

fn refuse_outsider(
    member: &Crate,
    layer: &Layer,
    dependency: &Dependency<'_>,
    drivers: &BTreeMap<&str, &str>,
) -> Option<String> {
    let name = dependency.name;
    if dependency.kind == Kind::Development {
        return None;
    }
    let is_foreign = |ledger: &str, driver: &str| driver == name && member.name != format!("trace-store-{ledger}");
    let is_allowed = OTHER_USES.contains(&(member.name.as_str(), name));
    if !is_allowed && drivers.iter().any(|(ledger, driver)| is_foreign(ledger, driver)) {
        return Some(format!("`{}` may not use `{name}`: only its own store knows it", member.name));
    }
    if let Some((_, users, reason)) = ONLY_IN.iter().find(|(only, ..)| *only == name)
        && !users.contains(&member.name.as_str())
    {
        return Some(format!("`{}` may not use `{name}`: {reason}", member.name));
    }
    match layer.pure {
        Some(allowed) if !allowed.contains(&name) => {
            Some(format!("`{}` is pure, and `{name}` is not on its list in xtask/src/layers.rs", member.name))
        }
        _ => None,
    }
}
