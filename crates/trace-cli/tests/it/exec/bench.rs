//! A home, and the command that records into it.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// What a recorder around the tests would have set.
pub(crate) const RECORDER_VARIABLES: [&str; 3] = ["TRACE_RUN_ID", "TRACE_PARENT_LAUNCH", "TRACE_PARENT_TURN"];

/// What tells where the agents keep their files; else that is below the person's folder.
pub(crate) const AGENT_VARIABLES: [&str; 5] =
    ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "OPENCODE_DB", "XDG_DATA_HOME"];

/// A home, and the command that records into it.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Returns the path of a file beside the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Returns the program of the command.
    pub(crate) fn program() -> &'static Path {
        assert_cmd::cargo::cargo_bin!("trace")
    }

    /// Returns the command.
    pub(crate) fn trace(&self) -> Command {
        self.command(Self::program())
    }

    /// Returns a command with the home, and nothing in its environment that another recorder set. No agent keeps files
    /// where it looks for them, but those that a test makes below `person`.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("TRACE_HOME", self.home()).current_dir(self.folder.path());
        command.env("HOME", self.path("person")).env("TZ", "UTC");
        for name in RECORDER_VARIABLES.iter().chain(&AGENT_VARIABLES) {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Returns `trace exec` with those options, running that command.
    pub(crate) fn exec(&self, options: &[&str], command: &[&str]) -> Command {
        let mut trace = self.trace();
        trace.arg("exec").args(options).arg("--").args(command);
        trace
    }

    /// Returns `trace exec`, running a script of the shell.
    pub(crate) fn shell(&self, script: &str) -> Command {
        self.exec(&[], &["sh", "-c", script])
    }

    /// Returns the rows of the launch that began last, as `trace show` prints them.
    pub(crate) fn show(&self) -> Value {
        let output = self.trace().args(["show", "latest", "--json"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Returns the launches, the newest first, as `trace ls` prints them.
    pub(crate) fn launches(&self) -> Vec<Value> {
        let output = self.trace().args(["ls", "--json"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["launches"].as_array().unwrap().clone()
    }

    /// Returns a file of the only launch.
    pub(crate) fn artifact(&self, name: &str) -> Vec<u8> {
        fs::read(self.only_launch().join(name)).unwrap()
    }

    /// Returns the folder of the only launch.
    pub(crate) fn only_launch(&self) -> PathBuf {
        let folders = self.launch_folders();
        assert_eq!(folders.len(), 1, "{folders:?}");
        folders.into_iter().next().unwrap()
    }

    pub(crate) fn launch_folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.home().join("traces")];
        for _level in ["run", "process", "launch"] {
            folders = folders
                .iter()
                .flat_map(|folder| fs::read_dir(folder).unwrap())
                .map(|entry| entry.unwrap().path())
                .collect();
        }
        folders
    }
}

/// Returns what a command printed to standard output.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns what a command printed to standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
