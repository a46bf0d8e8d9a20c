//! Turns: one input delivered to the agent and all that it did about it.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    Entity, ModelError,
    id::{LaunchId, TurnId},
    money::NanoUsd,
    path::ArtifactPath,
    timestamp::Timestamp,
    totals::{Totals, add_known},
    usage::UsageRow,
    words::{Coverage, InputOp, LaunchOutcome, PartialReason, TokenizerName, TurnStatus},
};

/// How a launch or a turn came to an end of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "LaunchOutcome", into = "LaunchOutcome")]
pub enum Outcome {
    /// It did what it was started for.
    Completed,
    /// The provider reported an error, or the agent failed.
    Failed,
    /// A signal or a person stopped it.
    Interrupted,
}

impl From<Outcome> for LaunchOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::Failed => Self::Failed,
            Outcome::Interrupted => Self::Interrupted,
        }
    }
}

impl TryFrom<LaunchOutcome> for Outcome {
    type Error = ModelError;

    fn try_from(word: LaunchOutcome) -> Result<Self, Self::Error> {
        match word {
            LaunchOutcome::Completed => Ok(Self::Completed),
            LaunchOutcome::Failed => Ok(Self::Failed),
            LaunchOutcome::Interrupted => Ok(Self::Interrupted),
            LaunchOutcome::Running => Err(ModelError::Contradiction {
                entity: Entity::Launch,
                reason: "an outcome is wanted, and running is none",
            }),
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndStatus {
    /// It came to an end of its own.
    Of(Outcome),
    /// It did not.
    Partial(PartialReason),
}

impl EndStatus {
    /// Returns the status's word and, for a partial turn, why.
    pub const fn words(self) -> (TurnStatus, Option<PartialReason>) {
        match self {
            Self::Of(Outcome::Completed) => (TurnStatus::Completed, None),
            Self::Of(Outcome::Failed) => (TurnStatus::Failed, None),
            Self::Of(Outcome::Interrupted) => (TurnStatus::Interrupted, None),
            Self::Partial(reason) => (TurnStatus::Partial, Some(reason)),
        }
    }

    /// Returns the end that the words tell, or `None` for a running turn.
    ///
    /// # Errors
    ///
    /// [`ModelError::Contradiction`] if a turn is partial without a reason, or has a reason without being partial.
    pub fn from_words(status: TurnStatus, reason: Option<PartialReason>) -> Result<Option<Self>, ModelError> {
        Ok(Some(match (status, reason) {
            (TurnStatus::Running, None) => return Ok(None),
            (TurnStatus::Completed, None) => Self::Of(Outcome::Completed),
            (TurnStatus::Failed, None) => Self::Of(Outcome::Failed),
            (TurnStatus::Interrupted, None) => Self::Of(Outcome::Interrupted),
            (TurnStatus::Partial, Some(reason)) => Self::Partial(reason),
            (TurnStatus::Partial, None) => {
                return Err(ModelError::Contradiction { entity: Entity::Turn, reason: "partial without a reason" });
            }
            (_, Some(_)) => {
                return Err(ModelError::Contradiction {
                    entity: Entity::Turn,
                    reason: "a partial_reason without being partial",
                });
            }
        }))
    }
}

/// Whether a turn runs, and if not, how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnState {
    /// It runs.
    Running,
    /// It ended, and stays so.
    Ended {
        /// When.
        at: Timestamp,
        /// How.
        status: EndStatus,
    },
}

/// The revision of the harness's own state that a context was assembled from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Basis {
    /// The line of revisions.
    pub epoch_id: String,
    /// The place in that line.
    pub revision: u64,
}

/// One input delivered to the agent and all that it did about it.
///
/// Its provider's numbers are not here: they are derived from usage records when they are read, see [`TurnRow`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TurnRecord", into = "TurnRecord")]
pub struct Turn {
    /// Its id; ids of one launch ascend.
    pub id: TurnId,
    /// The launch that it belongs to.
    pub launch_id: LaunchId,
    /// Its place in the launch, from 1.
    pub ordinal: u32,
    /// The provider's name for it, once the provider has named one.
    pub provider_turn_id: Option<String>,
    /// When it was opened.
    pub started_at: Timestamp,
    /// Whether it runs, and if not, how it ended.
    pub state: TurnState,
    /// How its input reached the agent.
    pub input_op: InputOp,
    /// How much of its real input is known.
    pub context_coverage: Coverage,
    /// The encoding of its token counts.
    pub tokenizer: Option<TokenizerName>,
    /// The file that holds its system prompt.
    pub system_prompt_path: Option<ArtifactPath>,
    /// The file that holds its task prompt.
    pub task_prompt_path: Option<ArtifactPath>,
    /// The tokens of its system prompt, counted here.
    pub system_tokens: Option<u64>,
    /// The tokens of its task prompt, counted here.
    pub task_tokens: Option<u64>,
    /// The tokens of both prompts, counted here.
    pub supplied_context_tokens: Option<u64>,
    /// How long the harness gathered sources, in milliseconds.
    pub context_gather_ms: u64,
    /// How long the harness rendered the prompts, in milliseconds.
    pub context_render_ms: u64,
    /// How long writing and syncing the turn's files took before it was opened, in milliseconds.
    pub context_persist_ms: u64,
    /// The first event of the turn.
    pub first_event_seq: Option<u64>,
    /// The last event of the turn; the one that ended it, once it has.
    pub last_event_seq: Option<u64>,
    /// What the main agent said until the turn ended, once it has.
    pub root_output: Option<String>,
    /// The harness's revision that the context was assembled from.
    pub basis: Option<Basis>,
}

/// A [`Turn`] as JSON and stores hold it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct TurnRecord {
    id: TurnId,
    launch_id: LaunchId,
    ordinal: u32,
    provider_turn_id: Option<String>,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    status: TurnStatus,
    partial_reason: Option<PartialReason>,
    input_op: InputOp,
    context_coverage: Coverage,
    tokenizer: Option<TokenizerName>,
    system_prompt_path: Option<ArtifactPath>,
    task_prompt_path: Option<ArtifactPath>,
    system_tokens: Option<u64>,
    task_tokens: Option<u64>,
    supplied_context_tokens: Option<u64>,
    context_gather_ms: u64,
    context_render_ms: u64,
    context_persist_ms: u64,
    first_event_seq: Option<u64>,
    last_event_seq: Option<u64>,
    root_output: Option<String>,
    basis: Option<Basis>,
}

