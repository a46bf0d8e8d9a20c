//! The contract of a ledger.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};
use core::{error::Error, fmt};

use async_trait::async_trait;

use crate::{
    Entity,
    context::{Asset, Decision},
    control::Reservation,
    id::{ControlRunId, IdSuffix, LaunchId, TurnId},
    launch::{Launch, LaunchState},
    query::LaunchQuery,
    rows::{BoundaryRows, LaunchChange, LaunchRows, TurnRows, UsageChange},
    turn::{Turn, TurnRow, TurnState},
    usage::{UsageRecord, UsageRow},
    usage_query::{CostEntry, PriceVersion, UsageCell, UsageQuery},
    words::ReservationState,
};

/// Where the rows of launches are kept and asked for. It is an index: the artifacts of the launches are the truth.
///
/// # Contract
///
/// Every implementation owes this; the conformance suite of `trace-testkit` has one test for each rule.
///
/// * A write is one transaction: all or nothing, and durable when it returns.
/// * Launches come back by start, then id; turns by ordinal; assets and decisions by position; usage by key.
/// * A turn or usage record of a launch or turn that is not here is `NotFound`, and so is an update of a row that is
///   not here. The parent launch and parent turn of a launch are labels: they may name what this ledger does not hold.
/// * An id that is taken is `AlreadyExists`, and so is an ordinal that is taken in its launch, or a position that is
///   taken in its turn.
/// * What ended stays ended: an update that would give an ended launch or turn another end, or let it run again, is
///   `Conflict`; so is a new turn in a launch that had ended before. Of a launch that is
///   [`Extended`](LaunchChange::Extended) the ends may move, and turns come behind. Identity never changes, see
///   [`check_launch_update`] and [`check_turn_update`]. Assets and decisions never change.
/// * Rows of one call that are not all of one launch are `Conflict`, see [`check_boundary`] and
///   [`check_launch_rows`].
/// * A saved usage record stands instead of one of the same key; deleting a key that is not there is fine.
/// * Of the records of one `request_key`, over all launches, the one of the smallest
///   [`seniority`](crate::usage::UsageRecord::seniority) counts; the others are answered as its replays.
/// * Computed costs are a cache beside the rows: what is said of a record by one version of the prices stands until
///   another version's is saved, or the record changes, which drops it. A record that is saved as it was keeps it.
/// * [`replace_launch`](Self::replace_launch) leaves no old row of that launch behind.
/// * A control run has at most one waiting reservation, and a launch at most one reservation. A launch that is opened
///   or put in place takes the reservation of its id in the same transaction, whatever became of it before: the launch
///   has begun.
/// * A clone of a handle shares its state.
/// * Data of a newer schema is `FutureSchema`, which names both versions; nothing is changed then.
/// * Futures complete on any executor. No lock is held across an `.await`.
#[async_trait]
pub trait Ledger: fmt::Debug + Send + Sync + 'static {
    /// Applies what one boundary changed.
    ///
    /// # Errors
    ///
    /// Those of the contract; nothing is written then.
    async fn apply(&self, rows: &BoundaryRows) -> Result<(), LedgerError>;

    /// Puts all rows of one launch in place of whatever rows it had.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if a turn id belongs to another launch, or an ordinal or position occurs twice; `NotFound` if a
    /// usage record names a turn that is not among the rows; nothing is written then.
    async fn replace_launch(&self, rows: &LaunchRows) -> Result<(), LedgerError>;

    /// Puts all rows of some launches in place of whatever rows they had, as [`replace_launch`](Self::replace_launch)
    /// does of each in turn. A ledger to which a boundary is dear takes many in one.
    ///
    /// # Errors
    ///
    /// As of [`replace_launch`](Self::replace_launch); the launches before the one that fails may be replaced then,
    /// each whole.
    async fn replace_launches(&self, launches: Vec<LaunchRows>) -> Result<(), LedgerError> {
        for rows in launches {
            self.replace_launch(&rows).await?;
        }
        Ok(())
    }

    /// Records a reservation, in the state that it names: waiting, unless it is copied from another ledger.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if its launch has a reservation. For one that waits also if the launch is here, or if its
    /// control run has another one that waits. Nothing is written then.
    async fn reserve(&self, reservation: &Reservation) -> Result<(), LedgerError>;

    /// Gives up the reservation that [`reservation`](Self::reservation) answers. One that was given up stays so.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none; `Conflict` if it was taken.
    async fn release(&self, control_run: &ControlRunId) -> Result<(), LedgerError>;

    /// Returns the reservation of the control run: the one that waits, else the one that was made last, by its time and
    /// then its launch's id.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none.
    async fn reservation(&self, control_run: &ControlRunId) -> Result<Reservation, LedgerError>;

    /// Returns all reservations, by the time at which they were made, then their launch's id.
    ///
    /// # Errors
    ///
    /// Those of the backend.
    async fn reservations(&self) -> Result<Vec<Reservation>, LedgerError>;

    /// Returns the launch.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none of that id.
    async fn launch(&self, id: LaunchId) -> Result<Launch, LedgerError>;

    /// Returns the launch whose id ends so.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none; `Ambiguous`, with up to ten of the matches, if there is more than one.
    async fn find_launch(&self, suffix: &IdSuffix) -> Result<Launch, LedgerError>;

    /// Returns the launches that the query wants.
    ///
    /// # Errors
    ///
    /// Those of the backend.
    async fn launches(&self, query: &LaunchQuery) -> Result<Vec<Launch>, LedgerError>;

    /// Returns the turns of the launch; none for a launch that is not here.
    ///
    /// # Errors
    ///
    /// Those of the backend.
    async fn turns(&self, launch: LaunchId) -> Result<Vec<TurnRow>, LedgerError>;

    /// Returns the assets of the turn; none for a turn that is not here.
    ///
    /// # Errors
    ///
    /// Those of the backend.
    async fn assets(&self, turn: TurnId) -> Result<Vec<Asset>, LedgerError>;

    /// Returns the decisions of the turn; none for a turn that is not here.
    ///
    /// # Errors
    ///
    /// Those of the backend.
    async fn decisions(&self, turn: TurnId) -> Result<Vec<Decision>, LedgerError>;

    /// Returns the usage records of the launch, replays marked; none for a launch that is not here.
    ///
    /// # Errors
    ///
    /// Those of the backend.
    async fn usage(&self, launch: LaunchId) -> Result<Vec<UsageRow>, LedgerError>;

    /// Returns what the wanted usage adds up to, by launch, period, model and agent: see [`UsageQuery::cells`].
    ///
    /// # Errors
    ///
    /// Those of the backend.
    async fn usage_cells(&self, query: &UsageQuery) -> Result<Vec<UsageCell>, LedgerError>;

    /// Returns how many usage records of each launch are replays; a launch without any is left out.
    ///
    /// # Errors
    ///
    /// Those of the backend.
    async fn replays(&self) -> Result<BTreeMap<LaunchId, u64>, LedgerError> {
        let mut replays = BTreeMap::new();
        for cell in self.usage_cells(&UsageQuery::default()).await? {
            if cell.sum.replays > 0 {
                *replays.entry(cell.launch_id).or_default() += cell.sum.replays;
            }
        }
        Ok(replays)
    }

    /// Returns up to `limit` records that have tokens and of which no cost is known by that version of the prices, by
    /// launch and key.
    ///
    /// # Errors
    ///
    /// Those of the backend.
    async fn uncosted(&self, version: &PriceVersion, limit: u32) -> Result<Vec<UsageRecord>, LedgerError>;

    /// Keeps what records cost by that version of the prices, instead of what another one said of them. An entry of a
    /// record that is not here as it is there is passed over: somebody changed the record while its cost was computed.
    ///
    /// # Errors
    ///
    /// Those of the backend; nothing is written then.
    async fn save_costs(&self, version: &PriceVersion, costs: &[CostEntry]) -> Result<(), LedgerError>;
}

