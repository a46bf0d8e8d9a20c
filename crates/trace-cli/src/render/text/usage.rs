//! What agents used, as a table.

use trace_model::{id::LaunchId, money::NanoUsd};
use trace_report::usage::{
    ModelUsage, Unpriced, UsageBy, UsageEntry, UsageView,
    check::{Finding, Part},
    totals::UsageTotals,
};

use super::{
    escape, figures, style,
    table::{Column, Row, Table},
};
use crate::calendar::Calendar;

/// What stands in front of a model below the row that it is a part of.
const INDENT: &str = "  ";

/// The width of the names of most models.
const WIDEST_MODEL: usize = 32;

/// Returns the lines: a row each, their sum, and what has no price.
pub(crate) fn lines(view: &UsageView, calendar: &Calendar, width: Option<u16>) -> Vec<String> {
    let mut table = Table::new(columns(view.by));
    for row in &view.rows {
        table.push(Row::new(cells(view.by, head(view.by, row, calendar), row)));
        for model in row.models.iter().flatten() {
            table.push(model_row(view.by, model));
        }
    }
    if view.rows.len() > 1 {
        let mut cells = vec!["total".to_owned()];
        cells.resize(heads(view.by).len(), String::new());
        cells.extend(amounts(view.by, &view.totals));
        table.push(Row::new(cells));
    }
    let mut lines = table.into_lines(width);
    lines.extend(view.unpriced.iter().map(unpriced));
    lines.extend(view.notes.iter().map(|note| format!("note  {}", escape::line(note))));
    if !view.rows.is_empty() {
        lines.push(style::styled(style::FAINT, basis(view)));
    }
    lines
}

/// Returns what the figures are computed by.
fn basis(view: &UsageView) -> String {
    let version = &view.price_version.0;
    let table = version.split(" sha256:").next().unwrap_or(version);
    let own = if version.contains(" override:") { " and your own" } else { "" };
    format!("prices of {}{own} · days of {}", escape::line(table), escape::line(&view.time_zone))
}

/// Returns the columns in front of the amounts.
fn heads(by: UsageBy) -> Vec<Column> {
    match by {
        UsageBy::Daily => vec![Column::text("DAY")],
        UsageBy::Weekly => vec![Column::text("WEEK FROM")],
        UsageBy::Monthly => vec![Column::text("MONTH")],
        UsageBy::Model => vec![Column::text("MODEL").shrinks_to(WIDEST_MODEL)],
        UsageBy::Project => vec![Column::text("PROJECT").shrinks()],
        UsageBy::Session => vec![
            Column::text("LAUNCH"),
            Column::text("STARTED"),
            Column::text("PROVIDER").left_out(2),
            Column::text("PROJECT").left_out(6),
        ],
        UsageBy::Agent => vec![
            Column::text("AGENT").shrinks(),
            Column::text("KIND").left_out(6),
            Column::text("TOOL CALL").left_out(9),
            Column::text("LAUNCH"),
            Column::text("STARTED").left_out(4),
            Column::text("PROVIDER").left_out(5),
        ],
        UsageBy::Blocks => vec![Column::text("WINDOW FROM"), Column::text("PROVIDER")],
    }
}

fn columns(by: UsageBy) -> Vec<Column> {
    let mut columns = heads(by);
    columns.extend([
        Column::number("SESSIONS").left_out(12),
        Column::number("REPLAYS").left_out(11),
        Column::number("REQUESTS").left_out(10),
        Column::number("INPUT").left_out(7),
        Column::number("CACHE WRITE").left_out(9),
        Column::number("CACHE READ").left_out(8),
        Column::number("OUTPUT").left_out(if by == UsageBy::Blocks { 6 } else { 3 }),
        Column::number("TOTAL"),
        Column::number("COST"),
        Column::number("REPORTED").left_out(5),
    ]);
    if by == UsageBy::Blocks {
        columns.extend([
            Column::number("TOKENS/H").left_out(3),
            Column::number("COST/H").left_out(2),
            Column::number("PROJECTED").left_out(1),
            Column::text("LEFT").left_out(4),
        ]);
    }
    columns
}

fn head(by: UsageBy, row: &UsageEntry, calendar: &Calendar) -> Vec<String> {
    let text =
        |text: Option<&str>| text.map_or_else(|| figures::UNKNOWN.to_owned(), |text| escape::line(text).into_owned());
    let subject = &row.subject;
    let provider = || subject.provider.as_ref().map(ToString::to_string).unwrap_or_default();
    let launch = || subject.launch_id.map(LaunchId::short).unwrap_or_default();
    let started = || subject.started_at.map(|at| calendar.minute_of(at)).unwrap_or_default();
    match by {
        UsageBy::Session => {
            let project =
                subject.project.as_deref().and_then(|project| project.rsplit('/').find(|name| !name.is_empty()));
            vec![launch(), started(), provider(), text(project)]
        }
        UsageBy::Agent => {
            let told = |told: &Option<String>| match told {
                None if subject.agent.as_ref().is_some_and(trace_model::usage::Agent::is_main) => String::new(),
                told => text(told.as_deref()),
            };
            vec![
                row.key.as_deref().map_or_else(|| "not told apart".to_owned(), |key| escape::line(key).into_owned()),
                told(&subject.kind),
                told(&subject.tool_call),
                launch(),
                started(),
                provider(),
            ]
        }
        UsageBy::Blocks => vec![text(row.key.as_deref()), provider()],
        _ => vec![text(row.key.as_deref())],
    }
}