impl TurnState {
    /// Returns the columns of the state: when it ended, its word, and why it is partial.
    pub const fn columns(self) -> (Option<Timestamp>, TurnStatus, Option<PartialReason>) {
        match self {
            Self::Running => (None, TurnStatus::Running, None),
            Self::Ended { at, status } => {
                let (word, reason) = status.words();
                (Some(at), word, reason)
            }
        }
    }

    /// Returns the state that the columns tell.
    ///
    /// # Errors
    ///
    /// [`ModelError::Contradiction`] if they disagree.
    pub fn from_columns(
        ended_at: Option<Timestamp>,
        status: TurnStatus,
        reason: Option<PartialReason>,
    ) -> Result<Self, ModelError> {
        match (ended_at, EndStatus::from_words(status, reason)?) {
            (None, None) => Ok(Self::Running),
            (Some(at), Some(status)) => Ok(Self::Ended { at, status }),
            _ => Err(ModelError::Contradiction { entity: Entity::Turn, reason: "status and ended_at disagree" }),
        }
    }
}

impl From<Turn> for TurnRecord {
    fn from(turn: Turn) -> Self {
        let (ended_at, status, partial_reason) = turn.state.columns();
        Self {
            id: turn.id,
            launch_id: turn.launch_id,
            ordinal: turn.ordinal,
            provider_turn_id: turn.provider_turn_id,
            started_at: turn.started_at,
            ended_at,
            status,
            partial_reason,
            input_op: turn.input_op,
            context_coverage: turn.context_coverage,
            tokenizer: turn.tokenizer,
            system_prompt_path: turn.system_prompt_path,
            task_prompt_path: turn.task_prompt_path,
            system_tokens: turn.system_tokens,
            task_tokens: turn.task_tokens,
            supplied_context_tokens: turn.supplied_context_tokens,
            context_gather_ms: turn.context_gather_ms,
            context_render_ms: turn.context_render_ms,
            context_persist_ms: turn.context_persist_ms,
            first_event_seq: turn.first_event_seq,
            last_event_seq: turn.last_event_seq,
            root_output: turn.root_output,
            basis: turn.basis,
        }
    }
}

