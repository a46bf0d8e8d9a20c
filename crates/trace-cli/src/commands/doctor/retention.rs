//! How long agents keep their sessions, and which ones go soon.

use std::{fs, path::Path};

use serde_json::Value;
use trace_capture::intake::import::Survey;
use trace_model::timestamp::Timestamp;

use super::Finding;
use crate::render::text::figures;

const DAY_MICROS: i64 = 24 * 3_600 * 1_000_000;

/// How long Claude Code keeps a transcript after its last change where its settings say nothing, in days.
///
/// Source: <https://docs.claude.com/en/docs/claude-code/settings>, `cleanupPeriodDays`.
const CLAUDE_DAYS: i64 = 30;

/// How soon is soon, in days.
const SOON_DAYS: i64 = 7;

/// Tells of the transcripts that Claude Code deletes soon and of which no copy is kept.
pub(super) fn of_claude(root: &Path, survey: &Survey, now: Timestamp) -> Option<Finding> {
    if !root.join("projects").is_dir() {
        return None;
    }
    let days = setting(root, "/cleanupPeriodDays").and_then(|value| value.as_i64()).unwrap_or(CLAUDE_DAYS);
    let advice = format!("`trace import` keeps copies; or raise cleanupPeriodDays in {}", root.join("settings.json").display());
    Some(finding("Claude Code", root, days, survey, now, advice))
}

/// Tells of the sessions that Gemini CLI deletes soon and of which no copy is kept, if its settings limit their age.
pub(super) fn of_gemini(root: &Path, survey: &Survey, now: Timestamp) -> Option<Finding> {
    let age = setting(root, "/general/sessionRetention/maxAge")?;
    let days = age.as_str()?.strip_suffix('d')?.parse().ok()?;
    let advice = format!("`trace import` keeps copies; or raise maxAge in {}", root.join("settings.json").display());
    Some(finding("Gemini CLI", root, days, survey, now, advice))
}

fn finding(agent: &str, root: &Path, days: i64, survey: &Survey, now: Timestamp, advice: String) -> Finding {
    let goes_before = now.as_micros().saturating_sub(days.saturating_sub(SOON_DAYS).saturating_mul(DAY_MICROS));
    let of_root = |path: &str| Path::new(path).starts_with(root);
    let goes = survey.sources.iter().filter(|source| {
        of_root(&source.path) && !source.is_kept && !source.is_missing && source.changed_micros < goes_before
    });
    let count = u64::try_from(goes.count()).unwrap_or(u64::MAX);
    let rule = format!("{agent} deletes sessions after {days} days");
    if count == 0 {
        return Finding::fine(format!("{rule}; none without a copy goes within {SOON_DAYS} days"));
    }
    let sessions = figures::counted(count, "file");
    Finding::found(format!("{rule}: {sessions} without a copy will be gone within {SOON_DAYS} days"), advice)
}

/// Returns a setting of the agent; nothing where there is none, or where the file cannot be read.
fn setting(root: &Path, pointer: &str) -> Option<Value> {
    let text = fs::read_to_string(root.join("settings.json")).ok()?;
    serde_json::from_str::<Value>(&text).ok()?.pointer(pointer).cloned()
}
