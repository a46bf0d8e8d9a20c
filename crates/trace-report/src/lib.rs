//! Reports: rows of a ledger to the values that the command prints.
//!
//! One file is one view: [`launches`] lists launches, [`launch`] shows one with everything in it, [`agents`] is the
//! tree of its agents, [`run`] that of the launches of a run, [`usage`] sums up what agents used, [`reservations`]
//! lists what orchestrators reserved, [`context`] profiles what the agent was sent, [`content`] is that to the byte,
//! [`attribution`] tells where the bytes of given prompts come from, and [`share`] splits a whole into shares that
//! add up. Each view derives `Serialize`, and that is the JSON document of its command.
//!
//! Nothing here reads a ledger, a file or a clock, and nothing is formatted for a person: rows come in, values go out.
//! Unknown is absent and never zero. What was counted here and what a provider measured stand side by side under their
//! own names and are never added.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod agents;
pub mod attribution;
pub mod content;
pub mod context;
pub mod launch;
pub mod launches;
pub mod reservations;
pub mod run;
pub mod share;
pub mod usage;

#[cfg(test)]
mod samples;

/// The schema of the JSON documents; keys may be added without a new one.
pub const SCHEMA_VERSION: u32 = 1;
