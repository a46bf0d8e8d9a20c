//! What an orchestrator says of the launches that it controls, and the launches that it reserves.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::{
    id::{ControlRunId, LaunchId},
    timestamp::Timestamp,
    words::{Provider, ReservationState},
};

/// What an orchestrator says of a launch that it controls. Trace keeps it and reads nothing but the run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Control {
    /// The orchestrator's own piece of work: reservations are matched by it.
    pub run_id: ControlRunId,
    /// Where the orchestrator keeps its state.
    pub home_id: String,
    /// The account that pays the provider.
    pub account_id: Option<String>,
    /// What the agent is locked into.
    pub containment: Containment,
    /// By what the orchestrator can let the session go on.
    pub resume_token: Option<String>,
    /// What the orchestrator's decision to start the launch was based on, in its own form.
    pub opaque_basis: Option<String>,
}

/// What an agent is locked into.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Containment {
    /// What kind of thing, in the orchestrator's own words.
    pub kind: String,
    /// Which one.
    pub id: String,
}

/// A launch that an orchestrator registered before capture began.
///
/// The launch that takes it has its id and starts at its time; all else is what the launch itself is begun with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// What the orchestrator says of the launch.
    pub control: Control,
    /// The launch's id.
    pub launch_id: LaunchId,
    /// The provider that is to be launched.
    pub provider: Provider,
    /// The model that is to be used.
    pub model: Option<String>,
    /// What the agent is to be used through.
    pub surface: String,
    /// When it was made: the launch's start.
    pub reserved_at: Timestamp,
    /// What became of it.
    pub state: ReservationState,
}

impl Reservation {
    /// Returns what puts the reservations of one control run in order: the greatest one is that run's, see
    /// [`Ledger::reservation`](crate::ledger::Ledger::reservation).
    pub fn precedence(&self) -> (bool, Timestamp, LaunchId) {
        (self.state == ReservationState::Waiting, self.reserved_at, self.launch_id)
    }
}
