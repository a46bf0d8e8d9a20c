//! Stores as OpenCode leaves them, changes and locks them.

#[cfg(feature = "sqlite")]
mod database;
mod support;
mod tree;
