//! Launches: one start of a provider's agent.

use alloc::{collections::BTreeMap, string::String};

use serde::{Deserialize, Serialize};

use crate::{
    Entity, ModelError,
    context::Sha256Hex,
    control::Control,
    event::SCHEMA_VERSION,
    id::{LaunchId, ProcessId, RunId, TurnId},
    path::ArtifactPath,
    timestamp::Timestamp,
    turn::Outcome,
    words::{CaptureStatus, LaunchOutcome, Provider, TagKey},
};

/// The header of a launch, `launch.json`: identity and labels, written once when it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchHeader {
    /// The schema of this file; 1 today.
    pub schema_version: u32,
    /// Its id.
    pub id: LaunchId,
    /// The run that it is part of.
    pub run_id: RunId,
    /// The process that started it.
    pub process_id: ProcessId,
    /// The launch that started it, which this home need not hold.
    pub parent_launch_id: Option<LaunchId>,
    /// The turn that started it, which this home need not hold.
    pub parent_turn_id: Option<TurnId>,
    /// When it began.
    pub started_at: Timestamp,
    /// The repository that it works on.
    pub repo: String,
    /// The folder that it works in.
    pub worktree: String,
    /// The wave of work.
    pub wave: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// The task.
    pub task: Option<String>,
    /// The flow.
    pub flow: Option<String>,
    /// The skill.
    pub skill: Option<String>,
    /// The harness's own labels.
    #[serde(default)]
    pub tags: BTreeMap<TagKey, String>,
    /// The machine, as the harness names it.
    pub machine_id: Option<String>,
    /// The machine's host name.
    pub hostname: Option<String>,
    /// The user of the operating system.
    pub os_user: Option<String>,
    /// The provider, as known when it began.
    pub provider: Provider,
    /// The model, as known when it began.
    pub model: Option<String>,
    /// What the agent is used through.
    pub surface: String,
    /// Whether the provider's own output is kept verbatim beside the events.
    pub raw: bool,
    /// What an orchestrator says of it, if one controls it.
    #[serde(default)]
    pub control: Option<Control>,
}

impl LaunchHeader {
    /// Returns the folder of the launch's artifacts: run, process and launch.
    ///
    /// # Panics
    ///
    /// Never: ids have no slash, do not begin with a dot and are not empty.
    pub fn artifact_dir(&self) -> ArtifactPath {
        alloc::format!("{}/{}/{}", self.run_id, self.process_id, self.id)
            .parse()
            .expect("ids are single path parts that do not begin with a dot")
    }
}

/// Whether a launch runs, and if not, how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LaunchState {
    /// It runs.
    Running,
    /// It ended, and stays so.
    Ended {
        /// When.
        at: Timestamp,
        /// How.
        outcome: Outcome,
    },
}

impl LaunchState {
    /// Returns the columns of the state: when it ended, and its word.
    pub fn columns(self) -> (Option<Timestamp>, LaunchOutcome) {
        match self {
            Self::Running => (None, LaunchOutcome::Running),
            Self::Ended { at, outcome } => (Some(at), outcome.into()),
        }
    }

    /// Returns the state that the columns tell.
    ///
    /// # Errors
    ///
    /// [`ModelError::Contradiction`] if they disagree.
    pub fn from_columns(ended_at: Option<Timestamp>, outcome: LaunchOutcome) -> Result<Self, ModelError> {
        match (ended_at, outcome) {
            (None, LaunchOutcome::Running) => Ok(Self::Running),
            (Some(at), outcome) if outcome != LaunchOutcome::Running => {
                Ok(Self::Ended { at, outcome: outcome.try_into()? })
            }
            _ => Err(ModelError::Contradiction { entity: Entity::Launch, reason: "outcome and ended_at disagree" }),
        }
    }
}

/// How much of a launch was recorded, and why not all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CaptureState {
    /// Recording goes on.
    Capturing,
    /// Everything was recorded.
    Complete,
    /// Something was lost.
    Partial {
        /// The first trouble, in words.
        reason: String,
    },
    /// Only what was sent is on record, not what came back.
    PromptOnly {
        /// Why, in words.
        reason: String,
    },
    /// The recorder died.
    Interrupted {
        /// How that was noticed, in words.
        reason: String,
    },
    /// Its files were deleted by their owner's wish.
    Pruned {
        /// By what rule, in words.
        reason: String,
    },
}

