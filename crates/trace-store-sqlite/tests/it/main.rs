//! The SQLite ledger under the suite of the contract, and what only it promises.

#![allow(clippy::unwrap_used, reason = "a panic is a test that failed")]

mod contract;
mod crash;
mod damage;
mod file;
mod format;
mod processes;

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
