//! The agents of one launch: the main one, and beneath it the subagents.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};

use serde::Serialize;
use trace_model::{
    event::{ConversationEvent, Event, Item, Payload},
    timestamp::Timestamp,
    totals::Totals,
    usage::{Agent, UsageOrigin, UsageRow},
};

use crate::run::{ParentPlace, tree};

/// What was told of a subagent. Absent means unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentFacts {
    /// Which one.
    pub agent: Agent,
    /// Who started it.
    pub parent: Option<Agent>,
    /// The tool call of the parent that it runs under.
    pub tool_call: Option<String>,
    /// What kind of agent the provider calls it.
    pub kind: Option<String>,
    /// What it was asked, whole.
    pub prompt: Option<String>,
    /// When it began.
    pub began_at: Option<Timestamp>,
}

/// What the agents of a launch did, counted over its events.
#[derive(Debug, Clone, Default)]
pub struct AgentSteps(BTreeMap<Agent, Counts>);

#[derive(Debug, Clone, Default)]
struct Counts {
    prompts: u64,
    tools: BTreeSet<String>,
    said_something: bool,
}

/// An agent, in the order of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentRow {
    /// Which one.
    pub agent: Agent,
    /// The agents above it in the tree: 0 for the main one.
    pub depth: u64,
    /// Who started it, if that is known; nobody within the launch started the main one.
    pub parent: Option<Agent>,
    /// Where its parent stands.
    pub parent_place: ParentPlace,
    /// The tool call of the parent that it runs under.
    pub tool_call: Option<String>,
    /// What kind of agent the provider calls it.
    pub kind: Option<String>,
    /// What it was asked, whole.
    pub prompt: Option<String>,
    /// When it began.
    pub began_at: Option<Timestamp>,
    /// The prompts that it was given, if the events show them.
    pub prompts: Option<u64>,
    /// The tools and commands that it called, if any of its events is on record.
    pub tool_calls: Option<u64>,
    /// What its usage records add up to.
    pub totals: Totals,
    /// The size of the prompt of its largest request.
    pub largest_context_tokens: Option<u64>,
}

/// What an agent used of one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentModel {
    /// The model; unknown where the records name none.
    pub model: Option<String>,
    /// What its records add up to.
    pub totals: Totals,
}

impl AgentSteps {
    /// Counts an event.
    pub fn add(&mut self, event: &Event) {
        let item = match &event.payload {
            Payload::UserInput { .. } => {
                self.0.entry(event.agent.clone()).or_default().prompts += 1;
                None
            }
            Payload::Conversation {
                event: ConversationEvent::ItemStarted { item, .. } | ConversationEvent::ItemCompleted { item, .. },
            } => tool_id(item),
            Payload::Conversation { .. } | Payload::LegacyText { .. } => None,
            _ => return,
        };
        let counts = self.0.entry(event.agent.clone()).or_default();
        counts.said_something = true;
        if let Some(id) = item.filter(|id| !counts.tools.contains(*id)) {
            counts.tools.insert(String::from(id));
        }
    }
}

fn tool_id(item: &Item) -> Option<&str> {
    match item {
        Item::Command { id, .. } | Item::File { id, .. } | Item::Tool { id, .. } => Some(id),
        _ => None,
    }
}

