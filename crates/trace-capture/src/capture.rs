//! The handle of a launch that is being recorded.

mod parents;
mod start;

use std::sync::Arc;

use futures_channel::oneshot;
use trace_attribution::PreparedTurnContext;
use trace_model::{
    event::{ConversationEvent, RawSpan, Receipt},
    id::{LaunchId, RunId, TurnId},
    money::NanoUsd,
    path::ArtifactPath,
    totals::Totals,
    turn::{Basis, Outcome},
    usage::{Agent, UsageReport},
    words::{InputOp, OutputStream, Provider, TokenizerName},
};
use trace_providers::Observed;

pub use parents::{IgnoredVariable, PARENT_LAUNCH_VARIABLE, PARENT_TURN_VARIABLE, Parents, RUN_VARIABLE};
pub use start::{Labels, Start};

use crate::{
    CaptureEnv, CaptureError, CaptureReport, Recorded, StreamEvent,
    recorder::{Begin, BeginTurn, Command, Handle, Live, Recorder},
    recording::{Ending, Input},
    sink::pass,
};

/// Records one launch of an agent.
///
/// A clone records the same launch, from any thread. Everything named `record_…` may be called anywhere: it writes the
/// event into its file, waits for no disk and no ledger, and tells no error. What begins or ends something is
/// asynchronous on any executor, and has a `blocking_…` twin for code without one; the work itself is done on the
/// environment's own thread. It returns when its events are on disk; the ledger is waited for at most 20 ms, and by a
/// launch under control that looks for its reservation at most 1 s more.
///
/// Nothing that goes wrong after [`begin`](Self::begin) reaches the agent: [`status`](Self::status) tells it, and the
/// launch's row says `partial` and why. [`finish`](Self::finish) ends the launch. When the last clone is dropped before
/// that, the launch ends as interrupted.
///
/// ```
/// use std::sync::Arc;
/// use trace_capture::{
///     Capture, CaptureEnv, EnvParts, Home, Labels, MemoryLedger, PreparedTurnContext, Prompts, Recorded, Start,
///     StreamEvent, TokenizerName, model::turn::Outcome, model::words::Provider,
/// };
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// let env = CaptureEnv::new(EnvParts::new(Home::open_real(root)?, Arc::new(MemoryLedger::new())));
/// let labels = Labels::new("run_1".parse()?, "process_1".parse()?, "/repo", "/repo");
/// let prompts = Prompts { system: None, task: Some("Fix the parser.".to_owned()) };
/// let prepared = PreparedTurnContext::from_prompts(TokenizerName::Cl100kBase, prompts);
///
/// let capture = Capture::blocking_begin(&env, labels, prepared, Start::new(Provider::Claude, "headless"))?;
/// capture.record_stream_event(StreamEvent::Text { text: "Done.".to_owned() });
/// capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Capture {
    handle: Option<Arc<Handle>>,
}

impl Capture {
    /// Returns a capture that records nothing.
    pub const fn disabled() -> Self {
        Self { handle: None }
    }

    /// Begins a launch and its first turn. When it returns, their files are published and survive a power cut.
    ///
    /// A launch under control takes over id and start of the reservation that waits for its control run; all else is as
    /// it is said here. If none waits, or the ledger does not say so in time, the launch has an id of its own:
    /// [`CaptureReport::reservation`] tells it. A begin that fails leaves the reservation waiting.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Begin`] and [`CaptureError::FirstEvents`] if the files cannot be published; nothing is left
    /// behind then. So it is if another launch took over the same reservation at the same time.
    /// [`CaptureError::NoRecorder`] if the environment's thread could not be started. A ledger that fails is no error:
    /// see [`CaptureReport::index_pending`].
    pub async fn begin(
        env: &CaptureEnv,
        labels: Labels,
        prepared: PreparedTurnContext,
        start: Start,
    ) -> Result<Self, CaptureError> {
        Self::begin_by(env.recorder(), labels, prepared, start).await
    }

    async fn begin_by(
        recorder: &Recorder,
        labels: Labels,
        prepared: PreparedTurnContext,
        start: Start,
    ) -> Result<Self, CaptureError> {
        let (reply, answer) = oneshot::channel();
        let (labels, prepared, start) = (pass(labels), pass(prepared), pass(start));
        let begin = Begin { labels, prepared, start, recorder: recorder.clone(), reply };
        recorder.send(Command::Begin(Box::new(begin)));
        let handle = answer.await.unwrap_or(Err(CaptureError::NoRecorder))?;
        Ok(Self { handle: Some(Arc::new(handle)) })
    }

