//! `trace usage`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;
use jiff::tz::TimeZone;
use pollster::FutureExt;
use trace_capture::{AgentSeen, Clock, SystemClock};
use trace_model::{
    id::LaunchId,
    launch::Launch,
    money::NanoUsd,
    query::LaunchQuery,
    timestamp::Timestamp,
    usage::{Agent, base_model},
    usage_query::{UsageCell, UsageQuery},
    words::{Provider, Quality},
};
use trace_report::usage::{
    UsageBy, UsageLayout, UsageParts, UsageView,
    check::{Finding, Limits},
    project_of, session_of,
};

use crate::{
    app::App,
    args::words,
    calendar::Calendar,
    error::WrongUsage,
    pricing::Pricing,
    render::{
        csv,
        text::{figures, looks, usage},
    },
    store::Store,
    when::{Last, When},
};

/// Sum up tokens and costs by day, session, model and more
///
/// COST is computed from the tokens by dated list prices, and REPORTED is what the provider itself said. ≥ marks what
/// is known to be at least so much, – what is unknown. What the agents wrote since the last time is brought in first.
/// The exit code is 0; with --check it is 1 if a limit is not kept, or cannot be known to be; 2 is wrong usage.
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
    #[expect(clippy::doc_markdown, reason = "it is the help, and there are no backticks in a terminal")]
    /// Prices of your own, in LiteLLM's format, instead of those in prices.json of the home
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Sum up what is known, without looking for what the agents wrote since
    #[arg(long)]
    no_refresh: bool,
    #[command(flatten)]
    format: UsageFormat,
    #[command(flatten)]
    check: CheckArgs,
}

/// How the rows are printed.
#[derive(Debug, Clone, Copy, Args)]
struct UsageFormat {
    /// Print one JSON document
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values, with a header
    #[arg(long)]
    csv: bool,
}

/// What the rows are held against.
#[derive(Debug, Clone, Copy, Args)]
struct CheckArgs {
    /// Fail with exit code 1 if all rows together are over a limit, and name what is
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
    let limits = args.check.limits()?;
    let calendar = calendar(args, app)?;
    let now = SystemClock.now();
    let store = if args.no_refresh { app.open_store_to_look()? } else { app.open_refreshed_store()? };
    let pricing = Pricing::read(store.as_ref().map(|store| &store.home), args.prices.as_deref())?;
    let wanted = Wanted::new(args, &pricing, &calendar, now);
    let used = match &store {
        Some(store) => Used::read(&wanted, store, &pricing, app)?,
        None => Used::default(),
    };
    let label = |at: Timestamp| match args.by {
        UsageBy::Weekly => calendar.monday_of(at).to_string(),
        UsageBy::Monthly => calendar.month_of(at),
        UsageBy::Blocks => calendar.minute_of(at),
        _ => calendar.day_of(at).to_string(),
    };
    let parts = UsageParts {
        launches: &used.launches,
        cells: &used.cells,
        wanted: &|cell| used.launches.get(&cell.launch_id).is_some_and(|launch| wanted.has(launch, cell)),
        price_version: &pricing.version,
        now,
    };
    let layout = UsageLayout { by: args.by, breakdown: args.breakdown, time_zone: calendar.name(), label: &label };
    let mut view = UsageView::new(parts, layout);
    view.notes.extend(pricing.notes(&used.launches, used.cells.iter().filter(|cell| (parts.wanted)(cell))));
    view.notes.extend(used.note_of_silent());
    if let (UsageBy::Agent, Some(store)) = (args.by, &store) {
        used.tell_agents(store, &mut view);
    }
    let findings = limits.map(|limits| view.check(limits));
    if args.format.json {
        app.output.json(&Checked { view: &view, check: findings.as_deref().map(Check::of) })?;
    } else if args.format.csv {
        csv::usage(&view, app.output.writer())?;
    } else {
        app.output.lines(usage::lines(&view, &calendar, app.width()))?;
    }
    // What is said of the rows comes behind them.
    app.output.flush()?;
    if view.rows.is_empty() {
        say_why_empty(app, store.as_ref(), &used);
    }
    Ok(match (findings, limits) {
        (Some(findings), Some(limits)) => said_of_check(&findings, &view, limits, app),
        _ => ExitCode::SUCCESS,
    })
}

