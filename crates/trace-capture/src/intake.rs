//! Ways by which launches come in that no harness records: so far a wrapped command, [`exec`].

pub mod exec;