    /// Does what [`begin`](Self::begin) does, and blocks this thread meanwhile.
    ///
    /// # Errors
    ///
    /// Those of [`begin`](Self::begin).
    pub fn blocking_begin(
        env: &CaptureEnv,
        labels: Labels,
        prepared: PreparedTurnContext,
        start: Start,
    ) -> Result<Self, CaptureError> {
        pollster::block_on(Self::begin(env, labels, prepared, start))
    }

    /// Begins a turn whose input is a text that goes to a session which the provider keeps.
    ///
    /// Its tokens are counted as those of the turn before it, else in `cl100k_base`.
    ///
    /// # Errors
    ///
    /// Those of [`begin_turn_with`](Self::begin_turn_with).
    pub async fn begin_turn(&self, op: InputOp, text: &str) -> Result<Option<TurnId>, CaptureError> {
        if self.handle.is_none() {
            return Ok(None);
        }
        let tokenizer = self.follow_up_tokenizer();
        self.begin_turn_with(op, PreparedTurnContext::provider_total_only(tokenizer, text), None).await
    }

    /// Does what [`begin_turn`](Self::begin_turn) does, and blocks this thread meanwhile.
    ///
    /// # Errors
    ///
    /// Those of [`begin_turn_with`](Self::begin_turn_with).
    pub fn blocking_begin_turn(&self, op: InputOp, text: &str) -> Result<Option<TurnId>, CaptureError> {
        pollster::block_on(self.begin_turn(op, text))
    }

    /// Begins a turn with that context. A turn that still runs ends as superseded, in the same write.
    ///
    /// It returns the id of the turn, or `None` if the capture is disabled.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Turn`] and [`CaptureError::TurnEvents`] if the turn cannot be written: the turn before it goes
    /// on, and the capture becomes partial. [`CaptureError::Ended`] if the launch has ended. A harness may ignore them.
    pub async fn begin_turn_with(
        &self,
        op: InputOp,
        prepared: PreparedTurnContext,
        basis: Option<Basis>,
    ) -> Result<Option<TurnId>, CaptureError> {
        let Some(handle) = &self.handle else { return Ok(None) };
        let (reply, answer) = oneshot::channel();
        let live = Arc::clone(&handle.live);
        let prepared = pass(prepared);
        handle.recorder.send(Command::BeginTurn(Box::new(BeginTurn { live, op, prepared, basis, reply })));
        answer.await.unwrap_or(Err(CaptureError::NoRecorder)).map(Some)
    }

    /// Does what [`begin_turn_with`](Self::begin_turn_with) does, and blocks this thread meanwhile.
    ///
    /// # Errors
    ///
    /// Those of [`begin_turn_with`](Self::begin_turn_with).
    pub fn blocking_begin_turn_with(
        &self,
        op: InputOp,
        prepared: PreparedTurnContext,
        basis: Option<Basis>,
    ) -> Result<Option<TurnId>, CaptureError> {
        pollster::block_on(self.begin_turn_with(op, prepared, basis))
    }

    /// Ends the running turn; if none runs, it changes nothing.
    pub async fn finish_turn(&self, outcome: Outcome) {
        let Some(handle) = &self.handle else { return };
        let (reply, answer) = oneshot::channel();
        handle.recorder.send(Command::FinishTurn { live: Arc::clone(&handle.live), outcome, reply });
        // A recorder that is gone records nothing, which is no concern of the agent.
        let _ = answer.await;
    }

    /// Does what [`finish_turn`](Self::finish_turn) does, and blocks this thread meanwhile.
    pub fn blocking_finish_turn(&self, outcome: Outcome) {
        pollster::block_on(self.finish_turn(outcome));
    }

    /// Ends the launch. A turn that still runs ends as the launch does, or as `capture_failed` if the capture is
    /// partial.
    ///
    /// Nothing is recorded after it, and a second one changes nothing.
    pub async fn finish(&self, outcome: Outcome, recorded: Recorded) {
        let Some(handle) = &self.handle else { return };
        let (reply, answer) = oneshot::channel();
        let ending = Ending::Finished { outcome, recorded };
        handle.recorder.send(Command::Finish { live: Arc::clone(&handle.live), ending, reply: Some(reply) });
        let _ = answer.await;
    }

