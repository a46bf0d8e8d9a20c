//! A launch that is being recorded, as its handles and the recorder's thread share it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use trace_model::{
    context::TurnContext,
    event::Receipt,
    fold::Boundary,
    id::{LaunchId, TurnId},
    launch::LaunchHeader,
    path::ArtifactPath,
    rows::BoundaryRows,
    totals::Totals,
    words::{OutputStream, TokenizerName},
};

use super::{
    Command, Recorder, ReservationUse,
    nesting::{NamedSession, SessionScan},
};
use crate::{
    EnvParts,
    artifacts::{AppendError, Home, LaunchFiles, WrittenTurn},
    env::Clock,
    error::reason_of,
    recording::{Batch, Ending, Input, Recorded, Recording, Trouble},
    sink::Passed,
};

/// How recording a launch goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureReport {
    /// The ledger is behind: the rows of the launch will be tried again.
    pub index_pending: bool,
    /// The number of events that could not be written.
    pub lost_events: u64,
    /// The first trouble, in words. It makes the capture partial.
    pub trouble: Option<String>,
    /// The first launch beneath this one that owns a session which is seen on its streams, as long as it has none of
    /// its own: see [`Capture::session_owner`](crate::Capture::session_owner).
    pub yielded_to: Option<LaunchId>,
    /// What became of the reservation that the launch was to take over.
    pub reservation: ReservationUse,
}

/// The launch of a [`Capture`](crate::Capture). Dropped without an end, it lets the launch end.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) live: Arc<Live>,
    pub(crate) recorder: Recorder,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.recorder.send(Command::Finish { live: Arc::clone(&self.live), ending: Ending::Dropped, reply: None });
    }
}

/// A launch that is being recorded.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) id: LaunchId,
    /// What it was begun as.
    pub(crate) header: LaunchHeader,
    /// Where its files are.
    pub(crate) dir: ArtifactPath,
    home: Home,
    clock: Arc<dyn Clock>,
    commands: super::Commands,
    state: Mutex<State>,
    /// The thread knows that there is something to sync.
    noticed: AtomicBool,
    index_pending: AtomicBool,
    reservation: ReservationUse,
}

#[derive(Debug)]
enum State {
    Open(Box<Writer>),
    /// The launch ended, and the thread has its last changes.
    Closed {
        report: CaptureReport,
        tokenizer: Option<TokenizerName>,
    },
}

/// The machine and the files that it decides about. One lock holds both, for one write at a time.
#[derive(Debug)]
pub(super) struct Writer {
    recording: Recording,
    files: LaunchFiles,
    batch: Batch,
    scan: SessionScan,
    /// How many bytes of both streams were seen.
    seen: u64,
    /// The sessions that were found to be those of launches beneath.
    beneath: BTreeMap<String, LaunchId>,
    /// Rows changed that the ledger does not know of.
    boundary: bool,
}

impl Writer {
    pub(super) fn new(recording: Recording, files: LaunchFiles) -> Self {
        Self {
            scan: SessionScan::new(recording.launch().header.provider.clone()),
            seen: 0,
            beneath: BTreeMap::new(),
            recording,
            files,
            batch: Batch::new(),
            boundary: false,
        }
    }

    /// Lets the machine decide, writes what it decides, and tells it what came of it.
    pub(super) fn write(
        &mut self,
        input: Input,
        clock: &dyn Clock,
        context: Option<TurnContext>,
    ) -> Result<(), AppendError> {
        self.recording.decide(input, clock.now(), &mut self.batch);
        if self.batch.is_empty() {
            return Ok(());
        }
        match self.files.append(self.batch.bytes()) {
            Ok(()) => {
                self.boundary |= self.recording.commit(&self.batch, context) == Boundary::Reached;
                Ok(())
            }
            Err(error) => {
                let reason = reason_of(&error);
                let trouble = self.recording.lose(&self.batch, &reason);
                warn_first(trouble, self.recording.launch().header.id, &reason);
                Err(error)
            }
        }
    }

    /// Returns the next session that is to be looked up. None is, once the launch has one.
    fn next_named(&mut self) -> Option<String> {
        if self.recording.is_closed() || self.recording.launch().provider_session_id.is_some() {
            self.scan.stop();
        }
        self.scan.next()
    }

    fn take_trouble(&mut self, reason: &str) {
        let trouble = self.recording.take_trouble(reason);
        warn_first(trouble, self.recording.launch().header.id, reason);
    }

    pub(super) fn files_mut(&mut self) -> &mut LaunchFiles {
        &mut self.files
    }

