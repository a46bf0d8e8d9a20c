//! The `trace` command, run as a person runs it.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

mod attribute;
#[cfg(feature = "sqlite")]
mod disk_ledger;
mod exec;
mod laws;
mod manners;
#[cfg(feature = "sqlite")]
mod reservations;
mod runs;
mod scripted;
mod views;
