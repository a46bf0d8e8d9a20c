//! Comma-separated values. What is unknown is an empty field.

use std::io;

use trace_model::money::NanoUsd;
use trace_report::usage::{Subject, UsageView, totals::UsageTotals};

use super::text::escape;

const HEADER: [&str; 20] = [
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
];

/// Writes the rows of usage; where they are broken down by model, the rows of the models instead.
pub(crate) fn usage(view: &UsageView, writer: &mut impl io::Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(writer);
    csv.write_record(HEADER)?;
    for row in &view.rows {
        let key = row.key.as_deref();
        match &row.models {
            None => csv.write_record(record(key, &row.subject, None, &row.totals))?,
            Some(models) => {
                for model in models {
                    csv.write_record(record(key, &row.subject, model.model.as_deref(), &model.totals))?;
                }
            }
        }
    }
    csv.flush()
}

fn record(key: Option<&str>, subject: &Subject, model: Option<&str>, totals: &UsageTotals) -> [String; 20] {
    let text = |text: Option<&str>| escape::line(text.unwrap_or_default()).into_owned();
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let money = |amount: Option<NanoUsd>| amount.map(|amount| amount.to_string()).unwrap_or_default();
    [
        text(key),
        subject.provider.as_ref().map(ToString::to_string).unwrap_or_default(),
        text(subject.session.as_deref()),
        subject.launch_id.map(|id| id.to_string()).unwrap_or_default(),
        subject.started_at.or(subject.window.map(|window| window.starts_at)).map(|at| at.to_string()).unwrap_or_default(),
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
    ]
}