/// Says why there is no row: the ledger lacks what was recorded, or holds other usage, or nothing was ever used, as far
/// as can be seen where agents keep their files.
fn say_why_empty(app: &App, store: Option<&Store>, used: &Used) {
    if let Some(unindexed) = store.and_then(Store::hint_of_unindexed) {
        app.messages.say("note", unindexed);
    } else if !used.launches.is_empty() {
        app.messages.say("note", "no such usage is on record");
    } else {
        let looks = app.environment.agent_roots().looks();
        let lines: Vec<String> = looks.iter().map(|look| format!("\n{}", looks::line(look))).collect();
        app.messages
            .say("note", &format!("no usage is on record, and no agent keeps a session here:{}", lines.concat()));
    }
}

/// Says what the check found, and returns the exit code that tells it.
fn said_of_check(findings: &[Finding], view: &UsageView, limits: Limits, app: &App) -> ExitCode {
    for finding in findings {
        app.messages.say(usage::word_of(finding), &usage::finding(finding));
    }
    if !findings.is_empty() {
        return ExitCode::FAILURE;
    }
    let may_cost_more = limits.max_cost_usd.is_some() && view.totals.cost_quality == Quality::LowerBound;
    let may_be_more = limits.max_tokens.is_some() && view.totals.quality == Quality::LowerBound;
    if may_cost_more || may_be_more {
        app.messages.say("note", "within the limits as far as it is known: some of it is a lower bound");
    }
    ExitCode::SUCCESS
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

impl CheckArgs {
    /// Returns the limits, if any are to be kept.
    fn limits(self) -> Result<Option<Limits>, WrongUsage> {
        let Self { check, max_cost, max_tokens, allow_unpriced } = self;
        if check && max_cost.is_none() && max_tokens.is_none() {
            return Err(WrongUsage("--check needs a limit: --max-cost or --max-tokens".to_owned()));
        }
        Ok(check.then_some(Limits { max_cost_usd: max_cost, max_tokens, allow_unpriced }))
    }
}

/// Which usage is asked for.
struct Wanted<'a> {
    args: &'a UsageArgs,
    query: UsageQuery,
}

impl<'a> Wanted<'a> {
    fn new(args: &'a UsageArgs, pricing: &Pricing, calendar: &Calendar, now: Timestamp) -> Self {
        let last = args.last.map(|last| last.start(now, calendar));
        let query = UsageQuery {
            launches: LaunchQuery { providers: args.provider.iter().cloned().collect(), ..LaunchQuery::default() },
            observed_from: args.since.map(|since| since.start(now, calendar)).or(last),
            observed_before: args.until.map(|until| until.end(now, calendar)),
            price_version: Some(pricing.version.clone()),
            ..UsageQuery::default()
        };
        Self { args, query }
    }

    /// Returns what the ledger is asked for. Where a window begins, the usage before it tells.
    fn query(&self) -> UsageQuery {
        let (observed_from, observed_before) = match self.args.by {
            UsageBy::Blocks => (None, None),
            _ => (self.query.observed_from, self.query.observed_before),
        };
        UsageQuery { observed_from, observed_before, ..self.query.clone() }
    }

    fn has(&self, launch: &Launch, cell: &UsageCell) -> bool {
        let model = cell.model.as_deref();
        self.has_project(launch) && self.has_model(model) && self.query.allows(cell.period, model, &cell.agent)
    }

    fn has_model(&self, model: Option<&str>) -> bool {
        let wanted = &self.args.model;
        let is_it = |model: &str| wanted.iter().any(|wanted| wanted == model || wanted == base_model(model));
        wanted.is_empty() || model.is_some_and(is_it)
    }

