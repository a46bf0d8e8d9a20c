//! `trace show`.

mod agents;
mod content;
mod events;
mod target;

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use trace_model::{launch::Launch, words::OutputStream};

pub(crate) use self::agents::AgentReport;
use self::target::{Found, ShowTarget};
use super::FormatArgs;
use crate::{
    app::App,
    args::{LaunchName, words},
    error::{Advise, WrongUsage},
    render::text::{launch, run},
    store::{Store, nothing_recorded},
};

/// Show a launch with its turns and usage, or the launches of a run
///
/// Of a launch, a tree of its turns: what each was sent and why, what it cost, and how it ended, and its agents.
/// Other views of the same launch are its events, its exact prompts and the agent's own output. Of a run, the tree of
/// its launches: which one started which, how each ended, and what it cost.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The last four or more characters of a launch's id, the whole id, or `latest`; or the whole id of a run
    #[arg(value_name = "LAUNCH|RUN", default_value_t = ShowTarget::Launch(LaunchName::Latest))]
    target: ShowTarget,
    #[command(flatten)]
    format: FormatArgs,
    /// Show one subagent instead, called by four or more characters that its id begins or ends with: its prompt, its
    /// steps and its usage; with --events or --jsonl, its events only
    #[arg(long, value_name = "ID", conflicts_with_all = ["content", "raw"])]
    agent: Option<String>,
    /// Show the recorded events instead, one a line
    #[arg(long, conflicts_with_all = ["content", "raw"])]
    events: bool,
    /// Show the exact prompts instead, with the bounds of their assets
    #[arg(long, conflicts_with = "raw")]
    content: bool,
    /// Show the agent's own output instead, byte for byte
    #[arg(
        long,
        value_name = "STREAM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = OutputStream::Stdout.as_str(),
        value_parser = words(OutputStream::ALL, OutputStream::as_str),
        conflicts_with = "json",
    )]
    raw: Option<OutputStream>,
    /// Print the recorded lines of the events themselves, one JSON document each
    #[arg(long, conflicts_with_all = ["json", "content", "raw"])]
    jsonl: bool,
}

impl ShowArgs {
    /// Returns the option that asks for another view of a launch, if one is given.
    fn view(&self) -> Option<&'static str> {
        let views = [
            (self.agent.is_some(), "--agent"),
            (self.events, "--events"),
            (self.content, "--content"),
            (self.raw.is_some(), "--raw"),
            (self.jsonl, "--jsonl"),
        ];
        views.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }
}

pub(crate) fn run(args: &ShowArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    let store = app.open_store_to_look()?.ok_or_else(nothing_recorded)?;
    let found = match args.target.find(&store)? {
        Found::Launch(launch) => *launch,
        Found::Run(report) => {
            if let Some(option) = args.view() {
                return Err(WrongUsage(format!("{option} is for one launch, and {} is a run", report.run_id)))
                    .advise(|| format!("`trace show {}` shows its launches; name one of them", report.run_id));
            }
            if args.format.json {
                app.output.json(&*report)?;
            } else {
                app.output.lines(run::lines(&report, app.width()))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
    };
    if let Some(stream) = args.raw {
        raw(app, &store, &found, stream)?;
    } else if args.events || args.jsonl {
        let format = match (args.jsonl, args.format.json) {
            (true, _) => events::Format::Lines,
            (false, true) => events::Format::Document,
            (false, false) => events::Format::Text,
        };
        let agent = match &args.agent {
            Some(name) => Some(agents::find(app, &store, &found, name)?.0),
            None => None,
        };
        events::run(app, &store, &found, format, agent.as_ref())?;
    } else if args.content {
        return content::run(app, &store, found, args.format);
    } else if let Some(name) = &args.agent {
        agents::run(app, &store, &found, name, args.format)?;
    } else {
        let report = agents::report(app, &store, found)?;
        if args.format.json {
            app.output.json(&report)?;
        } else {
            let error = store.last_error(&report.launch);
            app.output.lines(launch::lines(&report, &store.home, error.as_deref(), app.width()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn raw(app: &mut App, store: &Store, launch: &Launch, stream: OutputStream) -> anyhow::Result<()> {
    let dir = store.launch_dir(launch)?;
    let is_import = dir.sources().is_ok_and(|sources| !sources.is_empty()) && !launch.header.raw;
    let found = if is_import { trace_capture::source_bytes(&store.home, &dir) } else { dir.raw(stream) };
    let mut bytes = found
        .with_context(|| format!("cannot read the recorded {stream} of {}", launch.header.id))
        .advise(|| "`trace show --events` shows what was understood of it, if anything was recorded".to_owned())?;
    Ok(app.output.recorded_bytes(&mut bytes)?)
}
