//! `trace import`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use pollster::FutureExt;
use serde::Serialize;
use trace_capture::{
    Clock, SystemClock,
    intake::import::{
        FileCounts, ImportFrom, ImportNote, ImportReport, ImportRequest, Keep, SessionCounts, import, known_notes,
        known_replays,
    },
};
use trace_model::{totals::Totals, usage_query::UsageQuery, words::Provider};

use super::FormatArgs;
use crate::{
    app::App,
    error::Advise,
    progress,
    render::text::{escape, figures, looks, style},
    store::Store,
};

/// How many notes are printed where not all of them are asked for.
const SHOWN: usize = 10;

/// Bring in what agents wrote themselves, and keep copies of it
///
/// A session becomes a launch with its turns and what they cost. Without a path, Trace looks where Claude Code, Codex,
/// Gemini CLI and OpenCode keep their files; what a file is, its content tells. What did not change is not read again.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    format: FormatArgs,
    /// Files and folders to import, recorded streams included [default: where the agents keep their sessions]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Keep no copies: the sessions are indexed where they are, and last as long as their files
    #[arg(long)]
    index_only: bool,
    /// List every line that was skipped or salvaged, of this import and of those before it
    #[arg(long)]
    report: bool,
}

pub(crate) fn run(args: &ImportArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    let store = app.open_store()?;
    let from = if args.paths.is_empty() {
        ImportFrom::Roots(app.environment.agent_roots())
    } else {
        ImportFrom::Paths(args.paths.iter().map(|path| app.environment.absolute(path)).collect())
    };
    let keep = if args.index_only { Keep::Index } else { Keep::Copies };
    let request = ImportRequest::new(from, keep, SystemClock.now());
    let mut bar = progress::Bytes::new(app.environment.stderr, "importing");
    let imported =
        import(&store.home, &*store.ledger, &request, &mut |progress| bar.set(progress.done, progress.total))
            .block_on();
    bar.end();
    let mut report = imported.advise(|| "run it again: what was imported so far is not read again".to_owned())?;
    let notes = if args.report { all_notes(&report, &store)? } else { report.notes.clone() };
    // Where those of earlier imports are listed, they are counted.
    report.note_count = report.note_count.max(u64::try_from(notes.len()).unwrap_or(u64::MAX));
    if args.format.json {
        app.output.json(&document(&report, &notes, totals(&report, &store)?))?;
    } else {
        app.output.lines(lines(&report, &notes, args.report))?;
    }
    Ok(if report.files.failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns the notes of all sources, with those of this import that are about no source that was read.
fn all_notes(report: &ImportReport, store: &Store) -> anyhow::Result<Vec<ImportNote>> {
    let mut notes = known_notes(&store.home)?;
    notes.extend(known_replays(&store.home, &*store.ledger).block_on()?);
    for note in &report.notes {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    Ok(notes)
}

/// Returns what the launches that were imported add up to.
fn totals(report: &ImportReport, store: &Store) -> anyhow::Result<Totals> {
    let cells = store.ledger.usage_cells(&UsageQuery::default()).block_on()?;
    let of_import = cells.iter().filter(|cell| report.launches.contains(&cell.launch_id));
    Ok(Totals::of_sums(of_import.map(|cell| (cell.launch_id, &cell.sum))))
}

/// What an import did, as a document.
#[derive(Debug, Serialize)]
struct Document<'a> {
    schema_version: u32,
    looks: Vec<LookDocument<'a>>,
    files: FilesDocument,
    sessions: SessionsDocument,
    bytes: u64,
    totals: Totals,
    note_count: u64,
    notes: Vec<NoteDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct LookDocument<'a> {
    path: String,
    provider: Option<&'a str>,
    files: Option<u64>,
}

#[derive(Debug, Serialize)]
struct FilesDocument {
    seen: u64,
    unchanged: u64,
    read: u64,
    foreign: u64,
    failed: u64,
    missing: u64,
}

#[derive(Debug, Serialize)]
struct SessionsDocument {
    new: u64,
    updated: u64,
    unchanged: u64,
}

#[derive(Debug, Serialize)]
struct NoteDocument<'a> {
    file: &'a str,
    offset: Option<u64>,
    kind: &'a str,
    detail: &'a str,
}

fn document<'a>(report: &'a ImportReport, notes: &'a [ImportNote], totals: Totals) -> Document<'a> {
    let FileCounts { seen, unchanged, read, foreign, failed, missing } = report.files;
    let SessionCounts { new, updated, unchanged: sessions_unchanged } = report.sessions;
    let looks = report.looks.iter().map(|look| LookDocument {
        path: look.path.display().to_string(),
        provider: look.provider.as_ref().map(Provider::as_str),
        files: look.files,
    });
    let notes = notes.iter().map(|note| NoteDocument {
        file: &note.path,
        offset: note.offset,
        kind: &note.kind,
        detail: &note.detail,
    });
    Document {
        schema_version: trace_report::SCHEMA_VERSION,
        looks: looks.collect(),
        files: FilesDocument { seen, unchanged, read, foreign, failed, missing },
        sessions: SessionsDocument { new, updated, unchanged: sessions_unchanged },
        bytes: report.bytes,
        totals,
        note_count: report.note_count,
        notes: notes.collect(),
    }
}

fn lines(report: &ImportReport, notes: &[ImportNote], all: bool) -> Vec<String> {
    let SessionCounts { new, updated, unchanged } = report.sessions;
    let files = report.files;
    let mut parts = vec![
        format!("{} new, {} updated, {} unchanged", figures::counted(new, "session"), updated, unchanged),
        format!("{} read", figures::bytes(report.bytes)),
    ];
    if files.foreign > 0 {
        let are = if files.foreign == 1 { "is no session" } else { "are no sessions" };
        parts.push(format!("{} {are}", figures::counted(files.foreign, "file")));
    }
    if files.missing > 0 {
        parts.push(style::styled(style::ODD, format!("{} gone", figures::counted(files.missing, "file"))));
    }
    if files.failed > 0 {
        parts.push(style::styled(style::BAD, format!("{} failed", figures::counted(files.failed, "file"))));
    }
    if report.note_count > 0 {
        parts.push(style::styled(style::ODD, figures::counted(report.note_count, "note")));
    }
    let mut lines = vec![parts.join(" · ")];
    lines.extend(report.looks.iter().map(looks::line));
    let shown = if all { notes.len() } else { SHOWN };
    lines.extend(notes.iter().take(shown).map(note_line));
    if notes.len() > shown {
        lines.push(format!("  and {} more; `trace import --report` lists them", notes.len() - shown));
    }
    lines
}

fn note_line(note: &ImportNote) -> String {
    let place = note.offset.map(|offset| format!(" at byte {}", figures::count(offset))).unwrap_or_default();
    let detail = if note.detail.is_empty() { String::new() } else { format!(": {}", escape::line(&note.detail)) };
    let kind = style::styled(style::ODD, &note.kind);
    format!("  {}{place}: {kind}{detail}", escape::line(&note.path))
}
