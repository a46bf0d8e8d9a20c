//! What a launch is part of, as whoever starts it says: in memory, or by variables of the environment.

use std::fmt;

use trace_model::{
    ModelError,
    id::{LaunchId, RunId, TurnId},
};

use super::Capture;

/// The variable that names the run to a recorder inside of an agent.
pub const RUN_VARIABLE: &str = "TRACE_RUN_ID";
/// The variable that names the launch to a recorder inside of an agent.
pub const PARENT_LAUNCH_VARIABLE: &str = "TRACE_PARENT_LAUNCH";
/// The variable that names the turn to a recorder inside of an agent: the one that ran when the agent was started.
pub const PARENT_TURN_VARIABLE: &str = "TRACE_PARENT_TURN";

/// The run, the launch and the turn that a launch is started in. The home need not hold any of them.
///
/// [`Labels::within`](crate::Labels::within) puts a launch there. An embedded recorder joins the run of the recorder
/// around its process so:
///
/// ```
/// use trace_capture::{Labels, Parents};
///
/// # let labels = Labels::new("run_1".parse()?, "process_1".parse()?, "/repo", "/repo");
/// let (parents, ignored) = Parents::read(|name| std::env::var(name).ok());
/// let labels = labels.within(parents);
/// # assert!(ignored.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parents {
    /// The run.
    pub run_id: Option<RunId>,
    /// The launch.
    pub launch_id: Option<LaunchId>,
    /// The turn.
    pub turn_id: Option<TurnId>,
}

/// A variable that makes no sense. It is as good as one that is not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredVariable {
    /// Its name.
    pub name: &'static str,
    /// Why it makes no sense.
    pub reason: ModelError,
}

impl fmt::Display for IgnoredVariable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, reason } = self;
        write!(formatter, "the variable {name} is ignored: {reason}")
    }
}

impl Parents {
    /// Returns what a launch is part of that is started in the running turn of this one. A disabled capture says
    /// nothing.
    pub fn beneath(capture: &Capture) -> Self {
        Self { run_id: capture.run_id(), launch_id: capture.launch_id(), turn_id: capture.running_turn() }
    }

    /// Reads what the recorder around this process says; `variable` looks a variable of the environment up. What makes
    /// no sense is ignored and told.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> (Self, Vec<IgnoredVariable>) {
        let mut ignored = Vec::new();
        let text = |name| variable(name).filter(|text| !text.is_empty());
        let parents = Self {
            run_id: read(RUN_VARIABLE, text(RUN_VARIABLE), &mut ignored),
            launch_id: read(PARENT_LAUNCH_VARIABLE, text(PARENT_LAUNCH_VARIABLE), &mut ignored),
            turn_id: read(PARENT_TURN_VARIABLE, text(PARENT_TURN_VARIABLE), &mut ignored),
        };
        (parents, ignored)
    }

    /// Returns the variables that tell this to a recorder in another process. Those without a value are to be removed
    /// from its environment: what they say of somebody else would be wrong.
    pub fn variables(&self) -> [(&'static str, Option<String>); 3] {
        [
            (RUN_VARIABLE, self.run_id.as_ref().map(ToString::to_string)),
            (PARENT_LAUNCH_VARIABLE, self.launch_id.as_ref().map(ToString::to_string)),
            (PARENT_TURN_VARIABLE, self.turn_id.as_ref().map(ToString::to_string)),
        ]
    }
}

fn read<T: std::str::FromStr<Err = ModelError>>(
    name: &'static str,
    text: Option<String>,
    ignored: &mut Vec<IgnoredVariable>,
) -> Option<T> {
    let parsed = text?.parse();
    parsed.map_err(|reason| ignored.push(IgnoredVariable { name, reason })).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAUNCH: &str = "launch_01923456789a7bcd8ef0123456789abc";
    const TURN: &str = "turn_01923456789a7bcd8ef0123456789abc";

    /// Compares what is read from those variables, and the names of those that are ignored.
    fn check(set: &[(&str, &str)], expected: [Option<&str>; 3], expected_ignored: &[&str]) {
        let lookup = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let (parents, ignored) = Parents::read(lookup);
        assert_eq!(parents.variables().map(|(_, value)| value), expected.map(|value| value.map(str::to_owned)));
        assert_eq!(ignored.iter().map(|ignored| ignored.name).collect::<Vec<_>>(), expected_ignored);
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        check(&[], [None; 3], &[]);
        let all = [(RUN_VARIABLE, "nightly"), (PARENT_LAUNCH_VARIABLE, LAUNCH), (PARENT_TURN_VARIABLE, TURN)];
        check(&all, [Some("nightly"), Some(LAUNCH), Some(TURN)], &[]);
        check(&all[..1], [Some("nightly"), None, None], &[]);
    }

    #[test]
    fn what_makes_no_sense_is_ignored_and_told_and_what_is_empty_is_not_there() {
        check(&[(RUN_VARIABLE, "../etc"), (PARENT_TURN_VARIABLE, TURN)], [None, None, Some(TURN)], &[RUN_VARIABLE]);
        check(&[(RUN_VARIABLE, ""), (PARENT_LAUNCH_VARIABLE, TURN)], [None; 3], &[PARENT_LAUNCH_VARIABLE]);
    }

    #[test]
    fn an_ignored_variable_is_named() {
        let (_, ignored) = Parents::read(|name| (name == PARENT_TURN_VARIABLE).then(|| "x".to_owned()));
        assert!(ignored[0].to_string().starts_with("the variable TRACE_PARENT_TURN is ignored: "), "{}", ignored[0]);
    }
}
