//! The environment of the process. This is the only file that reads it; everything else is handed a value.

#![expect(clippy::disallowed_methods, reason = "this is the file that reads the environment")]

use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use clap::ColorChoice;
use trace_capture::{IgnoredVariable, Parents, intake::exec};

/// What the environment says, read once when the command starts.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    /// The command line, with the program's name.
    pub(crate) args: Vec<OsString>,
    /// `TRACE_HOME`.
    trace_home: Option<PathBuf>,
    /// `XDG_DATA_HOME`.
    data_home: Option<PathBuf>,
    /// The person's own folder.
    person_home: Option<PathBuf>,
    /// `NO_COLOR`, `CLICOLOR_FORCE` and `TERM`, as far as they say something about colours.
    color: ColorVariables,
    /// The folder that the command was started in; unknown if it is gone.
    pub(crate) current_dir: Option<PathBuf>,
    /// `USER`, else `LOGNAME`.
    pub(crate) user: Option<String>,
    /// What a recorder around this process says: `TRACE_RUN_ID`, `TRACE_PARENT_LAUNCH` and `TRACE_PARENT_TURN`.
    pub(crate) parents: Parents,
    /// Those of them that make no sense.
    pub(crate) ignored: Vec<IgnoredVariable>,
    /// What standard input is.
    pub(crate) stdin: Stream,
    /// What standard output is.
    pub(crate) stdout: Stream,
    /// What standard error is.
    pub(crate) stderr: Stream,
}

/// What a standard stream is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// A terminal of that many columns.
    Terminal {
        /// The columns; unknown for a terminal without a size.
        columns: Option<u16>,
    },
    /// A pipe, a file, or nothing.
    Other,
}

impl Stream {
    pub(crate) const fn is_terminal(self) -> bool {
        matches!(self, Self::Terminal { .. })
    }

    /// Returns the columns that text has to fit in; a pipe takes lines of any length.
    pub(crate) const fn width(self) -> Option<u16> {
        match self {
            Self::Terminal { columns: Some(columns) } => Some(columns),
            Self::Terminal { columns: None } => Some(80),
            Self::Other => None,
        }
    }
}

/// What the variables about colours say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColorVariables {
    /// `NO_COLOR` is set: none.
    Never,
    /// `CLICOLOR_FORCE` is set: on a pipe too.
    Always,
    /// On a terminal that has colours.
    OnTerminal,
}

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn read() -> Self {
        let (parents, ignored) = Parents::read(|name| env::var(name).ok());
        let path = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            args: env::args_os().collect(),
            trace_home: path(exec::HOME_VARIABLE),
            data_home: path("XDG_DATA_HOME").filter(|path| path.is_absolute()),
            person_home: env::home_dir().filter(|path| !path.as_os_str().is_empty()),
            color: color_variables(|name| env::var_os(name)),
            current_dir: env::current_dir().ok(),
            user: env::var("USER").or_else(|_| env::var("LOGNAME")).ok(),
            parents,
            ignored,
            stdin: stream(&io::stdin()),
            stdout: stream(&io::stdout()),
            stderr: stream(&io::stderr()),
        }
    }

    /// Returns the folder of Trace where none is given on the command line: `TRACE_HOME`, or the platform's place for
    /// data; `None` if there is no such place.
    pub(crate) fn default_home(&self) -> Option<PathBuf> {
        self.trace_home.clone().or_else(|| {
            platform_data_dir(cfg!(target_os = "macos"), self.data_home.as_deref(), self.person_home.as_deref())
        })
    }

    /// Tells whether text for the stream has colours.
    pub(crate) fn has_color(&self, choice: ColorChoice, stream: Stream) -> bool {
        match (choice, self.color) {
            (ColorChoice::Always, _) | (ColorChoice::Auto, ColorVariables::Always) => true,
            (ColorChoice::Never, _) | (ColorChoice::Auto, ColorVariables::Never) => false,
            (ColorChoice::Auto, ColorVariables::OnTerminal) => stream.is_terminal(),
        }
    }
}

fn stream(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Stream {
    if !stream.is_terminal() {
        return Stream::Other;
    }
    let columns = rustix::termios::tcgetwinsize(stream).ok().map(|size| size.ws_col);
    Stream::Terminal { columns: columns.filter(|columns| *columns > 0) }
}

fn color_variables(variable: impl Fn(&str) -> Option<OsString>) -> ColorVariables {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        ColorVariables::Never
    } else if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        ColorVariables::Always
    } else if set("TERM").is_some_and(|value| value == "dumb") {
        ColorVariables::Never
    } else {
        ColorVariables::OnTerminal
    }
}

fn platform_data_dir(is_macos: bool, data_home: Option<&Path>, person_home: Option<&Path>) -> Option<PathBuf> {
    if is_macos {
        return Some(person_home?.join("Library/Application Support/trace"));
    }
    match data_home {
        Some(data_home) => Some(data_home.join("trace")),
        None => Some(person_home?.join(".local/share/trace")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_goes_where_the_platform_keeps_it() {
        let check = |is_macos, data_home: Option<&str>, person_home: Option<&str>, expected: Option<&str>| {
            let found = platform_data_dir(is_macos, data_home.map(Path::new), person_home.map(Path::new));
            assert_eq!(found.as_deref(), expected.map(Path::new));
        };
        check(false, Some("/data"), Some("/home/ada"), Some("/data/trace"));
        check(false, None, Some("/home/ada"), Some("/home/ada/.local/share/trace"));
        check(true, Some("/data"), Some("/Users/ada"), Some("/Users/ada/Library/Application Support/trace"));
        check(false, None, None, None);
        check(true, None, None, None);
    }

    #[test]
    fn no_color_wins_over_force_and_force_over_a_dumb_terminal() {
        let check = |variables: &[(&str, &str)], expected| {
            let lookup =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
            assert_eq!(color_variables(lookup), expected, "{variables:?}");
        };
        check(&[], ColorVariables::OnTerminal);
        check(&[("TERM", "xterm-256color")], ColorVariables::OnTerminal);
        check(&[("TERM", "dumb")], ColorVariables::Never);
        check(&[("NO_COLOR", "")], ColorVariables::OnTerminal);
        check(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], ColorVariables::Never);
        check(&[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")], ColorVariables::Always);
        check(&[("CLICOLOR_FORCE", "0")], ColorVariables::OnTerminal);
    }
}
