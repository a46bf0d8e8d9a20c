//! Every set of features that a crate is built with.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::commands;
use crate::tests_run::{self, Counts};

/// One set of features of one package.
pub(crate) struct FeatureSet {
    pub(crate) package: &'static str,
    /// The features, without the default ones.
    pub(crate) features: &'static [&'static str],
}

/// The sets that are checked. Each feature of a crate is in one of them.
pub(crate) const FEATURE_SETS: &[FeatureSet] = &[
    FeatureSet { package: "trace-capture", features: &[] },
    FeatureSet { package: "trace-capture", features: &["sqlite"] },
    FeatureSet { package: "trace-cli", features: &[] },
    FeatureSet { package: "trace-cli", features: &["sqlite"] },
];

/// The crate that each feature brings, and that must be absent without it.
const BROUGHT_BY: &[(&str, &str)] = &[("sqlite", "rusqlite")];

impl FeatureSet {
    fn title(&self) -> String {
        let features = if self.features.is_empty() { "no features".to_owned() } else { self.features.join(", ") };
        format!("{} with {features}", self.package)
    }

    /// Returns the arguments that select this set. One package at a time, or cargo would unite the sets.
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--locked", "--package", self.package, "--no-default-features"];
        let features = self.features.join(",");
        if !features.is_empty() {
            arguments.extend(["--features", &features]);
        }
        arguments.into_iter().map(str::to_owned).collect()
    }
}

/// Lints each set, looks at what it depends on, and runs the tests of the sets that the workspace's own run leaves out.
pub(crate) fn run(root: &Path) -> Result<Counts> {
    let mut counts = Counts::default();
    for set in FEATURE_SETS {
        println!("{}", set.title());
        check_tree(root, set)?;
        let clippy =
            commands::cargo(root).arg("clippy").args(set.arguments()).args(["--all-targets", "--", "-D", "warnings"]);
        commands::succeed(clippy)?;
        if set.features.is_empty() {
            counts += tests_run::nextest(root, &set.arguments())?;
        }
    }
    Ok(counts)
}

fn check_tree(root: &Path, set: &FeatureSet) -> Result<()> {
    let tree = commands::cargo(root).arg("tree").args(set.arguments()).args(["--edges", "normal", "--prefix", "none"]);
    let tree = commands::output(tree)?;
    for (feature, brought) in BROUGHT_BY {
        let expected = set.features.contains(feature);
        let present = tree.lines().any(|line| line.split(' ').next() == Some(brought));
        let verb = if present { "depends" } else { "does not depend" };
        ensure!(present == expected, "{} {verb} on {brought}", set.title());
    }
    Ok(())
}
