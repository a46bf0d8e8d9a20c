//! `trace usage`.

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::Args;
use jiff::tz::TimeZone;
use pollster::FutureExt;
use trace_capture::{Clock, SystemClock};
use trace_model::{
    id::LaunchId,
    launch::Launch,
    money::NanoUsd,
    query::LaunchQuery,
    timestamp::Timestamp,
    usage::base_model,
    usage_query::{UsageCell, UsageQuery},
    words::Provider,
};
use trace_report::usage::{
    UsageBy, UsageLayout, UsageParts, UsageView,
    check::{Finding, Limits},
    project_of,
};

use crate::{
    app::App,
    args::words,
    calendar::Calendar,
    error::WrongUsage,
    pricing::Pricing,
    render::{csv, text::usage},
    store::Store,
    when::{Last, When},
};

/// Sum up tokens and costs by day, session, model and more
///
/// COST is computed from the tokens by dated list prices, and REPORTED is what the provider itself said. ≥ marks what is
/// known to be at least so much, – what is unknown. What the agents wrote since the last time is brought in first.
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// What the rows are. `blocks` are windows of five hours, which begin at the hour of the first request
    #[arg(value_name = "BY", default_value = "daily", value_parser = words(UsageBy::ALL, UsageBy::as_str))]
    by: UsageBy,
    /// Only what was used at this time or later: RFC 3339, a date, `today`, `yesterday`, or how long ago, such as 90m,
    /// 2h, 3d or 1w; to the quarter of an hour
    #[arg(long, value_name = "TIME")]
    since: Option<When>,
    /// Only what was used before this time, or until the end of this day
    #[arg(long, value_name = "TIME")]
    until: Option<When>,
    /// Only the last so many days or weeks, of which today is one, or hours or minutes: 7d, 2w, 12h
    #[arg(long, value_name = "TIME", conflicts_with_all = ["since", "until"])]
    last: Option<Last>,
    #[expect(clippy::doc_markdown, reason = "it is the help, and there are no backticks in a terminal")]
    /// The time zone of the days, such as Europe/Berlin [default: $TZ, else the system's]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// Only agents of this provider; may be given again
    #[arg(long, value_name = "NAME")]
    provider: Vec<Provider>,
    /// Only this model, with or without a `[…]` suffix; may be given again
    #[arg(long, value_name = "NAME")]
    model: Vec<String>,
    /// Only this project: its label, the folder that the agent worked in, or the folder's name; may be given again
    #[arg(long, value_name = "NAME")]
    project: Vec<String>,
    /// Show the models of each row
    #[arg(long)]
    breakdown: bool,
    /// Prices of your own, in LiteLLM's format, instead of those in prices.json of the home
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Sum up what is known, without looking for what the agents wrote since
    #[arg(long)]
    no_refresh: bool,
    /// Print one JSON document
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values, with a header
    #[arg(long)]
    csv: bool,
    /// Fail if all rows together are over a limit, and name what is
    #[arg(long)]
    check: bool,
    /// The most that they may cost, in dollars; usage without a price fails
    #[arg(long, value_name = "DOLLARS", requires = "check")]
    max_cost: Option<NanoUsd>,
    /// The most tokens that they may have
    #[arg(long, value_name = "NUMBER", requires = "check")]
    max_tokens: Option<u64>,
    /// Pass over usage whose cost or tokens are unknown
    #[arg(long, requires = "check")]
    allow_unpriced: bool,
}

