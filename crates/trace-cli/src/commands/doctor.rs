//! `trace doctor`.

mod retention;

use std::process::ExitCode;

use clap::Args;
use pollster::FutureExt;
use serde::Serialize;
use trace_capture::{
    Clock, SystemClock,
    intake::import::{SourceState, Survey, SurveyedSource, known_notes, survey},
};
use trace_model::{ledger::LedgerError, query::LaunchQuery, usage_query::UsageQuery};

use super::FormatArgs;
use crate::{
    app::App,
    error::advice,
    render::text::{escape, figures, style},
    store::Store,
};

/// Tell what Trace sees of the agents, and what is wrong
///
/// Where the agents keep their sessions and how many were found, what could not be read, which sessions an agent will
/// delete soon, and whether the ledger is well. Each finding says what to do. The exit code is 1 if there is one.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    format: FormatArgs,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// It is as it should be.
    Fine,
    /// Something is to be done.
    Finding,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Finding {
    level: Level,
    what: String,
    /// What to do.
    next: Option<String>,
}

impl Finding {
    pub(crate) fn fine(what: impl Into<String>) -> Self {
        Self { level: Level::Fine, what: what.into(), next: None }
    }

    pub(crate) fn found(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { level: Level::Finding, what: what.into(), next: Some(next.into()) }
    }
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema_version: u32,
    findings: &'a [Finding],
}