    /// Does what [`finish`](Self::finish) does, and blocks this thread meanwhile.
    pub fn blocking_finish(&self, outcome: Outcome, recorded: Recorded) {
        pollster::block_on(self.finish(outcome, recorded));
    }

    /// Ends this launch as failed, and begins another one for the same piece of work: of the same run and process, with
    /// the same labels and surface, and with that text as the message to the session that the provider keeps.
    ///
    /// This launch says `complete` if anything of its exchange was recorded, and `prompt_only` if nothing was. If it
    /// has ended already, it stays as it is. What is recorded through this handle afterwards is recorded nowhere. A
    /// disabled capture returns a disabled one.
    ///
    /// # Errors
    ///
    /// [`CaptureError::UnderControl`] if an orchestrator controls this launch: nothing changes then. Those of
    /// [`begin`](Self::begin) if the other launch cannot be begun: this one has ended all the same.
    pub async fn retry_as_new_launch(
        &self,
        provider: Provider,
        model: Option<String>,
        text: &str,
    ) -> Result<Self, CaptureError> {
        let Some(handle) = &self.handle else { return Ok(Self::disabled()) };
        let header = &handle.live.header;
        if header.control.is_some() {
            return Err(CaptureError::UnderControl);
        }
        let tokenizer = self.follow_up_tokenizer();
        self.finish(Outcome::Failed, handle.live.recorded()).await;
        let prepared = PreparedTurnContext::provider_total_only(tokenizer, text);
        let start = Start {
            model,
            input_op: InputOp::Message,
            raw: header.raw,
            ..Start::new(provider, header.surface.clone())
        };
        Self::begin_by(&handle.recorder, Labels::of(header), prepared, start).await
    }

    /// Does what [`retry_as_new_launch`](Self::retry_as_new_launch) does, and blocks this thread meanwhile.
    ///
    /// # Errors
    ///
    /// Those of [`retry_as_new_launch`](Self::retry_as_new_launch).
    pub fn blocking_retry_as_new_launch(
        &self,
        provider: Provider,
        model: Option<String>,
        text: &str,
    ) -> Result<Self, CaptureError> {
        pollster::block_on(self.retry_as_new_launch(provider, model, text))
    }

    /// Keeps bytes of the provider's output, if the launch keeps them, and takes what they say about its session. It
    /// makes no events of the exchange.
    ///
    /// The launch's session is the first one that the bytes name and that is not the session of a launch beneath this
    /// one: see [`session_owner`](Self::session_owner). When a session is named for the first time, that is looked up
    /// here, in the files of the run; no more than 256 KiB of raw output are read of each launch beneath.
    pub fn record_raw(&self, stream: OutputStream, bytes: &[u8]) {
        if let Some(handle) = &self.handle {
            handle.live.keep_raw(stream, pass(bytes));
            handle.live.take_sessions(Live::RAW_BYTES);
        }
    }

    /// Returns the launch beneath this one that owns a session which was named in the bytes, or `None` if this launch
    /// does.
    ///
    /// The agent may run in a launch of its own, beneath this one, which records the same bytes before they come here.
    /// Of the launches that see a session, the one nearest to the agent owns it, and what is understood of the session
    /// is to be recorded there only. One output may hold sessions of both kinds, so this is to be asked for each
    /// session.
    ///
    /// It reads files of the run, so it is no call for a thread that the agent waits for.
    pub fn session_owner(&self, session: &str) -> Option<LaunchId> {
        self.handle.as_ref().and_then(|handle| handle.live.session_owner(session, u64::MAX))
    }

    /// Keeps the bytes as [`record_raw`](Self::record_raw) does, and returns how long the stream's record is with them;
    /// `None` if they are not on it. The sessions that they name wait for [`take_sessions`](Self::take_sessions).
    pub(crate) fn keep_raw(&self, stream: OutputStream, bytes: &[u8]) -> Option<u64> {
        self.handle.as_ref().and_then(|handle| handle.live.keep_raw(stream, pass(bytes)))
    }

    /// Looks up the sessions that the bytes named so far, and records the first one that is the launch's own.
    pub(crate) fn take_sessions(&self) {
        if let Some(handle) = &self.handle {
            handle.live.take_sessions(u64::MAX);
        }
    }