/// Why a ledger did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// Nothing of that id is here.
    #[error("there is no {entity} {id}")]
    NotFound {
        /// The kind of thing.
        entity: Entity,
        /// Its id.
        id: String,
    },
    /// The id, or the place, is taken.
    #[error("{entity} {id} is there already")]
    AlreadyExists {
        /// The kind of thing.
        entity: Entity,
        /// Its id, or the place in its parent.
        id: String,
    },
    /// The row may not change so.
    #[error("{entity} {id} cannot change: {reason}")]
    Conflict {
        /// The kind of thing.
        entity: Entity,
        /// Its id.
        id: String,
        /// Which rule forbids it.
        reason: &'static str,
    },
    /// More than one launch ends so.
    #[error("{suffix} is the end of more than one launch id; use more of its digits")]
    Ambiguous {
        /// What was asked for.
        suffix: IdSuffix,
        /// Up to ten of the launches, by start, then id.
        matches: Vec<LaunchId>,
    },
    /// A newer version wrote the data.
    #[error("{place} has schema version {found}, and this version reads up to {supported}; use a newer trace")]
    FutureSchema {
        /// Where the data is.
        place: String,
        /// The version that was found.
        found: u32,
        /// The newest version that this code knows.
        supported: u32,
    },
    /// Another process holds the ledger.
    #[error("{place} is held by another process; try again, or use `trace reindex` later")]
    Busy {
        /// Where the data is.
        place: String,
    },
    /// The stored data makes no sense.
    #[error("{place} is damaged: {detail}; move it away and run `trace reindex`")]
    Corrupt {
        /// Where the data is.
        place: String,
        /// What was found.
        detail: String,
    },
    /// The backend failed.
    #[error("the {backend} ledger could not {action}")]
    Backend {
        /// The backend.
        backend: &'static str,
        /// What it was doing.
        action: &'static str,
        /// What it said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The ledger's worker is gone; the handle is of no more use.
    #[error("the {backend} ledger is closed")]
    Closed {
        /// The backend.
        backend: &'static str,
    },
}

