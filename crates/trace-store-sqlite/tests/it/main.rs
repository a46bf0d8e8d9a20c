//! The SQLite ledger under the suite of the contract, and what only it promises.

mod contract;
