//! The writes of the contract. Each looks at everything first, in the order in which the memory ledger does, collects
//! what changes, and commits it at its end; what is refused has changed nothing.

use trace_model::{
    Entity,
    context::{Asset, Decision},
    control::Reservation,
    id::{ControlRunId, LaunchId, TurnId},
    launch::{Launch, LaunchState},
    ledger::{
        LedgerError, check_boundary, check_launch_rows, check_launch_update, check_new_turns, check_reservation,
        check_turn_update,
    },
    rows::{BoundaryRows, LaunchChange, LaunchRows, TurnRows, UsageChange},
    turn::Turn,
    usage::UsageRecord,
    words::ReservationState,
};

use crate::{
    changes::Changes,
    database::Database,
    error::Cause,
    keys::{self, Key},
    read,
    rows::{self, StoredCost},
    trees::Tree,
};

/// Applies what one boundary changed.
pub(crate) fn apply(database: &Database, rows: &BoundaryRows) -> Result<(), Cause> {
    check_boundary(rows)?;
    let mut write = Write::new(database);
    write.change_launch(rows)?;
    let launch = rows.launch.launch().header.id;
    let opened = check_new_turns::<Cause>(
        &rows.turns_opened,
        |id| Ok(place_of_turn(database, id)?.is_some()),
        |ordinal| Ok(database.entry(Tree::Turns, &keys::turn(launch, ordinal))?.is_some()),
    )?;
    for turn in rows.turns_updated.values() {
        match opened.get(&turn.id) {
            Some(old) => check_turn_update(old, turn, &rows.launch)?,
            None => write.update_turn(turn, &rows.launch)?,
        }
    }
    for TurnRows { turn, assets, decisions } in &rows.turns_opened {
        write.insert_turn(rows.turns_updated.get(&turn.id).unwrap_or(turn), assets, decisions);
    }
    for (key, change) in &rows.usage {
        let old: Option<UsageRecord> = database.row(Tree::Usage, &keys::usage(launch, key))?;
        if let (Some(old), UsageChange::Saved(new)) = (&old, change)
            && old == new
        {
            // It keeps what is known of its cost.
            continue;
        }
        if let Some(old) = old {
            write.delete_usage(&old)?;
        }
        if let UsageChange::Saved(record) = change {
            write.insert_usage(record, |id| {
                let place = place_of_turn(database, id)?;
                Ok(opened.contains_key(&id) || place.is_some_and(|place| keys::is_turn_of(&place, launch)))
            })?;
        }
    }
    write.commit()
}

/// Puts all rows of a launch in place of whatever rows it had.
pub(crate) fn replace_launch(database: &Database, rows: &LaunchRows) -> Result<(), Cause> {
    check_launch_rows(rows)?;
    let launch = rows.launch.header.id;
    let is_anothers = |id| Ok(place_of_turn(database, id)?.is_some_and(|place| !keys::is_turn_of(&place, launch)));
    let turns = check_new_turns::<Cause>(&rows.turns, is_anothers, |_| Ok(false))?;
    let mut write = Write::new(database);
    let kept = kept_costs(database, rows)?;
    write.delete_launch(launch)?;
    write.insert_launch(&rows.launch)?;
    for TurnRows { turn, assets, decisions } in &rows.turns {
        write.insert_turn(turn, assets, decisions);
    }
    for record in rows.usage.values() {
        write.insert_usage(record, |id| Ok(turns.contains_key(&id)))?;
    }
    for (key, cost) in kept {
        write.changes.set_row(Tree::Costs, &key, &rows::encode(&cost));
    }
    write.commit()
}

/// Returns the costs of the records that are as they were, by the keys of their rows.
fn kept_costs(database: &Database, rows: &LaunchRows) -> Result<Vec<(Key, StoredCost)>, Cause> {
    let mut kept = Vec::new();
    for old in read::usage_records(database, rows.launch.header.id)? {
        let key = keys::usage(old.launch_id, &old.report.key);
        if rows.usage.get(&old.report.key) == Some(&old)
            && let Some(cost) = database.row(Tree::Costs, &key)?
        {
            kept.push((key, cost));
        }
    }
    Ok(kept)
}

