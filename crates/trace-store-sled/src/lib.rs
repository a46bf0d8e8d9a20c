//! The ledger in a folder of sled, which one process has at a time.
//!
//! [`SledLedger`] is the handle. Every write is one transaction over all trees that it changes; it returns after sled
//! flushed its log and the file was synced, for sled's own flush does not survive a power cut.
//!
//! Start with `trees` and with `keys`, which documents what is in them as bytes. `rows` maps rows to values and
//! `pieces` keeps those small; `read` and `write` are the operations, `changes` what a write puts together; `database`
//! opens the trees and commits; `worker` is the thread that owns the database; `folder` knows the file system; `error`
//! says what went wrong.

mod changes;
mod costs;
mod database;
mod error;
mod folder;
mod keys;
mod pieces;
mod read;
mod rows;
mod trees;
mod worker;
mod write;

use std::path::Path;

use async_trait::async_trait;
use trace_model::{
    Entity,
    context::{Asset, Decision},
    control::Reservation,
    id::{ControlRunId, IdSuffix, LaunchId, TurnId},
    launch::Launch,
    ledger::{Ledger, LedgerError},
    query::LaunchQuery,
    rows::{BoundaryRows, LaunchRows},
    turn::TurnRow,
    usage::{UsageRecord, UsageRow},
    usage_query::{CostEntry, PriceVersion, UsageCell, UsageQuery},
};

use crate::{
    database::Database,
    error::{Cause, Failure},
    worker::Worker,
};

/// A ledger in a folder of sled.
///
/// Clones share one database and one thread. When the last of them is dropped, that waits until all that was asked for
/// is done and the folder is free again.
///
/// A write that fails ends the ledger: what was written before is there, but whether the disk has the rest is unknown,
/// so that nothing may be built on it. Every later call is [`LedgerError::Closed`]; the folder can be opened anew.
///
/// # Examples
///
/// ```
/// use trace_model::{ledger::Ledger, query::LaunchQuery};
/// use trace_store_sled::SledLedger;
///
/// # let folder = tempfile::tempdir()?;
/// # let home = folder.path();
/// let ledger = SledLedger::open(&home.join("ledger.sled"))?;
/// let launches = pollster::block_on(ledger.launches(&LaunchQuery::default()))?;
/// assert!(launches.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SledLedger {
    worker: Worker,
}

impl SledLedger {
    /// Opens the ledger in the folder, which is created with mode 0700 if there is none; its parent is not created.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Busy`] if another process, or another handle of this one that is no clone, has it open;
    /// [`LedgerError::FutureSchema`] for a ledger of a newer Trace; [`LedgerError::Corrupt`] for a folder that holds no
    /// ledger, or a link, or damage that sled noticed; and [`LedgerError::Backend`] for all else, as a link in place of
    /// the folder.
    ///
    /// After [`LedgerError::FutureSchema`] and [`LedgerError::Corrupt`], entries and modes of files are what they were.
    /// But a database tells what it is only when it is open. Before that, `lock` is made and a snapshot that was left
    /// half written is removed; and when sled opens, it makes what is missing of `conf`, `db` and `blobs/`, and writes
    /// a new snapshot in place of an old one.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let opened = worker::without_panic(|| Database::open(path)).map_err(Cause::while_opening);
        let worker = opened.and_then(|database| Ok(Worker::start(database, path)?));
        let worker = worker.map_err(|cause| Failure { place: path, action: "open its folder", cause })?;
        Ok(Self { worker })
    }
}

#[async_trait]
impl Ledger for SledLedger {
    async fn apply(&self, rows: &BoundaryRows) -> Result<(), LedgerError> {
        let rows = rows.clone();
        self.worker.run("apply a boundary", move |database| write::apply(database, &rows)).await
    }

    async fn replace_launch(&self, rows: &LaunchRows) -> Result<(), LedgerError> {
        let rows = rows.clone();
        self.worker.run("replace a launch", move |database| write::replace_launch(database, &rows)).await
    }

    async fn reserve(&self, reservation: &Reservation) -> Result<(), LedgerError> {
        let reservation = reservation.clone();
        self.worker.run("reserve a launch", move |database| write::reserve(database, &reservation)).await
    }

    async fn release(&self, control_run: &ControlRunId) -> Result<(), LedgerError> {
        let control_run = control_run.clone();
        self.worker.run("release a reservation", move |database| write::release(database, &control_run)).await
    }

    async fn reservation(&self, control_run: &ControlRunId) -> Result<Reservation, LedgerError> {
        let control_run = control_run.clone();
        let read = move |database: &Database| -> Result<Reservation, Cause> {
            let found = read::reservation(database, &control_run)?;
            found.ok_or_else(|| LedgerError::not_found(Entity::Reservation, &control_run).into())
        };
        self.worker.run("read a reservation", read).await
    }

    async fn reservations(&self) -> Result<Vec<Reservation>, LedgerError> {
        self.worker.run("read reservations", read::reservations).await
    }

    async fn launch(&self, id: LaunchId) -> Result<Launch, LedgerError> {
        self.worker.run("read a launch", move |database| read::launch(database, id)).await
    }

    async fn find_launch(&self, suffix: &IdSuffix) -> Result<Launch, LedgerError> {
        let suffix = suffix.clone();
        self.worker.run("find a launch", move |database| read::find_launch(database, &suffix)).await
    }

    async fn launches(&self, query: &LaunchQuery) -> Result<Vec<Launch>, LedgerError> {
        let query = query.clone();
        self.worker.run("read launches", move |database| read::launches(database, &query)).await
    }

    async fn turns(&self, launch: LaunchId) -> Result<Vec<TurnRow>, LedgerError> {
        self.worker.run("read turns", move |database| read::turns(database, launch)).await
    }

    async fn assets(&self, turn: TurnId) -> Result<Vec<Asset>, LedgerError> {
        self.worker.run("read assets", move |database| read::assets(database, turn)).await
    }

    async fn decisions(&self, turn: TurnId) -> Result<Vec<Decision>, LedgerError> {
        self.worker.run("read decisions", move |database| read::decisions(database, turn)).await
    }

    async fn usage(&self, launch: LaunchId) -> Result<Vec<UsageRow>, LedgerError> {
        self.worker.run("read usage records", move |database| read::usage(database, launch)).await
    }

    async fn usage_cells(&self, query: &UsageQuery) -> Result<Vec<UsageCell>, LedgerError> {
        let query = query.clone();
        self.worker.run("add up usage", move |database| costs::cells(database, &query)).await
    }

    async fn uncosted(&self, version: &PriceVersion, limit: u32) -> Result<Vec<UsageRecord>, LedgerError> {
        let version = version.clone();
        let read = move |database: &Database| costs::uncosted(database, &version, limit);
        self.worker.run("read usage records without costs", read).await
    }

    async fn save_costs(&self, version: &PriceVersion, costs: &[CostEntry]) -> Result<(), LedgerError> {
        let (version, costs) = (version.clone(), Vec::from(costs));
        self.worker.run("save costs", move |database| costs::save(database, &version, &costs)).await
    }
}
