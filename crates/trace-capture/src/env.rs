//! What recording needs from the world: time, ids, the machine's name, files and a ledger.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use trace_model::{
    control::{Control, Reservation},
    id::{ControlRunId, LaunchId},
    ledger::Ledger,
    timestamp::Timestamp,
    words::{Provider, ReservationState},
};
use uuid::{ContextV7, Uuid};

use crate::{CaptureError, artifacts::Home, backend::OwnLedger, recorder::Recorder, sink::pass};

/// Tells the time.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the time of the moment.
    fn now(&self) -> Timestamp;
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Timestamp::UNIX_EPOCH + since_1970
    }
}

/// Makes ids.
pub trait IdSource: fmt::Debug + Send + Sync {
    /// Returns a UUID that was never returned before and is greater than all that this source returned.
    fn next(&self, now: Timestamp) -> Uuid;
}

/// Makes UUIDs of version 7: the time in milliseconds, a counter, and randomness.
#[derive(Debug, Default)]
pub struct UuidV7Source {
    context: Mutex<ContextV7>,
}

impl IdSource for UuidV7Source {
    fn next(&self, now: Timestamp) -> Uuid {
        let micros = u64::try_from(now.as_micros()).unwrap_or(0);
        let nanos = u32::try_from(micros % 1_000_000).unwrap_or(0) * 1_000;
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        Uuid::new_v7(uuid::Timestamp::from_unix(&*context, micros / 1_000_000, nanos))
    }
}

/// The machine that launches are recorded on, as far as its harness names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// The harness's own id of the machine.
    pub machine_id: Option<String>,
    /// The host name.
    pub hostname: Option<String>,
    /// The user of the operating system.
    pub os_user: Option<String>,
}

/// Whether the rows of what is recorded are in the home's own ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rows {
    /// They are, or the ledger is one that nobody will look into again.
    #[default]
    Kept,
    /// The home's ledger cannot be opened now: each launch is marked, and
    /// [`index_deferred`](crate::reindex::index_deferred) brings it in later.
    Deferred,
}

/// What a [`CaptureEnv`] is made of.
#[derive(Debug, Clone)]
pub struct EnvParts {
    /// Where artifacts go.
    pub home: Home,
    /// Where rows go.
    pub ledger: Arc<dyn Ledger>,
    /// Whether that is the home's own ledger.
    pub rows: Rows,
    /// The clock of all events.
    pub clock: Arc<dyn Clock>,
    /// The source of the ids of launches and turns.
    pub ids: Arc<dyn IdSource>,
    /// The machine.
    pub machine: Machine,
}

impl EnvParts {
    /// Returns the usual parts: the system's clock, random ids, and a machine of which nothing is said.
    pub fn new(home: Home, ledger: Arc<dyn Ledger>) -> Self {
        Self {
            home,
            ledger,
            rows: Rows::Kept,
            clock: Arc::new(SystemClock),
            ids: Arc::new(UuidV7Source::default()),
            machine: Machine::default(),
        }
    }
}

