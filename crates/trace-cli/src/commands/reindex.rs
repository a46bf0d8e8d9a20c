//! `trace reindex`.

use std::process::ExitCode;

use clap::Args;
use pollster::FutureExt;
use serde::Serialize;
use trace_capture::{
    LedgerKind,
    reindex::{MoveError, MoveReport, Note, Progress, ReindexReport, move_ledger, reindex},
};
use trace_model::path::ArtifactPath;

use super::FormatArgs;
use crate::{
    app::{App, next_step},
    error::{Advise, WrongUsage, advised},
    progress,
    render::text::{escape, figures, style},
};

/// Bring the ledger in line with the recordings
///
/// The recordings are the truth and the ledger is an index of them: what it says of launches may be deleted at any
/// time, and this brings it back. Only reservations are in the ledger alone. Launches that are being recorded are left
/// to their writers. Launches whose recordings are gone are told, and stay in the ledger.
///
/// With `--ledger KIND`, the home is moved to a ledger of that kind: reservations and launches without a recording are
/// copied from the old one, which is removed when the new one is whole.
#[derive(Debug, Args)]
pub(crate) struct ReindexArgs {
    #[command(flatten)]
    format: FormatArgs,
}

/// What a reindex did, as a document.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema_version: u32,
    moved: Option<MoveDocument>,
    launches: u64,
    live: u64,
    failed: u64,
    without_recording: u64,
    events: u64,
    skipped_lines: u64,
    notes: Vec<NoteDocument<'a>>,
}

/// From which ledger to which one, and what was copied because no recording holds it.
#[derive(Debug, Serialize)]
struct MoveDocument {
    from: &'static str,
    to: &'static str,
    reservations: Option<u64>,
    copied: u64,
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
    if app.global.ledger == Some(LedgerKind::Memory) {
        let text = "a memory ledger keeps nothing, so there is nothing to bring in line with the recordings";
        return Err(WrongUsage(text.to_owned()).into());
    }
    let home = app.open_home()?;
    let bar = progress::bar(app.environment.stderr, "Reading launches");
    let mut show = |Progress { done, total }: Progress| {
        bar.set_length(u64::try_from(total).unwrap_or(u64::MAX));
        bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
    };
    let moved = match app.global.ledger {
        Some(to) => move_ledger(&home, to, &mut show).block_on(),
        None => Ok(None),
    };
    let moved = match moved {
        Ok(moved) => moved,
        Err(error) => {
            bar.finish_and_clear();
            let advice = next_step_of_move(&error);
            return Err(advised(error, advice));
        }
    };
    let report = if let Some(moved) = &moved {
        moved.reindex.clone()
    } else {
        let store = app.open_store()?;
        let result = reindex(&store.home, &*store.ledger, &mut show).block_on();
        result.advise(|| "what was indexed so far stays; run `trace reindex` again".to_owned())?
    };
    bar.finish_and_clear();
    if args.format.json {
        app.output.json(&document(&report, moved.as_ref()))?;
    } else {
        app.output.lines(moved.iter().map(move_line).chain(lines(&report)))?;
    }
    if let Some(moved) = &moved {
        warn_of_move(moved, app);
    }
    Ok(if report.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn warn_of_move(report: &MoveReport, app: &App) {
    let from = report.from;
    if report.reservations.is_none() {
        let text = format!("the {from} ledger was gone: reservations, which no recording holds, are lost");
        app.messages.say("warning", &text);
    }
    if let Some(reason) = &report.left_behind {
        let text = format!("files of the {from} ledger are left, and may be removed: {reason}");
        app.messages.say("warning", &text);
    }
}

fn next_step_of_move(error: &MoveError) -> String {
    match error {
        MoveError::Recording { .. } => "`trace ls --outcome running` lists what runs".to_owned(),
        MoveError::Open(error) => next_step(error),
        _ => "nothing was moved; the home has the ledger that it had".to_owned(),
    }
}

/// Says from where to where, and what no recording holds.
fn move_line(report: &MoveReport) -> String {
    let MoveReport { from, to, reservations, copied, .. } = report;
    let mut parts = vec![format!("moved from {from} to {to}")];
    parts.extend(reservations.filter(|count| *count > 0).map(|count| figures::counted(count, "reservation")));
    if *copied > 0 {
        parts.push(format!("{} without a recording copied", figures::counted(*copied, "launch")));
    }
    parts.join(" · ")
}

fn document<'a>(report: &'a ReindexReport, moved: Option<&MoveReport>) -> Document<'a> {
    Document {
        schema_version: trace_report::SCHEMA_VERSION,
        moved: moved.map(|moved| MoveDocument {
            from: moved.from.as_str(),
            to: moved.to.as_str(),
            reservations: moved.reservations,
            copied: moved.copied,
        }),
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
