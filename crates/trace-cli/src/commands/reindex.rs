//! `trace reindex`.

use std::process::ExitCode;

use clap::Args;
use pollster::FutureExt;
use serde::Serialize;
use trace_capture::reindex::{Note, Progress, ReindexReport, reindex};
use trace_model::path::ArtifactPath;

use super::FormatArgs;
use crate::{
    app::App,
    error::Advise,
    progress,
    render::text::{escape, figures, style},
};

/// Bring the ledger in line with the recordings
///
/// The recordings are the truth and the ledger is an index of them: it may be deleted at any time, and this brings it
/// back. Launches that are being recorded are left to their writers. Launches whose recordings are gone are told, and
/// stay in the ledger.
#[derive(Debug, Args)]
pub(crate) struct ReindexArgs {
    #[command(flatten)]
    format: FormatArgs,
}

/// What a reindex did, as a document.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema_version: u32,
    launches: u64,
    live: u64,
    failed: u64,
    without_recording: u64,
    events: u64,
    skipped_lines: u64,
    notes: Vec<NoteDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct NoteDocument<'a> {
    file: &'a ArtifactPath,
    offset: Option<u64>,
    detail: &'a str,
}

impl<'a> NoteDocument<'a> {
    fn of(note: &'a Note) -> Self {
        Self { file: &note.path, offset: note.offset, detail: &note.reason }
    }
}

pub(crate) fn run(args: &ReindexArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    let store = app.open_store()?;
    let bar = progress::bar(app.environment.stderr, "Reading launches");
    let mut show = |Progress { done, total }: Progress| {
        bar.set_length(u64::try_from(total).unwrap_or(u64::MAX));
        bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
    };
    let result = reindex(&store.home, &*store.ledger, &mut show).block_on();
    bar.finish_and_clear();
    let report = result.advise(|| "what was indexed so far stays; run `trace reindex` again".to_owned())?;
    if args.format.json {
        app.output.json(&document(&report))?;
    } else {
        app.output.lines(lines(&report))?;
    }
    Ok(if report.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn document(report: &ReindexReport) -> Document<'_> {
    Document {
        schema_version: trace_report::SCHEMA_VERSION,
        launches: report.launches,
        live: report.live,
        failed: report.failed,
        without_recording: report.without_recording,
        events: report.events,
        skipped_lines: report.skipped_lines,
        notes: report.notes.iter().map(NoteDocument::of).collect(),
    }
}

fn lines(report: &ReindexReport) -> Vec<String> {
    let mut parts = vec![
        format!("{} indexed", figures::counted(report.launches, "launch")),
        figures::counted(report.events, "event"),
    ];
    if report.live > 0 {
        parts.push(format!("{} left to its writer", figures::counted(report.live, "launch")));
    }
    if report.failed > 0 {
        parts.push(style::styled(style::BAD, format!("{} failed", figures::counted(report.failed, "launch"))));
    }
    if report.without_recording > 0 {
        let text = format!("{} without a recording", figures::counted(report.without_recording, "launch"));
        parts.push(style::styled(style::ODD, text));
    }
    if report.skipped_lines > 0 {
        parts.push(style::styled(style::ODD, format!("{} skipped", figures::counted(report.skipped_lines, "line"))));
    }
    let mut lines = vec![parts.join(" · ")];
    lines.extend(report.notes.iter().map(|note| {
        let place = note.offset.map(|offset| format!(" at byte {}", figures::count(offset))).unwrap_or_default();
        format!("  {}{place}: {}", escape::line(note.path.as_str()), escape::line(&note.reason))
    }));
    lines
}
