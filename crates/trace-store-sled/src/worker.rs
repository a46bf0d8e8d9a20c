//! The thread that owns the database.

use std::{
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
};

use futures_channel::oneshot;
use trace_model::ledger::LedgerError;

use crate::{
    database::Database,
    error::{BACKEND, Cause, Failure},
};

/// Does the work, in which sled may panic where it finds what it did not expect.
pub(crate) fn without_panic<T>(work: impl FnOnce() -> Result<T, Cause>) -> Result<T, Cause> {
    // Whoever catches a panic gives up the database, so that nothing is seen half done.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Cause::of_panic(&*panic)))
}

/// Whether the thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    /// The database is of no more use: what was sent and not done is answered as [`LedgerError::Closed`].
    Stop,
}

/// One piece of work for the thread; it sends its own answer.
type Command = Box<dyn FnOnce(&Database) -> Next + Send>;

/// A way to the thread. When the last one is dropped, all work that was sent is done, and the database is closed.
#[derive(Clone)]
pub(crate) struct Worker {
    thread: Arc<Thread>,
}

struct Thread {
    place: PathBuf,
    /// Both are there until this is dropped.
    commands: Option<mpsc::Sender<Command>>,
    handle: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread. Errors call the database by `place`.
    pub(crate) fn start(database: Database, place: &Path) -> io::Result<Self> {
        let (commands, queue) = mpsc::channel::<Command>();
        let handle = thread::Builder::new().name(String::from("trace-sled")).spawn(move || {
            for command in queue {
                if command(&database) == Next::Stop {
                    break;
                }
            }
            // sled writes once more when it is closed.
            let _ = without_panic(|| {
                drop(database);
                Ok(())
            });
        })?;
        let thread = Thread { place: place.to_path_buf(), commands: Some(commands), handle: Some(handle) };
        Ok(Self { thread: Arc::new(thread) })
    }

    /// Sends the work and waits for its answer. Work that was sent is done, even if nobody waits for it any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Database) -> Result<T, Cause> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let closed = || LedgerError::Closed { backend: BACKEND };
        let (answer, answered) = oneshot::channel();
        let place = self.thread.place.clone();
        let command: Command = Box::new(move |database| {
            let result = without_panic(|| work(database));
            let is_over = database.is_broken() || matches!(result, Err(Cause::Panicked(_)));
            // Whoever asked may have gone.
            let _ = answer.send(result.map_err(|cause| Failure { place: &place, action, cause }.into()));
            if is_over { Next::Stop } else { Next::GoOn }
        });
        self.thread.commands.as_ref().ok_or_else(closed)?.send(command).map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Worker").field(&self.thread.place).finish()
    }
}

impl Drop for Thread {
    /// Waits until the database is closed, so that it can be opened again at once.
    fn drop(&mut self) {
        self.commands = None;
        if let Some(handle) = self.handle.take() {
            // An answer may wake a task that holds the last handle and ends, on the thread itself.
            if handle.thread().id() != thread::current().id() {
                // Whatever panicked there was caught.
                let _ = handle.join();
            }
        }
    }
}
