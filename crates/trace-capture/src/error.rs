//! What a harness may have to be told.

use std::{error::Error, fmt::Write as _, path::PathBuf};

use trace_model::ledger::LedgerError;

use crate::artifacts::{AppendError, ArtifactError};

/// Why a launch or a turn could not be begun, or a launch not be reserved. Nothing else of capture fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The files of the launch could not be published; nothing is left of them.
    #[error("could not record the launch")]
    Begin(#[source] ArtifactError),
    /// The first events of the launch could not be written; nothing is left of its files.
    #[error("could not record the launch")]
    FirstEvents(#[source] AppendError),
    /// The files of the turn could not be written. The turn before it goes on.
    #[error("could not record the turn")]
    Turn(#[source] ArtifactError),
    /// The events that open the turn could not be written. The turn before it goes on.
    #[error("could not record the turn")]
    TurnEvents(#[source] AppendError),
    /// An orchestrator controls the launch, and it does not know of the one that would come after it.
    #[error("the launch is under control, so the one after it must be reserved and begun as such")]
    UnderControl,
    /// The launch has ended, and nothing is added to it.
    #[error("the launch has ended")]
    Ended,
    /// The ledger did not take the reservation.
    #[error("could not reserve the launch")]
    Reserve(#[source] LedgerError),
    /// The ledger did not give up the reservation.
    #[error("could not release the reservation")]
    Release(#[source] LedgerError),
    /// The ledger at hand is not the home's own, and what is reserved in it would be lost.
    #[error("the ledger of {} could not be opened, or the home is moved to another one", home.display())]
    NoLedger {
        /// The home's folder.
        home: PathBuf,
    },
    /// The recorder's thread could not be started or is gone.
    #[error("the recorder is not running")]
    NoRecorder,
}

/// Returns an error and its causes as one line.
pub(crate) fn reason_of(error: &dyn Error) -> String {
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(reason, ": {error}");
        cause = error.source();
    }
    reason
}
