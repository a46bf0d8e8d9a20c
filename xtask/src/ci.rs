//! `cargo xtask ci`: everything that must hold before a change lands, in one command.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::licences::Policy;
use crate::tests_run::{self, Counts};
use crate::workspace::{Problem, Workspace};
use crate::{commands, features, layers, licences, manifests, prices, purity, tidy};

struct Step {
    name: &'static str,
    about: &'static str,
    /// Does the step. Failed tests are counts; anything else that fails is an error.
    run: fn(&Path) -> Result<Counts>,
}

/// The steps, the quick ones first.
const STEPS: &[Step] = &[
    Step { name: "format", about: "sources are formatted", run: format },
    Step { name: "tidy", about: "sizes, words, unsafe code, documents", run: |root| check(root, tidy::check) },
    Step { name: "layers", about: "which crate may use which", run: |root| check(root, layers::check) },
    Step { name: "purity", about: "pure crates have no way to the world", run: |root| check(root, purity::check) },
    Step { name: "manifests", about: "manifests are of one shape", run: |root| check(root, manifests::check) },
    Step { name: "licences", about: "licences and sources of dependencies", run: check_licences },
    Step { name: "prices", about: "the table of prices is that of genai-prices", run: check_prices },
    Step { name: "clippy", about: "lints are errors", run: clippy },
    Step { name: "tests", about: "every test", run: |root| tests_run::nextest(root, &workspace_arguments()) },
    Step { name: "doctests", about: "the examples of the documentation", run: tests_run::doctests },
    Step { name: "features", about: "every set of features, each crate by itself", run: features::run },
    Step { name: "docs", about: "the documentation builds, warnings are errors", run: docs },
];

/// Returns what `--only` takes.
pub(crate) fn step_names() -> Vec<&'static str> {
    STEPS.iter().map(|step| step.name).collect()
}

/// Prints the steps.
pub(crate) fn list() {
    for step in STEPS {
        println!("{:<10} {}", step.name, step.about);
    }
}

/// Runs the steps named by `only`, or all. Every step runs, also after one that failed; returns whether none did.
pub(crate) fn run(root: &Path, only: &[String]) -> bool {
    let mut tests = Counts::default();
    let mut rows = Vec::new();
    let mut failed = Vec::new();
    let chosen = |step: &&Step| only.is_empty() || only.iter().any(|name| name == step.name);
    for step in STEPS.iter().filter(chosen) {
        println!("\n=== {}: {}", step.name, step.about);
        let start = Instant::now();
        let outcome = (step.run)(root);
        let taken = seconds(start.elapsed());
        let verdict = match outcome {
            Ok(counts) => {
                tests += counts;
                if counts.failed == 0 { "ok" } else { "FAILED" }
            }
            Err(error) => {
                println!("{error:#}");
                "FAILED"
            }
        };
        if verdict == "FAILED" {
            failed.push(step.name);
        }
        println!("=== {} {verdict} in {taken}", step.name);
        rows.push((step.name, verdict, taken));
    }

    println!("\n=== summary");
    for (name, verdict, taken) in rows {
        println!("{name:<10} {verdict:<6} {taken:>9}");
    }
    if !failed.is_empty() {
        println!("failed: {}", failed.join(", "));
    }
    if tests != Counts::default() {
        println!("{} passed, {} failed", tests.passed, tests.failed);
    }
    failed.is_empty()
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn check(root: &Path, rules: fn(&Workspace) -> Vec<Problem>) -> Result<Counts> {
    report(&rules(&Workspace::read(root)?))
}

fn report(problems: &[Problem]) -> Result<Counts> {
    for problem in problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => Ok(Counts::default()),
        1 => bail!("1 problem"),
        count => bail!("{count} problems"),
    }
}

fn check_licences(root: &Path) -> Result<Counts> {
    let text = std::fs::read_to_string(root.join("deny.toml")).context("read deny.toml")?;
    let policy = Policy::parse(&text)?;
    report(&licences::check(&policy, &licences::packages(root, &policy)?))
}

fn check_prices(root: &Path) -> Result<Counts> {
    prices::check(root)?;
    Ok(Counts::default())
}

fn format(root: &Path) -> Result<Counts> {
    commands::succeed(commands::cargo(root).args(["fmt", "--all", "--check"]))?;
    Ok(Counts::default())
}

fn clippy(root: &Path) -> Result<Counts> {
    let clippy = commands::cargo(root).arg("clippy").args(workspace_arguments());
    commands::succeed(clippy.args(["--all-targets", "--", "-D", "warnings"]))?;
    Ok(Counts::default())
}

fn docs(root: &Path) -> Result<Counts> {
    let doc = commands::cargo(root).arg("doc").args(workspace_arguments()).arg("--no-deps");
    commands::succeed(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Counts::default())
}

/// The whole workspace, exactly as `Cargo.lock` has it.
fn workspace_arguments() -> Vec<String> {
    ["--locked", "--workspace"].map(str::to_owned).to_vec()
}
