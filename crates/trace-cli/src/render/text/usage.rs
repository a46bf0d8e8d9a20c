//! What agents used, as a table.

use trace_model::money::NanoUsd;
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

/// Returns the lines: a row each, their sum, and what has no price.
pub(crate) fn lines(view: &UsageView, calendar: &Calendar, width: Option<u16>) -> Vec<String> {
    let mut table = Table::new(columns(view.by));
    for row in &view.rows {
        table.push(Row::new(cells(view.by, head(view.by, row, calendar), &row.totals, row)));
        for model in row.models.iter().flatten() {
            table.push(model_row(view.by, model));
        }
    }
    if view.rows.len() > 1 {
        let mut head = vec!["total".to_owned()];
        head.resize(heads(view.by), String::new());
        let (mut cells, tail) = (head, amounts(&view.totals));
        cells.extend(tail);
        table.push(Row::new(cells));
    }
    let mut lines = table.into_lines(width);
    lines.extend(view.unpriced.iter().map(unpriced));
    lines.extend(view.notes.iter().map(|note| format!("note  {}", escape::line(note))));
    lines
}

/// Returns the columns in front of the amounts.
fn heads(by: UsageBy) -> usize {
    match by {
        UsageBy::Daily | UsageBy::Weekly | UsageBy::Monthly | UsageBy::Model | UsageBy::Project => 1,
        UsageBy::Blocks => 2,
        UsageBy::Session => 4,
        UsageBy::Agent => 4,
    }
}

fn columns(by: UsageBy) -> Vec<Column> {
    let mut columns = match by {
        UsageBy::Daily => vec![Column::text("DAY")],
        UsageBy::Weekly => vec![Column::text("WEEK FROM")],
        UsageBy::Monthly => vec![Column::text("MONTH")],
        UsageBy::Model => vec![Column::text("MODEL").shrinks()],
        UsageBy::Project => vec![Column::text("PROJECT").shrinks()],
        UsageBy::Session => vec![
            Column::text("LAUNCH"),
            Column::text("STARTED"),
            Column::text("PROVIDER").left_out(8),
            Column::text("PROJECT").left_out(7),
        ],
        UsageBy::Agent => vec![
            Column::text("AGENT").shrinks(),
            Column::text("LAUNCH"),
            Column::text("STARTED").left_out(8),
            Column::text("PROVIDER").left_out(7),
        ],
        UsageBy::Blocks => vec![Column::text("WINDOW FROM"), Column::text("PROVIDER")],
    };
    columns.extend([
        Column::number("SESSIONS").left_out(10),
        Column::number("REQUESTS").left_out(9),
        Column::number("INPUT").left_out(3),
        Column::number("CACHE WRITE").left_out(6),
        Column::number("CACHE READ").left_out(5),
        Column::number("OUTPUT").left_out(2),
        Column::number("TOTAL"),
        Column::number("COST"),
        Column::number("REPORTED").left_out(1),
    ]);
    if by == UsageBy::Blocks {
        columns.extend([
            Column::number("TOKENS/H").left_out(4),
            Column::number("COST/H").left_out(4),
            Column::number("PROJECTED").left_out(4),
        ]);
    }
    columns
}

fn head(by: UsageBy, row: &UsageEntry, calendar: &Calendar) -> Vec<String> {
    let text = |text: Option<&str>| text.map_or_else(|| figures::UNKNOWN.to_owned(), |text| escape::line(text).into_owned());
    let subject = &row.subject;
    let provider = || subject.provider.as_ref().map(ToString::to_string).unwrap_or_default();
    let launch = || subject.launch_id.map(|id| id.short()).unwrap_or_default();
    let started = || subject.started_at.map(|at| calendar.minute_of(at)).unwrap_or_default();
    match by {
        UsageBy::Session => {
            let project = subject.project.as_deref().and_then(|project| project.rsplit('/').find(|name| !name.is_empty()));
            vec![launch(), started(), provider(), text(project)]
        }
        UsageBy::Agent => vec![text(row.key.as_deref()), launch(), started(), provider()],
        UsageBy::Blocks => vec![text(row.key.as_deref()), provider()],
        _ => vec![text(row.key.as_deref())],
    }
}

fn cells(by: UsageBy, head: Vec<String>, totals: &UsageTotals, row: &UsageEntry) -> Vec<String> {
    let mut cells = head;
    cells.extend(amounts(totals));
    if let (UsageBy::Blocks, Some(window)) = (by, row.subject.window) {
        cells.push(figures::known(window.tokens_per_hour));
        cells.push(figures::money(window.cost_usd_per_hour));
        // Only a running window has an end to come.
        cells.push(if window.is_running { figures::money(window.projected_cost_usd) } else { String::new() });
    }
    cells
}

fn model_row(by: UsageBy, model: &ModelUsage) -> Row {
    let name = model.model.as_deref().map_or(figures::UNKNOWN.into(), escape::line);
    let mut cells = vec![format!("{INDENT}{name}")];
    cells.resize(heads(by), String::new());
    cells.extend(amounts(&model.totals));
    Row::new(cells).faint_if(true)
}

fn amounts(totals: &UsageTotals) -> [String; 9] {
    let measured = |number| figures::measured(number, totals.quality);
    [
        figures::count(totals.sessions),
        figures::known(totals.requests),
        measured(totals.input_tokens),
        measured(totals.cache_write_tokens),
        measured(totals.cache_read_tokens),
        measured(totals.output_tokens),
        measured(totals.total_tokens),
        cost(totals),
        // The column is there only if a provider said anything.
        totals.reported_cost_usd.map(|cost| figures::money(Some(cost))).unwrap_or_default(),
    ]
}

/// Returns the computed cost.
pub(crate) fn cost(totals: &UsageTotals) -> String {
    match totals.cost_usd {
        Some(_) => figures::marked(figures::money(totals.cost_usd), totals.cost_quality),
        None => figures::UNKNOWN.to_owned(),
    }
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
            let money = |amount: &NanoUsd| figures::money(Some(*amount));
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
            let records = figures::counted(*records, "record");
            format!("the cost of {records} is unknown: {}; `--allow-unpriced` passes over them", names.join(", "))
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
