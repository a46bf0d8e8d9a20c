//! The `trace` command, run as a person runs it.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

mod agents;
mod attribute;
mod doctor;
mod exec;
mod import;
mod laws;
#[cfg(any(feature = "sled", feature = "sqlite"))]
mod ledgers;
mod manners;
#[cfg(any(feature = "sled", feature = "sqlite"))]
mod reservations;
mod runs;
mod scripted;
#[cfg(any(feature = "sled", feature = "sqlite"))]
mod statusline;
#[cfg(any(feature = "sled", feature = "sqlite"))]
mod usage;
mod views;
