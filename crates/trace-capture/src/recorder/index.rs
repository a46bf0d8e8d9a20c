//! What the ledger is behind with, and the future that brings it on.
//!
//! A launch is here at most once, so that what is kept here is bounded by the number of launches: its changes stay in
//! its own machine until they are applied. What the ledger did not take is not kept at all. The launch is folded anew
//! from its files and replaced as a whole, which is right whatever the ledger did with the part.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use futures_channel::oneshot;
use trace_model::{id::LaunchId, ledger::Ledger, path::ArtifactPath};

use super::{Live, thread::panic_text};
use crate::{
    artifacts::{ArtifactError, Home},
    error::reason_of,
    reindex::{FoldedLaunch, launch_rows},
};

/// How long a boundary waits for the ledger.
pub(super) const LEDGER_WAIT: Duration = Duration::from_millis(20);
/// How long a call of the ledger may take before it is given up.
const CALL_LIMIT: Duration = Duration::from_secs(10);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// The ledger, and what it is behind with.
pub(super) struct Index {
    ledger: Arc<dyn Ledger>,
    home: Home,
    waker: Waker,
    behind: BTreeMap<LaunchId, Behind>,
    call: Option<Call>,
    waiters: Vec<Waiter>,
    /// The launches that this process has marked, and that are still behind.
    deferred: BTreeSet<LaunchId>,
}

struct Behind {
    live: Arc<Live>,
    need: Need,
}

/// What brings a launch's rows up to date.
#[derive(Debug, Clone, Copy)]
enum Need {
    /// Its latest changes.
    Changes,
    /// All of its rows, after that many calls that failed.
    Rows { failures: u32, at: Instant },
}

struct Call {
    live: Arc<Live>,
    failures: u32,
    limit: Instant,
    answer: Answer,
}

/// What a call of the ledger comes to; its error is told in words.
type Answer = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Someone who waits until the ledger knows a launch, but not longer than the limit.
struct Waiter {
    live: Arc<Live>,
    limit: Instant,
    reply: Box<dyn FnOnce() + Send>,
}

impl Index {
    pub(super) fn new(ledger: Arc<dyn Ledger>, home: Home, waker: Waker) -> Self {
        Self {
            ledger,
            home,
            waker,
            behind: BTreeMap::new(),
            call: None,
            waiters: Vec::new(),
            deferred: BTreeSet::new(),
        }
    }

    /// Notes that the launch has changes.
    pub(super) fn note(&mut self, live: &Arc<Live>) {
        let behind = || Behind { live: Arc::clone(live), need: Need::Changes };
        self.behind.entry(live.id).or_insert_with(behind);
    }

    /// Calls `reply` once the ledger knows the launch, or has failed, or the time is over.
    pub(super) fn wait_for(&mut self, live: &Arc<Live>, now: Instant, reply: impl FnOnce() + Send + 'static) {
        self.waiters.push(Waiter { live: Arc::clone(live), limit: now + LEDGER_WAIT, reply: Box::new(reply) });
    }

    /// Lets everything that waits for its next try be tried now.
    pub(super) fn hurry(&mut self, now: Instant) {
        for behind in self.behind.values_mut() {
            if let Need::Rows { at, .. } = &mut behind.need {
                *at = now;
            }
        }
    }

