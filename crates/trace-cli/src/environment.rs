//! The environment of the process. This is the only file that reads it; everything else is handed a value.

#![expect(clippy::disallowed_methods, reason = "this is the file that reads the environment")]

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, IsTerminal},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use clap::ColorChoice;
use jiff::tz::TimeZone;
use trace_capture::{
    IgnoredVariable, Parents,
    intake::{exec, import::Roots},
};

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
    /// Where the person told the agents to keep their files.
    agents: AgentVariables,
    /// `NO_COLOR`, `CLICOLOR_FORCE` and `TERM`, as far as they say something about colours.
    color: ColorVariables,
    /// Whether `TZ` is set.
    tells_zone: bool,
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
            agents: AgentVariables::read(|name| env::var_os(name)),
            color: color_variables(|name| env::var_os(name)),
            tells_zone: env::var_os("TZ").is_some(),
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

    /// Returns the time zone of whoever looks: `TZ`, else the system's, else UTC; `None` if `TZ` names none that is
    /// known.
    pub(crate) fn time_zone(&self) -> Option<TimeZone> {
        zone_of(TimeZone::try_system().ok(), self.tells_zone)
    }

    /// Returns the folders that the agents keep their files in.
    pub(crate) fn agent_roots(&self) -> Roots {
        self.agents.roots(self.data_home.as_deref(), self.person_home.as_deref())
    }

    /// Returns a path of the command line as it reads from anywhere.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        let whole = self.current_dir.as_deref().map_or_else(|| path.to_path_buf(), |current| current.join(path));
        // Of `./a` and `a`, the same name.
        whole.components().collect()
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

/// The variables that tell agents where to keep their files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct AgentVariables {
    /// `CLAUDE_CONFIG_DIR`.
    claude: Vec<PathBuf>,
    /// `CODEX_HOME`.
    codex: Vec<PathBuf>,
    /// `GEMINI_CLI_HOME`.
    gemini: Vec<PathBuf>,
    /// `OPENCODE_DB`.
    opencode: Vec<PathBuf>,
}

impl AgentVariables {
    fn read(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let list = |name| variable(name).map(|value| path_list(&value)).unwrap_or_default();
        Self {
            claude: list("CLAUDE_CONFIG_DIR"),
            codex: list("CODEX_HOME"),
            gemini: list("GEMINI_CLI_HOME"),
            opencode: list("OPENCODE_DB"),
        }
    }

    /// Returns the folders that are told, and else those that the agents have of their own accord.
    fn roots(&self, data_home: Option<&Path>, person_home: Option<&Path>) -> Roots {
        let at_home = |name: &str| person_home.map(|home| home.join(name));
        let or = |told: &[PathBuf], own: Vec<Option<PathBuf>>| {
            if told.is_empty() { own.into_iter().flatten().collect() } else { told.to_vec() }
        };
        let data_home = data_home.map(Path::to_path_buf).or_else(|| at_home(".local/share"));
        let opencode = data_home.map(|data| data.join("opencode"));
        let databases = self.opencode.iter().filter_map(|path| match &opencode {
            Some(folder) if path.is_relative() => Some(folder.join(path)),
            _ => path.is_absolute().then(|| path.clone()),
        });
        Roots {
            claude: or(&self.claude, vec![at_home(".claude"), at_home(".config/claude")]),
            codex: or(&self.codex, vec![at_home(".codex")]),
            // The variable stands for the person's own folder.
            gemini: or(
                &self.gemini.iter().map(|home| home.join(".gemini")).collect::<Vec<_>>(),
                vec![at_home(".gemini")],
            ),
            opencode: or(&databases.collect::<Vec<_>>(), vec![opencode.clone()]),
        }
    }
}

/// Returns the paths of a list, which has colons or commas between them.
fn path_list(value: &OsStr) -> Vec<PathBuf> {
    let parts = value.as_bytes().split(|byte| matches!(byte, b':' | b','));
    parts
        .map(<[u8]>::trim_ascii)
        .filter(|part| !part.is_empty())
        .map(|part| PathBuf::from(OsStr::from_bytes(part)))
        .collect()
}

/// Returns the zone that was found. A machine that tells none, as small containers do, counts in UTC.
fn zone_of(found: Option<TimeZone>, is_told: bool) -> Option<TimeZone> {
    found.or_else(|| (!is_told).then_some(TimeZone::UTC))
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
    fn agents_keep_their_files_where_they_are_told_and_else_at_home() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let own = AgentVariables::default().roots(None, Some(Path::new("/home/ada")));
        assert_eq!(own.claude, paths(&["/home/ada/.claude", "/home/ada/.config/claude"]));
        assert_eq!(own.codex, paths(&["/home/ada/.codex"]));
        assert_eq!(own.gemini, paths(&["/home/ada/.gemini"]));
        assert_eq!(own.opencode, paths(&["/home/ada/.local/share/opencode"]));
        let variable = |name: &str| match name {
            "CLAUDE_CONFIG_DIR" => Some(OsString::from("/a, /b:/c")),
            "GEMINI_CLI_HOME" => Some(OsString::from("/g")),
            "OPENCODE_DB" => Some(OsString::from("beta.db")),
            _ => None,
        };
        let told = AgentVariables::read(variable).roots(Some(Path::new("/data")), Some(Path::new("/home/ada")));
        assert_eq!(told.claude, paths(&["/a", "/b", "/c"]));
        assert_eq!(told.gemini, paths(&["/g/.gemini"]));
        assert_eq!(told.opencode, paths(&["/data/opencode/beta.db"]));
        assert_eq!(AgentVariables::default().roots(None, None), Roots::default());
    }

    #[test]
    fn a_machine_without_a_zone_counts_in_utc_unless_it_names_one() {
        let tokyo = TimeZone::get("Asia/Tokyo").unwrap();
        assert_eq!(zone_of(Some(tokyo.clone()), false), Some(tokyo));
        assert_eq!(zone_of(None, false), Some(TimeZone::UTC));
        assert_eq!(zone_of(None, true), None);
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
