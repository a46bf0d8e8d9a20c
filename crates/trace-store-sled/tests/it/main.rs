//! The sled ledger under the suite of the contract, and what only it promises.

#![allow(clippy::unwrap_used, reason = "a panic is a test that failed")]

mod contract;
mod crash;
mod damage;
mod folder;
mod format;
mod growth;
mod processes;
#[cfg(target_os = "linux")]
mod system_calls;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use pollster::block_on;
use serde_json::{Value, json};
use trace_model::{
    ledger::{Ledger, LedgerError},
    query::LaunchQuery,
    usage_query::{PriceVersion, UsageCell, UsageQuery},
};

/// Returns everything that a ledger says, as JSON.
fn everything(ledger: &dyn Ledger) -> Result<Value, LedgerError> {
    block_on(async {
        let mut launches = Vec::new();
        for launch in ledger.launches(&LaunchQuery::default()).await? {
            let id = launch.header.id;
            let mut turns = Vec::new();
            for turn in ledger.turns(id).await? {
                let (assets, decisions) = (ledger.assets(turn.turn.id).await?, ledger.decisions(turn.turn.id).await?);
                turns.push(json!({ "turn": turn, "assets": assets, "decisions": decisions }));
            }
            let usage = ledger.usage(id).await?;
            launches.push(json!({ "launch": launch, "turns": turns, "usage": usage }));
        }
        Ok(json!({ "launches": launches, "reservations": ledger.reservations().await? }))
    })
}

/// Returns everything that a ledger says, with what its usage adds up to and costs, as JSON.
fn everything_costed(ledger: &dyn Ledger) -> Result<Value, LedgerError> {
    let mut all = everything(ledger)?;
    block_on(async {
        for prices in ["prices 0", "prices 1"] {
            let version = PriceVersion(String::from(prices));
            let uncosted = ledger.uncosted(&version, 100).await?;
            let query = UsageQuery { price_version: Some(version), ..UsageQuery::default() };
            let cells = ledger.usage_cells(&query).await?.into_iter().map(|cell| {
                let UsageCell { launch_id, period, model, agent, sum } = cell;
                json!({ "launch_id": launch_id, "period": period, "model": model, "agent": agent, "sum": sum })
            });
            all[prices] = json!({ "cells": cells.collect::<Vec<_>>(), "uncosted": uncosted });
        }
        Ok(all)
    })
}

/// Copies the committed ledger of today's format into the folder, where it is called `ledger.sled`.
fn copy_fixture(folder: &Path) -> PathBuf {
    copy_fixture_of("ledger-v2.sled", folder)
}

/// Copies a committed ledger into the folder, where it is called `ledger.sled`.
fn copy_fixture_of(name: &str, folder: &Path) -> PathBuf {
    let copy = folder.join("ledger.sled");
    fs::create_dir_all(copy.join("blobs")).unwrap();
    for file in fs::read_dir(Path::new(FIXTURES).join(name)).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), copy.join(file.file_name())).unwrap();
    }
    copy
}

/// Uses the database without the ledger.
fn with_sled<T>(path: &Path, work: impl FnOnce(&sled::Db) -> T) -> T {
    let database = sled::open(path).unwrap();
    let result = work(&database);
    drop(database);
    // Threads of sled may hold its file a moment longer.
    let data = File::open(path.join("db")).unwrap();
    data.lock().unwrap();
    data.unlock().unwrap();
    result
}

/// The folder of ledgers as the first release of each format wrote them.
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

/// Asserts that what the error says, with its sources, names the path.
#[track_caller]
fn assert_names(error: &LedgerError, path: &Path) {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    assert!(text.contains(path.to_str().unwrap()), "{text}");
}
