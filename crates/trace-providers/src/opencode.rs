//! The rules of `OpenCode`.
//!
//! * [`run`]: what `opencode run --format json` prints.
//! * [`store`]: the rows of its store, one a line.
//! * [`tokens`]: what a step cost; [`parts`]: parts of messages to items.
//!
//! "Measured" in these files means: found in recordings of real clients. Sources are sst/opencode, of which
//! `packages/opencode/src` is left out.

mod parts;
pub(crate) mod run;
pub(crate) mod store;
mod tokens;
