//! `trace context`.

use std::process::ExitCode;

use clap::Args;
use trace_report::context::ContextProfile;

use super::FormatArgs;
use crate::{app::App, args::LaunchArg, error::Advise, render::text::context, store::nothing_recorded};

/// Profile what an agent was sent, by kind and by source
///
/// Tokens, shares and decisions are of what was sent through Trace, and are counted here. Beside them stands what the
/// provider measured, which includes what it added by itself.
#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    #[command(flatten)]
    launch: LaunchArg,
    #[command(flatten)]
    format: FormatArgs,
    /// Only the turn of this number
    #[arg(long, value_name = "NUMBER")]
    turn: Option<u32>,
}

pub(crate) fn run(args: &ContextArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    let store = app.open_store_to_look()?.ok_or_else(nothing_recorded)?;
    let report = store.report(store.launch(&args.launch.launch)?)?;
    let profile = match args.turn {
        None => ContextProfile::of_launch(&report),
        Some(ordinal) => ContextProfile::of_turn(&report, ordinal)
            .ok_or_else(|| anyhow::anyhow!("{} has no turn {ordinal}", report.launch.header.id))
            .advise(|| "`trace show` lists the turns of a launch".to_owned())?,
    };
    if args.format.json {
        app.output.json(&profile)?;
    } else {
        app.output.lines(context::lines(&profile, &report.launch, app.width()))?;
    }
    Ok(ExitCode::SUCCESS)
}
