//! Every set of features that a crate is built with.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use toml::Value;

use crate::commands;
use crate::tests_run::{self, Counts};
use crate::workspace::{Crate, Workspace};

/// The packages that have a feature for each ledger with a driver.
const PACKAGES: [&str; 2] = ["trace-capture", "trace-cli"];

/// One set of features of one package.
pub(crate) struct FeatureSet {
    pub(crate) package: &'static str,
    /// The features, without the default ones.
    pub(crate) features: Vec<String>,
}

/// The driver that each feature brings, and that must be absent without it, by feature: `[workspace.metadata.ledgers]`.
pub(crate) fn drivers(workspace: &Workspace) -> BTreeMap<&str, &str> {
    let metadata = workspace.manifest.get("workspace").and_then(|workspace| workspace.get("metadata"));
    let ledgers = metadata.and_then(|metadata| metadata.get("ledgers")).and_then(Value::as_table);
    let entries = ledgers.into_iter().flatten();
    entries.filter_map(|(feature, driver)| Some((feature.as_str(), driver.as_str()?))).collect()
}

/// Returns the sets that are checked: no ledger with a driver, each of them alone, and all together.
pub(crate) fn sets(workspace: &Workspace) -> Vec<FeatureSet> {
    let all: Vec<String> = drivers(workspace).into_keys().map(str::to_owned).collect();
    let mut choices = vec![Vec::new()];
    choices.extend(all.iter().map(|feature| vec![feature.clone()]));
    if all.len() > 1 {
        choices.push(all);
    }
    let sets_of = |package| choices.iter().map(move |features| FeatureSet { package, features: features.clone() });
    PACKAGES.into_iter().flat_map(sets_of).collect()
}

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
    let workspace = Workspace::read(root)?;
    let mut counts = Counts::default();
    for set in sets(&workspace) {
        println!("{}", set.title());
        check_tree(root, &workspace, &set)?;
        let clippy =
            commands::cargo(root).arg("clippy").args(set.arguments()).args(["--all-targets", "--", "-D", "warnings"]);
        commands::succeed(clippy)?;
        let defaults = workspace.find(set.package).map(Crate::default_features).unwrap_or_default();
        if set.features != defaults {
            counts += tests_run::nextest(root, &set.arguments())?;
        }
    }
    Ok(counts)
}

fn check_tree(root: &Path, workspace: &Workspace, set: &FeatureSet) -> Result<()> {
    let tree = commands::cargo(root).arg("tree").args(set.arguments()).args(["--edges", "normal", "--prefix", "none"]);
    let tree = commands::output(tree)?;
    for (feature, driver) in drivers(workspace) {
        let expected = set.features.iter().any(|wanted| wanted == feature);
        let present = tree.lines().any(|line| line.split(' ').next() == Some(driver));
        let verb = if present { "depends" } else { "does not depend" };
        ensure!(present == expected, "{} {verb} on {driver}", set.title());
    }
    Ok(())
}
