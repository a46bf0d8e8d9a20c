//! Recording launches through the handle.

mod backends;
mod children;
mod deferred;
mod dropping;
mod ended;
mod files;
mod hooked;
mod kill;
mod ledgers;
mod moving;
mod nested;
#[cfg(feature = "sqlite")]
mod processes;
mod proof;
mod receipts;
mod reservations;
mod retries;
mod runtimes;
mod session;
mod support;
mod turns;
