//! `trace ls`.

use std::{collections::BTreeSet, process::ExitCode};

use clap::Args;
use trace_capture::{Clock, SystemClock};
use trace_model::{
    id::RunId,
    query::{LaunchQuery, Order},
    words::{LaunchOutcome, Provider},
};
use trace_report::launches::LaunchesReport;

use super::FormatArgs;
use crate::{
    app::App,
    args::{LaunchName, words},
    render::text::launches,
    store::Store,
    when::When,
};

/// List launches, the last one first
#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    #[command(flatten)]
    format: FormatArgs,
    /// The most launches to list; 0 lists all
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20)]
    limit: u32,
    /// Only launches of this provider; may be given again
    #[arg(long, value_name = "NAME")]
    provider: Vec<Provider>,
    /// Only launches that went so; may be given again
    #[arg(long, value_name = "WORD", value_parser = words(LaunchOutcome::ALL, LaunchOutcome::as_str))]
    outcome: Vec<LaunchOutcome>,
    /// Only launches on this repository; may be given again
    #[arg(long, value_name = "PATH")]
    repo: Vec<String>,
    /// Only launches of this project; may be given again
    #[arg(long, value_name = "NAME")]
    project: Vec<String>,
    /// Only launches of this run; may be given again
    #[arg(long, value_name = "ID")]
    run: Vec<RunId>,
    /// Only launches that this launch started; may be given again
    #[arg(long, value_name = "LAUNCH")]
    parent: Vec<LaunchName>,
    /// Only launches that began at this time or later: RFC 3339, a date in UTC, `today`, `yesterday`, or how long ago,
    /// such as 90m, 2h, 3d or 1w
    #[arg(long, value_name = "TIME")]
    since: Option<When>,
    /// Only launches that began before this time
    #[arg(long, value_name = "TIME")]
    before: Option<When>,
    /// List what is known, without looking for what the agents wrote since
    #[arg(long)]
    no_refresh: bool,
}

/// Returns what is asked for.
fn query(args: LsArgs, store: &Store) -> anyhow::Result<LaunchQuery> {
    let now = SystemClock.now();
    let time = |when: When| when.from(now);
    Ok(LaunchQuery {
        runs: BTreeSet::from_iter(args.run),
        parents: args.parent.iter().map(|name| store.launch_id(name)).collect::<Result<_, _>>()?,
        providers: BTreeSet::from_iter(args.provider),
        outcomes: BTreeSet::from_iter(args.outcome),
        repos: BTreeSet::from_iter(args.repo),
        projects: BTreeSet::from_iter(args.project),
        started_from: args.since.map(time),
        started_before: args.before.map(time),
        order: Order::NewestFirst,
        limit: (args.limit > 0).then_some(args.limit),
        ..LaunchQuery::default()
    })
}

pub(crate) fn run(args: LsArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    let as_json = args.format.json;
    let store = if args.no_refresh { app.open_store_to_look()? } else { app.open_refreshed_store()? };
    let report = match &store {
        Some(store) => store.launches(&query(args, store)?)?,
        None => LaunchesReport::new([], &[]),
    };
    if as_json {
        app.output.json(&report)?;
    } else {
        app.output.lines(launches::lines(&report, app.width()))?;
    }
    if report.launches.is_empty() {
        let unindexed = store.as_ref().and_then(Store::hint_of_unindexed);
        app.messages.say("note", unindexed.unwrap_or("no such launch is recorded"));
    }
    Ok(ExitCode::SUCCESS)
}
