//! The SQLite ledger under the suite of the contract, and what only it promises.

#![allow(clippy::unwrap_used, reason = "a panic is a test that failed")]

mod contract;
mod crash;
mod damage;
mod file;
mod format;
mod processes;
mod usage;

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
