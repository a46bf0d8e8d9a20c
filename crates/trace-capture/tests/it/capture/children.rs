//! Children of the test: this test binary again, as an embedding process.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const HOME: &str = "TRACE_TEST_CHILD_HOME";

/// Returns the command that runs the test of that name as a child with that home.
pub(super) fn command(test: &str, home: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(HOME, home).stdout(Stdio::piped());
    command
}

/// Returns the home of this process if it is a child.
pub(super) fn home() -> Option<PathBuf> {
    env::var_os(HOME).map(PathBuf::from)
}
