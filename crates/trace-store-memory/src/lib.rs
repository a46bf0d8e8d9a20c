//! The ledger in memory: ordered maps, and the contract's rules in the order in which they are checked.
//!
//! It reads like the specification that the other ledgers are compared with. A write first checks everything and
//! then changes everything, so nothing can fail half way. [`MemoryLedger`] is the handle, `check` holds the rules, and
//! `state` the rows.

mod check;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    usage_sum::ComputedCost,
    words::ReservationState,
};

use crate::state::State;

/// A ledger that lives as long as its last handle.
#[derive(Debug, Clone, Default)]
pub struct MemoryLedger {
    state: Arc<Mutex<State>>,
}

impl MemoryLedger {
    /// Returns an empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// Locks the rows for one call; the lock is never held across an `.await`.
    fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panicked was checking or reading: a change that has begun cannot fail.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn apply(&self, rows: &BoundaryRows) -> Result<(), LedgerError> {
        let mut state = self.state();
        check::boundary(&state, rows)?;
        state.apply(rows);
        Ok(())
    }

    async fn replace_launch(&self, rows: &LaunchRows) -> Result<(), LedgerError> {
        let mut state = self.state();
        check::replacement(&state, rows)?;
        state.replace_launch(rows);
        Ok(())
    }

    async fn reserve(&self, reservation: &Reservation) -> Result<(), LedgerError> {
        let mut state = self.state();
        check::reservation(&state, reservation)?;
        state.insert_reservation(reservation.clone());
        Ok(())
    }

    async fn release(&self, control_run: &ControlRunId) -> Result<(), LedgerError> {
        let mut state = self.state();
        let found = state.reservation(control_run).map(|reservation| (reservation.state, reservation.launch_id));
        match found.ok_or_else(|| LedgerError::not_found(Entity::Reservation, control_run))? {
            (ReservationState::Taken, _) => Err(LedgerError::launch_has_begun(control_run)),
            (ReservationState::Waiting | ReservationState::Released, launch) => {
                state.release(launch);
                Ok(())
            }
        }
    }

    async fn reservation(&self, control_run: &ControlRunId) -> Result<Reservation, LedgerError> {
        let state = self.state();
        state.reservation(control_run).cloned().ok_or_else(|| LedgerError::not_found(Entity::Reservation, control_run))
    }

    async fn reservations(&self) -> Result<Vec<Reservation>, LedgerError> {
        let mut all: Vec<Reservation> = self.state().reservations().cloned().collect();
        all.sort_by_key(|reservation| (reservation.reserved_at, reservation.launch_id));
        Ok(all)
    }

    async fn launch(&self, id: LaunchId) -> Result<Launch, LedgerError> {
        self.state().launch(id).cloned().ok_or_else(|| LedgerError::not_found(Entity::Launch, id))
    }

    async fn find_launch(&self, suffix: &IdSuffix) -> Result<Launch, LedgerError> {
        let state = self.state();
        let found = LaunchQuery::default().select(state.launches().filter(|launch| suffix.matches(launch.header.id)));
        match found.as_slice() {
            [] => Err(LedgerError::not_found(Entity::Launch, suffix)),
            [launch] => Ok(launch.clone()),
            _ => {
                let matches = found.iter().take(10).map(|launch| launch.header.id).collect();
                Err(LedgerError::Ambiguous { suffix: suffix.clone(), matches })
            }
        }
    }

    async fn launches(&self, query: &LaunchQuery) -> Result<Vec<Launch>, LedgerError> {
        Ok(query.select(self.state().launches()))
    }

    async fn turns(&self, launch: LaunchId) -> Result<Vec<TurnRow>, LedgerError> {
        let state = self.state();
        Ok(TurnRow::of_launch(state.turns(launch).cloned().collect(), state.usage(launch)))
    }

    async fn assets(&self, turn: TurnId) -> Result<Vec<Asset>, LedgerError> {
        Ok(self.state().assets(turn).cloned().collect())
    }

    async fn decisions(&self, turn: TurnId) -> Result<Vec<Decision>, LedgerError> {
        Ok(self.state().decisions(turn).cloned().collect())
    }

    async fn usage(&self, launch: LaunchId) -> Result<Vec<UsageRow>, LedgerError> {
        Ok(self.state().usage(launch))
    }

    async fn usage_cells(&self, query: &UsageQuery) -> Result<Vec<UsageCell>, LedgerError> {
        let state = self.state();
        let rows = |launch: &Launch| {
            let rows = state.usage(launch.header.id).into_iter();
            rows.map(|row| (state.cost(&row.record, query.price_version.as_ref()), row)).map(|(cost, row)| (row, cost))
        };
        Ok(query.cells(state.launches().map(|launch| (launch, rows(launch).collect()))))
    }

    async fn uncosted(&self, version: &PriceVersion, limit: u32) -> Result<Vec<UsageRecord>, LedgerError> {
        let state = self.state();
        let uncosted = state
            .all_usage()
            .filter(|record| record.report.has_tokens() && state.cost(record, Some(version)) == ComputedCost::NotYet);
        Ok(uncosted.take(usize::try_from(limit).unwrap_or(usize::MAX)).cloned().collect())
    }

    async fn save_costs(&self, version: &PriceVersion, costs: &[CostEntry]) -> Result<(), LedgerError> {
        let mut state = self.state();
        for entry in costs {
            state.save_cost(version, entry);
        }
        Ok(())
    }
}