impl CaptureState {
    /// Returns the columns of the state: its word and the reason.
    pub fn columns(&self) -> (CaptureStatus, Option<&str>) {
        match self {
            Self::Capturing => (CaptureStatus::Capturing, None),
            Self::Complete => (CaptureStatus::Complete, None),
            Self::Partial { reason } => (CaptureStatus::Partial, Some(reason)),
            Self::PromptOnly { reason } => (CaptureStatus::PromptOnly, Some(reason)),
            Self::Interrupted { reason } => (CaptureStatus::Interrupted, Some(reason)),
            Self::Pruned { reason } => (CaptureStatus::Pruned, Some(reason)),
        }
    }

    /// Returns the state that the columns tell.
    ///
    /// # Errors
    ///
    /// [`ModelError::Contradiction`] if a reason is missing where one is needed, or given where none is.
    pub fn from_columns(status: CaptureStatus, reason: Option<String>) -> Result<Self, ModelError> {
        Ok(match (status, reason) {
            (CaptureStatus::Capturing, None) => Self::Capturing,
            (CaptureStatus::Complete, None) => Self::Complete,
            (CaptureStatus::Partial, Some(reason)) => Self::Partial { reason },
            (CaptureStatus::PromptOnly, Some(reason)) => Self::PromptOnly { reason },
            (CaptureStatus::Interrupted, Some(reason)) => Self::Interrupted { reason },
            (CaptureStatus::Pruned, Some(reason)) => Self::Pruned { reason },
            (CaptureStatus::Capturing | CaptureStatus::Complete, Some(_)) => {
                return Err(ModelError::Contradiction {
                    entity: Entity::Launch,
                    reason: "an incomplete_reason without being incomplete",
                });
            }
            (_, None) => {
                return Err(ModelError::Contradiction {
                    entity: Entity::Launch,
                    reason: "incomplete without an incomplete_reason",
                });
            }
        })
    }
}

/// One start of a provider's agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "LaunchRecord", into = "LaunchRecord")]
pub struct Launch {
    /// Identity and labels as they were when it began.
    ///
    /// Its `provider` and `model` are those of the row: what a receipt said stands instead of what was known at first.
    pub header: LaunchHeader,
    /// Whether it runs, and if not, how it ended.
    pub state: LaunchState,
    /// How much of it was recorded.
    pub capture: CaptureState,
    /// The version of the agent's program.
    pub agent_version: Option<String>,
    /// The file of its events; absent for a launch that was not recorded live.
    pub conversation_path: Option<ArtifactPath>,
    /// The file of the provider's output, where that is kept.
    pub provider_events_path: Option<ArtifactPath>,
    /// The provider's own id of the session.
    pub provider_session_id: Option<String>,
    /// The file that the provider keeps the session in.
    pub provider_session_path: Option<String>,
    /// The number of its events.
    pub conversation_event_count: u64,
    /// The size of the file of its events.
    pub conversation_bytes: u64,
    /// SHA-256 of the line that ended it, without its line feed.
    pub launch_ended_sha256: Option<Sha256Hex>,
}

/// A [`Launch`] as JSON and stores hold it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct LaunchRecord {
    id: LaunchId,
    run_id: RunId,
    process_id: ProcessId,
    parent_launch_id: Option<LaunchId>,
    parent_turn_id: Option<TurnId>,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    repo: String,
    worktree: String,
    wave: Option<String>,
    project: Option<String>,
    task: Option<String>,
    flow: Option<String>,
    skill: Option<String>,
    tags: BTreeMap<TagKey, String>,
    machine_id: Option<String>,
    hostname: Option<String>,
    os_user: Option<String>,
    provider: Provider,
    model: Option<String>,
    agent_version: Option<String>,
    surface: String,
    outcome: LaunchOutcome,
    capture_status: CaptureStatus,
    incomplete_reason: Option<String>,
    artifact_dir: ArtifactPath,
    conversation_path: Option<ArtifactPath>,
    provider_events_path: Option<ArtifactPath>,
    provider_session_id: Option<String>,
    provider_session_path: Option<String>,
    conversation_event_count: u64,
    conversation_bytes: u64,
    launch_ended_sha256: Option<Sha256Hex>,
    control: Option<Control>,
}

