//! The rows of a home moved from one kind of ledger to another.

use std::collections::BTreeSet;

use trace_model::{
    control::Reservation,
    id::LaunchId,
    ledger::{Ledger, LedgerError},
    path::ArtifactPath,
    query::{LaunchCursor, LaunchQuery},
    rows::{LaunchRows, TurnRows},
    words::ReservationState,
};

use super::{LAUNCHES_PER_QUERY, Progress, ReindexError, ReindexReport, reindex};
use crate::{
    artifacts::{ArtifactError, Home, HomeConfig},
    backend::{LedgerKind, OpenError, open_home_ledger, open_ledger},
    error::reason_of,
};

/// What a move did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveReport {
    /// The ledger that the home had.
    pub from: LedgerKind,
    /// The ledger that it has now.
    pub to: LedgerKind,
    /// The reservations that were copied; `None` if the old ledger was gone, and with it whatever it held.
    pub reservations: Option<u64>,
    /// The launches whose recordings are gone or cannot be read, and whose rows were copied from the old ledger.
    pub copied: u64,
    /// What came from the recordings.
    pub reindex: ReindexReport,
    /// Why the old ledger's files are still there, if they are. The home does not look at them any more.
    pub left_behind: Option<String>,
}

/// Why a home was not moved. It has the ledger that it had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// Something is being recorded, and its rows would go on to the old ledger.
    #[error("{dir} is being recorded; move the home when nothing is")]
    Recording {
        /// The first launch that is.
        dir: ArtifactPath,
    },
    /// Another process moves the home.
    #[error("another process is moving the home")]
    Busy,
    /// Reservations changed while they were copied.
    #[error("reservations were made or taken meanwhile; move the home when nothing happens in it")]
    Changed,
    /// One of the ledgers could not be opened.
    #[error("could not open a ledger")]
    Open(#[from] OpenError),
    /// Files of the home could not be read or written.
    #[error("could not change the home")]
    Home(#[from] ArtifactError),
    /// The recordings could not be indexed.
    #[error("could not index the recordings")]
    Reindex(#[from] ReindexError),
    /// The old ledger could not be read.
    #[error("could not read the old ledger")]
    Old(#[source] LedgerError),
    /// The new ledger could not be written.
    #[error("could not write the new ledger")]
    New(#[source] LedgerError),
}

/// Moves the rows of a home to a ledger of that kind, or returns `None` if there is nothing to move: the home has that
/// ledger, or none yet, or the kind keeps nothing.
///
/// The rows of a launch come from its artifacts, as in [`reindex`]. Reservations, which no artifact holds, are copied
/// from the old ledger, and so are the rows of launches whose recordings are gone. The home has its old ledger until
/// the new one is whole; then the files of the old one are removed. A ledger of that kind that an earlier move left
/// behind is removed first.
///
/// Whoever has the old ledger open goes on with it: what begins there later is marked as in no ledger, and brought into
/// the new one by the next look at the home.
///
/// # Errors
///
/// [`MoveError`] if something is being recorded, or a ledger or a file fails. The home has the ledger that it had.
///
/// Files are read and ledgers opened on the thread that polls the future: call it where blocking does no harm.
pub async fn move_ledger(
    home: &Home,
    to: LedgerKind,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Option<MoveReport>, MoveError> {
    let own = home.config()?.map(|config| config.ledger);
    let Some(from) = own.filter(|own| *own != to && to.file_name().is_some()) else { return Ok(None) };
    let moving = home.start_move().map_err(|error| match error {
        ArtifactError::AlreadyExists { .. } => MoveError::Busy,
        error => MoveError::Home(error),
    })?;
    refuse_while_recording(home)?;
    // Opening would make it anew, and an empty ledger cannot be told from one that lost everything.
    let old = if from.is_there(home) { Some(open_home_ledger(home, Some(from))?) } else { None };

    remove(home, to)?;
    let new = open_ledger(&to.config(home))?;
    let report = reindex(home, &*new, progress).await?;
    let (mut copied, mut reservations) = (0, None);
    if let Some(old) = &old {
        copied = copy_launches(&**old, &*new).await?;
        reservations = Some(copy_reservations(&**old, &*new).await?);
    }
    // It may have taken its time.
    refuse_while_recording(home)?;
    home.write_config(&HomeConfig { ledger: to })?;
    drop(moving);
    mark_late_launches(home, &*new).await?;
    drop(old);
    let left_behind = remove(home, from).err().map(|error| reason_of(&error));
    Ok(Some(MoveReport { from, to, reservations, copied, reindex: report, left_behind }))
}

/// Marks what was begun after the recordings were listed, by someone who did not see that the home is being moved.
async fn mark_late_launches(home: &Home, new: &dyn Ledger) -> Result<(), MoveError> {
    let known = launch_ids(new).await.map_err(MoveError::New)?;
    for dir in home.list_launch_artifact_dirs()? {
        if home.open_launch(&dir).is_ok_and(|launch| !known.contains(&launch.header().id)) {
            home.defer(&dir)?;
        }
    }
    Ok(())
}

fn refuse_while_recording(home: &Home) -> Result<(), MoveError> {
    for dir in home.list_launch_artifact_dirs()? {
        // What cannot be read has no writer that could be disturbed, and is told by the reindex.
        if home.open_launch(&dir).and_then(|launch| launch.is_live()).unwrap_or(false) {
            return Err(MoveError::Recording { dir });
        }
    }
    Ok(())
}

/// Removes the files of a ledger, if there are any.
fn remove(home: &Home, kind: LedgerKind) -> Result<(), ArtifactError> {
    home.remove_ledger(kind.file_names())
}

/// Copies the launches that only the old ledger knows, and returns their number.
async fn copy_launches(old: &dyn Ledger, new: &dyn Ledger) -> Result<u64, MoveError> {
    let indexed = launch_ids(new).await.map_err(MoveError::New)?;
    let mut copied = 0;
    for id in launch_ids(old).await.map_err(MoveError::Old)?.difference(&indexed) {
        let rows = rows_of(old, *id).await.map_err(MoveError::Old)?;
        new.replace_launch(&rows).await.map_err(MoveError::New)?;
        copied += 1;
    }
    Ok(copied)
}

async fn launch_ids(ledger: &dyn Ledger) -> Result<BTreeSet<LaunchId>, LedgerError> {
    let mut query = LaunchQuery { limit: Some(LAUNCHES_PER_QUERY), ..LaunchQuery::default() };
    let mut ids = BTreeSet::new();
    loop {
        let launches = ledger.launches(&query).await?;
        let Some(last) = launches.last() else { return Ok(ids) };
        query.after = Some(LaunchCursor::of(last));
        ids.extend(launches.iter().map(|launch| launch.header.id));
    }
}

/// Returns all rows of the launch, as a fold would.
async fn rows_of(ledger: &dyn Ledger, id: LaunchId) -> Result<LaunchRows, LedgerError> {
    let mut turns = Vec::new();
    for row in ledger.turns(id).await? {
        let (assets, decisions) = (ledger.assets(row.turn.id).await?, ledger.decisions(row.turn.id).await?);
        turns.push(TurnRows { turn: row.turn, assets, decisions });
    }
    let usage = ledger.usage(id).await?.into_iter().map(|row| (row.record.report.key.clone(), row.record));
    Ok(LaunchRows { launch: ledger.launch(id).await?, turns, usage: usage.collect() })
}

/// Copies the reservations, and returns their number.
async fn copy_reservations(old: &dyn Ledger, new: &dyn Ledger) -> Result<u64, MoveError> {
    let all = old.reservations().await.map_err(MoveError::Old)?;
    for reservation in &all {
        let state = match new.launch(reservation.launch_id).await {
            // Its recording says so, though the old ledger had not heard of it.
            Ok(_) => ReservationState::Taken,
            Err(LedgerError::NotFound { .. }) => reservation.state,
            Err(error) => return Err(MoveError::New(error)),
        };
        new.reserve(&Reservation { state, ..reservation.clone() }).await.map_err(MoveError::New)?;
    }
    if old.reservations().await.map_err(MoveError::Old)? != all {
        return Err(MoveError::Changed);
    }
    Ok(u64::try_from(all.len()).unwrap_or(u64::MAX))
}
