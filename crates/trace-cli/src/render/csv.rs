//! Comma-separated values. What is unknown is an empty field.

use std::io;

use trace_model::money::NanoUsd;
use trace_report::usage::{Subject, UsageBy, UsageView, totals::UsageTotals, windows::Window};

use super::text::escape;

const HEADER: [&str; 22] = [
    "key",
    "provider",
    "session",
    "launch_id",
    "started_at",
    "project",
    "agent",
    "model",
    "sessions",
    "requests",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "total_tokens",
    "cost_usd",
    "cost_quality",
    "reported_cost_usd",
    "quality",
    "unpriced",
    "replays",
];

/// What follows where the rows are windows.
const OF_WINDOWS: [&str; 5] =
    ["ends_at", "tokens_per_hour", "cost_usd_per_hour", "projected_total_tokens", "projected_cost_usd"];

/// What follows where the rows are agents.
const OF_AGENTS: [&str; 3] = ["kind", "tool_call", "prompt"];

/// Writes the rows of usage; where they are broken down by model, the rows of the models instead.
pub(crate) fn usage(view: &UsageView, writer: &mut impl io::Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(writer);
    let of_windows = view.by == UsageBy::Blocks;
    let of_agents = view.by == UsageBy::Agent;
    let more = OF_WINDOWS.iter().filter(|_| of_windows).chain(OF_AGENTS.iter().filter(|_| of_agents));
    csv.write_record(HEADER.iter().chain(more))?;
    for row in &view.rows {
        let key = row.key.as_deref();
        // The rates of a window are of the whole of it.
        let window = of_windows.then(|| window(row.subject.window.filter(|_| row.models.is_none())));
        let told = of_agents.then(|| {
            let Subject { kind, tool_call, prompt, .. } = &row.subject;
            [kind, tool_call, prompt].map(|told| escape::line(told.as_deref().unwrap_or_default()).into_owned())
        });
        let mut write = |model: Option<&str>, totals: &UsageTotals| {
            let more = window.iter().flatten().chain(told.iter().flatten());
            csv.write_record(record(key, &row.subject, model, totals).iter().chain(more))
        };
        match &row.models {
            None => write(None, &row.totals)?,
            Some(models) => {
                models.iter().try_for_each(|model| write(model.model.as_deref(), &model.totals))?;
            }
        }
    }
    csv.flush()
}

fn number(number: Option<u64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

fn money(amount: Option<NanoUsd>) -> String {
    amount.map(|amount| amount.to_string()).unwrap_or_default()
}

fn window(window: Option<Window>) -> [String; 5] {
    let Some(window) = window else { return Default::default() };
    [
        window.ends_at.to_string(),
        number(window.tokens_per_hour),
        money(window.cost_usd_per_hour),
        number(window.projected_total_tokens),
        money(window.projected_cost_usd),
    ]
}

fn record(key: Option<&str>, subject: &Subject, model: Option<&str>, totals: &UsageTotals) -> [String; 22] {
    let text = |text: Option<&str>| escape::line(text.unwrap_or_default()).into_owned();
    [
        text(key),
        subject.provider.as_ref().map(ToString::to_string).unwrap_or_default(),
        text(subject.session.as_deref()),
        subject.launch_id.map(|id| id.to_string()).unwrap_or_default(),
        subject
            .started_at
            .or(subject.window.map(|window| window.starts_at))
            .map(|at| at.to_string())
            .unwrap_or_default(),
        text(subject.project.as_deref()),
        text(subject.agent.as_ref().map(trace_model::usage::Agent::as_str)),
        text(model),
        totals.sessions.to_string(),
        number(totals.requests),
        number(totals.input_tokens),
        number(totals.cache_read_tokens),
        number(totals.cache_write_tokens),
        number(totals.output_tokens),
        number(totals.reasoning_tokens),
        number(totals.total_tokens),
        money(totals.cost_usd),
        totals.cost_quality.to_string(),
        money(totals.reported_cost_usd),
        totals.quality.to_string(),
        totals.unpriced.to_string(),
        totals.replays.to_string(),
    ]
}
