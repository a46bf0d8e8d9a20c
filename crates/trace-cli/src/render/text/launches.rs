//! The list of launches.

use std::path::Path;

use trace_report::launches::{LaunchEntry, LaunchesReport};

use super::{
    escape, figures,
    status::{self, all_input},
    table::{Column, Row, Table},
};

/// Returns the lines of the list.
pub(crate) fn lines(report: &LaunchesReport, width: Option<u16>) -> Vec<String> {
    let mut table = Table::new([
        Column::text("LAUNCH"),
        Column::text("STARTED (UTC)"),
        Column::number("TOOK").left_out(5),
        Column::text("PROVIDER"),
        Column::text("MODEL").left_out(6),
        Column::text("OUTCOME").left_out(2),
        Column::text("CAPTURE").left_out(1),
        Column::number("INPUT"),
        Column::number("OUTPUT"),
        Column::number("COST").left_out(3),
        Column::text("REPOSITORY").left_out(4),
    ]);
    for entry in &report.launches {
        table.push(row(entry));
    }
    table.into_lines(width)
}

fn row(entry: &LaunchEntry) -> Row {
    let LaunchEntry { launch, totals } = entry;
    let header = &launch.header;
    let (_, word) = launch.state.columns();
    let repo =
        Path::new(&header.repo).file_name().map_or(header.repo.as_str().into(), std::ffi::OsStr::to_string_lossy);
    let (style, mark) = status::outcome(word);
    Row::new([
        header.id.short(),
        figures::minute(header.started_at),
        status::took(launch),
        header.provider.to_string(),
        escape::line(header.model.as_deref().unwrap_or_default()).into_owned(),
        word.to_string(),
        status::lack(&launch.capture),
        figures::measured(all_input(totals), totals.quality),
        figures::measured(totals.output_tokens, totals.quality),
        figures::money(totals.cost_usd),
        escape::line(&repo).into_owned(),
    ])
    .mark(style, mark)
}
