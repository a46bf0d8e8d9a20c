//! Recording launches through the handle.

#[cfg(feature = "sqlite")]
mod backends;
mod children;
mod dropping;
mod ended;
mod files;
mod hooked;
mod kill;
mod ledgers;
#[cfg(feature = "sqlite")]
mod processes;
mod receipts;
mod runtimes;
mod session;
mod support;
mod turns;
