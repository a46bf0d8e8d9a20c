//! The rules of Codex.
//!
//! * [`exec`]: what `codex exec --json` prints; what each line means.
//! * [`items`]: its items to items of the exchange.
//! * [`spending`]: what a turn cost, out of the running totals of threads.
//! * [`rollout`]: the session files; what each line means.
//! * [`ancestry`]: whose lines a rollout holds, which may begin with a copy of another one.
//! * [`turns`]: its turns and prompts.
//! * [`counter`]: its requests, out of the running total.
//! * [`response`]: its items to items of the exchange.
//! * [`tally`]: the figures that both state.
//!
//! "Measured" in these files means: found in recordings of real clients.

mod ancestry;
mod counter;
pub(crate) mod exec;
mod items;
mod response;
pub(crate) mod rollout;
mod spending;
mod tally;
mod turns;
