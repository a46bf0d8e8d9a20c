//! What the tests of Trace share. Nothing of it is in a released program.
//!
//! * [`samples`]: fixed values of every kind of row.
//! * [`suite`]: one function per rule of the ledger's contract; [`ledger_conformance!`] makes a test of each.
//! * [`comparison`]: random calls, whose answers are those of the memory ledger.
//! * [`strategies`]: arbitrary rows.
//! * [`FaultLedger`]: a ledger whose n-th call fails.
//! * [`SimulatedFiles`]: files that fail, tear and forget.

#![allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "everything here runs inside of tests, where a panic is a test that failed"
)]

/// The examples of `docs/backends.md`.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/backends.md")]
pub struct Backends;

pub mod comparison;
pub mod samples;
pub mod strategies;
pub mod suite;

mod fault_ledger;
mod simulated_files;

pub use fault_ledger::{Fault, FaultLedger, Moment};
pub use simulated_files::{Effect, SimulatedFiles, Unsynced};
