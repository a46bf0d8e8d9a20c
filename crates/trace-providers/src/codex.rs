//! The rules of Codex.
//!
//! * [`exec`]: what `codex exec --json` prints; what each line means.
//! * [`items`]: its items to items of the exchange.
//! * [`spending`]: what a turn cost, out of the running totals of threads.
//!
//! "Measured" in these files means: found in recordings of real clients.

pub(crate) mod exec;
mod items;
mod spending;
