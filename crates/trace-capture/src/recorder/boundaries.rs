//! What opens and ends launches and turns, on the recorder's thread.
//!
//! Each waits for the disk and then, for a moment, for the ledger; the caller waits for the answer, and other threads
//! go on recording.

use std::{sync::Arc, time::Instant};

use futures_channel::oneshot;
use trace_attribution::{PreparedChannel, PreparedTurnContext};
use trace_model::{
    context::TurnContext,
    control::Reservation,
    event::SCHEMA_VERSION,
    id::{LaunchId, TurnId},
    launch::LaunchHeader,
    timestamp::Timestamp,
    turn::{Basis, Outcome, Turn, TurnState},
    words::InputOp,
};

use super::{
    Begin, BeginTurn, Handle, Live, ReservationUse, answer,
    live::Writer,
    lookups::Ready,
    thread::{OpenLaunch, Thread},
};
use crate::{
    CaptureError, EnvParts, Rows,
    artifacts::{ArtifactError, Claim, LaunchFiles, TurnFiles, TurnWriter, WrittenTurn},
    capture::{Labels, Start},
    error::reason_of,
    recording::{Ending, Input, Recording},
};

/// Who a launch is.
struct Identity {
    header: LaunchHeader,
    first: FirstTurn,
    reservation_use: ReservationUse,
    /// That its reserved id is its own.
    claim: Option<Claim>,
}

/// What is said about the first turn of a launch.
struct FirstTurn {
    op: InputOp,
    gather_ms: u64,
    render_ms: u64,
    basis: Option<Basis>,
}

/// A turn that is to be opened.
struct NewTurn {
    launch_id: LaunchId,
    ordinal: u32,
    op: InputOp,
    prepared: PreparedTurnContext,
    gather_ms: u64,
    render_ms: u64,
    basis: Option<Basis>,
}

/// A turn whose files are on disk.
struct StagedTurn {
    id: TurnId,
    input: Input,
    written: WrittenTurn,
    context: TurnContext,
}

impl Thread {
    /// Begins the launch: one under control once it is known whether it was reserved.
    pub(super) fn ask_and_begin(&mut self, begin: Box<Begin>) {
        match begin.start.as_inner().control.clone() {
            None => self.begin(Ready::without_reservation(begin)),
            // The ledger that has the reservation, if there is one, cannot be opened now.
            Some(control) if self.parts.rows == Rows::Deferred => {
                self.begin(Ready::unanswered(begin, &control, "the ledger cannot be opened now"));
            }
            Some(control) => self.lookups.ask(begin, control, Instant::now()),
        }
    }

    pub(super) fn begin(&mut self, ready: Ready) {
        let Ready { begin, reservation, reservation_use } = ready;
        let Begin { labels, prepared, start, recorder, reply } = *begin;
        let prepared = prepared.into_inner();
        let published = self
            .identify(labels.into_inner(), start.into_inner(), reservation, reservation_use)
            .and_then(|identity| self.publish(identity, prepared));
        let live = match published {
            Ok(live) => live,
            Err(error) => return answer(reply, Err(error)),
        };
        // Whoever does not wait any more drops the handle, and the launch ends.
        let handle = Handle { live: Arc::clone(&live), recorder };
        self.index.note(&live);
        self.index.wait_for(&live, Instant::now(), move || answer(reply, Ok(handle)));
    }

    /// Says who the launch is: who it was reserved as, if no other launch was faster, else somebody new.
    fn identify(
        &self,
        labels: Labels,
        mut start: Start,
        reservation: Option<Reservation>,
        mut reservation_use: ReservationUse,
    ) -> Result<Identity, CaptureError> {
        let new = || {
            let now = self.parts.clock.now();
            (LaunchId::from_uuid(self.parts.ids.next(now)), now)
        };
        let first = FirstTurn {
            op: start.input_op,
            gather_ms: start.gather_ms,
            render_ms: start.render_ms,
            basis: start.basis.take(),
        };
        let Some(Reservation { launch_id, reserved_at, control, .. }) = reservation else {
            let (id, started_at) = new();
            let header = header(id, started_at, labels, start, &self.parts);
            return Ok(Identity { header, first, reservation_use, claim: None });
        };
        let mut header = header(launch_id, reserved_at, labels, start, &self.parts);
        let claim = match self.parts.home.claim(&header) {
            Ok(claim) => Some(claim),
            Err(ArtifactError::AlreadyExists { .. }) => {
                let control_run = &control.run_id;
                tracing::warn!(%control_run, "another launch took the reservation; this one has an id of its own");
                reservation_use = ReservationUse::NoneWaiting;
                (header.id, header.started_at) = new();
                None
            }
            Err(error) => return Err(CaptureError::Begin(error)),
        };
        Ok(Identity { header, first, reservation_use, claim })
    }

