//! The subagents of a launch, and one of them alone.

use anyhow::{Context, anyhow};
use serde::Serialize;
use trace_capture::agents;
use trace_model::{
    codec::Line,
    event::{Event, Payload},
    id::LaunchId,
    launch::Launch,
    usage::{Agent, UsageRow},
};
use trace_report::{
    SCHEMA_VERSION,
    agents::{AgentFacts, AgentModel, AgentRow, AgentSteps, beneath, models},
    launch::LaunchReport,
};

use super::FormatArgs;
use crate::{
    app::App,
    error::Advise,
    render::text::{agents as view, escape},
    store::Store,
};

/// The fewest characters of an id that name a subagent.
const FEWEST: usize = 4;

/// The document of one subagent.
#[derive(Debug, Serialize)]
pub(crate) struct AgentReport {
    pub(crate) schema_version: u32,
    pub(crate) launch_id: LaunchId,
    /// The subagent.
    #[serde(flatten)]
    pub(crate) row: AgentRow,
    /// What it used, by model.
    pub(crate) models: Vec<AgentModel>,
    /// The agents beneath it, in the order of the tree.
    pub(crate) children: Vec<AgentRow>,
    /// Its usage records, by key.
    pub(crate) usage: Vec<UsageRow>,
    /// What it did, as far as that is on record.
    pub(crate) events: Vec<Event>,
}

/// Returns the report of a launch with its agents. What cannot be read is said, and what the ledger knows stands.
pub(super) fn report(app: &App, store: &Store, launch: Launch) -> anyhow::Result<LaunchReport> {
    let facts = facts(app, store, &launch);
    let report = store.report(launch)?;
    let mut steps = AgentSteps::default();
    if facts.is_empty() && report.usage.iter().all(|row| row.record.report.agent.is_main()) {
        return Ok(report);
    }
    each_event(app, store, &report.launch, |event| steps.add(&event));
    Ok(report.with_agents(facts, &steps))
}

fn facts(app: &App, store: &Store, launch: &Launch) -> Vec<AgentFacts> {
    // A launch whose recording is gone has its rows still, and whoever asks for its events is told.
    let Ok(dir) = store.launch_dir(launch) else { return Vec::new() };
    let found = agents(&store.home, &dir, &launch.header.provider);
    let found = found.unwrap_or_else(|error| {
        say_unreadable(app, &error.into());
        Vec::new()
    });
    let fact = |seen: trace_capture::AgentSeen| AgentFacts {
        agent: seen.agent,
        // Without the call, that nobody else was told as the parent does not make it the main one.
        parent: Some(seen.parent).filter(|parent| !parent.is_main() || seen.tool_call.is_some()),
        tool_call: seen.tool_call,
        kind: seen.kind,
        prompt: seen.prompt,
        began_at: seen.at,
    };
    found.into_iter().map(fact).collect()
}

fn each_event(app: &App, store: &Store, launch: &Launch, mut take: impl FnMut(Event)) {
    let mut read = || {
        let mut conversation = store.conversation(launch)?;
        while let Some(stretch) = conversation.next()? {
            if let Some(Line::Event(event)) = stretch.line {
                take(event);
            }
        }
        Ok::<_, anyhow::Error>(())
    };
    if let Err(error) = read() {
        say_unreadable(app, &error);
    }
}

fn say_unreadable(app: &App, error: &anyhow::Error) {
    let why = format!("{error:#}");
    app.messages.say("note", &format!("of its agents, this is what the ledger knows: {}", escape::line(&why)));
}

/// Returns the subagent of that name: its id, or the beginning or end of only one.
pub(super) fn find(app: &App, store: &Store, launch: &Launch, name: &str) -> anyhow::Result<(Agent, LaunchReport)> {
    let report = report(app, store, launch.clone())?;
    let ids: Vec<&str> =
        report.agents.iter().filter(|row| !row.agent.is_main()).map(|row| row.agent.as_str()).collect();
    let is_short = name.chars().count() < FEWEST;
    let named = |id: &&str| *id == name || (!is_short && (id.starts_with(name) || id.ends_with(name)));
    let found: Vec<&str> = match ids.iter().find(|id| **id == name) {
        Some(id) => vec![id],
        None => ids.iter().copied().filter(named).collect(),
    };
    let shown = escape::line(name);
    match found.as_slice() {
        [id] => Ok((Agent::Sub((*id).to_owned()), report)),
        [] if ids.is_empty() => Err(anyhow!("{} has no subagent", launch.header.id))
            .advise(|| "`trace show LAUNCH` shows what is known of it".to_owned()),
        [] => Err(anyhow!("{} has no subagent whose id is {shown}, or begins or ends so", launch.header.id))
            .advise(|| format!("four or more characters name one of: {}", list(&ids))),
        several => Err(anyhow!("{shown} names several subagents of {}", launch.header.id))
            .advise(|| format!("name one of: {}", list(several))),
    }
}

fn list(ids: &[&str]) -> String {
    escape::line(&ids.join(", ")).into_owned()
}

/// Shows one subagent.
pub(super) fn run(app: &mut App, store: &Store, launch: &Launch, name: &str, format: FormatArgs) -> anyhow::Result<()> {
    let (agent, report) = find(app, store, launch, name)?;
    let row = report.agents.iter().find(|row| row.agent == agent).context("the subagent has no row")?.clone();
    let mut events = Vec::new();
    each_event(app, store, launch, |event| {
        let is_of_it = |event: &Event| match &event.payload {
            Payload::UsageRecord { .. } => false,
            _ => event.agent == agent,
        };
        events.extend(Some(event).filter(is_of_it));
    });
    let document = AgentReport {
        schema_version: SCHEMA_VERSION,
        launch_id: launch.header.id,
        models: models(&report.usage, &agent),
        children: beneath(&report.agents, &agent).to_vec(),
        usage: report.usage.into_iter().filter(|row| row.record.report.agent == agent).collect(),
        row,
        events,
    };
    if format.json {
        return Ok(app.output.json(&document)?);
    }
    Ok(app.output.lines(view::one(&document, app.width()))?)
}