impl LedgerError {
    /// Returns the error of something that is not here.
    pub fn not_found(entity: Entity, id: impl fmt::Display) -> Self {
        Self::NotFound { entity, id: alloc::format!("{id}") }
    }

    /// Returns the error of an id or place that is taken.
    pub fn already_exists(entity: Entity, id: impl fmt::Display) -> Self {
        Self::AlreadyExists { entity, id: alloc::format!("{id}") }
    }

    /// Returns the error of an ordinal or position that is taken: its id is `<id of the parent>/<place>`.
    pub fn place_is_taken(entity: Entity, parent: impl fmt::Display, place: u32) -> Self {
        Self::AlreadyExists { entity, id: alloc::format!("{parent}/{place}") }
    }

    /// Returns the error of a release of what was taken.
    pub fn launch_has_begun(control_run: &ControlRunId) -> Self {
        Self::Conflict {
            entity: Entity::Reservation,
            id: alloc::format!("{control_run}"),
            reason: "its launch has begun",
        }
    }

    /// Returns the error of a new turn in a launch that has ended.
    pub fn launch_has_ended(turn: TurnId) -> Self {
        Self::Conflict { entity: Entity::Turn, id: alloc::format!("{turn}"), reason: "its launch has ended" }
    }
}

/// Checks that all rows of a boundary are of its launch, and stand under their own ids and keys.
///
/// # Errors
///
/// [`LedgerError::Conflict`] names the first row that does not.
pub fn check_boundary(rows: &BoundaryRows) -> Result<(), LedgerError> {
    let launch = rows.launch.launch().header.id;
    rows.turns_opened.iter().try_for_each(|rows| check_turn_place(launch, rows.turn.id, &rows.turn))?;
    rows.turns_updated.iter().try_for_each(|(id, turn)| check_turn_place(launch, *id, turn))?;
    rows.usage.iter().try_for_each(|(key, change)| match change {
        UsageChange::Saved(record) => check_usage_place(launch, key, record),
        UsageChange::Deleted => Ok(()),
    })
}

/// Checks that all rows are of their launch, and stand under their own keys.
///
/// # Errors
///
/// [`LedgerError::Conflict`] names the first row that does not.
pub fn check_launch_rows(rows: &LaunchRows) -> Result<(), LedgerError> {
    let launch = rows.launch.header.id;
    rows.turns.iter().try_for_each(|rows| check_turn_place(launch, rows.turn.id, &rows.turn))?;
    rows.usage.iter().try_for_each(|(key, record)| check_usage_place(launch, key, record))
}

fn check_turn_place(launch: LaunchId, id: TurnId, turn: &Turn) -> Result<(), LedgerError> {
    let reason = if turn.launch_id != launch {
        "it belongs to another launch than the rows beside it"
    } else if turn.id != id {
        "it stands under the id of another turn"
    } else {
        return Ok(());
    };
    Err(LedgerError::Conflict { entity: Entity::Turn, id: alloc::format!("{}", turn.id), reason })
}

fn check_usage_place(launch: LaunchId, key: &str, record: &UsageRecord) -> Result<(), LedgerError> {
    let reason = if record.launch_id != launch {
        "it belongs to another launch than the rows beside it"
    } else if record.report.key != key {
        "it stands under the key of another record"
    } else {
        return Ok(());
    };
    Err(LedgerError::Conflict { entity: Entity::UsageRecord, id: record.report.key.clone(), reason })
}

/// Checks that a launch's row may change from `old` to `new`: it keeps its identity, and what ended stays ended.
///
/// # Errors
///
/// [`LedgerError::Conflict`] names the rule that forbids it.
pub fn check_launch_update(old: &Launch, change: &LaunchChange) -> Result<(), LedgerError> {
    let new = change.launch();
    let conflict =
        |reason| Err(LedgerError::Conflict { entity: Entity::Launch, id: alloc::format!("{}", old.header.id), reason });
    let identity = |launch: &Launch| (launch.header.artifact_dir(), launch.header.started_at);
    if identity(old) != identity(new) {
        return conflict("its run, process and start are fixed");
    }
    match old.state {
        _ if matches!(change, LaunchChange::Extended(_)) => Ok(()),
        LaunchState::Ended { .. } if old.state != new.state => conflict("it has ended"),
        _ => Ok(()),
    }
}

