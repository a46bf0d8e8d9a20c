//! What the ledger is asked before a launch under control begins: which id it was promised.
//!
//! The questions are driven beside each other and beside everything else, so that a ledger that does not answer keeps
//! no other launch from anything.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use trace_model::{
    control::{Control, Reservation},
    ledger::{Ledger, LedgerError},
    words::ReservationState,
};

use super::{Begin, thread::panic_text};
use crate::error::reason_of;

/// How long a launch under control waits for the ledger to name its reservation.
///
/// It is longer than any boundary waits. A boundary is made up for later, but an id is for good: an orchestrator that
/// was promised one would look for a launch that never comes. It is waited for once, before the agent is started.
const RESERVATION_WAIT: Duration = Duration::from_secs(1);

/// What became of the reservation that a launch was to take over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReservationUse {
    /// The launch is under nobody's control, so that none was asked for.
    #[default]
    NotAsked,
    /// The launch has the id and the start of the reservation.
    Taken,
    /// None waits for the control run. The launch has an id of its own.
    NoneWaiting,
    /// The ledger failed, or did not answer in time. The launch has an id of its own, and the reservation may wait on.
    Unanswered,
}

/// A launch that may begin now.
pub(super) struct Ready {
    pub(super) begin: Box<Begin>,
    /// The reservation that it takes over.
    pub(super) reservation: Option<Reservation>,
    pub(super) reservation_use: ReservationUse,
}

impl Ready {
    /// Returns a launch that nobody reserved.
    pub(super) const fn without_reservation(begin: Box<Begin>) -> Self {
        Self { begin, reservation: None, reservation_use: ReservationUse::NotAsked }
    }

    /// Returns a launch of which nobody can tell whether it was reserved.
    pub(super) fn unanswered(begin: Box<Begin>, control: &Control, reason: &str) -> Self {
        let control_run = &control.run_id;
        tracing::warn!(%control_run, reason, "the reservation is not known; the launch has an id of its own");
        Self { begin, reservation: None, reservation_use: ReservationUse::Unanswered }
    }
}

/// The launches that wait for the ledger's word.
pub(super) struct Lookups {
    ledger: Arc<dyn Ledger>,
    waker: Waker,
    pending: Vec<Lookup>,
}

struct Lookup {
    begin: Box<Begin>,
    control: Control,
    limit: Instant,
    answer: Answer,
}

type Answer = Pin<Box<dyn Future<Output = Result<Reservation, LedgerError>> + Send>>;

impl Lookups {
    pub(super) const fn new(ledger: Arc<dyn Ledger>, waker: Waker) -> Self {
        Self { ledger, waker, pending: Vec::new() }
    }

    /// Asks for the reservation of the launch's control run.
    pub(super) fn ask(&mut self, begin: Box<Begin>, control: Control, now: Instant) {
        let (ledger, run) = (Arc::clone(&self.ledger), control.run_id.clone());
        let answer = Box::pin(async move { ledger.reservation(&run).await });
        self.pending.push(Lookup { begin, control, limit: now + RESERVATION_WAIT, answer });
    }

    /// Tells whether no launch waits.
    pub(super) const fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Returns when a launch has waited enough.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.pending.iter().map(|lookup| lookup.limit).min()
    }

    /// Returns the launches that need not wait any longer.
    pub(super) fn take_ready(&mut self, now: Instant) -> Vec<Ready> {
        let mut ready = Vec::new();
        for mut lookup in std::mem::take(&mut self.pending) {
            match lookup.poll(&self.waker) {
                Poll::Pending if now < lookup.limit => self.pending.push(lookup),
                Poll::Pending => ready.push(lookup.begin_without("the ledger does not answer")),
                Poll::Ready(Ok(reservation)) => ready.push(lookup.begin_with(reservation)),
                Poll::Ready(Err(reason)) => ready.push(lookup.begin_without(&reason)),
            }
        }
        ready
    }
}

impl Lookup {
    /// Asks for the answer: the reservation that waits, if one does, or in words why that is not known.
    fn poll(&mut self, waker: &Waker) -> Poll<Result<Option<Reservation>, String>> {
        let mut context = Context::from_waker(waker);
        match catch_unwind(AssertUnwindSafe(|| self.answer.as_mut().poll(&mut context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(Ok(reservation))) => {
                Poll::Ready(Ok(Some(reservation).filter(|found| found.state == ReservationState::Waiting)))
            }
            Ok(Poll::Ready(Err(LedgerError::NotFound { .. }))) => Poll::Ready(Ok(None)),
            Ok(Poll::Ready(Err(error))) => Poll::Ready(Err(reason_of(&error))),
            Err(panic) => Poll::Ready(Err(format!("the ledger panicked: {}", panic_text(&*panic)))),
        }
    }

    fn begin_with(self, reservation: Option<Reservation>) -> Ready {
        let Self { begin, control, .. } = self;
        let reservation_use = if reservation.is_some() { ReservationUse::Taken } else { ReservationUse::NoneWaiting };
        if reservation.is_none() {
            let control_run = &control.run_id;
            tracing::warn!(%control_run, "no reservation waits for the control run; its launch has an id of its own");
        }
        Ready { begin, reservation, reservation_use }
    }

    fn begin_without(self, reason: &str) -> Ready {
        Ready::unanswered(self.begin, &self.control, reason)
    }
}
