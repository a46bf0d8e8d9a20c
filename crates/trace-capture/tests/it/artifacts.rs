//! Artifacts: the private files of launches.

mod faults;
mod links;
mod power_cut;
mod private_files;
mod reader;
mod reading;
mod reindex;
mod staging;
mod support;
mod syncing;