    /// Tells whether everything was tried.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.call.is_none() && self.next_due(now).is_none()
    }

    /// Returns when something is to be done again, if nobody comes before.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let calls = self.call.iter().map(|call| call.limit);
        let retries = self.behind.values().filter_map(|behind| match behind.need {
            Need::Rows { at, .. } if self.call.is_none() => Some(at),
            _ => None,
        });
        calls.chain(retries).chain(self.waiters.iter().map(|waiter| waiter.limit)).min()
    }

    /// Brings the ledger on as far as it goes without waiting.
    pub(super) fn drive(&mut self, now: Instant) {
        loop {
            match self.call.take() {
                Some(call) => {
                    if let Some(pending) = self.poll(call, now) {
                        self.call = Some(pending);
                        break;
                    }
                }
                None => match self.next_due(now) {
                    Some(launch) => self.start(launch, now),
                    None => break,
                },
            }
        }
        self.answer_waiters(now);
    }

    fn next_due(&self, now: Instant) -> Option<LaunchId> {
        let is_due = |behind: &Behind| match behind.need {
            Need::Changes => true,
            Need::Rows { at, .. } => at <= now,
        };
        self.behind.iter().find(|(_, behind)| is_due(behind)).map(|(launch, _)| *launch)
    }

    fn start(&mut self, launch: LaunchId, now: Instant) {
        let Some(Behind { live, need }) = self.behind.remove(&launch) else { return };
        let ledger = Arc::clone(&self.ledger);
        let changes = live.take_changes();
        let (failures, answer): (u32, Answer) = match need {
            Need::Changes => {
                let Some(rows) = changes else { return };
                (0, Box::pin(async move { ledger.apply(&rows).await.map_err(|error| reason_of(&error)) }))
            }
            Need::Rows { failures, .. } => (failures, self.replacement(&live)),
        };
        self.call = Some(Call { live, failures, limit: now + CALL_LIMIT, answer });
    }

    /// Folds the launch anew from its files and replaces its rows.
    ///
    /// The files are read on a thread of their own, for they may be large, and this one has other launches to sync. A
    /// turn that opens meanwhile may be among the rows that are read and among the next changes too. Then the ledger
    /// refuses those, and the launch is folded once more.
    fn replacement(&self, live: &Live) -> Answer {
        let (home, dir, ledger) = (self.home.clone(), live.dir.clone(), Arc::clone(&self.ledger));
        let (reply, folded) = oneshot::channel::<Result<FoldedLaunch, ArtifactError>>();
        let fold = move || drop(reply.send(launch_rows(&home, &dir)));
        let spawned = std::thread::Builder::new().name("trace-fold".to_owned()).spawn(fold);
        Box::pin(async move {
            spawned.map_err(|error| reason_of(&error))?;
            let folded = folded.await.map_err(|_| "the files of the launch could not be read".to_owned())?;
            let rows = folded.map_err(|error| reason_of(&error))?.rows;
            ledger.replace_launch(&rows).await.map_err(|error| reason_of(&error))
        })
    }

    /// Asks the ledger for its answer, and returns the call if there is none yet.
    fn poll(&mut self, mut call: Call, now: Instant) -> Option<Call> {
        let mut context = Context::from_waker(&self.waker);
        let polled = catch_unwind(AssertUnwindSafe(|| call.answer.as_mut().poll(&mut context)));
        match polled {
            Ok(Poll::Pending) if now < call.limit => return Some(call),
            Ok(Poll::Pending) => {
                self.fail(call.live, call.failures, "the ledger does not answer", now);
                // What stands behind it would wait as long; nothing is kept for a ledger like that.
                for behind in self.behind.values_mut().filter(|behind| matches!(behind.need, Need::Changes)) {
                    behind.live.take_changes();
                    behind.live.set_index_pending(true);
                    behind.need = Need::Rows { failures: 1, at: now + FIRST_RETRY };
                }
            }
            Ok(Poll::Ready(Ok(()))) => self.succeed(&call),
            Ok(Poll::Ready(Err(reason))) => self.fail(call.live, call.failures, &reason, now),
            Err(panic) => {
                let reason = format!("the ledger panicked: {}", panic_text(&*panic));
                self.fail(call.live, call.failures, &reason, now);
            }
        }
        None
    }

    /// Marks the launch, so that whoever opens the ledger next brings it in.
    pub(super) fn defer(&self, launch: &ArtifactPath) {
        if let Err(error) = self.home.defer(launch) {
            // `trace reindex` finds it all the same.
            tracing::warn!(%launch, reason = reason_of(&error), "the launch could not be marked as not indexed");
        }
    }

    /// Marks what the ledger is behind with, for this process may end before it has caught up.
    pub(super) fn defer_all(&mut self) {
        let called = self.call.iter().map(|call| &call.live);
        let behind = called.chain(self.behind.values().map(|behind| &behind.live)).map(Arc::clone);
        for live in behind.collect::<Vec<_>>() {
            self.defer_once(&live);
        }
    }

    fn defer_once(&mut self, live: &Live) {
        if self.deferred.insert(live.id) {
            self.defer(&live.dir);
        }
    }

    fn succeed(&mut self, call: &Call) {
        call.live.set_index_pending(false);
        if !self.behind.contains_key(&call.live.id) && self.deferred.remove(&call.live.id) {
            // A marker that stays lets the launch be folded once more, and that is all.
            let _ = self.home.forget_deferred(&call.live.dir);
        }
    }

    fn fail(&mut self, live: Arc<Live>, failures: u32, reason: &str, now: Instant) {
        if failures == 0 {
            tracing::warn!(launch = %live.id, reason, "the ledger did not take the launch; it is tried again");
        }
        self.defer_once(&live);
        live.set_index_pending(true);
        let delay = FIRST_RETRY.saturating_mul(1 << failures.min(16)).min(LAST_RETRY);
        let need = Need::Rows { failures: failures.saturating_add(1), at: now + delay };
        self.behind.insert(live.id, Behind { live, need });
    }

    fn answer_waiters(&mut self, now: Instant) {
        let is_behind = |live: &Live| {
            let called = self.call.as_ref().is_some_and(|call| call.live.id == live.id);
            called || matches!(self.behind.get(&live.id), Some(Behind { need: Need::Changes, .. }))
        };
        let mut late = Vec::new();
        for waiter in self.waiters.extract_if(.., |waiter| waiter.limit <= now || !is_behind(&waiter.live)) {
            if is_behind(&waiter.live) {
                waiter.live.set_index_pending(true);
                late.push(Arc::clone(&waiter.live));
            }
            (waiter.reply)();
        }
        // A ledger that is slow now may be so until this process is killed.
        for live in late {
            self.defer_once(&live);
        }
    }
}