    fn has_project(&self, launch: &Launch) -> bool {
        let project = project_of(launch);
        let name = project.and_then(|project| project.rsplit('/').find(|name| !name.is_empty()));
        let is_it = |wanted: &String| {
            let wanted = wanted.trim_end_matches('/');
            Some(wanted) == project || Some(wanted) == name || wanted == launch.header.repo
        };
        self.args.project.is_empty() || self.args.project.iter().any(is_it)
    }

    /// Tells whether the launch is one of those that are asked for, as far as it tells that without usage.
    fn has_launch(&self, launch: &Launch) -> bool {
        let started_at = launch.header.started_at;
        self.query.launches.allows(launch)
            && self.args.model.is_empty()
            && self.has_project(launch)
            && self.query.observed_from.is_none_or(|from| started_at >= from)
            && self.query.observed_before.is_none_or(|before| started_at < before)
    }
}

/// What the view is made of.
#[derive(Debug, Default)]
struct Used {
    launches: BTreeMap<LaunchId, Launch>,
    cells: Vec<UsageCell>,
    /// The number of launches that are asked for and tell no usage at all.
    silent: u64,
}

impl Used {
    fn read(wanted: &Wanted<'_>, store: &Store, pricing: &Pricing, app: &App) -> anyhow::Result<Self> {
        let ledger = &*store.ledger;
        let launches = ledger.launches(&LaunchQuery::default()).block_on().context("cannot list the launches")?;
        let launches: BTreeMap<LaunchId, Launch> =
            launches.into_iter().map(|launch| (launch.header.id, launch)).collect();
        if let Err(error) = pricing.price_all(store, &launches) {
            app.messages.say("warning", &format!("some costs are not computed: {error:#}"));
        }
        let query = wanted.query();
        let cells = ledger.usage_cells(&query).block_on().context("cannot sum up the usage")?;
        let telling: BTreeSet<LaunchId> = cells.iter().map(|cell| cell.launch_id).collect();
        let is_of_all_time = query.observed_from.is_none() && query.observed_before.is_none();
        let mut silent = 0;
        for (id, _) in launches.iter().filter(|(id, launch)| !telling.contains(id) && wanted.has_launch(launch)) {
            // Else it may tell usage of another time.
            if is_of_all_time || ledger.usage(*id).block_on().context("cannot look for usage")?.is_empty() {
                silent += 1;
            }
        }
        Ok(Self { launches, cells, silent })
    }

    /// Adds what is told of the subagents. Of those whose sources are gone, nothing more is known.
    fn tell_agents(&self, store: &Store, view: &mut UsageView) {
        let subagents = self.cells.iter().filter(|cell| !cell.agent.is_main());
        let launches: BTreeSet<LaunchId> = subagents.map(|cell| cell.launch_id).collect();
        let mut told: BTreeMap<(String, Agent), AgentSeen> = BTreeMap::new();
        let shown: BTreeSet<String> = view.rows.iter().filter_map(|row| row.subject.session.clone()).collect();
        for launch in launches.iter().filter_map(|id| self.launches.get(id)) {
            let session = session_of(launch);
            let Ok(dir) = store.launch_dir(launch) else { continue };
            if !shown.contains(&session) {
                continue;
            }
            let agents = trace_capture::agents(&store.home, &dir, &launch.header.provider);
            for seen in agents.unwrap_or_default() {
                told.entry((session.clone(), seen.agent.clone())).or_insert(seen);
            }
        }
        for subject in view.rows.iter_mut().map(|row| &mut row.subject) {
            let key = subject.session.clone().zip(subject.agent.clone());
            if let Some(seen) = key.and_then(|key| told.remove(&key)) {
                (subject.kind, subject.tool_call, subject.prompt) = (seen.kind, seen.tool_call, seen.prompt);
            }
        }
    }

    fn note_of_silent(&self) -> Option<String> {
        let (launches, tell, are) = match self.silent {
            0 => return None,
            1 => ("1 launch".to_owned(), "tells", "is"),
            silent => (figures::counted(silent, "launch"), "tell", "are"),
        };
        Some(format!("{launches} {tell} no usage, and {are} in no row"))
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
