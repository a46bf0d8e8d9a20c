//! Running an agent under capture.
//!
//! The agent keeps what it would have without us: our terminal, process group, session and standard input, and an
//! output that goes on to whoever reads ours. Of the output, what is no terminal passes through a pipe, and is recorded
//! on its way.
//!
//! ```text
//! agent ── stdout ──> pump ──> our stdout        record first, then pass on; nothing else
//!                      │ \
//!                      │  raw/stdout             the record, which is also the queue
//!                      │      \
//!                      └ bell ─> interpretation  behind the pump: events, usage, turns
//! agent ── stderr ──> pump ──> our stderr        recorded, not interpreted
//! signals ──────────> agent                      what the terminal did not send to it anyway
//! ```
//!
//! [`Exec::run`] is the way in. `streams` judges the outputs, `pump` passes one on, `growth` is the bell,
//! `interpretation` and `turns` make events and turns, `process`, `signals` and `stop` look after the process. Nothing
//! here reads the environment; what the agent gets beyond ours are the variables that name the launch and its home to a
//! recorder inside of it.

mod growth;
mod interpretation;
mod process;
mod pump;
mod reading;
mod record;
mod session_file;
mod signals;
mod stop;
mod streams;
mod turns;

use std::{
    borrow::Cow,
    ffi::OsString,
    io::{self, Read, Write as _},
    iter, path,
    process::Command,
    sync::Arc,
    thread,
};

use trace_attribution::PreparedTurnContext;
use trace_model::{
    id::LaunchId,
    path::ArtifactPath,
    totals::Totals,
    turn::Outcome,
    words::{OutputStream, Provider},
};
use trace_providers::{
    Note, interpreter_for,
    recognise::{self, SessionStart},
};

use self::{
    process::Process,
    pump::PumpEnd,
    reading::{Output, Reading},
};
use crate::{
    Capture, CaptureEnv, CaptureError, Clock, Labels, Parents, Recorded, Start, SystemClock,
    artifacts::{ArtifactError, Home},
};

pub use crate::capture::{PARENT_LAUNCH_VARIABLE, PARENT_TURN_VARIABLE, RUN_VARIABLE};
pub use process::ProcessEnd;
pub use session_file::{SessionFile, SessionLookup};
pub use signals::restore_signals;
pub use streams::Outputs;

/// The variable that names the home to a recorder inside of the agent, so that it is the same one, wherever ours was
/// named.
pub const HOME_VARIABLE: &str = "TRACE_HOME";

/// An agent that is to be run.
#[derive(Debug)]
pub struct Exec {
    /// The program and its arguments.
    pub command: AgentCommand,
    /// What the agent finds on its standard input.
    pub input: AgentInput,
    /// Where its output goes.
    pub outputs: Outputs,
    /// The provider whose rules the output is read by; `None` for the one that the command names, if it has rules, else
    /// to find that out from the output.
    pub provider: Option<Provider>,
    /// Where the agent's own session file is looked for if its output tells no usage; `None` for nowhere.
    pub lookup: Option<SessionLookup>,
}

/// A program and its arguments.
#[derive(Debug, Clone)]
pub struct AgentCommand {
    /// The program: a path, or a name that is looked up as a shell would.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl AgentCommand {
    fn to_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    /// Returns the provider that the command is known to be of.
    pub fn provider(&self) -> Option<Provider> {
        recognise::by_command(&self.words())
    }

    /// Returns whether the command goes on with a session of the provider, as far as it tells.
    pub fn session_start(&self) -> SessionStart {
        SessionStart::of_command(&self.words())
    }

    fn words(&self) -> Vec<Cow<'_, str>> {
        iter::once(&self.program).chain(&self.arguments).map(|word| word.to_string_lossy()).collect()
    }
}

/// What an agent finds on its standard input.
#[derive(Debug)]
pub enum AgentInput {
    /// Ours.
    Inherited,
    /// These bytes, and then the end.
    Bytes(Vec<u8>),
}

