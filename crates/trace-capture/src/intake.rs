//! Ways by which launches come in that no harness records: a wrapped command, [`exec`], and what agents wrote
//! themselves, [`import`].

pub mod exec;
pub mod import;
mod opencode_store;
