//! What is said when the agent has ended: one line, or one document.

use serde::Serialize;
use trace_capture::{CaptureReport, Recorded, intake::exec::ExecReport};
use trace_model::{
    id::{LaunchId, RunId},
    totals::Totals,
    words::{CaptureStatus, LaunchOutcome},
};

use crate::render::text::figures;

/// Where the rows of a launch are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Indexed {
    /// In the home's own ledger.
    Now,
    /// In none; the launch is marked, and the next look at the home brings it in.
    Later,
    /// In a ledger that ends with this process.
    Elsewhere,
}

/// A launch that is on record.
pub(super) struct RecordedLaunch {
    pub(super) id: LaunchId,
    pub(super) run_id: Option<RunId>,
    pub(super) status: CaptureReport,
    pub(super) indexed: Indexed,
    /// Its files are where they were made.
    pub(super) is_there: bool,
    /// How much of it is on record with the agent's session file, where that was brought to it.
    pub(super) brought: Option<CaptureStatus>,
}

impl RecordedLaunch {
    /// Returns how much of the launch is on record, as its row says it.
    fn capture_status(&self, recorded: Recorded) -> CaptureStatus {
        match recorded {
            _ if self.status.trouble.is_some() || !self.is_there => CaptureStatus::Partial,
            Recorded::Conversation => CaptureStatus::Complete,
            Recorded::PromptOnly => self.brought.unwrap_or(CaptureStatus::PromptOnly),
        }
    }
}

/// The end of a run as a document. Of a run that was not recorded, only the outcome and the exit code are known.
#[derive(Debug, Serialize)]
pub(super) struct Document<'a> {
    schema_version: u32,
    launch_id: Option<LaunchId>,
    run_id: Option<&'a RunId>,
    outcome: LaunchOutcome,
    exit_code: u8,
    capture_status: Option<CaptureStatus>,
    trouble: Option<&'a str>,
    index_pending: bool,
    turns: Option<u64>,
    totals: Option<&'a Totals>,
    notes: u64,
}

impl<'a> Document<'a> {
    pub(super) fn new(report: &'a ExecReport, recorded: Option<&'a RecordedLaunch>) -> Self {
        Self {
            schema_version: trace_report::SCHEMA_VERSION,
            launch_id: recorded.map(|launch| launch.id),
            run_id: recorded.and_then(|launch| launch.run_id.as_ref()),
            outcome: LaunchOutcome::from(report.outcome),
            exit_code: report.end.exit_code(),
            capture_status: recorded.map(|launch| launch.capture_status(report.recorded)),
            trouble: recorded.and_then(|launch| launch.status.trouble.as_deref()),
            index_pending: recorded.is_some_and(|launch| launch.indexed != Indexed::Now),
            turns: recorded.map(|_| report.turns),
            totals: report.totals.as_ref(),
            notes: report.notes,
        }
    }
}

/// Returns the one line that says what is on record now, and where to see it.
pub(super) fn line(report: &ExecReport, recorded: &RecordedLaunch) -> String {
    let RecordedLaunch { id, status, indexed, .. } = recorded;
    let totals = &report.totals;
    let parts = [
        Some(format!("{}, {}", LaunchOutcome::from(report.outcome), figures::counted(report.turns, "turn"))),
        totals
            .as_ref()
            .filter(|totals| totals.total_tokens.is_some())
            .map(|totals| format!("{} tokens", figures::measured(totals.total_tokens, totals.quality))),
        totals.as_ref().and_then(|totals| totals.cost_usd).map(|cost| figures::money(Some(cost))),
        (report.recorded == Recorded::PromptOnly).then(|| match status.yielded_to {
            Some(owner) => format!("its session is recorded by {}", owner.short()),
            None if recorded.brought.is_some() => "counted by its session file".to_owned(),
            None => "no known stream in its output".to_owned(),
        }),
        status.trouble.as_ref().map(|trouble| format!("recorded in part: {trouble}")),
        // An output that is no stream is not read as one, where the session file tells what there is to know.
        report.first_note.as_ref().filter(|_| recorded.brought.is_none()).map(|note| {
            let notes = figures::counted(report.notes, "note");
            format!("{notes} on the output, the first at byte {}: {}", note.offset, note.kind)
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let next = match indexed {
        Indexed::Now => format!("see `trace show {}`", id.short()),
        Indexed::Later => format!("it is not in the ledger yet, and `trace show {}` brings it in", id.short()),
        Indexed::Elsewhere => "it is not in the home's ledger, and `trace reindex` brings it there".to_owned(),
    };
    format!("recorded {}: {}; {next}", id.short(), parts.join(", "))
}