    fn publish(&mut self, identity: Identity, prepared: PreparedTurnContext) -> Result<Arc<Live>, CaptureError> {
        let Identity { header, first: FirstTurn { op, gather_ms, render_ms, basis }, reservation_use, claim } =
            identity;
        let (id, dir) = (header.id, header.artifact_dir());
        let turn = NewTurn { launch_id: id, ordinal: 1, op, prepared, gather_ms, render_ms, basis };
        let files = LaunchFiles::stage(&self.parts.home, &header).map_err(CaptureError::Begin)?;
        let mut writer = Writer::new(Recording::new(header), files);
        let open = match self.fill(&mut writer, turn) {
            Ok(open) => open,
            Err(error) => {
                writer.into_files().discard();
                return Err(error);
            }
        };
        self.open.insert(id, open);
        claim.into_iter().for_each(Claim::keep);
        if self.parts.rows == Rows::Deferred || self.own_ledger.has_moved() {
            self.index.defer(&dir);
        }
        Ok(Arc::new(Live::new(writer, reservation_use, &self.parts, self.commands.clone())))
    }

    /// Writes the first turn into the staged files, and publishes them.
    fn fill(&self, writer: &mut Writer, turn: NewTurn) -> Result<OpenLaunch, CaptureError> {
        let mut turns = writer.files_mut().turn_writer();
        let staged = stage_turn(&self.parts, &mut turns, turn).map_err(CaptureError::Begin)?;
        let StagedTurn { input, written, context, .. } = staged;
        writer.write(input, &*self.parts.clock, Some(context)).map_err(CaptureError::FirstEvents)?;
        let files = writer.files_mut();
        files.add_turn(&written);
        files.publish().map_err(CaptureError::Begin)?;
        let sync = files.sync_handles().map_err(CaptureError::Begin)?;
        Ok(OpenLaunch { sync, turns: files.turn_writer() })
    }

    pub(super) fn begin_turn(&mut self, begin: BeginTurn) {
        let BeginTurn { live, op, prepared, basis, reply } = begin;
        match self.open_turn(&live, op, prepared.into_inner(), basis) {
            Ok(turn) => self.settle(&live, move || answer(reply, Ok(turn))),
            Err(error) => {
                if let CaptureError::Turn(source) = &error {
                    live.take_trouble(&reason_of(source));
                }
                answer(reply, Err(error));
            }
        }
    }

    fn open_turn(
        &mut self,
        live: &Arc<Live>,
        op: InputOp,
        prepared: PreparedTurnContext,
        basis: Option<Basis>,
    ) -> Result<TurnId, CaptureError> {
        let open = self.open.get_mut(&live.id).ok_or(CaptureError::Ended)?;
        let ordinal = live.next_ordinal().ok_or(CaptureError::Ended)?;
        let turn = NewTurn { launch_id: live.id, ordinal, op, prepared, gather_ms: 0, render_ms: 0, basis };
        let staged = stage_turn(&self.parts, &mut open.turns, turn).map_err(CaptureError::Turn)?;
        let StagedTurn { id, input, written, context } = staged;
        live.open_turn(input, &written, context).map_err(|error| {
            open.turns.remove(&written);
            CaptureError::TurnEvents(error)
        })?;
        Ok(id)
    }

    pub(super) fn finish_turn(&mut self, live: &Arc<Live>, outcome: Outcome, reply: oneshot::Sender<()>) {
        live.write(Input::EndTurn(outcome));
        self.settle(live, move || answer(reply, ()));
    }

