//! `trace` alone: the launches of today, and what to do next.

use std::process::ExitCode;

use trace_capture::{Clock, SystemClock};
use trace_model::query::{LaunchQuery, Order};

use crate::{
    app::App,
    render::text::{launches, style},
    when::When,
};

/// The next steps: a command, and what it does.
const NEXT: [(&str, &str); 4] = [
    ("trace usage", "what all agents of this machine used and cost"),
    ("trace exec -- COMMAND", "record an agent"),
    ("trace context", "what the latest launch was sent, by kind and by source"),
    ("trace --help", "everything else"),
];

pub(crate) fn run(app: &mut App) -> anyhow::Result<ExitCode> {
    let query = LaunchQuery {
        started_from: Some(When::Day(0).from(SystemClock.now())),
        order: Order::NewestFirst,
        ..LaunchQuery::default()
    };
    let report = app.open_store_to_look()?.map(|store| store.launches(&query)).transpose()?;
    match report.filter(|report| !report.launches.is_empty()) {
        Some(report) => {
            app.output.line(&style::styled(style::TITLE, "Launches of today (UTC)"))?;
            app.output.lines(launches::lines(&report, app.width()))?;
        }
        None => app.output.line("No launches today (UTC).")?,
    }
    app.output.line("")?;
    for (command, purpose) in NEXT {
        app.output.line(&format!("  {}  {purpose}", style::styled(style::NAME, format_args!("{command:<21}"))))?;
    }
    Ok(ExitCode::SUCCESS)
}