/// The launch that an agent is recorded as.
#[derive(Debug, Clone)]
pub struct ExecLaunch {
    id: LaunchId,
    capture: Capture,
    home: Home,
    dir: ArtifactPath,
}

impl ExecLaunch {
    /// Begins the launch. Its raw output is always kept: that is what the output is understood from.
    ///
    /// # Errors
    ///
    /// Those of [`Capture::begin`].
    ///
    /// # Panics
    ///
    /// Never: a launch that was begun has an id and files.
    pub fn begin(
        env: &CaptureEnv,
        home: &Home,
        labels: Labels,
        prepared: PreparedTurnContext,
        start: Start,
    ) -> Result<Self, CaptureError> {
        let capture = Capture::blocking_begin(env, labels, prepared, Start { raw: true, ..start })?;
        let (id, dir) = capture.launch_id().zip(capture.artifact_dir()).expect("what was begun is not disabled");
        Ok(Self { id, capture, home: home.clone(), dir })
    }

    /// Returns the id of the launch.
    pub const fn id(&self) -> LaunchId {
        self.id
    }

    /// Returns the handle of the launch.
    pub const fn capture(&self) -> &Capture {
        &self.capture
    }

    /// Opens what was recorded of a stream so far, and will be.
    fn record(&self, stream: OutputStream) -> Result<Box<dyn Read + Send>, ArtifactError> {
        self.home.open_launch(&self.dir)?.raw(stream)
    }

    /// Names the launch and its home to a recorder inside of the agent.
    fn name_in(&self, command: &mut Command) {
        for (name, value) in Parents::beneath(&self.capture).variables() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        // The agent may go to another folder before it starts the recorder.
        if let Ok(root) = path::absolute(self.home.root()) {
            command.env(HOME_VARIABLE, root);
        }
    }
}

/// How an agent's run went.
#[derive(Debug)]
pub struct ExecReport {
    /// How its process ended.
    pub end: ProcessEnd,
    /// Why the process could not be started, where it could not.
    pub start_error: Option<io::Error>,
    /// How the launch ended.
    pub outcome: Outcome,
    /// What was recorded of it.
    pub recorded: Recorded,
    /// The turns that the launch had.
    pub turns: u64,
    /// What its usage adds up to by its own events alone, if there is a launch. Only the ledger knows what of it is a
    /// replay of another launch.
    pub totals: Option<Totals>,
    /// Streams that another process still held after the agent's exit. What it prints there is lost.
    pub held_open: Vec<OutputStream>,
    /// Streams that could not be passed on to their end, and why. The agent found them closed.
    pub broken: Vec<(OutputStream, io::Error)>,
    /// The session file that the agent wrote, which an import brings to the launch.
    pub session_file: SessionFile,
    /// How many things in the output could not be taken as they are.
    pub notes: u64,
    /// The first of them.
    pub first_note: Option<Note>,
}

