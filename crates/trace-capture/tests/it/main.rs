//! The tests of `trace-capture` from the outside.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

mod artifacts;
mod backend;
mod capture;
mod import;
