//! The ledger in one SQLite file, which many processes share.
//!
//! [`SqliteLedger`] is the handle. Every write is one `BEGIN IMMEDIATE` transaction, synced before it returns; a file
//! that another process has locked is waited for. The SQLite that is compiled in is the one that runs.
//!
//! Start with `schema/format-1.sql` and what came after it, which are written for people too. `rows` maps it to the
//! model, `columns` the single values; `read` and `write` are the operations; `worker` is the thread that owns the
//! connection; `schema` opens and migrates; `file` knows the file system; `error` says what went wrong.

mod columns;
mod costs;
mod error;
mod file;
mod read;
mod rollups;
mod rows;
mod schema;
mod worker;
mod write;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use rusqlite::Transaction;
use trace_model::{
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
    error::{Cause, Failure},
    worker::{Store, Worker},
};

/// How a ledger is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteOptions {
    /// How long a call waits for other processes before it is [`LedgerError::Busy`].
    pub patience: Duration,
    /// Whether writers log ahead, which lets others read meanwhile.
    pub write_ahead: WriteAhead,
}

impl Default for SqliteOptions {
    /// Half a minute of patience, and a write-ahead log where it works.
    fn default() -> Self {
        Self { patience: Duration::from_secs(30), write_ahead: WriteAhead::WhereItWorks }
    }
}

/// Whether writers log ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteAhead {
    /// They do, unless the file lies on a file system of a network, or SQLite refuses.
    WhereItWorks,
    /// They do not: for a file system that several machines share and that is not recognised as such.
    Never,
}

/// A ledger in an SQLite file.
///
/// Clones share one connection and one thread. The thread ends after the last of them is dropped, when all that was
/// asked for is done.
///
/// # Examples
///
/// ```
/// use trace_model::{ledger::Ledger, query::LaunchQuery};
/// use trace_store_sqlite::SqliteLedger;
///
/// # let folder = tempfile::tempdir()?;
/// # let home = folder.path();
/// let ledger = SqliteLedger::open(&home.join("ledger.db"))?;
/// let launches = pollster::block_on(ledger.launches(&LaunchQuery::default()))?;
/// assert!(launches.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SqliteLedger {
    path: PathBuf,
    worker: Worker,
}

impl SqliteLedger {
    /// Opens the ledger in the file, which is created with mode 0600 if there is none; its folder is not created.
    ///
    /// # Errors
    ///
    /// [`LedgerError::FutureSchema`] for a file of a newer Trace, [`LedgerError::Corrupt`] for a file that is no
    /// ledger, [`LedgerError::Busy`] if other processes hold it for longer than the patience, and
    /// [`LedgerError::Backend`] for all else, as a link in place of the file.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        Self::open_with(path, SqliteOptions::default())
    }

    /// Opens the ledger as [`open`](Self::open) does, with options.
    ///
    /// # Errors
    ///
    /// As of [`open`](Self::open).
    pub fn open_with(path: &Path, options: SqliteOptions) -> Result<Self, LedgerError> {
        let opened =
            file::beneath_resolved_folder(path).map_err(Cause::from).and_then(|resolved| open_store(resolved, options));
        let worker = opened.and_then(|store| Ok(Worker::start(store)?));
        let worker = worker.map_err(|cause| Failure { place: path, action: "open its file", cause })?;
        Ok(Self { path: path.to_path_buf(), worker })
    }
}

/// The longest single wait that SQLite can be asked for is some weeks.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

fn open_store(place: PathBuf, SqliteOptions { patience, write_ahead }: SqliteOptions) -> Result<Store, Cause> {
    file::create_private(&place)?;
    let mut connection = schema::connect(&place)?;
    connection.busy_timeout(patience.min(LONGEST_WAIT))?;
    worker::patiently(patience, || schema::prepare(&mut connection, &place, write_ahead))?;
    Ok(Store { connection, place, patience })
}

impl fmt::Debug for SqliteLedger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqliteLedger").field("path", &self.path).finish_non_exhaustive()
    }
}

#[async_trait]
impl Ledger for SqliteLedger {
    async fn apply(&self, rows: &BoundaryRows) -> Result<(), LedgerError> {
        let rows = rows.clone();
        self.worker.run(move |store| store.write("apply a boundary", |open| write::apply(open, &rows))).await
    }

