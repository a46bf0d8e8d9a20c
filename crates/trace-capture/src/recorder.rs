//! The recorder: one thread per environment, which does all that waits.
//!
//! Threads that record write events themselves and wait for nothing. Whatever waits for a disk or for the ledger
//! happens here: the files of launches and turns, syncing, and the ledger's futures, which are polled between the rest,
//! so that a ledger that does not answer keeps nothing else from happening.
//!
//! `live` is a launch as handles and thread share it, `thread` the loop, `lookups` what is asked before a launch under
//! control begins, `boundaries` what opens and ends launches and turns, `nesting` whose session is seen, and `index`
//! what the ledger is behind with. The thread gets its work in the order in which it was asked for.

mod boundaries;
mod index;
mod live;
mod lookups;
mod nesting;
mod thread;

use std::{
    fmt,
    sync::{Arc, mpsc},
    task::{Wake, Waker},
    thread::JoinHandle,
    time::Duration,
};

use futures_channel::oneshot;
use trace_attribution::PreparedTurnContext;
use trace_model::{
    id::TurnId,
    turn::{Basis, Outcome},
    words::InputOp,
};

pub use live::CaptureReport;
pub(crate) use live::{Handle, Live};
pub use lookups::ReservationUse;

use crate::{
    CaptureError, EnvParts,
    capture::{Labels, Start},
    recording::Ending,
    sink::Passed,
};

/// The way to the recorder's thread. A clone leads to the same one; when the last one is gone, the thread ends.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    commands: Arc<OwnedCommands>,
}

/// What the thread is asked to do.
pub(crate) enum Command {
    /// Begin a launch.
    Begin(Box<Begin>),
    /// Begin a turn.
    BeginTurn(Box<BeginTurn>),
    /// End the running turn.
    FinishTurn { live: Arc<Live>, outcome: Outcome, reply: oneshot::Sender<()> },
    /// End the launch. Nobody waits for one that was dropped.
    Finish { live: Arc<Live>, ending: Ending, reply: Option<oneshot::Sender<()>> },
    /// Something was written that is to be synced soon.
    Written(Arc<Live>),
    /// The ledger has something to say.
    LedgerReady,
    /// Bring everything to disk and into the ledger, and tell when it was tried.
    Flush(mpsc::Sender<()>),
    /// Nobody will ask for anything any more.
    Close,
}

impl Command {
    /// Returns the launch that it is about, if that has begun.
    fn launch(&self) -> Option<Arc<Live>> {
        match self {
            Self::BeginTurn(begin) => Some(Arc::clone(&begin.live)),
            Self::FinishTurn { live, .. } | Self::Finish { live, .. } | Self::Written(live) => Some(Arc::clone(live)),
            Self::Begin(_) | Self::LedgerReady | Self::Flush(_) | Self::Close => None,
        }
    }
}

/// A launch that is to begin.
pub(crate) struct Begin {
    pub(crate) labels: Passed<Labels>,
    pub(crate) prepared: Passed<PreparedTurnContext>,
    pub(crate) start: Passed<Start>,
    /// What the launch's handles lead to.
    pub(crate) recorder: Recorder,
    pub(crate) reply: oneshot::Sender<Result<Handle, CaptureError>>,
}

/// A turn that is to begin.
pub(crate) struct BeginTurn {
    pub(crate) live: Arc<Live>,
    pub(crate) op: InputOp,
    pub(crate) prepared: Passed<PreparedTurnContext>,
    pub(crate) basis: Option<Basis>,
    pub(crate) reply: oneshot::Sender<Result<TurnId, CaptureError>>,
}

/// Sends commands to the thread. Where it is gone, they are dropped, and with them the other end of their replies.
#[derive(Clone)]
pub(crate) struct Commands(mpsc::Sender<Command>);

impl Commands {
    pub(crate) fn send(&self, command: Command) {
        // Whoever waits for an answer sees that it will not come.
        let _ = self.0.send(command);
    }

    /// Returns what wakes the thread when the ledger has something to say.
    fn waker(&self) -> Waker {
        Waker::from(Arc::new(Ring(self.clone())))
    }
}

/// Wakes the thread when the ledger has something to say.
struct Ring(Commands);

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.0.send(Command::LedgerReady);
    }
}

impl fmt::Debug for Commands {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Commands")
    }
}

/// Lets the thread end when it is dropped.
#[derive(Debug)]
struct OwnedCommands {
    commands: Commands,
    /// The thread, if it could be started.
    thread: Option<JoinHandle<()>>,
}

impl Drop for OwnedCommands {
    fn drop(&mut self) {
        self.commands.send(Command::Close);
    }
}

/// Answers one who may have stopped to wait.
fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    let _ = reply.send(value);
}

impl Recorder {
    /// Starts the thread. If the system refuses, every launch is refused too.
    pub(crate) fn start(parts: EnvParts) -> Self {
        let (sender, inbox) = mpsc::channel();
        let commands = Commands(sender);
        let thread = thread::Thread::new(parts, commands.clone());
        let spawned = std::thread::Builder::new().name("trace-recorder".to_owned()).spawn(move || thread.run(&inbox));
        if let Err(error) = &spawned {
            tracing::warn!(reason = %error, "could not start the recorder's thread");
        }
        Self { commands: Arc::new(OwnedCommands { commands, thread: spawned.ok() }) }
    }

    pub(crate) fn send(&self, command: Command) {
        self.commands.commands.send(command);
    }

    /// Waits until what was recorded so far is synced and was offered to the ledger, but not longer than the limit. If
    /// nobody else needs the thread, it has ended then, and let go of the ledger.
    pub(crate) fn flush(&mut self, limit: Duration) {
        let (reply, done) = mpsc::channel();
        self.send(Command::Flush(reply));
        // Neither a slow ledger nor a dead thread is the harness's concern.
        let is_done = done.recv_timeout(limit).is_ok();
        let Some(owned) = Arc::get_mut(&mut self.commands).filter(|_| is_done) else { return };
        owned.commands.send(Command::Close);
        if let Some(thread) = owned.thread.take() {
            // It has nothing left to do; what panics in it is caught there.
            let _ = thread.join();
        }
    }
}