    /// Tells that an interpreter names the sessions, so that nobody need look for them in the bytes.
    pub(crate) fn stop_scan(&self) {
        if let Some(handle) = &self.handle {
            handle.live.stop_scan();
        }
    }

    /// Records a step of the exchange. One that names a provider's turn goes to the turn which that is.
    pub fn record_conversation(&self, event: ConversationEvent) {
        self.record(|| Input::Conversation { event, agent: Agent::Main, raw: None });
    }

    /// Records a step that an interpreter understood in the bytes of a stream.
    pub fn record_observed(&self, stream: OutputStream, observed: Observed) {
        let Observed { event, agent, span, .. } = observed;
        let raw = span.map(|span| RawSpan { stream, offset: span.start(), len: span.len() });
        self.record(|| Input::Conversation { event, agent, raw });
    }

    /// Records what a stream without items says.
    pub fn record_stream_event(&self, event: StreamEvent) {
        self.record(|| Input::Stream(event));
    }

    /// Records a result that an interpreter understood; `raw` is where it was read. It ends neither turn nor launch,
    /// and its cost is for display: the interpreter reports it as usage too.
    pub fn record_result(
        &self,
        status: Outcome,
        cost_usd: Option<NanoUsd>,
        duration_secs: Option<f64>,
        raw: Option<RawSpan>,
    ) {
        self.record(|| Input::Result { status, cost_usd, duration_secs, raw });
    }

    /// Records usage. It counts to the turn that its key was first seen in, else to the running or the last turn.
    pub fn record_usage(&self, report: UsageReport) {
        self.record(|| Input::Usage(report));
    }

    /// Records what the provider said about itself. It fills only what is not known.
    pub fn record_receipt(&self, receipt: Receipt) {
        self.record(|| Input::Observed(receipt));
    }

    /// Sets the provider's id of the session, in place of what was known.
    pub fn set_provider_session_id(&self, id: &str) {
        self.record(|| Input::Stated(Receipt { provider_session_id: Some(id.to_owned()), ..Receipt::default() }));
    }

    /// Sets the file that the provider keeps the session in, in place of what was known.
    pub fn set_provider_session_path(&self, path: &str) {
        self.record(|| Input::Stated(Receipt { provider_session_path: Some(path.to_owned()), ..Receipt::default() }));
    }

    /// Returns the launch's id, or `None` if the capture is disabled.
    pub fn launch_id(&self) -> Option<LaunchId> {
        self.handle.as_ref().map(|handle| handle.live.id)
    }

    /// Returns where the launch's files are, or `None` if the capture is disabled.
    pub fn artifact_dir(&self) -> Option<ArtifactPath> {
        self.handle.as_ref().map(|handle| handle.live.dir.clone())
    }

    /// Returns the id of the launch's run, or `None` if the capture is disabled.
    pub fn run_id(&self) -> Option<RunId> {
        self.handle.as_ref().map(|handle| handle.live.header.run_id.clone())
    }

    /// Returns the turn that runs, if one does.
    pub fn running_turn(&self) -> Option<TurnId> {
        self.handle.as_ref().and_then(|handle| handle.live.running_turn())
    }

    /// Returns how recording goes.
    pub fn status(&self) -> CaptureReport {
        self.handle.as_ref().map(|handle| handle.live.report()).unwrap_or_default()
    }

    /// Returns what the launch's usage adds up to by its own events, or `None` if it has ended or is disabled.
    pub(crate) fn totals(&self) -> Option<Totals> {
        self.handle.as_ref().and_then(|handle| handle.live.totals())
    }

    /// Takes note of something that went wrong around the capture: it makes the capture partial.
    pub(crate) fn record_trouble(&self, reason: &str) {
        if let Some(handle) = &self.handle {
            handle.live.take_trouble(reason);
        }
    }

    /// Returns the encoding that the tokens of a text after the last turn are counted in.
    fn follow_up_tokenizer(&self) -> TokenizerName {
        let known = self.handle.as_ref().and_then(|handle| handle.live.tokenizer());
        known.unwrap_or(TokenizerName::Cl100kBase)
    }

    fn record(&self, input: impl FnOnce() -> Input) {
        if let Some(handle) = &self.handle {
            handle.live.record(pass(input()));
        }
    }
}