/// Why an agent could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// A pipe or a thread could not be had. The agent was not started.
    #[error("could not get between the agent and its output")]
    NotStarted(#[source] io::Error),
    /// The record of the output could not be opened. The agent was not started.
    #[error("could not open the record of the agent's output")]
    NoRecord(#[source] ArtifactError),
    /// The agent was started, and how it ended cannot be learned.
    #[error("could not wait for the agent")]
    Lost(#[source] io::Error),
}

impl Exec {
    /// Runs the agent to its end, and ends the launch.
    ///
    /// Without a launch nothing is recorded: then the agent has our own outputs, and only signals pass through here.
    /// Afterwards they are still caught and do nothing: see [`restore_signals`].
    ///
    /// # Errors
    ///
    /// [`ExecError::NotStarted`] if a pipe, a thread or the record could not be had, and [`ExecError::Lost`] if the
    /// agent's end could not be learned; the launch then ends when its handle is dropped. A program that cannot be
    /// started is no error but one of the ends of a process.
    pub fn run(self, launch: Option<&ExecLaunch>) -> Result<ExecReport, ExecError> {
        let Self { command, input, outputs, provider, lookup } = self;
        let start = command.session_start();
        let agent = provider.clone().or_else(|| command.provider());
        let since = SystemClock.now();
        let named = || command.provider().filter(|provider| interpreter_for(provider, start).is_some());
        let provider = provider.or_else(named);
        let mut command = command.to_command();
        let (watch, news) = process::exit_news().map_err(ExecError::NotStarted)?;
        let process = Arc::new(Process::new(news));
        let _forwarding = signals::forward_to(&process).map_err(ExecError::NotStarted)?;
        input.connect(&mut command).map_err(ExecError::NotStarted)?;
        // On every way out of the closure the command is dropped first, and with it the pipes' writing ends: the
        // threads that the scope waits for find the end of what they read.
        thread::scope(move |scope| {
            let reading = match launch {
                None => Reading::default(),
                Some(launch) => {
                    launch.name_in(&mut command);
                    let tees = outputs.connect(&mut command).map_err(ExecError::NotStarted)?;
                    Reading::start(scope, launch, tees, &watch, provider.as_ref(), start)?
                }
            };
            let started = command.spawn();
            drop(command);
            let (end, start_error) = match started {
                Ok(child) => (process.wait(child).map_err(ExecError::Lost)?, None),
                Err(error) => (ProcessEnd::of_failed_start(&error), Some(error)),
            };
            let look = || match (&lookup, &agent) {
                (Some(lookup), Some(provider)) => lookup.find(provider, since),
                _ => SessionFile::NotLooked,
            };
            Ok(conclude(launch, reading.join(), end, start_error, look))
        })
    }
}

impl AgentInput {
    /// Hands the standard input to the command.
    fn connect(self, command: &mut Command) -> io::Result<()> {
        let Self::Bytes(bytes) = self else { return Ok(()) };
        let (source, mut pipe) = io::pipe()?;
        command.stdin(source);
        // Nobody waits for this thread: an agent need not read what it is given.
        let feed = move || {
            let _ = pipe.write_all(&bytes);
        };
        thread::Builder::new().name("trace-input".to_owned()).spawn(feed).map(drop)
    }
}

/// Ends the launch, and reports.
fn conclude(
    launch: Option<&ExecLaunch>,
    output: Output,
    end: ProcessEnd,
    start_error: Option<io::Error>,
    look: impl FnOnce() -> SessionFile,
) -> ExecReport {
    let Output { pumps, interpreted } = output;
    let outcome = interpreted.turns.outcome(end);
    let recorded = if interpreted.conversation { Recorded::Conversation } else { Recorded::PromptOnly };
    let (mut held_open, mut broken) = (Vec::new(), Vec::new());
    for (stream, end) in pumps {
        match end {
            PumpEnd::EndOfFile | PumpEnd::SinkClosed => {}
            PumpEnd::HeldOpen => held_open.push(stream),
            PumpEnd::Failed(error) => broken.push((stream, error)),
        }
    }
    let totals = launch.and_then(|launch| launch.capture.totals());
    let tells_usage = totals.as_ref().is_some_and(|totals| totals.total_tokens.is_some());
    let mut session_file = SessionFile::NotLooked;
    if let Some(ExecLaunch { capture, .. }) = launch {
        for (stream, error) in &broken {
            capture.record_trouble(&format!("the agent's {stream} was closed before its end: {error}"));
        }
        if let Some(error) = &interpreted.failure {
            capture.record_trouble(&format!("the output was not understood to its end: {error}"));
        }
        let is_ours = capture.status().yielded_to.is_none();
        if !tells_usage && is_ours && start_error.is_none() {
            session_file = look();
        }
        if let SessionFile::Found { path, session, .. } = &session_file {
            capture.set_provider_session_id(session);
            capture.set_provider_session_path(&path.display().to_string());
        }
        capture.blocking_finish(outcome, recorded);
    }
    ExecReport {
        end,
        start_error,
        outcome,
        recorded,
        turns: interpreted.turns.count(),
        totals,
        held_open,
        broken,
        session_file,
        notes: interpreted.notes,
        first_note: interpreted.first_note,
    }
}

#[cfg(test)]
mod tests;