    async fn replace_launch(&self, rows: &LaunchRows) -> Result<(), LedgerError> {
        let rows = rows.clone();
        self.worker.run(move |store| store.write("replace a launch", |open| write::replace_launch(open, &rows))).await
    }

    async fn replace_launches(&self, launches: Vec<LaunchRows>) -> Result<(), LedgerError> {
        let write =
            move |open: &Transaction<'_>| launches.iter().try_for_each(|rows| write::replace_launch(open, rows));
        self.worker.run(move |store| store.write("replace launches", write)).await
    }

    async fn reserve(&self, reservation: &Reservation) -> Result<(), LedgerError> {
        let reservation = reservation.clone();
        self.worker.run(move |store| store.write("reserve a launch", |open| write::reserve(open, &reservation))).await
    }

    async fn release(&self, control_run: &ControlRunId) -> Result<(), LedgerError> {
        let run = control_run.clone();
        self.worker.run(move |store| store.write("release a reservation", |open| write::release(open, &run))).await
    }

    async fn reservation(&self, control_run: &ControlRunId) -> Result<Reservation, LedgerError> {
        let run = control_run.clone();
        self.worker.run(move |store| store.read("read a reservation", |open| read::reservation(open, &run))).await
    }

    async fn reservations(&self) -> Result<Vec<Reservation>, LedgerError> {
        self.worker.run(move |store| store.read("read reservations", read::reservations)).await
    }

    async fn launch(&self, id: LaunchId) -> Result<Launch, LedgerError> {
        self.worker.run(move |store| store.read("read a launch", |open| read::launch(open, id))).await
    }

    async fn find_launch(&self, suffix: &IdSuffix) -> Result<Launch, LedgerError> {
        let suffix = suffix.clone();
        self.worker.run(move |store| store.read("find a launch", |open| read::find_launch(open, &suffix))).await
    }

    async fn launches(&self, query: &LaunchQuery) -> Result<Vec<Launch>, LedgerError> {
        let query = query.clone();
        self.worker.run(move |store| store.read("read launches", |open| read::launches(open, &query))).await
    }

    async fn turns(&self, launch: LaunchId) -> Result<Vec<TurnRow>, LedgerError> {
        self.worker.run(move |store| store.read("read turns", |open| read::turns(open, launch))).await
    }

    async fn assets(&self, turn: TurnId) -> Result<Vec<Asset>, LedgerError> {
        self.worker.run(move |store| store.read("read assets", |open| read::assets(open, turn))).await
    }

    async fn decisions(&self, turn: TurnId) -> Result<Vec<Decision>, LedgerError> {
        self.worker.run(move |store| store.read("read decisions", |open| read::decisions(open, turn))).await
    }

    async fn usage(&self, launch: LaunchId) -> Result<Vec<UsageRow>, LedgerError> {
        self.worker.run(move |store| store.read("read usage records", |open| read::usage(open, launch))).await
    }

    async fn usage_cells(&self, query: &UsageQuery) -> Result<Vec<UsageCell>, LedgerError> {
        let query = query.clone();
        let read = move |open: &Transaction<'_>| rollups::cells(open, &query);
        self.worker.run(move |store| store.read_and_keep("add up usage", read, rollups::keep)).await
    }

    async fn replays(&self) -> Result<BTreeMap<LaunchId, u64>, LedgerError> {
        self.worker.run(move |store| store.read("look for replays", read::replays)).await
    }

    async fn uncosted(&self, version: &PriceVersion, limit: u32) -> Result<Vec<UsageRecord>, LedgerError> {
        let version = version.clone();
        let read = move |open: &Transaction<'_>| costs::uncosted(open, &version, limit);
        self.worker.run(move |store| store.read("read usage records without costs", read)).await
    }

    async fn save_costs(&self, version: &PriceVersion, costs: &[CostEntry]) -> Result<(), LedgerError> {
        let (version, costs) = (version.clone(), Vec::from(costs));
        self.worker.run(move |store| store.write("save costs", |open| costs::save(open, &version, &costs))).await
    }
}
