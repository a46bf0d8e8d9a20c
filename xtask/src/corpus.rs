//! `cargo xtask corpus`: makes sessions of agents out of a seed, of any size, whose true totals are known.
//!
//! What is made is what Claude Code keeps, and for the other agents empty folders:
//!
//! * `claude/projects/<project>/<session>.jsonl`, and the subagents of each second session in a folder beside it;
//! * three lines per reply, that repeat its input, and whose output is 1, some and the final figure;
//! * cache writes for five minutes and for an hour, in one session or both in the same;
//! * prompts, tool results of which many are read again, and lines that are no part of the exchange;
//! * traps: a parent's tool result that states what its subagent spent.
//!
//! One session holds three eighths of all bytes: 600 MB of 1.6 GB. The same seed makes the same bytes, whatever the
//! machine. Lines are written as they are made, so that memory does not grow with the size. `truth.json` has what the
//! sessions cost in tokens, by class and model.

mod lines;
mod project;
mod session;
#[cfg(test)]
mod tests;
mod text;
mod truth;

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail, ensure};
use fastrand::Rng;

use project::Project;
use session::Session;
use text::Vocabulary;
use truth::Truth;

/// How many projects the sessions belong to, at most.
const PROJECTS: u64 = 24;

/// How long a line is, about, unless it is asked for otherwise.
pub(crate) const LINE_BYTES: usize = 5_600;

/// How long a line is without its text, about.
const FRAME_BYTES: usize = 850;

/// The first session begins at this time, in milliseconds since 1970: 1 April 2026.
const FIRST_START: u64 = 1_775_001_600_000;

/// The sessions begin within so many milliseconds: half a year.
const SPAN: u64 = 180 * 24 * 3600 * 1000;

/// What is to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) bytes: u64,
    /// How many files with lines, about.
    pub(crate) files: u64,
    /// How long a line is, about.
    pub(crate) line_bytes: usize,
}

impl Plan {
    /// Returns how long the texts are, in thousandths of the usual.
    fn permille(self) -> usize {
        self.line_bytes.saturating_sub(FRAME_BYTES) * 1000 / (LINE_BYTES - FRAME_BYTES)
    }
}

/// A number of bytes: `1.6GB`, `250 kB`, `4096`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteCount(pub(crate) u64);

impl FromStr for ByteCount {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits = text.trim_end_matches(|sign: char| sign.is_ascii_alphabetic() || sign == ' ');
        let unit: u64 = match text[digits.len()..].trim().to_ascii_uppercase().as_str() {
            "" | "B" => 1,
            "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            unit => bail!("`{unit}` is no unit; kB, MB and GB are"),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let mut bytes = whole.parse::<u64>()?.checked_mul(unit).context("that is too many")?;
        let mut place = unit;
        for digit in fraction.chars() {
            place /= 10;
            bytes += u64::from(digit.to_digit(10).context("a digit is missing")?) * place;
        }
        Ok(Self(bytes))
    }
}

/// Makes a corpus in a folder that is empty or absent, outside of the workspace.
pub(crate) fn run(root: &Path, out: &Path, plan: Plan) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("create {}", out.display()))?;
    let place = out.canonicalize()?;
    ensure!(!place.starts_with(root.canonicalize()?), "a corpus is no part of the repository: --out {}", out.display());
    ensure!(fs::read_dir(out)?.next().is_none(), "{} is not empty", out.display());
    let truth = make(out, plan)?;
    println!("{} bytes in {} files, {} requests: {}", truth.bytes, truth.files, truth.totals.requests, out.display());
    Ok(())
}

fn make(out: &Path, plan: Plan) -> Result<Truth> {
    for agent in ["codex", "gemini", "opencode"] {
        fs::create_dir(out.join(agent))?;
    }
    let mut rng = Rng::with_seed(plan.seed);
    let vocabulary = Vocabulary::new(&mut rng);
    let sessions = (plan.files * 2 / 3).max(1);
    let projects: Vec<Project> =
        (0..sessions.min(PROJECTS)).map(|number| Project::new(number, &vocabulary, &mut rng)).collect();
    let mut truth = Truth::new(plan);
    let largest = plan.bytes * 3 / 8;
    let weights: Vec<u64> = (1..sessions).map(|_| 1 + rng.u64(0..10) * rng.u64(0..10)).collect();
    let all_weights: u64 = weights.iter().sum::<u64>().max(1);
    let budgets = weights.iter().map(|weight| (plan.bytes - largest) / all_weights * weight);
    for (number, budget) in (0..sessions).zip([largest].into_iter().chain(budgets)) {
        let start = FIRST_START + SPAN / sessions * number + rng.u64(0..SPAN / sessions);
        let project = rng.choice(&projects).expect("there is a project");
        let session = Session::new(&vocabulary, project, start, plan.permille(), rng.fork());
        let subagent = (number % 2 == 1).then_some(budget / 5);
        session.write(&folder(out, project)?, budget - subagent.unwrap_or(0), subagent, &mut truth)?;
    }
    let mut text = serde_json::to_string_pretty(&truth)?;
    text.push('\n');
    fs::write(out.join("truth.json"), text)?;
    Ok(truth)
}

/// Creates the folder of a project, named as Claude Code names it.
fn folder(out: &Path, project: &Project) -> Result<PathBuf> {
    let slug: String = project.cwd.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' }).collect();
    let folder = out.join("claude").join("projects").join(slug);
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    Ok(folder)
}