    pub(super) fn into_files(self) -> LaunchFiles {
        self.files
    }

    fn report(&self) -> CaptureReport {
        CaptureReport {
            lost_events: self.recording.lost_events(),
            trouble: self.recording.trouble().map(str::to_owned),
            yielded_to: self.recording.yielded_to(),
            ..CaptureReport::default()
        }
    }
}

impl Live {
    /// How much raw output of a launch beneath is read by those who cannot wait.
    pub(crate) const RAW_BYTES: u64 = 256 << 10;

    pub(super) fn new(
        writer: Writer,
        reservation: ReservationUse,
        parts: &EnvParts,
        commands: super::Commands,
    ) -> Self {
        let header = writer.recording.launch().header.clone();
        Self {
            id: header.id,
            dir: header.artifact_dir(),
            header,
            home: parts.home.clone(),
            clock: Arc::clone(&parts.clock),
            commands,
            state: Mutex::new(State::Open(Box::new(writer))),
            noticed: AtomicBool::new(false),
            index_pending: AtomicBool::new(false),
            reservation,
        }
    }

    /// Records the input. It waits for no disk and tells no error: what goes wrong is noted in the launch.
    pub(crate) fn record(self: &Arc<Self>, input: Passed<Input>) {
        if let State::Open(writer) = &mut *self.state() {
            let _ = writer.write(input.into_inner(), &*self.clock, None);
        }
        self.notice();
    }

    /// Keeps the bytes, if the launch keeps the provider's output, and looks for sessions in them. It returns where the
    /// stream's record ends with the bytes, if they are on it.
    pub(crate) fn keep_raw(self: &Arc<Self>, stream: OutputStream, bytes: Passed<&[u8]>) -> Option<u64> {
        let bytes = bytes.into_inner();
        let mut end = None;
        if let State::Open(writer) = &mut *self.state() {
            if writer.recording.is_closed() {
                return None;
            }
            if writer.recording.launch().header.raw {
                match writer.files.append_raw(stream, self.clock.now(), bytes) {
                    Ok(new_end) => end = Some(new_end),
                    Err(error) => writer.take_trouble(&reason_of(&error)),
                }
            }
            writer.seen = writer.seen.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            writer.scan.push(stream, bytes);
        }
        self.notice();
        end
    }

    /// Looks for no more sessions in the bytes: somebody reads them who knows better.
    pub(crate) fn stop_scan(&self) {
        self.with_writer(|writer| writer.scan.stop());
    }

    /// Looks up the sessions that were found in the bytes, and records the first one that is the launch's own. Of each
    /// launch beneath, no more than so much raw output is read.
    pub(crate) fn take_sessions(&self, raw_bytes: u64) {
        while let Some(session) = self.with_writer(Writer::next_named).flatten() {
            if self.session_owner(&session, raw_bytes).is_none() {
                let receipt = Receipt { provider_session_id: Some(session), ..Receipt::default() };
                // What cannot be written is noted in the launch.
                self.with_writer(|writer| drop(writer.write(Input::Observed(receipt), &*self.clock, None)));
            }
        }
    }

    /// Returns the launch beneath this one that owns the session, if one does. Nothing is locked while it is looked
    /// for.
    pub(crate) fn session_owner(&self, session: &str, raw_bytes: u64) -> Option<LaunchId> {
        let (known, seen) = self.with_writer(|writer| (writer.beneath.get(session).copied(), writer.seen))?;
        if known.is_some() {
            return known;
        }
        let named = NamedSession { outer: &self.header, session, raw_bytes: raw_bytes.min(seen) };
        let owner = named.owner_beneath(&self.home)?;
        self.with_writer(|writer| {
            writer.recording.yield_to(owner);
            writer.beneath.insert(session.to_owned(), owner);
        });
        Some(owner)
    }

    fn with_writer<T>(&self, act: impl FnOnce(&mut Writer) -> T) -> Option<T> {
        match &mut *self.state() {
            State::Open(writer) => Some(act(writer)),
            State::Closed { .. } => None,
        }
    }

    /// Tells the thread, unless it knows, that there is something to sync.
    fn notice(self: &Arc<Self>) {
        if !self.noticed.swap(true, Ordering::AcqRel) {
            self.commands.send(Command::Written(Arc::clone(self)));
        }
    }

    /// Lets the next write be noticed again. What was written before is synced after this.
    pub(super) fn rearm(&self) {
        self.noticed.store(false, Ordering::Release);
    }

