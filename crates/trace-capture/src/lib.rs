//! Records launches of coding agents: what each was sent, what came back, and what it cost.
//!
//! A harness that embeds Trace needs this crate alone. It opens a [`Home`] and a ledger, makes one [`CaptureEnv`] of
//! them, and begins a [`Capture`] for each launch of an agent; the example is there. [`LedgerConfig`] chooses the
//! ledger, [`PromptBuilder`] and [`PreparedTurnContext`] say where each byte of a prompt came from, and
//! [`intake::exec`] runs an agent under capture.
//!
//! # What is where
//!
//! ```text
//! intake      runs an agent and reads what it prints
//! capture     the handle that records one launch
//! recorder    the thread that syncs, opens and ends, and drives the ledger
//! recording   what to record: a pure state machine
//! sink        the one door to the files: all that is recorded passes it
//! artifacts   the private files of launches, which are the truth
//! sources     what agents wrote themselves to rows
//! reindex     the files to rows
//! backend     which ledger
//! ```
//!
//! A thread that records writes its event with one `write` and goes on: it waits for no disk, no ledger and no runtime.
//! What survives what: an event survives the end of the process as soon as it is recorded, and a power cut 100 ms later
//! or once a turn or launch was begun or finished.

pub mod artifacts;
pub mod backend;
mod capture;
mod env;
mod error;
pub mod intake;
mod recorder;
mod recording;
pub mod reindex;
mod sink;
mod sources;

pub use artifacts::Home;
pub use backend::{LedgerConfig, LedgerKind, OpenError, open_home_ledger, open_ledger};
pub use capture::{Capture, IgnoredVariable, Labels, Parents, Start};
pub use env::{CaptureEnv, Clock, EnvParts, IdSource, Machine, Rows, SystemClock, UuidV7Source};
pub use error::CaptureError;
pub use recorder::{CaptureReport, ReservationUse};
pub use recording::{Recorded, ResultCost, StreamEvent};
pub use sources::{agents, conversation, source_bytes};
pub use trace_providers::AgentSeen;

pub use trace_attribution::{
    AssetSpec, AttributionError, PreparedChannel, PreparedTurnContext, PromptBuilder, Prompts, ProviderInvocation,
    Source,
};
pub use trace_model as model;
pub use trace_model::words::TokenizerName;
pub use trace_store_memory::MemoryLedger;
