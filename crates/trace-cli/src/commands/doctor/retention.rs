//! How long agents keep their sessions, and which ones go soon.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;
use trace_capture::intake::import::{SourceState, Survey};
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
    let agent = Agent { name: "Claude Code", root, survey, now };
    let file = agent.settings();
    let place = file.display();
    let wrong = |why: &str| {
        let goes = agent.goes(CLAUDE_DAYS);
        let what = format!("{place} {why}; if Claude Code then deletes sessions after {CLAUDE_DAYS} days, {goes}");
        Some(Finding::found(what, format!("correct {place}; `trace import` keeps copies")))
    };
    let settings = match read(&file) {
        Ok(settings) => settings,
        Err(why) => return wrong(&why),
    };
    match settings.as_ref().and_then(|settings| settings.get("cleanupPeriodDays")) {
        None => Some(agent.finding(CLAUDE_DAYS, "cleanupPeriodDays")),
        Some(value) => match value.as_i64() {
            // It writes none then, and deletes those that there are (anthropics/claude-code#23710).
            Some(0) => Some(Finding::found(
                format!("Claude Code keeps no sessions (cleanupPeriodDays is 0): {}", agent.goes(0)),
                format!("`trace import` keeps copies; raise cleanupPeriodDays in {place}, or run it by `trace exec`"),
            )),
            Some(days @ 1..) => Some(agent.finding(days, "cleanupPeriodDays")),
            _ => wrong(&format!("has a cleanupPeriodDays that is no number of days: {value}")),
        },
    }
}

/// Tells of the sessions that Gemini CLI deletes soon and of which no copy is kept, if its settings limit their age.
///
/// Source: google-gemini/gemini-cli, `packages/cli/src/utils/sessionCleanup.ts`.
pub(super) fn of_gemini(root: &Path, survey: &Survey, now: Timestamp) -> Option<Finding> {
    if !root.join("tmp").is_dir() {
        return None;
    }
    let agent = Agent { name: "Gemini CLI", root, survey, now };
    let file = agent.settings();
    let place = file.display();
    let settings = match read(&file) {
        Ok(settings) => settings?,
        Err(why) => {
            let what = format!("{place} {why}; whether Gemini CLI deletes sessions is not known");
            return Some(Finding::found(what, format!("correct {place}; `trace import` keeps copies")));
        }
    };
    let retention = settings.pointer("/general/sessionRetention")?;
    if retention.get("enabled").is_some_and(|enabled| *enabled == false) {
        return None;
    }
    let age = retention.get("maxAge")?;
    let Some(days) = age.as_str().and_then(days) else {
        let what = format!("{place} has a maxAge that is no time: {age}; whether Gemini CLI deletes is not known");
        return Some(Finding::found(what, format!("correct {place}; `trace import` keeps copies")));
    };
    Some(agent.finding(days, "maxAge"))
}

/// Returns the whole days of an age such as `30d`, `24h`, `4w` or `2m`; a month has 30.
fn days(age: &str) -> Option<i64> {
    let unit = age.chars().next_back()?;
    let number: i64 = age.strip_suffix(unit)?.parse().ok().filter(|number| *number >= 0)?;
    match unit {
        'h' => Some(number / 24),
        'd' => Some(number),
        'w' => number.checked_mul(7),
        'm' => number.checked_mul(30),
        _ => None,
    }
}

/// Returns what a file of settings holds, nothing where there is none, and where it makes no sense, why.
fn read(file: &Path) -> Result<Option<Value>, String> {
    let text = match fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot be read ({error})")),
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| format!("is no JSON ({error})"))
}

/// An agent that deletes its sessions at some age.
struct Agent<'a> {
    name: &'static str,
    root: &'a Path,
    survey: &'a Survey,
    now: Timestamp,
}

impl Agent<'_> {
    fn settings(&self) -> PathBuf {
        self.root.join("settings.json")
    }

    fn finding(&self, days: i64, setting: &str) -> Finding {
        let rule = format!("{} deletes sessions after {days} days", self.name);
        if self.count(days) == 0 {
            return Finding::fine(format!("{rule}; none without a copy goes within {SOON_DAYS} days"));
        }
        let advice = format!("`trace import` keeps copies; or raise {setting} in {}", self.settings().display());
        Finding::found(format!("{rule}: {}", self.goes(days)), advice)
    }

    /// Returns in words how many sessions go soon.
    fn goes(&self, days: i64) -> String {
        let files = figures::counted(self.count(days), "file");
        format!("{files} without a copy will be gone within {SOON_DAYS} days")
    }

    /// Returns how many files without a copy are soon as old as that.
    fn count(&self, days: i64) -> u64 {
        let left = days.saturating_sub(SOON_DAYS).saturating_mul(DAY_MICROS);
        let goes_before = self.now.as_micros().saturating_sub(left);
        let goes = self.survey.sources.iter().filter(|source| {
            let is_theirs = Path::new(&source.path).starts_with(self.root);
            is_theirs && !source.is_kept && source.state != SourceState::Missing && source.changed_micros < goes_before
        });
        u64::try_from(goes.count()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read_as_days() {
        for (age, expected) in [
            ("30d", Some(30)),
            ("24h", Some(1)),
            ("4w", Some(28)),
            ("2m", Some(60)),
            ("0d", Some(0)),
            ("-1d", None),
            ("30", None),
            ("d", None),
            ("", None),
            ("1é", None),
            ("99999999999999999999d", None),
        ] {
            assert_eq!(days(age), expected, "{age}");
        }
    }
}