impl TryFrom<TurnRecord> for Turn {
    type Error = ModelError;

    fn try_from(record: TurnRecord) -> Result<Self, Self::Error> {
        Ok(Self {
            id: record.id,
            launch_id: record.launch_id,
            ordinal: record.ordinal,
            provider_turn_id: record.provider_turn_id,
            started_at: record.started_at,
            state: TurnState::from_columns(record.ended_at, record.status, record.partial_reason)?,
            input_op: record.input_op,
            context_coverage: record.context_coverage,
            tokenizer: record.tokenizer,
            system_prompt_path: record.system_prompt_path,
            task_prompt_path: record.task_prompt_path,
            system_tokens: record.system_tokens,
            task_tokens: record.task_tokens,
            supplied_context_tokens: record.supplied_context_tokens,
            context_gather_ms: record.context_gather_ms,
            context_render_ms: record.context_render_ms,
            context_persist_ms: record.context_persist_ms,
            first_event_seq: record.first_event_seq,
            last_event_seq: record.last_event_seq,
            root_output: record.root_output,
            basis: record.basis,
        })
    }
}

/// What the usage records of a turn say about it. Absent means unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnUsage {
    /// Prompt tokens neither read from nor written to a cache.
    pub provider_input_tokens: Option<u64>,
    /// All prompt tokens: uncached, read from and written to a cache.
    pub provider_total_input_tokens: Option<u64>,
    /// The largest context of one request.
    pub peak_input_tokens: Option<u64>,
    /// The size of the context window.
    pub context_window_tokens: Option<u64>,
    /// Tokens produced, thinking included.
    pub provider_output_tokens: Option<u64>,
    /// The part of the produced ones that is thinking.
    pub reasoning_tokens: Option<u64>,
    /// Prompt tokens read from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Prompt tokens written to a cache.
    pub cache_write_tokens: Option<u64>,
    /// What the provider said that it cost.
    pub cost_usd: Option<NanoUsd>,
}

impl TurnUsage {
    /// Returns what the records of one turn say; replays count for nothing.
    pub fn of(rows: &[UsageRow]) -> Self {
        let totals = Totals::of(rows);
        let counted = || rows.iter().filter(|row| row.replay_of.is_none()).map(|row| &row.record.report);
        Self {
            provider_input_tokens: totals.input_tokens,
            provider_total_input_tokens: add_known([
                totals.input_tokens,
                totals.cache_read_tokens,
                totals.cache_write_tokens,
            ]),
            peak_input_tokens: counted().filter_map(|report| report.context_tokens).max(),
            context_window_tokens: counted().filter_map(|report| report.context_window_tokens).max(),
            provider_output_tokens: totals.output_tokens,
            reasoning_tokens: totals.reasoning_tokens,
            cache_read_tokens: totals.cache_read_tokens,
            cache_write_tokens: totals.cache_write_tokens,
            cost_usd: totals.cost_usd,
        }
    }
}