impl From<Launch> for LaunchRecord {
    fn from(launch: Launch) -> Self {
        let artifact_dir = launch.header.artifact_dir();
        let (ended_at, outcome) = launch.state.columns();
        let (capture_status, reason) = launch.capture.columns();
        let incomplete_reason = reason.map(String::from);
        let header = launch.header;
        Self {
            id: header.id,
            run_id: header.run_id,
            process_id: header.process_id,
            parent_launch_id: header.parent_launch_id,
            parent_turn_id: header.parent_turn_id,
            started_at: header.started_at,
            ended_at,
            repo: header.repo,
            worktree: header.worktree,
            wave: header.wave,
            project: header.project,
            task: header.task,
            flow: header.flow,
            skill: header.skill,
            tags: header.tags,
            machine_id: header.machine_id,
            hostname: header.hostname,
            os_user: header.os_user,
            provider: header.provider,
            model: header.model,
            agent_version: launch.agent_version,
            surface: header.surface,
            outcome,
            capture_status,
            incomplete_reason,
            artifact_dir,
            conversation_path: launch.conversation_path,
            provider_events_path: launch.provider_events_path,
            provider_session_id: launch.provider_session_id,
            provider_session_path: launch.provider_session_path,
            conversation_event_count: launch.conversation_event_count,
            conversation_bytes: launch.conversation_bytes,
            launch_ended_sha256: launch.launch_ended_sha256,
            control: header.control,
        }
    }
}

impl TryFrom<LaunchRecord> for Launch {
    type Error = ModelError;

    fn try_from(record: LaunchRecord) -> Result<Self, Self::Error> {
        let header = LaunchHeader {
            schema_version: SCHEMA_VERSION,
            id: record.id,
            run_id: record.run_id,
            process_id: record.process_id,
            parent_launch_id: record.parent_launch_id,
            parent_turn_id: record.parent_turn_id,
            started_at: record.started_at,
            repo: record.repo,
            worktree: record.worktree,
            wave: record.wave,
            project: record.project,
            task: record.task,
            flow: record.flow,
            skill: record.skill,
            tags: record.tags,
            machine_id: record.machine_id,
            hostname: record.hostname,
            os_user: record.os_user,
            provider: record.provider,
            model: record.model,
            surface: record.surface,
            raw: record.provider_events_path.is_some(),
            control: record.control,
        };
        if record.artifact_dir != header.artifact_dir() {
            return Err(ModelError::Contradiction {
                entity: Entity::Launch,
                reason: "artifact_dir is not run_id/process_id/id",
            });
        }
        Ok(Self {
            header,
            state: LaunchState::from_columns(record.ended_at, record.outcome)?,
            capture: CaptureState::from_columns(record.capture_status, record.incomplete_reason)?,
            agent_version: record.agent_version,
            conversation_path: record.conversation_path,
            provider_events_path: record.provider_events_path,
            provider_session_id: record.provider_session_id,
            provider_session_path: record.provider_session_path,
            conversation_event_count: record.conversation_event_count,
            conversation_bytes: record.conversation_bytes,
            launch_ended_sha256: record.launch_ended_sha256,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn every_capture_state_survives_its_columns() {
        for status in CaptureStatus::ALL {
            let plain = matches!(status, CaptureStatus::Capturing | CaptureStatus::Complete);
            let reason = (!plain).then(|| "because".to_string());
            let state = CaptureState::from_columns(*status, reason.clone()).unwrap();
            assert_eq!(state.columns(), (*status, reason.as_deref()));
            let opposite = plain.then(|| "because".to_string());
            assert!(CaptureState::from_columns(*status, opposite).is_err(), "{status}");
        }
    }

    #[test]
    fn a_running_launch_has_no_end() {
        let at = Some(Timestamp::UNIX_EPOCH);
        assert!(LaunchState::from_columns(at, LaunchOutcome::Running).is_err());
        assert!(LaunchState::from_columns(None, LaunchOutcome::Failed).is_err());
        assert_eq!(LaunchState::from_columns(None, LaunchOutcome::Running), Ok(LaunchState::Running));
    }
}