/// Returns the agents of a launch: the main one, then each subagent behind the one that started it; no row where there
/// is no subagent.
///
/// Agents stand by their start, then their ids. One that only usage or events know, whose parent is not known or not
/// there, or which is its own ancestor, stands beneath the main one.
pub fn rows(facts: Vec<AgentFacts>, steps: &AgentSteps, usage: &[UsageRow]) -> Vec<AgentRow> {
    let mut known: BTreeMap<Agent, Option<AgentFacts>> = BTreeMap::new();
    for row in usage {
        known.entry(row.record.report.agent.clone()).or_default();
    }
    for agent in steps.0.keys() {
        known.entry(agent.clone()).or_default();
    }
    for fact in facts {
        known.insert(fact.agent.clone(), Some(fact));
    }
    known.remove(&Agent::Main);
    if known.is_empty() {
        return Vec::new();
    }
    let mut subagents: Vec<(Agent, Option<AgentFacts>)> = known.into_iter().collect();
    subagents.sort_by_key(|(agent, facts)| {
        let began_at = facts.as_ref().and_then(|facts| facts.began_at);
        (began_at.is_none(), began_at, agent.clone())
    });

    let places: BTreeMap<Agent, usize> =
        subagents.iter().enumerate().map(|(place, (agent, _))| (agent.clone(), place)).collect();
    let mut parents: Vec<Option<usize>> =
        subagents.iter().map(|(_, facts)| places.get(facts.as_ref()?.parent.as_ref()?).copied()).collect();
    let cuts = tree::cut_circles(&mut parents);

    let mut of_agents: BTreeMap<&Agent, Vec<UsageRow>> = BTreeMap::new();
    for row in usage.iter().filter(|row| !is_of_all(row)) {
        of_agents.entry(&row.record.report.agent).or_default().push(row.clone());
    }
    let of_agent = |agent: &Agent| of_agents.get(agent).map(Vec::as_slice).unwrap_or_default();
    let mut rows = Vec::with_capacity(subagents.len() + 1);
    rows.push(AgentRow::new(Agent::Main, 0, None, ParentPlace::None, steps, of_agent(&Agent::Main)));
    for tree::Step { place, depth } in tree::preorder(&parents) {
        let Some((agent, facts)) = subagents.get_mut(place) else { continue };
        let facts = facts.take();
        let parent_place = match facts.as_ref().and_then(|facts| facts.parent.as_ref()) {
            None => ParentPlace::None,
            Some(_) if cuts.contains(&place) => ParentPlace::Circle,
            Some(Agent::Sub(_)) if depth == 0 => ParentPlace::Missing,
            Some(_) => ParentPlace::Above,
        };
        let depth = u64::try_from(depth).unwrap_or(u64::MAX).saturating_add(1);
        rows.push(AgentRow::new(agent.clone(), depth, facts, parent_place, steps, of_agent(agent)));
    }
    rows
}

impl AgentRow {
    fn new(
        agent: Agent,
        depth: u64,
        facts: Option<AgentFacts>,
        parent_place: ParentPlace,
        steps: &AgentSteps,
        usage: &[UsageRow],
    ) -> Self {
        let counts = steps.0.get(&agent);
        let parent = facts.as_ref().and_then(|facts| facts.parent.clone());
        let AgentFacts { tool_call, kind, prompt, began_at, .. } = facts.unwrap_or_default();
        Self {
            agent,
            depth,
            parent,
            parent_place,
            tool_call,
            kind,
            prompt,
            began_at,
            prompts: counts.map(|counts| counts.prompts).filter(|prompts| *prompts > 0),
            tool_calls: counts
                .filter(|counts| counts.said_something)
                .map(|counts| u64::try_from(counts.tools.len()).unwrap_or(u64::MAX)),
            totals: Totals::of(usage),
            largest_context_tokens: usage.iter().filter_map(|row| row.record.report.context_tokens).max(),
        }
    }
}

/// Tells whether a record is of all agents together: a remainder is of the running total of the process.
fn is_of_all(row: &UsageRow) -> bool {
    row.record.report.origin() == UsageOrigin::Remainder
}

/// Returns what a running total of the process holds beyond the requests of its agents, if there is such a total:
/// which of them used it is not known.
pub fn rest(usage: &[UsageRow]) -> Option<Totals> {
    let of_all: Vec<UsageRow> = usage.iter().filter(|row| is_of_all(row)).cloned().collect();
    (!of_all.is_empty()).then(|| Totals::of(&of_all))
}

/// Returns what an agent used of each model, by the model's name.
pub fn models(usage: &[UsageRow], agent: &Agent) -> Vec<AgentModel> {
    let mut models: BTreeMap<Option<&String>, Vec<UsageRow>> = BTreeMap::new();
    for row in usage.iter().filter(|row| row.record.report.agent == *agent && !is_of_all(row)) {
        models.entry(row.record.report.model.as_ref()).or_default().push(row.clone());
    }
    models.into_iter().map(|(model, rows)| AgentModel { model: model.cloned(), totals: Totals::of(&rows) }).collect()
}

/// Returns the agents beneath one of the rows, in the order of the tree.
pub fn beneath<'a>(rows: &'a [AgentRow], agent: &Agent) -> &'a [AgentRow] {
    let Some(place) = rows.iter().position(|row| row.agent == *agent) else { return &[] };
    let (before, behind) = rows.split_at(place + 1);
    let depth = before.last().map_or(0, |row| row.depth);
    let count = behind.iter().take_while(|row| row.depth > depth).count();
    behind.get(..count).unwrap_or_default()
}

#[cfg(test)]
mod tests;
