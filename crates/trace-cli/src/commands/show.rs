//! `trace show`.

mod content;
mod events;

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use trace_model::{launch::Launch, words::OutputStream};

use super::FormatArgs;
use crate::{
    app::App,
    args::{LaunchArg, words},
    error::Advise,
    render::text::launch,
    store::{Store, nothing_recorded},
};

/// Show one launch: turns, assets, decisions, usage, events
///
/// A tree of its turns: what each was sent and why, what it cost, and how it ended. Other views of the same launch are
/// its events, its exact prompts and the agent's own output.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    launch: LaunchArg,
    #[command(flatten)]
    format: FormatArgs,
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

pub(crate) fn run(args: &ShowArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    let store = app.open_store_to_look()?.ok_or_else(nothing_recorded)?;
    let found = store.launch(&args.launch.launch)?;
    if let Some(stream) = args.raw {
        raw(app, &store, &found, stream)?;
    } else if args.events || args.jsonl {
        let format = match (args.jsonl, args.format.json) {
            (true, _) => events::Format::Lines,
            (false, true) => events::Format::Document,
            (false, false) => events::Format::Text,
        };
        events::run(app, &store, &found, format)?;
    } else if args.content {
        return content::run(app, &store, found, args.format);
    } else {
        let report = store.report(found)?;
        if args.format.json {
            app.output.json(&report)?;
        } else {
            app.output.lines(launch::lines(&report, &store.home, app.width()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn raw(app: &mut App, store: &Store, launch: &Launch, stream: OutputStream) -> anyhow::Result<()> {
    let mut bytes = store
        .launch_dir(launch)?
        .raw(stream)
        .with_context(|| format!("cannot read the recorded {stream} of {}", launch.header.id))
        .advise(|| "`trace show --events` shows what was understood of it, if anything was recorded".to_owned())?;
    Ok(app.output.recorded_bytes(&mut bytes)?)
}