pub(crate) fn run(args: &UsageArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    if args.check && args.max_cost.is_none() && args.max_tokens.is_none() {
        return Err(WrongUsage("--check needs a limit: --max-cost or --max-tokens".to_owned()).into());
    }
    let calendar = calendar(args, app)?;
    let now = SystemClock.now();
    let store = if args.no_refresh { app.open_store_to_look()? } else { app.open_refreshed_store()? };
    let pricing = Pricing::read(store.as_ref().map(|store| &store.home), args.prices.as_deref())?;
    let used = match &store {
        Some(store) => Used::read(args, store, &pricing, &calendar, now, app)?,
        None => Used::default(),
    };
    let label = |at: Timestamp| match args.by {
        UsageBy::Weekly => calendar.monday_of(at).to_string(),
        UsageBy::Monthly => calendar.month_of(at),
        UsageBy::Blocks => calendar.minute_of(at),
        _ => calendar.day_of(at).to_string(),
    };
    let parts = UsageParts { launches: &used.launches, cells: &used.cells, price_version: &pricing.version, now };
    let layout =
        UsageLayout { by: args.by, breakdown: args.breakdown, time_zone: calendar.name(), label: &label };
    let mut view = UsageView::new(parts, layout);
    view.notes.extend(pricing.notes(&used.launches, &used.cells));
    let findings = args.check.then(|| view.check(args.limits()));
    if args.json {
        app.output.json(&Checked { view: &view, check: findings.as_deref().map(Check::of) })?;
    } else if args.csv {
        csv::usage(&view, app.output.writer())?;
    } else {
        app.output.lines(usage::lines(&view, &calendar, app.width()))?;
    }
    if view.rows.is_empty() {
        let unindexed = store.as_ref().and_then(Store::hint_of_unindexed);
        app.messages.say("note", unindexed.unwrap_or("no such usage is on record"));
    }
    let findings = findings.unwrap_or_default();
    for finding in &findings {
        app.messages.say("over", &usage::finding(finding));
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The document of a view, and of what was checked.
#[derive(serde::Serialize)]
struct Checked<'a> {
    #[serde(flatten)]
    view: &'a UsageView,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Check<'a>>,
}

#[derive(serde::Serialize)]
struct Check<'a> {
    passed: bool,
    findings: &'a [Finding],
}

impl<'a> Check<'a> {
    const fn of(findings: &'a [Finding]) -> Self {
        Self { passed: findings.is_empty(), findings }
    }
}

impl UsageArgs {
    const fn limits(&self) -> Limits {
        Limits { max_cost_usd: self.max_cost, max_tokens: self.max_tokens, allow_unpriced: self.allow_unpriced }
    }

    fn wants_model(&self, model: Option<&str>) -> bool {
        let is_it = |model: &str| self.model.iter().any(|wanted| wanted == model || wanted == base_model(model));
        self.model.is_empty() || model.is_some_and(is_it)
    }

    fn wants_project(&self, launch: &Launch) -> bool {
        let project = project_of(launch);
        let name = project.rsplit('/').find(|name| !name.is_empty());
        let is_it = |wanted: &String| {
            let wanted = wanted.trim_end_matches('/');
            wanted == project || Some(wanted) == name || wanted == launch.header.repo
        };
        self.project.is_empty() || self.project.iter().any(is_it)
    }
}

/// What the view is made of.
#[derive(Debug, Default)]
struct Used {
    launches: BTreeMap<LaunchId, Launch>,
    cells: Vec<UsageCell>,
}

impl Used {
    fn read(
        args: &UsageArgs,
        store: &Store,
        pricing: &Pricing,
        calendar: &Calendar,
        now: Timestamp,
        app: &App,
    ) -> anyhow::Result<Self> {
        let launches = store.ledger.launches(&LaunchQuery::default()).block_on().context("cannot list the launches")?;
        let mut launches: BTreeMap<LaunchId, Launch> =
            launches.into_iter().map(|launch| (launch.header.id, launch)).collect();
        if let Err(error) = pricing.price_all(store, &launches) {
            app.messages.say("warning", &format!("some costs are not computed: {error:#}"));
        }
        let last = args.last.map(|last| last.start(now, calendar));
        let query = UsageQuery {
            launches: LaunchQuery { providers: args.provider.iter().cloned().collect(), ..LaunchQuery::default() },
            observed_from: args.since.map(|since| since.start(now, calendar)).or(last),
            observed_before: args.until.map(|until| until.end(now, calendar)),
            price_version: Some(pricing.version.clone()),
            ..UsageQuery::default()
        };
        let cells = store.ledger.usage_cells(&query).block_on().context("cannot sum up the usage")?;
        launches.retain(|_, launch| args.wants_project(launch));
        let wanted = |cell: &UsageCell| {
            launches.contains_key(&cell.launch_id) && args.wants_model(cell.model.as_deref())
        };
        Ok(Self { cells: cells.into_iter().filter(wanted).collect(), launches })
    }
}

/// Returns the days of the time zone that is asked for, of `TZ`, or of the system.
fn calendar(args: &UsageArgs, app: &App) -> anyhow::Result<Calendar> {
    let zone = match &args.timezone {
        Some(name) => TimeZone::get(name).ok(),
        None => app.environment.time_zone(),
    };
    let unknown = || match &args.timezone {
        Some(name) => format!("{name} is no time zone that is known; one is called like Europe/Berlin or UTC"),
        None => "TZ names no time zone that is known; `--timezone UTC` counts days in UTC".to_owned(),
    };
    Ok(Calendar::new(zone.ok_or_else(|| WrongUsage(unknown()))?))
}
