//! The context profile: what an agent was sent, by kind and by source, beside what its provider measured.

mod counted;

use alloc::vec::Vec;

use serde::Serialize;
use trace_model::{
    id::{LaunchId, TurnId},
    totals::Totals,
    turn::{TurnRow, TurnUsage},
    usage::UsageRow,
    words::{Coverage, DecisionKind, InputOp, TokenizerName, TurnStatus},
};

pub use counted::{Counted, KindShare, SourceShare};

use crate::{
    SCHEMA_VERSION,
    launch::{DecisionRow, LaunchReport, TurnReport},
};

/// What an agent was sent in some turns of a launch.
#[derive(Debug, Clone, Serialize)]
pub struct ContextProfile {
    /// The schema of the document.
    pub schema_version: u32,
    /// The launch.
    pub launch_id: LaunchId,
    /// The turns, by ordinal.
    pub turns: Vec<TurnProfile>,
    /// What was counted here: one entry for each tokenizer in use, since their counts cannot be added.
    pub counted: Vec<Counted>,
    /// How many decisions of each kind were taken, in the order of the words.
    pub decision_counts: Vec<DecisionCount>,
    /// The decisions, by turn and position.
    pub decisions: Vec<DecisionRow>,
    /// What the provider measured. It includes what is not on record here, such as the provider's own instructions.
    pub measured: Measured,
}

/// The context of one turn in figures.
#[derive(Debug, Clone, Serialize)]
pub struct TurnProfile {
    /// The turn.
    pub turn_id: TurnId,
    /// Its place in the launch, from 1.
    pub ordinal: u32,
    /// How it goes or went.
    pub status: TurnStatus,
    /// How its input reached the agent.
    pub input_op: InputOp,
    /// How much of its real input is known.
    pub context_coverage: Coverage,
    /// The encoding of its token counts.
    pub tokenizer: Option<TokenizerName>,
    /// The tokens of its system prompt, counted here.
    pub system_tokens: Option<u64>,
    /// The tokens of its task prompt, counted here.
    pub task_tokens: Option<u64>,
    /// The tokens of both prompts, counted here.
    pub supplied_context_tokens: Option<u64>,
    /// What the provider measured.
    pub measured: Measured,
}

/// What a provider measured.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Measured {
    /// What the usage records add up to.
    pub totals: Totals,
    /// The largest context of one request.
    pub peak_input_tokens: Option<u64>,
    /// The size of the context window.
    pub context_window_tokens: Option<u64>,
}

/// How many decisions of one kind were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DecisionCount {
    /// The kind.
    pub decision: DecisionKind,
    /// The number of decisions.
    pub count: u64,
    /// The tokens of the candidates, as far as they are known.
    pub original_tokens: Option<u64>,
}

impl ContextProfile {
    /// Returns the profile of all turns of a launch.
    pub fn of_launch(report: &LaunchReport) -> Self {
        Self::of(report, &report.turns, &report.usage)
    }

    /// Returns the profile of one turn, or `None` if the launch has no turn of that ordinal.
    pub fn of_turn(report: &LaunchReport, ordinal: u32) -> Option<Self> {
        let turn = report.turns.iter().find(|turn| turn.row.turn.ordinal == ordinal)?;
        let id = Some(turn.row.turn.id);
        let usage: Vec<_> = report.usage.iter().filter(|row| row.record.turn_id == id).cloned().collect();
        Some(Self::of(report, core::slice::from_ref(turn), &usage))
    }

    fn of(report: &LaunchReport, turns: &[TurnReport], usage: &[UsageRow]) -> Self {
        let decisions: Vec<_> = turns.iter().flat_map(|turn| turn.decisions.iter().cloned()).collect();
        Self {
            schema_version: SCHEMA_VERSION,
            launch_id: report.launch.header.id,
            turns: turns.iter().map(TurnProfile::of).collect(),
            counted: Counted::of(turns),
            decision_counts: DecisionCount::of(&decisions),
            decisions,
            measured: Measured::of(Totals::of(usage), &TurnUsage::of(usage)),
        }
    }
}

impl TurnProfile {
    fn of(report: &TurnReport) -> Self {
        let TurnRow { turn, usage } = &report.row;
        Self {
            turn_id: turn.id,
            ordinal: turn.ordinal,
            status: turn.state.columns().1,
            input_op: turn.input_op,
            context_coverage: turn.context_coverage,
            tokenizer: turn.tokenizer,
            system_tokens: turn.system_tokens,
            task_tokens: turn.task_tokens,
            supplied_context_tokens: turn.supplied_context_tokens,
            measured: Measured::of(report.totals, usage),
        }
    }
}

impl Measured {
    fn of(totals: Totals, usage: &TurnUsage) -> Self {
        Self { totals, peak_input_tokens: usage.peak_input_tokens, context_window_tokens: usage.context_window_tokens }
    }
}

impl DecisionCount {
    /// Counts the decisions of each kind; a kind without any is left out.
    pub fn of(decisions: &[DecisionRow]) -> Vec<Self> {
        let of_kind = |kind| decisions.iter().map(|row| &row.decision).filter(move |row| row.decision == kind);
        let counts = DecisionKind::ALL.iter().map(|&decision| Self {
            decision,
            count: of_kind(decision).fold(0, |count, _| count + 1),
            original_tokens: of_kind(decision).filter_map(|row| row.original_tokens).reduce(u64::saturating_add),
        });
        counts.filter(|count| count.count > 0).collect()
    }
}

#[cfg(test)]
mod tests;