/// Checks that a turn's row may change from `old` to `new`: it keeps its identity, and what ended stays ended.
///
/// # Errors
///
/// [`LedgerError::Conflict`] names the rule that forbids it.
pub fn check_turn_update(old: &Turn, new: &Turn, change: &LaunchChange) -> Result<(), LedgerError> {
    let conflict =
        |reason| Err(LedgerError::Conflict { entity: Entity::Turn, id: alloc::format!("{}", old.id), reason });
    let identity = |turn: &Turn| (turn.launch_id, turn.ordinal, turn.started_at);
    if identity(old) != identity(new) {
        return conflict("its launch, ordinal and start are fixed");
    }
    match old.state {
        _ if matches!(change, LaunchChange::Extended(_)) => Ok(()),
        TurnState::Ended { .. } if old.state != new.state => conflict("it has ended"),
        _ => Ok(()),
    }
}

/// Checks that no id, ordinal or position of new turns is taken, among themselves or by what is here, and returns the
/// turns by their ids.
///
/// The turns are those of one launch. `is_taken` tells whether a turn of the id is here, and `has_ordinal` whether the
/// launch has a turn at the ordinal; what a replacement deletes is not here. Either may fail in its own way.
///
/// # Errors
///
/// [`LedgerError::AlreadyExists`] names the first one that is taken; else what the look-ups say.
pub fn check_new_turns<E: From<LedgerError>>(
    turns: &[TurnRows],
    mut is_taken: impl FnMut(TurnId) -> Result<bool, E>,
    mut has_ordinal: impl FnMut(u32) -> Result<bool, E>,
) -> Result<BTreeMap<TurnId, &Turn>, E> {
    let mut by_id = BTreeMap::new();
    let mut ordinals = BTreeSet::new();
    for TurnRows { turn, assets, decisions } in turns {
        if is_taken(turn.id)? || by_id.insert(turn.id, turn).is_some() {
            return Err(LedgerError::already_exists(Entity::Turn, turn.id).into());
        }
        if has_ordinal(turn.ordinal)? || !ordinals.insert(turn.ordinal) {
            return Err(LedgerError::place_is_taken(Entity::Turn, turn.launch_id, turn.ordinal).into());
        }
        check_positions(Entity::Asset, turn.id, assets.iter().map(|asset| asset.position))?;
        check_positions(Entity::Decision, turn.id, decisions.iter().map(|decision| decision.position))?;
    }
    Ok(by_id)
}

fn check_positions(entity: Entity, turn: TurnId, positions: impl Iterator<Item = u32>) -> Result<(), LedgerError> {
    let mut taken = BTreeSet::new();
    for position in positions {
        if !taken.insert(position) {
            return Err(LedgerError::place_is_taken(entity, turn, position));
        }
    }
    Ok(())
}

/// Checks that a reservation may be recorded.
///
/// `has_reservation` and `has_launch` tell what is here of the id, and `of_control_run` returns the reservation that is
/// the control run's: the greatest by [`Reservation::precedence`]. Each may fail in its own way.
///
/// # Errors
///
/// [`LedgerError::AlreadyExists`] as [`Ledger::reserve`] says; else what the look-ups say.
pub fn check_reservation<E: From<LedgerError>>(
    new: &Reservation,
    has_reservation: impl FnOnce(LaunchId) -> Result<bool, E>,
    has_launch: impl FnOnce(LaunchId) -> Result<bool, E>,
    of_control_run: impl FnOnce(&ControlRunId) -> Result<Option<Reservation>, E>,
) -> Result<(), E> {
    let (launch, run) = (new.launch_id, &new.control.run_id);
    if has_reservation(launch)? {
        return Err(LedgerError::already_exists(Entity::Reservation, launch).into());
    }
    // One that waits no more is copied from another ledger, and stands in nobody's way.
    if new.state != ReservationState::Waiting {
        return Ok(());
    }
    if has_launch(launch)? {
        return Err(LedgerError::already_exists(Entity::Launch, launch).into());
    }
    if of_control_run(run)?.is_some_and(|old| old.state == ReservationState::Waiting) {
        return Err(LedgerError::already_exists(Entity::Reservation, run).into());
    }
    Ok(())
}
