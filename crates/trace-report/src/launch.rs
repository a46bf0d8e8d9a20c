//! One launch with everything that a ledger holds about it.

use alloc::vec::Vec;

use serde::Serialize;
use trace_model::{
    context::{Asset, Decision},
    id::{LaunchId, TurnId},
    launch::Launch,
    totals::Totals,
    turn::TurnRow,
    usage::UsageRow,
};

use crate::{
    SCHEMA_VERSION,
    agents::{self, AgentFacts, AgentRow, AgentSteps},
};

/// A launch, its turns and its usage.
#[derive(Debug, Clone, Serialize)]
pub struct LaunchReport {
    /// The schema of the document.
    pub schema_version: u32,
    /// The launch's row.
    pub launch: Launch,
    /// The launches that it started, by start, then id.
    pub children: Vec<LaunchId>,
    /// Its turns, by ordinal.
    pub turns: Vec<TurnReport>,
    /// Its agents, the main one first and each other one behind its parent; none where there is no subagent, and none
    /// until what is known of them is [added](Self::with_agents).
    pub agents: Vec<AgentRow>,
    /// What a running total of the process holds beyond the requests of the agents, where there are subagents: nobody
    /// knows which of them used it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents_rest: Option<Totals>,
    /// Its usage records, by key.
    pub usage: Vec<UsageRow>,
    /// What its usage records add up to.
    pub totals: Totals,
}

/// A turn, its context and its totals.
#[derive(Debug, Clone, Serialize)]
pub struct TurnReport {
    /// The turn's row.
    #[serde(flatten)]
    pub row: TurnRow,
    /// Its assets, by position.
    pub assets: Vec<AssetRow>,
    /// Its decisions, by position.
    pub decisions: Vec<DecisionRow>,
    /// What the usage records of this turn add up to.
    pub totals: Totals,
}

/// An asset and the turn that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AssetRow {
    /// The turn.
    pub turn_id: TurnId,
    /// The asset.
    #[serde(flatten)]
    pub asset: Asset,
}

/// A decision and the turn that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisionRow {
    /// The turn.
    pub turn_id: TurnId,
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
}

/// A turn and its context, as a ledger answers them.
#[derive(Debug, Clone)]
pub struct TurnParts {
    /// The turn's row.
    pub row: TurnRow,
    /// Its assets, by position.
    pub assets: Vec<Asset>,
    /// Its decisions, by position.
    pub decisions: Vec<Decision>,
}

impl LaunchReport {
    /// Returns the report of a launch: its row, the launches that it started, its turns by ordinal, and all of its
    /// usage records.
    pub fn new(
        launch: Launch,
        children: Vec<LaunchId>,
        turns: impl IntoIterator<Item = TurnParts>,
        usage: Vec<UsageRow>,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            launch,
            children,
            turns: turns.into_iter().map(|parts| TurnReport::new(parts, &usage)).collect(),
            agents: Vec::new(),
            agents_rest: None,
            totals: Totals::of(&usage),
            usage,
        }
    }

    /// Adds its agents: what was told of them, and what their events and usage records add up to.
    #[must_use]
    pub fn with_agents(self, facts: Vec<AgentFacts>, steps: &AgentSteps) -> Self {
        let agents = agents::rows(facts, steps, &self.usage);
        let agents_rest = agents::rest(&self.usage).filter(|_| !agents.is_empty());
        Self { agents, agents_rest, ..self }
    }
}

impl TurnReport {
    fn new(parts: TurnParts, usage: &[UsageRow]) -> Self {
        let turn_id = parts.row.turn.id;
        let of_turn: Vec<UsageRow> = usage.iter().filter(|row| row.record.turn_id == Some(turn_id)).cloned().collect();
        Self {
            row: parts.row,
            assets: parts.assets.into_iter().map(|asset| AssetRow { turn_id, asset }).collect(),
            decisions: parts.decisions.into_iter().map(|decision| DecisionRow { turn_id, decision }).collect(),
            totals: Totals::of(&of_turn),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use trace_model::words::Quality;

    use crate::samples;

    #[test]
    fn every_row_of_a_context_names_its_turn() {
        let report = samples::two_turns();
        for turn in &report.turns {
            let id = turn.row.turn.id;
            assert!(turn.assets.iter().all(|row| row.turn_id == id));
            assert!(turn.decisions.iter().all(|row| row.turn_id == id));
        }
    }

    #[test]
    fn the_totals_of_a_turn_are_of_its_own_records() {
        let report = samples::two_turns();
        let inputs = report.turns.iter().map(|turn| turn.totals.input_tokens);
        assert_eq!(inputs.collect::<std::vec::Vec<_>>(), [Some(700), None]);
        assert_eq!(report.turns[1].totals.quality, Quality::Unknown);
        assert_eq!(report.totals.input_tokens, Some(700));
    }

    #[test]
    fn what_is_unknown_is_null_in_the_document() {
        let report = samples::two_turns();
        let json: String = serde_json::to_string_pretty(&report).unwrap();
        insta::assert_snapshot!(json);
    }
}