    /// Returns what is recorded of the exchange; nothing is known of a launch that has ended.
    pub(crate) fn recorded(&self) -> Recorded {
        match &*self.state() {
            State::Open(writer) => writer.recording.recorded(),
            State::Closed { .. } => Recorded::PromptOnly,
        }
    }

    pub(crate) fn running_turn(&self) -> Option<TurnId> {
        match &*self.state() {
            State::Open(writer) => writer.recording.running_turn().map(|turn| turn.id),
            State::Closed { .. } => None,
        }
    }

    /// Returns the encoding of the last turn's token counts.
    pub(crate) fn tokenizer(&self) -> Option<TokenizerName> {
        match &*self.state() {
            State::Open(writer) => writer.recording.tokenizer(),
            State::Closed { tokenizer, .. } => *tokenizer,
        }
    }

    /// Returns what the usage adds up to, while the launch is open.
    pub(crate) fn totals(&self) -> Option<Totals> {
        match &*self.state() {
            State::Open(writer) => Some(writer.recording.totals()),
            State::Closed { .. } => None,
        }
    }

    pub(crate) fn report(&self) -> CaptureReport {
        let report = match &*self.state() {
            State::Open(writer) => writer.report(),
            State::Closed { report, .. } => report.clone(),
        };
        let index_pending = self.index_pending.load(Ordering::Acquire);
        CaptureReport { index_pending, reservation: self.reservation, ..report }
    }

    pub(super) fn set_index_pending(&self, pending: bool) {
        self.index_pending.store(pending, Ordering::Release);
    }

    pub(crate) fn take_trouble(&self, reason: &str) {
        if let State::Open(writer) = &mut *self.state() {
            writer.take_trouble(reason);
        }
    }

    /// Returns the ordinal of the next turn, or `None` if the launch takes no more of them.
    pub(super) fn next_ordinal(&self) -> Option<u32> {
        match &*self.state() {
            State::Open(writer) if !writer.recording.is_closed() => Some(writer.recording.next_ordinal()),
            _ => None,
        }
    }

    /// Opens a turn whose files are on disk; the one that runs is superseded.
    pub(super) fn open_turn(
        &self,
        input: Input,
        written: &WrittenTurn,
        context: TurnContext,
    ) -> Result<(), AppendError> {
        let State::Open(writer) = &mut *self.state() else { return Ok(()) };
        writer.write(input, &*self.clock, Some(context))?;
        writer.files.add_turn(written);
        Ok(())
    }

    /// Ends the running turn.
    pub(super) fn write(&self, input: Input) {
        if let State::Open(writer) = &mut *self.state() {
            let _ = writer.write(input, &*self.clock, None);
        }
    }

    /// Lets the launch end so: its running turn ends, and nothing else is recorded.
    pub(super) fn begin_end(&self, ending: Ending) {
        self.with_writer(|writer| writer.scan.end());
        self.take_sessions(Self::RAW_BYTES);
        if let State::Open(writer) = &mut *self.state() {
            writer.recording.begin_end(ending);
            let _ = writer.write(Input::Close, &*self.clock, None);
        }
    }

    /// Writes the line that ends the launch, and tells whether the launch has ended.
    pub(super) fn end(&self) -> bool {
        let State::Open(writer) = &mut *self.state() else { return true };
        let files = match writer.files.file_hashes() {
            Ok(files) => files,
            Err(error) => {
                writer.take_trouble(&reason_of(&error));
                return false;
            }
        };
        writer.write(Input::EndLaunch { files }, &*self.clock, None).is_ok() && writer.recording.has_ended()
    }

    /// Tells whether rows changed that the ledger does not know of.
    pub(super) fn has_changes(&self) -> bool {
        matches!(&*self.state(), State::Open(writer) if writer.boundary)
    }

    /// Returns what changed since the last call. An ended launch is closed by it.
    pub(super) fn take_changes(&self) -> Option<BoundaryRows> {
        let mut state = self.state();
        let State::Open(writer) = &mut *state else { return None };
        let changes = std::mem::take(&mut writer.boundary).then(|| writer.recording.take_changes());
        if writer.recording.has_ended() {
            *state = State::Closed { report: writer.report(), tokenizer: writer.recording.tokenizer() };
        }
        changes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic is a bug of ours or of the harness's clock, and no reason to take the agent down with it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn warn_first(trouble: Trouble, launch: LaunchId, reason: &str) {
    if trouble == Trouble::First {
        tracing::warn!(%launch, reason, "the capture is partial");
    }
}