/// Records a reservation.
pub(crate) fn reserve(database: &Database, new: &Reservation) -> Result<(), Cause> {
    let has = |tree, launch| Ok(database.entry(tree, &keys::launch(launch))?.is_some());
    check_reservation(
        new,
        |launch| has(Tree::Reservations, launch),
        |launch| has(Tree::Launches, launch),
        |run| read::reservation(database, run),
    )?;
    let mut write = Write::new(database);
    write.insert_reservation(new);
    write.commit()
}

/// Gives up the reservation of a control run.
pub(crate) fn release(database: &Database, run: &ControlRunId) -> Result<(), Cause> {
    let found = read::reservation(database, run)?;
    let found = found.ok_or_else(|| LedgerError::not_found(Entity::Reservation, run))?;
    if found.state == ReservationState::Taken {
        return Err(LedgerError::launch_has_begun(run).into());
    }
    let mut write = Write::new(database);
    write.set_reservation(found.launch_id, ReservationState::Released)?;
    write.commit()
}

/// A write that is being put together.
struct Write<'a> {
    database: &'a Database,
    changes: Changes,
}

impl<'a> Write<'a> {
    fn new(database: &'a Database) -> Self {
        Self { database, changes: Changes::default() }
    }

    fn commit(self) -> Result<(), Cause> {
        self.database.commit(self.changes)
    }

    /// Deletes what is stored under the keys that begin so: with the key of a row, just that row.
    fn delete_all(&mut self, tree: Tree, beginning: &Key) -> Result<(), Cause> {
        for entry in self.database.entries(tree, beginning) {
            self.changes.delete(tree, entry?.0);
        }
        Ok(())
    }

    fn change_launch(&mut self, rows: &BoundaryRows) -> Result<(), Cause> {
        let new = rows.launch.launch();
        let id = new.header.id;
        let old: Option<Launch> = self.database.row(Tree::Launches, &keys::launch(id))?;
        match (&rows.launch, old) {
            (LaunchChange::Opened(_), None) => self.insert_launch(new),
            (LaunchChange::Opened(_), Some(_)) => Err(LedgerError::already_exists(Entity::Launch, id).into()),
            (LaunchChange::Updated(_) | LaunchChange::Extended(_), None) => {
                Err(LedgerError::not_found(Entity::Launch, id).into())
            }
            (change @ (LaunchChange::Updated(_) | LaunchChange::Extended(_)), Some(old)) => {
                check_launch_update(&old, change)?;
                if let (LaunchChange::Updated(_), LaunchState::Ended { .. }, Some(first)) =
                    (change, old.state, rows.turns_opened.first())
                {
                    return Err(LedgerError::launch_has_ended(first.turn.id).into());
                }
                if old != *new {
                    self.delete_launch_row(&old)?;
                    self.set_launch_row(new);
                }
                Ok(())
            }
        }
    }

    /// Sets the row of a launch that begins, which takes its reservation.
    fn insert_launch(&mut self, launch: &Launch) -> Result<(), Cause> {
        self.set_launch_row(launch);
        self.set_reservation(launch.header.id, ReservationState::Taken)
    }

    fn set_launch_row(&mut self, launch: &Launch) {
        self.changes.set_row(Tree::Launches, &keys::launch(launch.header.id), &rows::encode(launch));
        for (tree, key, value) in keys::ways_to_launch(launch) {
            self.changes.set(tree, key, value.into());
        }
    }

    fn delete_launch_row(&mut self, launch: &Launch) -> Result<(), Cause> {
        for (tree, key, _) in keys::ways_to_launch(launch) {
            self.changes.delete(tree, key);
        }
        self.delete_all(Tree::Launches, &keys::launch(launch.header.id))
    }