/// Where launches are recorded: a home, a ledger, and the thread that writes to both.
///
/// A clone shares all of it. When the last one is dropped, it waits until what was recorded so far is synced and in the
/// ledger, at most [`FLUSH_LIMIT`](CaptureEnv::FLUSH_LIMIT): drop it after the captures, and not on a thread that must
/// not block. A ledger that only one may have open is free then, unless the ledger was too slow. Captures that outlive
/// the environment go on recording, and keep the ledger.
#[derive(Debug, Clone)]
pub struct CaptureEnv {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    recorder: Recorder,
    home: Home,
    ledger: Arc<dyn Ledger>,
    rows: Rows,
    own_ledger: OwnLedger,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl CaptureEnv {
    /// How long the last handle of an environment waits for the ledger when it is dropped.
    pub const FLUSH_LIMIT: Duration = Duration::from_secs(2);

    /// Returns an environment of those parts. Its thread starts now and ends when nothing needs it any more.
    pub fn new(parts: EnvParts) -> Self {
        let EnvParts { home, ledger, rows, clock, ids, .. } = parts.clone();
        let own_ledger = OwnLedger::of(&home);
        let recorder = Recorder::start(parts);
        Self { shared: Arc::new(Shared { recorder, home, ledger, rows, own_ledger, clock, ids }) }
    }

    /// Reserves a launch for the control run: its id is certain from now on, and its start is now.
    ///
    /// The first launch that is begun with a control of that run takes it over, in this process or another one with the
    /// same ledger. Until then [`release`](Self::release) gives it up.
    ///
    /// There is no agent yet that could be held up, so the ledger is waited for, and its errors are told.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Reserve`] if the ledger does not take it, above all because another one waits for the run;
    /// [`CaptureError::NoLedger`] if the ledger is not the home's own: it could not be opened, see [`Rows::Deferred`],
    /// or the home is or was moved to another one. Whether it was reserved is not known if that happened just now.
    pub async fn reserve(
        &self,
        control: Control,
        provider: Provider,
        model: Option<String>,
        surface: impl Into<String>,
    ) -> Result<Reservation, CaptureError> {
        let ledger = self.own_ledger()?;
        let Shared { clock, ids, .. } = &*self.shared;
        let reserved_at = clock.now();
        let reservation = pass(Reservation {
            control,
            launch_id: LaunchId::from_uuid(ids.next(reserved_at)),
            provider,
            model,
            surface: surface.into(),
            reserved_at,
            state: ReservationState::Waiting,
        });
        let reservation = reservation.into_inner();
        ledger.reserve(&reservation).await.map_err(CaptureError::Reserve)?;
        // A move that began meanwhile may have missed it.
        self.check_own()?;
        Ok(reservation)
    }

    /// Does what [`reserve`](Self::reserve) does, and blocks this thread meanwhile.
    ///
    /// # Errors
    ///
    /// Those of [`reserve`](Self::reserve).
    pub fn blocking_reserve(
        &self,
        control: Control,
        provider: Provider,
        model: Option<String>,
        surface: impl Into<String>,
    ) -> Result<Reservation, CaptureError> {
        pollster::block_on(self.reserve(control, provider, model, surface))
    }

    /// Gives up the reservation of the control run. One that was given up before stays so.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Release`] if there is none, its launch has begun, or the ledger fails;
    /// [`CaptureError::NoLedger`] as of [`reserve`](Self::reserve).
    pub async fn release(&self, control_run: &ControlRunId) -> Result<(), CaptureError> {
        self.own_ledger()?.release(control_run).await.map_err(CaptureError::Release)?;
        self.check_own()
    }

    /// Does what [`release`](Self::release) does, and blocks this thread meanwhile.
    ///
    /// # Errors
    ///
    /// Those of [`release`](Self::release).
    pub fn blocking_release(&self, control_run: &ControlRunId) -> Result<(), CaptureError> {
        pollster::block_on(self.release(control_run))
    }

    /// Returns the ledger if it is the home's own: a reservation in another one would be lost.
    fn own_ledger(&self) -> Result<&dyn Ledger, CaptureError> {
        match self.shared.rows {
            Rows::Kept => self.check_own().map(|()| &*self.shared.ledger),
            Rows::Deferred => Err(self.no_ledger()),
        }
    }

    /// Checks that the home has this ledger still.
    fn check_own(&self) -> Result<(), CaptureError> {
        if self.shared.own_ledger.has_moved() { Err(self.no_ledger()) } else { Ok(()) }
    }

    fn no_ledger(&self) -> CaptureError {
        CaptureError::NoLedger { home: self.shared.home.root().to_path_buf() }
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.shared.recorder
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.recorder.flush(CaptureEnv::FLUSH_LIMIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ascend_even_where_the_clock_goes_back() {
        let source = UuidV7Source::default();
        let millis = [5, 5, 9, 2, 2, 9, 1, 10].into_iter().cycle().take(10_000);
        let times = millis.filter_map(|millis| Timestamp::from_micros(1_790_000_000_000_000 + millis * 1_000));
        let ids: Vec<_> = times.map(|now| source.next(now)).collect();
        assert!(ids.is_sorted_by(|earlier, later| earlier < later));
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
    }
}
