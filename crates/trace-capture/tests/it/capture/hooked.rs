//! A ledger around another one, with something before each call that recording makes.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
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

type Hook = dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// Does something before each write and each look for a reservation, and keeps what went wrong in one.
pub(super) struct HookedLedger {
    inner: Arc<dyn Ledger>,
    hook: Box<Hook>,
    errors: Arc<Mutex<Vec<String>>>,
}

impl HookedLedger {
    pub(super) fn new(
        inner: Arc<dyn Ledger>,
        hook: impl Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync + 'static,
    ) -> Self {
        Self { inner, hook: Box::new(hook), errors: Arc::default() }
    }

    /// Returns the errors of all writes, as they come.
    #[cfg(feature = "sqlite")]
    pub(super) fn errors(&self) -> Arc<Mutex<Vec<String>>> {
        Arc::clone(&self.errors)
    }

    fn note(&self, result: Result<(), LedgerError>) -> Result<(), LedgerError> {
        result.inspect_err(|error| self.errors.lock().unwrap().push(error.to_string()))
    }
}

impl fmt::Debug for HookedLedger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("HookedLedger").field(&self.inner).finish()
    }
}

#[async_trait]
impl Ledger for HookedLedger {
    async fn apply(&self, rows: &BoundaryRows) -> Result<(), LedgerError> {
        (self.hook)().await;
        self.note(self.inner.apply(rows).await)
    }

    async fn replace_launch(&self, rows: &LaunchRows) -> Result<(), LedgerError> {
        (self.hook)().await;
        self.note(self.inner.replace_launch(rows).await)
    }

    async fn reserve(&self, reservation: &Reservation) -> Result<(), LedgerError> {
        (self.hook)().await;
        self.note(self.inner.reserve(reservation).await)
    }

    async fn release(&self, control_run: &ControlRunId) -> Result<(), LedgerError> {
        (self.hook)().await;
        self.note(self.inner.release(control_run).await)
    }

    async fn reservation(&self, control_run: &ControlRunId) -> Result<Reservation, LedgerError> {
        (self.hook)().await;
        self.inner.reservation(control_run).await
    }

    async fn reservations(&self) -> Result<Vec<Reservation>, LedgerError> {
        self.inner.reservations().await
    }

    async fn launch(&self, id: LaunchId) -> Result<Launch, LedgerError> {
        self.inner.launch(id).await
    }

    async fn find_launch(&self, suffix: &IdSuffix) -> Result<Launch, LedgerError> {
        self.inner.find_launch(suffix).await
    }

    async fn launches(&self, query: &LaunchQuery) -> Result<Vec<Launch>, LedgerError> {
        self.inner.launches(query).await
    }

    async fn turns(&self, launch: LaunchId) -> Result<Vec<TurnRow>, LedgerError> {
        self.inner.turns(launch).await
    }

    async fn assets(&self, turn: TurnId) -> Result<Vec<Asset>, LedgerError> {
        self.inner.assets(turn).await
    }

    async fn decisions(&self, turn: TurnId) -> Result<Vec<Decision>, LedgerError> {
        self.inner.decisions(turn).await
    }

    async fn usage(&self, launch: LaunchId) -> Result<Vec<UsageRow>, LedgerError> {
        self.inner.usage(launch).await
    }

    async fn usage_cells(&self, query: &UsageQuery) -> Result<Vec<UsageCell>, LedgerError> {
        self.inner.usage_cells(query).await
    }

    async fn uncosted(&self, version: &PriceVersion, limit: u32) -> Result<Vec<UsageRecord>, LedgerError> {
        self.inner.uncosted(version, limit).await
    }

    async fn save_costs(&self, version: &PriceVersion, costs: &[CostEntry]) -> Result<(), LedgerError> {
        self.inner.save_costs(version, costs).await
    }
}
