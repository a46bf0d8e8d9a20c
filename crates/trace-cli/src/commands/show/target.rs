//! What `trace show` is about: a launch or a run.

use std::{fmt, str::FromStr};

use anyhow::anyhow;
use trace_model::{
    id::{IdSuffix, LaunchId, RunId},
    launch::Launch,
};
use trace_report::run::RunReport;

use crate::{
    args::LaunchName,
    error::{Advise, advised},
    store::Store,
};

/// A launch or a run as a person names it.
///
/// `latest` and what begins as ids of launches do is a launch. What cannot be the end of such an id is a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShowTarget {
    /// A launch.
    Launch(LaunchName),
    /// A run.
    Run(RunId),
    /// The launch whose id ends so, else the run that is called so.
    LaunchOrRun(IdSuffix, RunId),
}

/// What was found under a name.
#[derive(Debug)]
pub(super) enum Found {
    Launch(Box<Launch>),
    Run(Box<RunReport>),
}

impl FromStr for ShowTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text.parse(), text.parse()) {
            (Ok(LaunchName::Latest), _) => Ok(Self::Launch(LaunchName::Latest)),
            (launch, _) if text.starts_with(LaunchId::PREFIX) => {
                launch.map(Self::Launch).map_err(|error| error.to_string())
            }
            (Ok(LaunchName::Suffix(suffix)), Ok(run)) => Ok(Self::LaunchOrRun(suffix, run)),
            (_, Ok(run)) => Ok(Self::Run(run)),
            (Ok(launch), Err(_)) => Ok(Self::Launch(launch)),
            (Err(launch), Err(run)) => Err(format!("{launch}; {run}")),
        }
    }
}

impl fmt::Display for ShowTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launch(name) => name.fmt(formatter),
            Self::Run(run) | Self::LaunchOrRun(_, run) => run.fmt(formatter),
        }
    }
}

impl ShowTarget {
    /// Looks for it.
    pub(super) fn find(&self, store: &Store) -> anyhow::Result<Found> {
        let launch = |launch| Found::Launch(Box::new(launch));
        match self {
            Self::Launch(name) => store.launch(name).map(launch),
            Self::Run(id) => match store.run(id)? {
                Some(report) => Ok(Found::Run(Box::new(report))),
                None => Err(anyhow!("there is no run {id}")).advise(|| see_lists(store)),
            },
            Self::LaunchOrRun(suffix, id) => {
                if let Some(found) = store.launch_by_suffix(suffix)? {
                    return Ok(launch(found));
                }
                let report = store.run(id)?;
                let nothing = || {
                    let error = anyhow!("there is no launch whose id ends in {suffix}, and no run {id}");
                    advised(error, see_lists(store))
                };
                report.map(|report| Found::Run(Box::new(report))).ok_or_else(nothing)
            }
        }
    }
}

/// What to do where nothing was found.
fn see_lists(store: &Store) -> String {
    let lists = "`trace ls` lists the launches, and `trace show LAUNCH` names the run of each";
    store.hint_of_unindexed().unwrap_or(lists).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_and_runs_are_told_apart_by_their_names() {
        let launch = |text: &str| ShowTarget::Launch(text.parse().unwrap());
        let run = |text: &str| ShowTarget::Run(text.parse().unwrap());
        let either = |text: &str| ShowTarget::LaunchOrRun(text.parse().unwrap(), text.parse().unwrap());
        let digits = "01923456789a7bcd8ef0123456789abc";
        for (text, expected) in [
            ("latest", launch("latest")),
            ("launch_3fa9", launch("launch_3fa9")),
            (&format!("launch_{digits}"), launch(&format!("launch_{digits}"))),
            (&format!("run_{digits}"), run(&format!("run_{digits}"))),
            ("nightly-7.2_a", run("nightly-7.2_a")),
            ("abc", run("abc")),
            ("3FA9", run("3FA9")),
            (&"a".repeat(33), run(&"a".repeat(33))),
            ("3fa9", either("3fa9")),
            (digits, either(digits)),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_neither_says_what_both_look_like() {
        for bad in ["", "a/b", "../x", ".hidden", "ä", &"a".repeat(65)] {
            let error = bad.parse::<ShowTarget>().unwrap_err();
            assert!(error.contains("launch") && error.contains("run"), "{bad:?}: {error}");
        }
        assert!("launch_nightly".parse::<ShowTarget>().is_err());
    }
}
