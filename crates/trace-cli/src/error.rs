//! Errors as a person sees them: what went wrong, why, and what to do next.

use std::{error::Error, fmt, io};

/// An error with the next step for whoever meets it.
#[derive(Debug)]
pub(crate) struct Advised {
    error: anyhow::Error,
    advice: String,
}

impl fmt::Display for Advised {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(formatter)
    }
}

impl Error for Advised {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

/// Returns the error with the next step.
pub(crate) fn advised(error: impl Into<anyhow::Error>, advice: String) -> anyhow::Error {
    Advised { error: error.into(), advice }.into()
}

/// Returns the next step of an error that has one.
pub(crate) fn advice(error: &anyhow::Error) -> Option<&str> {
    error.chain().find_map(|cause| cause.downcast_ref::<Advised>()).map(|advised| advised.advice.as_str())
}

/// Adds the next step to an error.
pub(crate) trait Advise<T> {
    /// Says what to do about a failure.
    fn advise(self, advice: impl FnOnce() -> String) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> Advise<T> for Result<T, E> {
    fn advise(self, advice: impl FnOnce() -> String) -> anyhow::Result<T> {
        self.map_err(|error| advised(error, advice()))
    }
}

/// A command line that asks for what makes no sense; clap cannot see it. It stands alone, or as the context of a cause.
#[derive(Debug)]
pub(crate) struct WrongUsage(pub(crate) String);

impl fmt::Display for WrongUsage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for WrongUsage {}

/// What the process does about an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Whoever read our output has seen enough: nothing is wrong.
    Quiet,
    /// Exit code 1.
    Failure,
    /// Exit code 2.
    WrongUsage,
}

impl Verdict {
    /// Returns what to do about the error.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        let is_closed_pipe = |cause: &(dyn Error + 'static)| {
            cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        };
        // The chain of an advised error begins below the error itself.
        let told = error.downcast_ref::<Advised>().map_or(error, |advised| &advised.error);
        if error.chain().any(is_closed_pipe) {
            Self::Quiet
        } else if told.is::<WrongUsage>() {
            Self::WrongUsage
        } else {
            Self::Failure
        }
    }
}

/// Returns the error with its causes, one a line, and the next step at the end.
pub(crate) fn lines(error: &anyhow::Error) -> Vec<(&'static str, String)> {
    let mut lines = vec![("error", error.to_string())];
    lines.extend(error.chain().skip(1).map(|cause| ("cause", cause.to_string())));
    // The same text twice helps nobody: some errors repeat their cause.
    lines.dedup_by(|later, earlier| earlier.1.ends_with(&later.1));
    lines.extend(advice(error).map(|advice| ("next", advice.to_owned())));
    lines
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn an_error_tells_its_causes_and_the_next_step() {
        let error = Err::<(), _>(io::Error::other("disk on fire"))
            .context("cannot write home.json")
            .advise(|| "put the fire out".to_owned())
            .unwrap_err();
        let expected = [("error", "cannot write home.json"), ("cause", "disk on fire"), ("next", "put the fire out")];
        assert_eq!(lines(&error), expected.map(|(word, text)| (word, text.to_owned())));
    }

    #[test]
    fn a_closed_pipe_is_quiet_wherever_it_is_in_the_chain() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(Verdict::of(&closed().into()), Verdict::Quiet);
        assert_eq!(Verdict::of(&anyhow::Error::from(closed()).context("cannot print")), Verdict::Quiet);
        assert_eq!(Verdict::of(&WrongUsage("no".to_owned()).into()), Verdict::WrongUsage);
        let caused = anyhow!("no such file").context(WrongUsage("no".to_owned()));
        assert_eq!(Verdict::of(&caused), Verdict::WrongUsage);
        let advised = Err::<(), _>(caused).advise(|| "look".to_owned()).unwrap_err();
        assert_eq!(Verdict::of(&advised), Verdict::WrongUsage);
        assert_eq!(Verdict::of(&anyhow!("no")), Verdict::Failure);
    }
}
