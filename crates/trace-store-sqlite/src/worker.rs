//! The thread that owns the connection.

use std::{
    io,
    path::PathBuf,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use futures_channel::oneshot;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use trace_model::ledger::LedgerError;

use crate::{
    error::{BACKEND, Cause, Failure},
    schema,
};

/// How long the thread sleeps before it tries again what another process stood in the way of, where SQLite itself did
/// not wait.
const PAUSE: Duration = Duration::from_millis(2);

/// The connection, with what its errors have to say and how long it waits.
pub(crate) struct Store {
    pub(crate) connection: Connection,
    pub(crate) place: PathBuf,
    pub(crate) patience: Duration,
}

impl Store {
    /// Does the work in one transaction that is durable when this returns. On an error nothing of it remains.
    pub(crate) fn write<T>(
        &mut self,
        action: &'static str,
        work: impl Fn(&Transaction<'_>) -> Result<T, Cause>,
    ) -> Result<T, LedgerError> {
        self.transaction(TransactionBehavior::Immediate, action, work)
    }

    /// Does the work on one state of the ledger.
    pub(crate) fn read<T>(
        &mut self,
        action: &'static str,
        work: impl Fn(&Transaction<'_>) -> Result<T, Cause>,
    ) -> Result<T, LedgerError> {
        self.transaction(TransactionBehavior::Deferred, action, work)
    }

    /// Does the work on one state of the ledger, and keeps what it yields beside its answer if that can be done at
    /// once: whoever writes now is not waited for, and nothing is lost but time.
    pub(crate) fn read_and_keep<T, K>(
        &mut self,
        action: &'static str,
        work: impl Fn(&Transaction<'_>) -> Result<(T, Option<K>), Cause>,
        keep: impl Fn(&Transaction<'_>, &K) -> Result<(), Cause>,
    ) -> Result<T, LedgerError> {
        let Self { connection, place, patience } = self;
        let result = patiently(*patience, || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
            schema::check_format(&transaction)?;
            let (value, kept) = work(&transaction)?;
            if let Some(kept) = kept {
                transaction.busy_timeout(Duration::ZERO)?;
                // The state is still the one that was read: where another one was written, this is refused.
                let _ = keep(&transaction, &kept).and_then(|()| Ok(transaction.commit()?));
                connection.busy_timeout(*patience)?;
            }
            Ok(value)
        });
        result.map_err(|cause| Failure { place, action, cause }.into())
    }

    fn transaction<T>(
        &mut self,
        behavior: TransactionBehavior,
        action: &'static str,
        work: impl Fn(&Transaction<'_>) -> Result<T, Cause>,
    ) -> Result<T, LedgerError> {
        let Self { connection, place, patience } = self;
        let result = patiently(*patience, || {
            let transaction = connection.transaction_with_behavior(behavior)?;
            schema::check_format(&transaction)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        });
        result.map_err(|cause| Failure { place, action, cause }.into())
    }
}

/// Tries until something else than another process stands in the way, or the patience is at its end.
pub(crate) fn patiently<T>(patience: Duration, mut attempt: impl FnMut() -> Result<T, Cause>) -> Result<T, Cause> {
    let start = Instant::now();
    loop {
        match attempt() {
            Err(cause) if cause.is_busy() && start.elapsed() < patience => thread::sleep(PAUSE),
            result => return result,
        }
    }
}

/// One piece of work for the thread; it sends its own answer.
type Command = Box<dyn FnOnce(&mut Store) + Send>;

/// A way to the thread. The thread ends when the last one is dropped and all work that was sent is done.
#[derive(Clone)]
pub(crate) struct Worker {
    commands: mpsc::Sender<Command>,
}

impl Worker {
    /// Starts the thread.
    pub(crate) fn start(mut store: Store) -> io::Result<Self> {
        let (commands, queue) = mpsc::channel::<Command>();
        thread::Builder::new().name(String::from("trace-sqlite")).spawn(move || {
            for command in queue {
                command(&mut store);
            }
        })?;
        Ok(Self { commands })
    }

    /// Sends the work and waits for its answer. Work that was sent is done, even if nobody waits for it any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let (answer, answered) = oneshot::channel();
        let command: Command = Box::new(move |store| {
            // Whoever asked may have gone.
            let _ = answer.send(work(store));
        });
        let closed = || LedgerError::Closed { backend: BACKEND };
        self.commands.send(command).map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}
