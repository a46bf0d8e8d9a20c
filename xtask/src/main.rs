//! The tasks of this workspace: everything that CI checks, and what a developer runs by hand.
//!
//! One file per task: [`ci`], [`fix`], [`mod@bench`], [`corpus`], [`prices`], [`advisories`]. The checks that `ci`
//! makes itself are pure functions from a [`workspace::Workspace`] to problems: [`tidy`], [`layers`], [`purity`],
//! [`manifests`]; [`licences`] is one from the list of packages. `mistakes` (tests) applies each forbidden mistake and
//! sees it refused.

mod advisories;
mod bench;
mod ci;
mod commands;
mod corpus;
mod features;
mod fix;
mod layers;
mod licences;
mod manifests;
#[cfg(test)]
mod mistakes;
mod prices;
mod purity;
mod source;
mod tests_run;
mod tidy;
mod workspace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use corpus::{ByteCount, Plan};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The tasks of this workspace")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check and test everything, as CI does
    Ci {
        /// Only these steps
        #[arg(long, value_name = "STEP", value_parser = ci::step_names())]
        only: Vec<String>,
        /// Name the steps and stop
        #[arg(long)]
        list: bool,
    },
    /// Format, and apply what clippy can mend by itself
    Fix,
    /// Measure against the floors and hold the gates
    Bench {
        /// Only the benches whose package or name contains one of these
        names: Vec<String>,
    },
    /// Make sessions of agents whose true totals are known, for measuring and for comparing with other tools
    Corpus {
        /// Where to, outside of the repository; the folder must be empty or absent
        #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("trace-corpus"))]
        out: PathBuf,
        /// How large
        #[arg(long, value_name = "SIZE", default_value = "1.6GB")]
        bytes: ByteCount,
        /// In about how many files
        #[arg(long, value_name = "COUNT", default_value_t = 600)]
        files: u64,
        /// How long a line is, about: short lines cost a reader more of each byte
        #[arg(long, value_name = "BYTES", default_value_t = corpus::LINE_BYTES)]
        line_bytes: usize,
        /// The same seed makes the same bytes
        #[arg(long, value_name = "NUMBER", default_value_t = 1)]
        seed: u64,
    },
    /// Take the table of prices from the version of genai-prices that Cargo.lock names
    Prices,
    /// Ask cargo-deny about known vulnerabilities (needs the network)
    Advisories,
}

fn main() -> ExitCode {
    let root = root();
    let done = match Arguments::parse().task {
        Task::Ci { list: true, .. } => {
            ci::list();
            Ok(true)
        }
        Task::Ci { only, list: false } => Ok(ci::run(root, &only)),
        Task::Fix => fix::run(root),
        Task::Bench { names } => bench::run(root, &names),
        Task::Corpus { out, bytes: ByteCount(bytes), files, line_bytes, seed } => {
            corpus::run(root, &out, Plan { seed, bytes, files, line_bytes }).map(|()| true)
        }
        Task::Prices => prices::write(root).map(|()| true),
        Task::Advisories => advisories::run(root),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the root of the workspace that this program was built from.
fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask sits in the workspace's root")
}
