//! A ledger that fails when it is told to.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
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

/// Which call fails, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The number of the call that fails, from 1.
    pub call: u64,
    /// When it fails.
    pub moment: Moment,
}

/// When a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the ledger saw it: nothing happened.
    Before,
    /// After the ledger did it: only the answer is lost, as when a disk fails behind a commit.
    After,
}

/// A ledger around another one that counts its calls, reads and writes alike, and may fail one of them.
///
/// A test runs with the fault at call 1, 2, … until a run makes fewer calls than that:
///
/// ```
/// use std::sync::Arc;
///
/// use trace_model::ledger::Ledger;
/// use trace_store_memory::MemoryLedger;
/// use trace_testkit::{Fault, FaultLedger, Moment, samples};
///
/// for call in 1.. {
///     let fault = Fault { call, moment: Moment::Before };
///     let ledger = FaultLedger::new(Arc::new(MemoryLedger::new()), Some(fault));
///     let result = pollster::block_on(ledger.apply(&samples::beginning(1)));
///     assert_eq!(result.is_err(), ledger.has_failed());
///     if !ledger.has_failed() {
///         break;
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct FaultLedger {
    inner: Arc<dyn Ledger>,
    fault: Option<Fault>,
    calls: Arc<AtomicU64>,
}

impl FaultLedger {
    /// Returns a ledger that passes its calls on to `inner`. Clones count together.
    pub fn new(inner: Arc<dyn Ledger>, fault: Option<Fault>) -> Self {
        Self { inner, fault, calls: Arc::default() }
    }

    /// Returns the number of calls so far, with the one that failed.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Tells whether the call that is to fail was made.
    pub fn has_failed(&self) -> bool {
        self.fault.is_some_and(|fault| fault.call <= self.calls())
    }

    async fn pass_on<T>(&self, call: impl Future<Output = Result<T, LedgerError>>) -> Result<T, LedgerError> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let Some(fault) = self.fault.filter(|fault| fault.call == number) else { return call.await };
        if fault.moment == Moment::After {
            call.await?;
        }
        let source = io::Error::other(format!("call {number} was told to fail"));
        Err(LedgerError::Backend { backend: "fault", action: "go on", source: source.into() })
    }
}

#[async_trait]
impl Ledger for FaultLedger {
    async fn apply(&self, rows: &BoundaryRows) -> Result<(), LedgerError> {
        self.pass_on(self.inner.apply(rows)).await
    }

    async fn replace_launch(&self, rows: &LaunchRows) -> Result<(), LedgerError> {
        self.pass_on(self.inner.replace_launch(rows)).await
    }

    async fn reserve(&self, reservation: &Reservation) -> Result<(), LedgerError> {
        self.pass_on(self.inner.reserve(reservation)).await
    }

    async fn release(&self, control_run: &ControlRunId) -> Result<(), LedgerError> {
        self.pass_on(self.inner.release(control_run)).await
    }

    async fn reservation(&self, control_run: &ControlRunId) -> Result<Reservation, LedgerError> {
        self.pass_on(self.inner.reservation(control_run)).await
    }

    async fn reservations(&self) -> Result<Vec<Reservation>, LedgerError> {
        self.pass_on(self.inner.reservations()).await
    }

    async fn launch(&self, id: LaunchId) -> Result<Launch, LedgerError> {
        self.pass_on(self.inner.launch(id)).await
    }

    async fn find_launch(&self, suffix: &IdSuffix) -> Result<Launch, LedgerError> {
        self.pass_on(self.inner.find_launch(suffix)).await
    }

    async fn launches(&self, query: &LaunchQuery) -> Result<Vec<Launch>, LedgerError> {
        self.pass_on(self.inner.launches(query)).await
    }

    async fn turns(&self, launch: LaunchId) -> Result<Vec<TurnRow>, LedgerError> {
        self.pass_on(self.inner.turns(launch)).await
    }

    async fn assets(&self, turn: TurnId) -> Result<Vec<Asset>, LedgerError> {
        self.pass_on(self.inner.assets(turn)).await
    }

    async fn decisions(&self, turn: TurnId) -> Result<Vec<Decision>, LedgerError> {
        self.pass_on(self.inner.decisions(turn)).await
    }

    async fn usage(&self, launch: LaunchId) -> Result<Vec<UsageRow>, LedgerError> {
        self.pass_on(self.inner.usage(launch)).await
    }

    async fn usage_cells(&self, query: &UsageQuery) -> Result<Vec<UsageCell>, LedgerError> {
        self.pass_on(self.inner.usage_cells(query)).await
    }

    async fn uncosted(&self, version: &PriceVersion, limit: u32) -> Result<Vec<UsageRecord>, LedgerError> {
        self.pass_on(self.inner.uncosted(version, limit)).await
    }

    async fn save_costs(&self, version: &PriceVersion, costs: &[CostEntry]) -> Result<(), LedgerError> {
        self.pass_on(self.inner.save_costs(version, costs)).await
    }
}

#[cfg(test)]
mod tests {
    use pollster::block_on;
    use trace_store_memory::MemoryLedger;

    use super::*;
    use crate::samples;

    fn run(moment: Moment) -> (FaultLedger, MemoryLedger) {
        let inner = MemoryLedger::new();
        let ledger = FaultLedger::new(Arc::new(inner.clone()), Some(Fault { call: 2, moment }));
        block_on(ledger.apply(&samples::beginning(1))).unwrap();
        assert!(!ledger.has_failed());
        let error = block_on(ledger.apply(&samples::beginning(2))).unwrap_err();
        assert!(matches!(error, LedgerError::Backend { backend: "fault", .. }));
        assert!(ledger.has_failed());
        block_on(ledger.apply(&samples::beginning(3))).unwrap();
        assert_eq!(ledger.calls(), 3);
        (ledger, inner)
    }

    /// Without a fault it is a ledger as any other.
    mod contract {
        use std::path::Path;

        use super::*;

        fn open(_: &Path) -> Arc<dyn Ledger> {
            Arc::new(FaultLedger::new(Arc::new(MemoryLedger::new()), None))
        }
        crate::ledger_conformance!(open);
    }

    #[test]
    fn costs_are_lost_or_kept_with_the_call_that_saves_them() {
        for (moment, priced) in [(Moment::Before, 0), (Moment::After, 1)] {
            let inner = MemoryLedger::new();
            block_on(inner.replace_launch(&samples::whole_launch(1))).unwrap();
            let ledger = FaultLedger::new(Arc::new(inner), Some(Fault { call: 2, moment }));
            let version = PriceVersion(String::from("prices 1"));
            let record = block_on(ledger.uncosted(&version, 1)).unwrap().remove(0);
            let entries = [CostEntry { record, cost: None }];
            assert!(block_on(ledger.save_costs(&version, &entries)).is_err());
            let query = UsageQuery { price_version: Some(version), ..UsageQuery::default() };
            assert_eq!(block_on(ledger.usage_cells(&query)).unwrap()[0].sum.unpriced, priced);
            assert_eq!(ledger.calls(), 3);
        }
    }

    #[test]
    fn a_call_that_fails_before_did_nothing() {
        let (_, inner) = run(Moment::Before);
        assert!(block_on(inner.launch(samples::launch_id(2))).is_err());
    }

    #[test]
    fn a_call_that_fails_after_was_done() {
        let (ledger, inner) = run(Moment::After);
        assert!(block_on(inner.launch(samples::launch_id(2))).is_ok());
        block_on(ledger.usage(samples::launch_id(2))).unwrap();
        assert_eq!(ledger.calls(), 4);
    }
}
