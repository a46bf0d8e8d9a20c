//! The sled ledger under the suite of the contract, and what only it promises.

#![allow(clippy::unwrap_used, reason = "a panic is a test that failed")]

mod contract;
