//! `trace exec` with real processes: each test has a home of its own.

pub(crate) mod bench;
#[cfg(feature = "sled")]
mod busy;
mod capture;
mod control;
mod ends;
#[cfg(feature = "sqlite")]
mod locked;
mod nested;
pub(crate) mod session_files;
mod sessions;
mod signals;
mod streams;
mod terminal;
