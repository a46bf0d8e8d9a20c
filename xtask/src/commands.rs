//! How other programs are run.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// The version of cargo-nextest that is installed where there is none.
const NEXTEST: &str = "0.9.151";
/// The version of cargo-deny that is installed where there is none.
const DENY: &str = "0.20.2";

/// A command that takes its arguments by value, so that it can be written as one expression.
#[derive(Debug)]
pub(crate) struct Call(Command);

/// Returns a call of the cargo that runs this program.
pub(crate) fn cargo(root: &Path) -> Call {
    program(&env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")), root)
}

/// Returns a call of `program` in the folder `dir`, without standard input.
pub(crate) fn program(program: &OsStr, dir: &Path) -> Call {
    let mut command = Command::new(program);
    command.current_dir(dir).stdin(Stdio::null());
    Call(command)
}

impl Call {
    pub(crate) fn arg(mut self, argument: &str) -> Self {
        self.0.arg(argument);
        self
    }

    pub(crate) fn args<I: IntoIterator<Item = S>, S: AsRef<str>>(mut self, arguments: I) -> Self {
        for argument in arguments {
            self.0.arg(argument.as_ref());
        }
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    /// Returns the command, to be run in another way.
    pub(crate) fn into_command(self) -> Command {
        self.0
    }

    /// Returns the words of the command, for a message.
    fn words(&self) -> String {
        let program = Path::new(self.0.get_program()).file_name().unwrap_or_default();
        let words = std::iter::once(program).chain(self.0.get_args()).map(OsStr::to_string_lossy);
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Runs `call`, which fails if it does.
pub(crate) fn succeed(mut call: Call) -> Result<()> {
    let status = call.0.status().with_context(|| format!("start `{}`", call.words()))?;
    ensure!(status.success(), "`{}` failed ({status})", call.words());
    Ok(())
}

/// Runs `call` and returns what it printed on stdout.
pub(crate) fn output(mut call: Call) -> Result<String> {
    let output = call.0.stderr(Stdio::inherit()).output().with_context(|| format!("start `{}`", call.words()))?;
    ensure!(output.status.success(), "`{}` failed ({})", call.words(), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Tells whether `call` succeeds; what it prints is dropped.
fn answers(call: Call) -> bool {
    call.into_command().output().is_ok_and(|output| output.status.success())
}

/// Installs cargo-nextest if it is not there.
pub(crate) fn install_nextest(root: &Path) -> Result<()> {
    // Unoptimized and without its self-update, so that it builds in a few minutes; it waits for tests, mostly.
    install(root, "nextest", NEXTEST, &["--debug", "--no-default-features", "--features", "default-no-update"])
}

/// Installs cargo-deny if it is not there.
pub(crate) fn install_deny(root: &Path) -> Result<()> {
    install(root, "deny", DENY, &["--debug"])
}

/// Installs strace if it is not there: a test follows the system calls of a ledger with it. Other systems than Linux
/// have no strace, and no such test.
pub(crate) fn install_strace(root: &Path) -> Result<()> {
    if !cfg!(target_os = "linux") || answers(program(OsStr::new("strace"), root).arg("--version")) {
        return Ok(());
    }
    println!("strace is not installed: installing it with apt-get");
    let is_root = output(program(OsStr::new("id"), root).arg("-u"))?.trim() == "0";
    let apt_get = |arguments: &[&str]| {
        let words = ["sudo", "--non-interactive", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
        let words = if is_root { &words[2..] } else { &words[..] };
        succeed(program(OsStr::new(words[0]), root).args(&words[1..]).args(arguments))
    };
    let install = || apt_get(&["install", "--yes", "--no-install-recommends", "strace"]);
    // The lists of packages may be old, or missing as in a fresh container.
    install()
        .or_else(|_| apt_get(&["update"]).and_then(|()| install()))
        .context("the tests need strace, and apt-get did not bring it: install it by hand")
}

fn install(root: &Path, tool: &str, version: &str, options: &[&str]) -> Result<()> {
    if answers(cargo(root).args([tool, "--version"])) {
        return Ok(());
    }
    let name = format!("cargo-{tool}");
    println!("{name} is not installed: building version {version}");
    succeed(cargo(root).args(["install", "--locked", &name, "--version", version]).args(options))
}