    pub(super) fn finish(&mut self, live: &Arc<Live>, ending: Ending, reply: Option<oneshot::Sender<()>>) {
        let reply = move || reply.into_iter().for_each(|reply| answer(reply, ()));
        if !self.open.contains_key(&live.id) {
            return reply();
        }
        // What this sync finds is still told by an event, and by the turn's end.
        self.sync(live);
        self.look_for(live);
        live.begin_end(ending);
        // What this one finds, by the launch's end.
        self.sync(live);
        let ended = live.end();
        self.sync(live);
        // A launch whose end could not be written stays open: the end is tried again when its last handle is dropped,
        // and then no more.
        if ended || ending == Ending::Dropped {
            self.open.remove(&live.id);
        }
        if live.has_changes() {
            self.index.note(live);
        }
        self.index.wait_for(live, Instant::now(), reply);
    }

    /// Notes that the files of the launch are not where they were made, if so: an open file can be written to long
    /// after it was removed, and what is written so is lost.
    fn look_for(&self, live: &Live) {
        if self.parts.home.open_launch(&live.dir).is_err_and(|error| error.is_not_found()) {
            live.take_trouble("the files of the launch were removed while it was recorded");
        }
    }

    /// Syncs the launch, offers its changes to the ledger, and replies when that came to something.
    fn settle(&mut self, live: &Arc<Live>, reply: impl FnOnce() + Send + 'static) {
        self.sync(live);
        if live.has_changes() {
            self.index.note(live);
        }
        self.index.wait_for(live, Instant::now(), reply);
    }
}

/// Writes and syncs the files of a turn.
fn stage_turn(parts: &EnvParts, turns: &mut TurnWriter, turn: NewTurn) -> Result<StagedTurn, ArtifactError> {
    let NewTurn { launch_id, ordinal, op, prepared, gather_ms, render_ms, basis } = turn;
    let started_at = parts.clock.now();
    let id = TurnId::from_uuid(parts.ids.next(started_at));
    let context = TurnContext {
        schema_version: SCHEMA_VERSION,
        turn_id: id,
        coverage: prepared.coverage(),
        tokenizer: prepared.tokenizer(),
        assets: prepared.assets().cloned().collect(),
        decisions: prepared.decisions().to_vec(),
    };
    let (system, task) = (prepared.system(), prepared.task());
    let written = turns.write(&TurnFiles {
        ordinal,
        system: system.map(PreparedChannel::text),
        task: task.map(PreparedChannel::text),
        context: &context,
    })?;
    let persisted = parts.clock.now().since(started_at);
    let turn = Turn {
        id,
        launch_id,
        ordinal,
        provider_turn_id: None,
        started_at,
        state: TurnState::Running,
        input_op: op,
        context_coverage: prepared.coverage(),
        tokenizer: prepared.tokenizer(),
        system_prompt_path: written.system_prompt_path.clone(),
        task_prompt_path: written.task_prompt_path.clone(),
        system_tokens: system.map(PreparedChannel::tokens),
        task_tokens: task.map(PreparedChannel::tokens),
        supplied_context_tokens: prepared.total_tokens(),
        context_gather_ms: gather_ms,
        context_render_ms: render_ms,
        context_persist_ms: u64::try_from(persisted.as_millis()).unwrap_or(u64::MAX),
        first_event_seq: None,
        last_event_seq: None,
        root_output: None,
        basis,
    };
    let input = Input::OpenTurn {
        turn: Box::new(turn),
        context_sha256: written.context_sha256,
        text: task.map(|channel| channel.text().to_owned()),
    };
    Ok(StagedTurn { id, input, written, context })
}

fn header(id: LaunchId, started_at: Timestamp, labels: Labels, start: Start, parts: &EnvParts) -> LaunchHeader {
    let machine = parts.machine.clone();
    LaunchHeader {
        schema_version: SCHEMA_VERSION,
        id,
        run_id: labels.run_id,
        process_id: labels.process_id,
        parent_launch_id: labels.parent_launch_id,
        parent_turn_id: labels.parent_turn_id,
        started_at,
        repo: labels.repo,
        worktree: labels.worktree,
        wave: labels.wave,
        project: labels.project,
        task: labels.task,
        flow: labels.flow,
        skill: labels.skill,
        tags: labels.tags,
        machine_id: machine.machine_id,
        hostname: machine.hostname,
        os_user: machine.os_user,
        provider: start.provider,
        model: start.model,
        surface: start.surface,
        raw: start.raw,
        control: start.control,
    }
}
