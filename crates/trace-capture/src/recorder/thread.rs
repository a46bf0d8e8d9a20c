//! The loop of the recorder's thread.

use std::{
    any::Any,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use trace_model::id::LaunchId;

use super::{Command, Commands, Live, index::Index, lookups::Lookups};
use crate::{
    CaptureEnv, EnvParts,
    artifacts::{SyncHandles, TurnWriter},
    backend::OwnLedger,
    error::reason_of,
};

/// How long after a write its file is synced. It is promised within 100 ms, and a sync takes its time.
const SYNC_DELAY: Duration = Duration::from_millis(50);

/// What the thread knows and does.
pub(super) struct Thread {
    pub(super) parts: EnvParts,
    pub(super) commands: Commands,
    /// The launches that have not ended.
    pub(super) open: BTreeMap<LaunchId, OpenLaunch>,
    pub(super) index: Index,
    pub(super) own_ledger: OwnLedger,
    pub(super) lookups: Lookups,
    /// When what was written is synced, if something was.
    sync_at: Option<Instant>,
    unsynced: BTreeMap<LaunchId, Arc<Live>>,
    /// Those who wait until everything was tried.
    flushes: Vec<mpsc::Sender<()>>,
    /// When the thread ends at the latest, once nobody needs it any more.
    end_by: Option<Instant>,
}

/// What the thread needs of a launch that has not ended.
pub(super) struct OpenLaunch {
    pub(super) sync: SyncHandles,
    pub(super) turns: TurnWriter,
}

impl Thread {
    pub(super) fn new(parts: EnvParts, commands: Commands) -> Self {
        let waker = commands.waker();
        let own_ledger = OwnLedger::of(&parts.home);
        let index = Index::new(Arc::clone(&parts.ledger), parts.home.clone(), waker.clone());
        let lookups = Lookups::new(Arc::clone(&parts.ledger), waker);
        Self {
            parts,
            commands,
            open: BTreeMap::new(),
            index,
            own_ledger,
            lookups,
            sync_at: None,
            unsynced: BTreeMap::new(),
            flushes: Vec::new(),
            end_by: None,
        }
    }

    /// Does what is asked for until nobody can ask any more and all is done.
    pub(super) fn run(mut self, inbox: &mpsc::Receiver<Command>) {
        loop {
            let command = match inbox.try_recv() {
                Ok(command) => Some(command),
                Err(_) if self.rests() => return,
                Err(_) => match self.next_deadline() {
                    None => inbox.recv().ok(),
                    Some(at) => inbox.recv_timeout(at.saturating_duration_since(Instant::now())).ok(),
                },
            };
            if let Some(command) = command {
                let launch = command.launch();
                self.or_tell(launch, |thread| thread.obey(command));
            }
            for ready in self.lookups.take_ready(Instant::now()) {
                self.or_tell(None, |thread| thread.begin(ready));
            }
            if self.sync_at.is_some_and(|at| at <= Instant::now()) {
                self.sync_written();
            }
            self.index.drive(Instant::now());
        }
    }

    /// Tells those who wait for it that nothing is left to do, and tells whether the thread ends.
    fn rests(&mut self) -> bool {
        let now = Instant::now();
        let idle = self.lookups.is_empty() && self.index.is_idle(now);
        if idle {
            for flush in self.flushes.drain(..) {
                // Whoever waited may have stopped to.
                let _ = flush.send(());
            }
        }
        self.end_by.is_some_and(|at| idle || at <= now)
    }

    fn next_deadline(&self) -> Option<Instant> {
        [self.sync_at, self.lookups.next_deadline(), self.index.next_deadline(), self.end_by]
            .into_iter()
            .flatten()
            .min()
    }

    /// Works; what panics in it, such as a clock of the harness's own, is a trouble of that launch and of no other.
    fn or_tell(&mut self, launch: Option<Arc<Live>>, work: impl FnOnce(&mut Self)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(self))) {
            let reason = format!("the recorder panicked: {}", panic_text(&*panic));
            if let Some(live) = launch {
                live.take_trouble(&reason);
            } else {
                tracing::warn!(reason, "a launch was not recorded");
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Begin(begin) => self.ask_and_begin(begin),
            Command::BeginTurn(begin) => self.begin_turn(*begin),
            Command::FinishTurn { live, outcome, reply } => self.finish_turn(&live, outcome, reply),
            Command::Finish { live, ending, reply } => self.finish(&live, ending, reply),
            Command::Written(live) => {
                self.sync_at.get_or_insert_with(|| Instant::now() + SYNC_DELAY);
                self.unsynced.insert(live.id, live);
            }
            Command::LedgerReady => {}
            Command::Flush(reply) => {
                self.catch_up();
                self.flushes.push(reply);
            }
            Command::Close => {
                self.catch_up();
                self.end_by = Some(Instant::now() + CaptureEnv::FLUSH_LIMIT);
            }
        }
    }

    /// Syncs now, lets the ledger be offered everything, and marks what it does not take at once.
    fn catch_up(&mut self) {
        self.sync_written();
        self.index.hurry(Instant::now());
        self.index.drive(Instant::now());
        self.index.defer_all();
    }

    /// Syncs what was written. Only then the ledger learns of it: it never knows more than the files.
    fn sync_written(&mut self) {
        self.sync_at = None;
        for live in std::mem::take(&mut self.unsynced).into_values() {
            live.rearm();
            self.sync(&live);
            if live.has_changes() {
                self.index.note(&live);
            }
        }
    }

    /// Waits until everything that was written of the launch is on disk.
    pub(super) fn sync(&mut self, live: &Live) {
        let Some(open) = self.open.get(&live.id) else { return };
        if let Err(error) = open.sync.sync() {
            live.take_trouble(&reason_of(&error));
        }
    }
}

/// Returns what a panic said.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