    /// Deletes the launch with all that belongs to it but its reservation.
    fn delete_launch(&mut self, id: LaunchId) -> Result<(), Cause> {
        let beginning = keys::launch(id);
        let Some(old) = self.database.row(Tree::Launches, &beginning)? else { return Ok(()) };
        self.delete_launch_row(&old)?;
        for record in self.database.rows::<UsageRecord>(Tree::Usage, &beginning)? {
            self.delete_usage(&record)?;
        }
        for turn in self.database.rows::<Turn>(Tree::Turns, &beginning)? {
            let by_turn = Key::default().turn(turn.id);
            for tree in [Tree::TurnsById, Tree::Assets, Tree::Decisions] {
                self.delete_all(tree, &by_turn)?;
            }
        }
        self.delete_all(Tree::Turns, &beginning)
    }

    fn insert_turn(&mut self, turn: &Turn, assets: &[Asset], decisions: &[Decision]) {
        let place = keys::turn(turn.launch_id, turn.ordinal);
        self.changes.set_row(Tree::Turns, &place, &rows::encode(turn));
        self.changes.set(Tree::TurnsById, Key::default().turn(turn.id), place.into());
        for asset in assets {
            self.changes.set_row(Tree::Assets, &keys::of_turn(turn.id, asset.position), &rows::encode(asset));
        }
        for decision in decisions {
            let key = keys::of_turn(turn.id, decision.position);
            self.changes.set_row(Tree::Decisions, &key, &rows::encode(decision));
        }
    }

    fn update_turn(&mut self, turn: &Turn, change: &LaunchChange) -> Result<(), Cause> {
        let old = read::turn(self.database, turn.id)?;
        let old = old.ok_or_else(|| LedgerError::not_found(Entity::Turn, turn.id))?;
        check_turn_update(&old, turn, change)?;
        let place = keys::turn(turn.launch_id, turn.ordinal);
        self.delete_all(Tree::Turns, &place)?;
        self.changes.set_row(Tree::Turns, &place, &rows::encode(turn));
        Ok(())
    }

    fn insert_usage(
        &mut self,
        record: &UsageRecord,
        is_here: impl Fn(TurnId) -> Result<bool, Cause>,
    ) -> Result<(), Cause> {
        if let Some(turn) = record.turn_id
            && !is_here(turn)?
        {
            return Err(LedgerError::not_found(Entity::Turn, turn).into());
        }
        let key = keys::usage(record.launch_id, &record.report.key);
        self.changes.set_row(Tree::Usage, &key, &rows::encode(record));
        if let Some(request) = keys::request(record) {
            self.changes.set(Tree::Requests, request, Vec::new());
        }
        Ok(())
    }

    /// Deletes the record with what is known of its cost.
    fn delete_usage(&mut self, record: &UsageRecord) -> Result<(), Cause> {
        if let Some(request) = keys::request(record) {
            self.changes.delete(Tree::Requests, request);
        }
        let key = keys::usage(record.launch_id, &record.report.key);
        self.delete_all(Tree::Costs, &key)?;
        self.delete_all(Tree::Usage, &key)
    }

    fn insert_reservation(&mut self, reservation: &Reservation) {
        let key = keys::launch(reservation.launch_id);
        self.changes.set_row(Tree::Reservations, &key, &rows::encode(reservation));
        self.changes.set(Tree::ReservationsByRun, keys::reservation(reservation), Vec::new());
    }

    /// Sets what became of the reservation of the launch, if it has one.
    fn set_reservation(&mut self, launch: LaunchId, state: ReservationState) -> Result<(), Cause> {
        let key = keys::launch(launch);
        let Some(old) = self.database.row::<Reservation>(Tree::Reservations, &key)? else { return Ok(()) };
        self.changes.delete(Tree::ReservationsByRun, keys::reservation(&old));
        self.delete_all(Tree::Reservations, &key)?;
        self.insert_reservation(&Reservation { state, ..old });
        Ok(())
    }
}

/// Returns the key of the row of the turn, if it is here.
fn place_of_turn(database: &Database, id: TurnId) -> Result<Option<Key>, Cause> {
    Ok(database.entry(Tree::TurnsById, &Key::default().turn(id))?.map(|place| Key::from(&*place)))
}