pub(crate) fn run(args: &DoctorArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    let mut findings = Vec::new();
    match app.open_store() {
        Ok(store) => {
            findings.push(Finding::fine(format!("the home is {}", store.home.root().display())));
            look(app, &store, &mut findings)?;
        }
        Err(error) => findings.push(closed(&error)),
    }
    if args.format.json {
        app.output.json(&Document { schema_version: trace_report::SCHEMA_VERSION, findings: &findings })?;
    } else {
        app.output.lines(findings.iter().flat_map(lines))?;
    }
    let is_well = findings.iter().all(|finding| finding.level == Level::Fine);
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Tells of a home that could not be opened, or whose ledger could not.
fn closed(error: &anyhow::Error) -> Finding {
    let next = match error.chain().find_map(|cause| cause.downcast_ref::<LedgerError>()) {
        Some(LedgerError::Busy { .. }) => "try again when the other process is done",
        Some(LedgerError::Corrupt { .. }) => "`trace reindex` makes it anew from the recordings once it is moved away",
        Some(LedgerError::FutureSchema { .. }) => {
            "use a newer trace; `--ledger memory` reads the recordings without it"
        }
        _ => advice(error).unwrap_or("set TRACE_HOME or give --home DIR for another home"),
    };
    Finding::found(format!("the home or its ledger cannot be opened: {error:#}"), next)
}

fn look(app: &App, store: &Store, findings: &mut Vec<Finding>) -> anyhow::Result<()> {
    let roots = app.environment.agent_roots();
    let survey = survey(&store.home, &roots)?;
    for look in &survey.looks {
        let whose = look.provider.as_ref().map_or("", |provider| provider.as_str());
        let place = look.path.display();
        findings.push(Finding::fine(match look.files {
            Some(files) => format!("{whose}: {} in {place}", figures::counted(files, "file")),
            None => format!("{whose}: nothing at {place}"),
        }));
    }
    sources(&survey, findings);
    notes(store, findings)?;
    let now = SystemClock.now();
    findings.extend(roots.claude.iter().filter_map(|root| retention::of_claude(root, &survey, now)));
    findings.extend(roots.gemini.iter().filter_map(|root| retention::of_gemini(root, &survey, now)));
    if let Err(error) = store.home.settings() {
        findings.push(Finding::found(format!("{:#}", anyhow::Error::from(error)), "correct or remove the file"));
    }
    ledger(store, findings)
}

fn sources(survey: &Survey, findings: &mut Vec<Finding>) {
    let count = |wanted: fn(&SurveyedSource) -> bool| {
        u64::try_from(survey.sources.iter().filter(|source| wanted(source)).count()).unwrap_or(u64::MAX)
    };
    let all = count(|source| source.state != SourceState::New);
    let kept = count(|source| source.is_kept);
    findings.push(Finding::fine(format!("{} known, copies kept of {kept}", figures::counted(all, "source"))));
    let new = count(|source| source.state == SourceState::New);
    if new > 0 {
        findings.push(Finding::fine(format!(
            "{} not read yet; `trace usage` reads them, and `trace import` keeps copies",
            figures::counted(new, "file")
        )));
    }
    let stale = count(|source| source.state == SourceState::Changed);
    if stale > 0 {
        let what = format!("{} changed since it was read", figures::counted(stale, "source"));
        findings.push(Finding::fine(what + "; the next `trace usage` reads the rest"));
    }
    let lost = count(|source| source.state == SourceState::Missing && !source.is_kept);
    if lost > 0 {
        let what = format!("{} gone, and no copy was kept", figures::counted(lost, "source"));
        findings.push(Finding::found(
            what + ": what is counted stays, the exchange is lost",
            "`trace import` keeps copies of the others; `keep = true` in config.toml keeps them always",
        ));
    }
    findings.extend(survey.troubles.iter().map(|trouble| {
        let what = format!("{} is not read: {}", trouble.path, trouble.reason);
        Finding::found(what, "see that it can be read, or move it away; `trace import` tries again")
    }));
}

fn notes(store: &Store, findings: &mut Vec<Finding>) -> anyhow::Result<()> {
    let notes = known_notes(&store.home)?;
    if notes.is_empty() {
        findings.push(Finding::fine("every line of the sources was read as it is"));
        return Ok(());
    }
    let mut by_kind = std::collections::BTreeMap::<&str, u64>::new();
    for note in &notes {
        *by_kind.entry(&note.kind).or_default() += 1;
    }
    let kinds: Vec<String> = by_kind.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let count = u64::try_from(notes.len()).unwrap_or(u64::MAX);
    findings.push(Finding::found(
        format!("{} on the sources: {}", figures::counted(count, "note"), kinds.join(", ")),
        "`trace import --report` lists each with its file and place",
    ));
    Ok(())
}

fn ledger(store: &Store, findings: &mut Vec<Finding>) -> anyhow::Result<()> {
    let deferred = store.home.deferred_launches()?.len();
    if deferred > 0 {
        findings.push(Finding::found(
            format!(
                "{} recorded and not in the ledger yet",
                figures::counted(u64::try_from(deferred).unwrap_or(u64::MAX), "launch")
            ),
            "`trace reindex` brings them in",
        ));
    }
    if store.hint_of_unindexed().is_some() {
        findings.push(Finding::found(
            "there are recordings, and the ledger holds none of them",
            "`trace reindex` brings them in",
        ));
        return Ok(());
    }
    let asked = async {
        let launches = store.ledger.launches(&LaunchQuery::default()).await?;
        // What they cost is in other places of the ledger.
        store.ledger.usage_cells(&UsageQuery::default()).await?;
        Ok::<_, LedgerError>(launches.len())
    };
    match asked.block_on() {
        Ok(launches) => {
            let count = figures::counted(u64::try_from(launches).unwrap_or(u64::MAX), "launch");
            findings.push(Finding::fine(format!("the ledger answers, and holds {count}")));
        }
        Err(error) => findings.push(Finding::found(
            format!("the ledger does not answer: {:#}", anyhow::Error::from(error)),
            "move it away and run `trace reindex`",
        )),
    }
    Ok(())
}

fn lines(finding: &Finding) -> Vec<String> {
    let sign = match finding.level {
        Level::Fine => style::styled(style::GOOD, "✓"),
        Level::Finding => style::styled(style::ODD, "!"),
    };
    let mut lines = vec![format!("{sign} {}", escape::line(&finding.what))];
    lines.extend(finding.next.as_ref().map(|next| format!("    {}", escape::line(next))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::advised;

    #[test]
    fn a_ledger_that_another_process_holds_is_to_be_waited_for() {
        let busy = LedgerError::Busy { place: "ledger.db".to_owned() };
        let error = advised(anyhow::Error::from(busy).context("could not open the ledger"), "look away".to_owned());
        let finding = closed(&error);
        assert!(finding.what.contains("ledger.db is held by another process"), "{}", finding.what);
        assert_eq!(finding.next.as_deref(), Some("try again when the other process is done"));
        let other = advised(anyhow::Error::msg("no such folder"), "set TRACE_HOME".to_owned());
        assert_eq!(closed(&other).next.as_deref(), Some("set TRACE_HOME"));
    }
}
