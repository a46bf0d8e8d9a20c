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

/// Copies the committed ledger into the folder, where it is called `ledger.sled`.
fn copy_fixture(folder: &Path) -> PathBuf {
    let copy = folder.join("ledger.sled");
    fs::create_dir_all(copy.join("blobs")).unwrap();
    for file in fs::read_dir(FIXTURE).unwrap() {
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

/// A ledger as the first release of the format wrote it.
const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ledger-v1.sled");

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