fn cells(by: UsageBy, head: Vec<String>, row: &UsageEntry) -> Vec<String> {
    let mut cells = head;
    let totals = &row.totals;
    cells.extend(amounts(by, totals));
    if let (UsageBy::Blocks, Some(window)) = (by, row.subject.window) {
        let money = |amount: Option<NanoUsd>| bounded(amount.map(|amount| figures::money(Some(amount))), totals);
        cells.push(figures::measured(window.tokens_per_hour, totals.quality));
        cells.push(money(window.cost_usd_per_hour));
        // Only a running window has an end to come.
        cells.push(if window.is_running { money(window.projected_cost_usd) } else { String::new() });
        cells.push(window.left.map(figures::duration).unwrap_or_default());
    }
    cells
}

fn model_row(by: UsageBy, model: &ModelUsage) -> Row {
    let name = model.model.as_deref().map_or(figures::UNKNOWN.into(), escape::line);
    let mut cells = vec![format!("{INDENT}{name}")];
    cells.resize(heads(by).len(), String::new());
    cells.extend(amounts(by, &model.totals));
    Row::new(cells).faint_if(true)
}

fn amounts(by: UsageBy, totals: &UsageTotals) -> [String; 10] {
    let measured = |number| figures::measured(number, totals.quality);
    // What a row of one session says anyway, and what is nothing nearly everywhere, has no column.
    let is_of_one = matches!(by, UsageBy::Session | UsageBy::Agent);
    [
        if is_of_one { String::new() } else { figures::count(totals.sessions) },
        if totals.replays == 0 { String::new() } else { figures::count(totals.replays) },
        figures::known(totals.requests),
        measured(totals.input_tokens),
        measured(totals.cache_write_tokens),
        measured(totals.cache_read_tokens),
        measured(totals.output_tokens),
        measured(totals.total_tokens),
        bounded(totals.cost_usd.map(|cost| figures::money(Some(cost))), totals),
        totals.reported_cost_usd.map(|cost| figures::money(Some(cost))).unwrap_or_default(),
    ]
}

/// Returns a figure that is computed of the cost.
fn bounded(figure: Option<String>, totals: &UsageTotals) -> String {
    figure.map_or_else(|| figures::UNKNOWN.to_owned(), |figure| figures::marked(figure, totals.cost_quality))
}

fn unpriced(unpriced: &Unpriced) -> String {
    let model = unpriced.model.as_deref().map_or("usage without a model".into(), escape::line);
    let records = figures::counted(unpriced.records, "record");
    let tokens = figures::known(unpriced.total_tokens);
    let title = style::styled(style::ODD, "unpriced");
    format!("{title}  {model} of {} · {records} · {tokens} tokens", unpriced.provider)
}

/// Returns what a finding is of: usage over a limit, or usage that no limit can be held against.
pub(crate) const fn word_of(finding: &Finding) -> &'static str {
    match finding {
        Finding::Cost { .. } | Finding::Tokens { .. } => "over",
        Finding::Unpriced { .. } | Finding::Unknown { .. } => "unknown",
    }
}

/// Returns what a finding says.
pub(crate) fn finding(finding: &Finding) -> String {
    match finding {
        Finding::Cost { cost_usd, cost_quality, max_cost_usd, most } => {
            // To the last digit: what is over may be so by less than is shown elsewhere.
            let money = |amount: &NanoUsd| format!("${amount}");
            let cost = figures::marked(money(cost_usd), *cost_quality);
            format!("it cost {cost}, and {} is the most that it may: {}", money(max_cost_usd), parts(most, money))
        }
        Finding::Tokens { total_tokens, quality, max_tokens, most } => {
            let count = |amount: &u64| figures::count(*amount);
            let tokens = figures::marked(count(total_tokens), *quality);
            format!("{tokens} tokens, and {} are the most: {}", count(max_tokens), parts(most, count))
        }
        Finding::Unpriced { records, models } => {
            let names: Vec<String> = models
                .iter()
                .map(|model| model.as_deref().map_or("usage without a model".into(), escape::line).into_owned())
                .collect();
            let them = if *records == 1 { "it" } else { "them" };
            let records = figures::counted(*records, "record");
            format!("the cost of {records} is unknown: {}; `--allow-unpriced` passes over {them}", names.join(", "))
        }
        Finding::Unknown { limit } => {
            let limit = limit.replace('_', "-");
            format!("some usage is unknown, so that --{limit} cannot be checked; `--allow-unpriced` passes over it")
        }
    }
}

fn parts<T>(parts: &[Part<T>], amount: impl Fn(&T) -> String) -> String {
    let part = |part: &Part<T>| {
        let key = part.key.as_deref().map_or(figures::UNKNOWN.into(), escape::line);
        format!("{key} {}", amount(&part.amount))
    };
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}