/// A turn as a ledger answers it: with what its usage records say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRow {
    /// The turn.
    #[serde(flatten)]
    pub turn: Turn,
    /// What its usage records say.
    #[serde(flatten)]
    pub usage: TurnUsage,
}

impl TurnRow {
    /// Returns the turns of a launch, each with what its own ones among the launch's usage records say.
    pub fn of_launch(turns: Vec<Turn>, usage: Vec<UsageRow>) -> Vec<Self> {
        let mut by_turn: BTreeMap<TurnId, Vec<UsageRow>> = BTreeMap::new();
        for row in usage {
            if let Some(turn) = row.record.turn_id {
                by_turn.entry(turn).or_default().push(row);
            }
        }
        let usage_of = |turn: &Turn| TurnUsage::of(by_turn.get(&turn.id).map_or(&[], Vec::as_slice));
        turns.into_iter().map(|turn| Self { usage: usage_of(&turn), turn }).collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{
        usage::{UsageRecord, UsageReport},
        words::{Grain, Quality},
    };

    #[test]
    fn columns_that_disagree_are_no_state() {
        let at = Some(Timestamp::UNIX_EPOCH);
        for (ended_at, status, reason) in [
            (at, TurnStatus::Running, None),
            (None, TurnStatus::Completed, None),
            (at, TurnStatus::Partial, None),
            (at, TurnStatus::Completed, Some(PartialReason::Abandoned)),
            (None, TurnStatus::Running, Some(PartialReason::Abandoned)),
        ] {
            assert!(TurnState::from_columns(ended_at, status, reason).is_err(), "{ended_at:?} {status} {reason:?}");
        }
    }

    #[test]
    fn each_turn_says_what_its_own_records_say() {
        let id = |n| TurnId::from_uuid(Uuid::from_u128(n));
        let launch_id = LaunchId::from_uuid(Uuid::from_u128(9));
        let turn = |n| Turn {
            id: id(n),
            launch_id,
            ordinal: 1,
            provider_turn_id: None,
            started_at: Timestamp::UNIX_EPOCH,
            state: TurnState::Running,
            input_op: InputOp::Initial,
            context_coverage: Coverage::Unknown,
            tokenizer: None,
            system_prompt_path: None,
            task_prompt_path: None,
            system_tokens: None,
            task_tokens: None,
            supplied_context_tokens: None,
            context_gather_ms: 0,
            context_render_ms: 0,
            context_persist_ms: 0,
            first_event_seq: None,
            last_event_seq: None,
            root_output: None,
            basis: None,
        };
        let usage = |turn: Option<u128>, output| {
            let report =
                UsageReport { output_tokens: Some(output), ..UsageReport::new("msg", Grain::Request, Quality::Exact) };
            UsageRow { record: UsageRecord { launch_id, turn_id: turn.map(id), report }, replay_of: None }
        };
        let rows = TurnRow::of_launch(
            Vec::from([turn(1), turn(2), turn(3)]),
            Vec::from([usage(Some(3), 10), usage(Some(1), 1), usage(None, 100), usage(Some(3), 20)]),
        );
        let output: Vec<_> = rows.iter().map(|row| (row.turn.id, row.usage.provider_output_tokens)).collect();
        assert_eq!(output, [(id(1), Some(1)), (id(2), None), (id(3), Some(30))]);
    }

    #[test]
    fn every_state_survives_its_columns() {
        let at = Timestamp::UNIX_EPOCH;
        let ends = [Outcome::Completed, Outcome::Failed, Outcome::Interrupted].map(EndStatus::Of);
        let partial = PartialReason::ALL.iter().copied().map(EndStatus::Partial);
        for status in ends.into_iter().chain(partial) {
            let state = TurnState::Ended { at, status };
            let (ended_at, word, reason) = state.columns();
            assert_eq!(TurnState::from_columns(ended_at, word, reason), Ok(state));
        }
        assert_eq!(TurnState::from_columns(None, TurnStatus::Running, None), Ok(TurnState::Running));
    }
}
