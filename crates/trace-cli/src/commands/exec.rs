//! `trace exec`: runs an agent under capture.

mod labels;
mod summary;

use std::{
    ffi::OsString,
    io::{self, Read},
    os::fd::AsFd,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Instant,
};

use anyhow::{Context, anyhow};
use clap::Args;
use pollster::FutureExt;
use trace_capture::{
    Capture, CaptureEnv, Clock, EnvParts, Home, Labels, LedgerKind, MemoryLedger, OpenError, PreparedTurnContext,
    ReservationUse, Rows, Start, SystemClock,
    intake::{
        exec::{
            AgentCommand, AgentInput, Exec, ExecError, ExecLaunch, ExecReport, Outputs, SessionFile, SessionLookup,
            restore_signals,
        },
        import::{ImportFrom, ImportRequest, Keep, import},
    },
    open_home_ledger,
};
use trace_model::{
    control::Control,
    id::{ControlRunId, LaunchId, RunId},
    ledger::{Ledger, LedgerError},
    totals::Totals,
    words::{CaptureStatus, Provider},
};

use self::summary::{Indexed, RecordedLaunch};
use crate::{
    app::{App, next_step},
    control,
    error::{Advise, Verdict},
    prompts::PromptArgs,
    render::{output::say_json, text::figures},
    store::Store,
};

/// Run an agent and record it
///
/// The agent keeps your terminal: what it shows there is not recorded. What goes to a pipe or a file is recorded byte
/// by byte on its way, and understood if it is the JSON stream of a known provider. Standard output is the agent's
/// alone: what Trace has to say goes to standard error.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    #[command(flatten)]
    prompts: PromptArgs,
    /// Read the output by the rules of this provider, instead of finding out whose it is
    #[arg(long, value_name = "NAME")]
    provider: Option<Provider>,
    /// The run that the launch is part of [default: that of the recorder around it, else a new one]
    #[arg(long, value_name = "ID")]
    run: Option<RunId>,
    /// The project that the launch is for
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Do not run the command if it cannot be recorded
    #[arg(long)]
    require_capture: bool,
    /// The file of what an orchestrator says of the launch, as a JSON object; the launch takes over what
    /// `trace reserve` reserved for the same run
    #[arg(long, value_name = "FILE")]
    control: Option<PathBuf>,
    /// Print no summary
    #[arg(long, short)]
    quiet: bool,
    /// Print the summary as one JSON document, on a line of standard error that is the last one
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// The command and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true, required = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &ExecArgs, app: &App) -> anyhow::Result<ExitCode> {
    let control = args.control.as_deref().map(control::read).transpose()?;
    let stdin = if args.prompts.takes_stdin() { Some(read_stdin()?) } else { None };
    let folder = app.environment.current_dir.clone();
    let lookup = folder.map(|folder| SessionLookup { roots: app.environment.agent_roots(), folder });
    let agent = Agent { command: agent_command(args)?, stdin, provider: args.provider.clone(), lookup };
    let prompts = match Prompts::gather(args, &agent) {
        // It is about the command line, and not about recording.
        Err(error) if Verdict::of(&error) == Verdict::WrongUsage => return Err(error),
        prompts => prompts,
    };
    let (report, recorded) = match prompts.and_then(|prompts| record(args, &agent, prompts, control, app)) {
        Err(error) if !agent_was_not_started(&error) => return Err(error),
        Err(error) if args.require_capture => {
            return Err(error).advise(|| "without --require-capture the command would run unrecorded".to_owned());
        }
        Err(error) => {
            app.messages.say("warning", &format!("the command runs without being recorded: {error:#}"));
            (agent.run(None)?, None)
        }
        Ok((report, recorded)) => (report, Some(recorded)),
    };
    if let Some(error) = &report.start_error {
        let program = agent.command.program.to_string_lossy();
        app.messages.say("error", &format!("cannot run {program}: {error}"));
    }
    tell(args, &report, recorded.as_ref(), app);
    Ok(ExitCode::from(report.end.exit_code()))
}

/// The agent as the command line describes it.
struct Agent {
    command: AgentCommand,
    stdin: Option<Vec<u8>>,
    provider: Option<Provider>,
    lookup: Option<SessionLookup>,
}

impl Agent {
    /// Runs the agent. That may be done again if it was not started.
    fn run(&self, launch: Option<&ExecLaunch>) -> anyhow::Result<ExecReport> {
        let outputs = match launch {
            Some(_) => Outputs::judge(io::stdout().as_fd(), io::stderr().as_fd()).map_err(ExecError::NotStarted)?,
            None => Outputs::inherited(),
        };
        let exec = Exec {
            command: self.command.clone(),
            input: self.stdin.clone().map_or(AgentInput::Inherited, AgentInput::Bytes),
            outputs,
            provider: self.provider.clone(),
            lookup: self.lookup.clone(),
        };
        Ok(exec.run(launch)?)
    }
}

/// What the command line says about the prompts, and how long it took to read.
struct Prompts {
    prepared: PreparedTurnContext,
    gather_ms: u64,
}

impl Prompts {
    fn gather(args: &ExecArgs, agent: &Agent) -> anyhow::Result<Self> {
        let gathering = Instant::now();
        let prepared = args.prompts.prepare(agent.stdin.as_deref().unwrap_or_default())?;
        Ok(Self { prepared, gather_ms: u64::try_from(gathering.elapsed().as_millis()).unwrap_or(u64::MAX) })
    }
}

/// Runs the agent under capture.
fn record(
    args: &ExecArgs,
    agent: &Agent,
    prompts: Prompts,
    control: Option<Control>,
    app: &App,
) -> anyhow::Result<(ExecReport, RecordedLaunch)> {
    let Prompts { prepared, gather_ms } = prompts;
    let home = app.open_home()?;
    let (ledger, rows, is_own) = open_ledger(&home, app)?;
    let machine = labels::machine(&app.environment);
    let store = Store { home: home.clone(), ledger: Arc::clone(&ledger) };
    let parts = EnvParts { machine, rows, ..EnvParts::new(home.clone(), ledger) };
    let around = labels::labels(&app.environment, &parts, app.messages)?;
    let labels = Labels { run_id: args.run.clone().unwrap_or(around.run_id), project: args.project.clone(), ..around };
    let provider = args.provider.clone().or_else(|| agent.command.provider()).unwrap_or(Provider::Unknown);
    let is_interactive = app.environment.stdin.is_terminal() && app.environment.stdout.is_terminal();
    let surface = if is_interactive { "interactive" } else { "headless" };
    let control_run = control.as_ref().map(|control| control.run_id.clone());
    let start = Start { gather_ms, control, ..Start::new(provider, surface) };

    let env = CaptureEnv::new(parts);
    let launch = ExecLaunch::begin(&env, &home, labels, prepared, start)?;
    if let Some(control_run) = control_run {
        let reservation = match launch.capture().status().reservation {
            // Only the home's own ledger knows what is reserved.
            ReservationUse::NoneWaiting if !is_own => ReservationUse::Unanswered,
            reservation => reservation,
        };
        warn_of_reservation(&control_run, reservation, app);
    }
    let mut report = agent.run(Some(&launch))?;
    // Where that fails, nobody can cut the wait short; it is short all the same.
    let _ = restore_signals();
    // This gives the ledger its time. It is not asked for anything: whoever holds it would hold us as well.
    drop(env);
    let status = launch.capture().status();
    let indexed = match rows {
        Rows::Deferred => Indexed::Later,
        Rows::Kept if !is_own => Indexed::Elsewhere,
        Rows::Kept if status.index_pending => Indexed::Later,
        Rows::Kept => Indexed::Now,
    };
    let mut brought = None;
    if indexed == Indexed::Now {
        // Recorders inside of the agent may have had no ledger while this one was open.
        app.bring_in_deferred(&store);
        brought = bring_in_session(&report.session_file, launch.id(), &store, app);
    }
    if let Some(brought) = &brought {
        report.totals = Some(brought.totals);
    }
    let is_there = is_there(home.root(), launch.capture());
    let (id, run_id) = (launch.id(), launch.capture().run_id());
    Ok((
        report,
        RecordedLaunch { id, run_id, status, indexed, is_there, brought: brought.map(|brought| brought.status) },
    ))
}

/// What is known of a launch once the agent's session file was brought to it.
struct Brought {
    totals: Totals,
    status: CaptureStatus,
}

/// Brings what the agent wrote in its session file to the launch, or says why not.
fn bring_in_session(file: &SessionFile, launch: LaunchId, store: &Store, app: &App) -> Option<Brought> {
    let no_usage = "the output tells no usage, and";
    let sessions = |count: u64| figures::counted(count, "session");
    let from = match file {
        SessionFile::NotLooked => return None,
        SessionFile::Found { path, session, is_store: true } => {
            ImportFrom::Stored { store: path.clone(), session: session.clone() }
        }
        SessionFile::Found { path, .. } => ImportFrom::Paths(vec![path.clone()]),
        SessionFile::None { looked_at: 0 } => {
            app.messages.say("note", &format!("{no_usage} the agent wrote no session while it ran"));
            return None;
        }
        SessionFile::None { looked_at } => {
            let text = format!("{no_usage} of {} written meanwhile none is of this folder", sessions(*looked_at));
            app.messages.say("note", &text);
            return None;
        }
        SessionFile::Ambiguous { paths } => {
            let count = sessions(u64::try_from(paths.len()).unwrap_or(u64::MAX));
            let text = format!("{no_usage} {count} could be the agent's; `trace import` brings in all");
            app.messages.say("note", &text);
            return None;
        }
    };
    let request = ImportRequest::new(from, Keep::Copies, SystemClock.now());
    let not_yet = |reason: &str| {
        app.messages.say("warning", &format!("the agent's session is not brought in yet: {reason}"));
    };
    match import(&store.home, &*store.ledger, &request, &mut |_| {}).block_on() {
        Err(error) => {
            not_yet(&format!("{:#}", anyhow!(error)));
            return None;
        }
        Ok(report) => {
            for note in report.notes.iter().filter(|note| note.kind == "unreadable") {
                not_yet(&note.detail);
            }
        }
    }
    let read = async {
        let usage = store.ledger.usage(launch).await?;
        let status = store.ledger.launch(launch).await?.capture.columns().0;
        Ok::<_, LedgerError>(Brought { totals: Totals::of(&usage), status })
    };
    read.block_on().ok()
}

/// Says where a launch under control did not take over a reservation: whoever reserved one would look for it in vain.
fn warn_of_reservation(control_run: &ControlRunId, reservation: ReservationUse, app: &App) {
    let why = match reservation {
        ReservationUse::NotAsked | ReservationUse::Taken => return,
        ReservationUse::NoneWaiting => "no launch is reserved for it",
        ReservationUse::Unanswered => "the ledger does not tell what is reserved for it",
    };
    let text = format!("the launch for the control run {control_run} has an id of its own: {why}");
    app.messages.say("warning", &text);
}

/// Tells whether the files of the launch are found where they were made, by whoever looks for them now.
fn is_there(home: &Path, capture: &Capture) -> bool {
    let found = || Home::open_existing(home).ok()??.open_launch(&capture.artifact_dir()?).ok();
    found().is_some()
}

/// Opens the ledger, and tells whether rows are kept in it and whether it is the one that the home is looked at
/// through. Without that one the artifacts are recorded all the same, and its rows are made from them when it is opened
/// next.
fn open_ledger(home: &Home, app: &App) -> anyhow::Result<(Arc<dyn Ledger>, Rows, bool)> {
    let wanted = app.global.ledger;
    match open_home_ledger(home, wanted) {
        Err(
            error @ (OpenError::Ledger { .. }
            | OpenError::NotCompiled { .. }
            | OpenError::OtherKind { .. }
            | OpenError::Home(_)),
        ) => {
            let next = next_step(&error);
            let error = anyhow!(error);
            let text =
                format!("the launch is recorded without the ledger, until that is opened next: {error:#}; {next}");
            app.messages.say("warning", &text);
            Ok((Arc::new(MemoryLedger::new()), Rows::Deferred, false))
        }
        opened => {
            let is_own = |wanted| LedgerKind::of_home(home).is_ok_and(|own| own == wanted);
            Ok((opened?, Rows::Kept, wanted.is_none_or(is_own)))
        }
    }
}

fn agent_command(args: &ExecArgs) -> anyhow::Result<AgentCommand> {
    let (program, arguments) = args.command.split_first().context("no command is given")?;
    Ok(AgentCommand { program: program.clone(), arguments: arguments.to_vec() })
}

fn read_stdin() -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
    Ok(bytes)
}

/// Tells whether the agent can still be run: whatever failed, it failed before that.
fn agent_was_not_started(error: &anyhow::Error) -> bool {
    !matches!(error.downcast_ref::<ExecError>(), Some(ExecError::Lost(_)))
}

/// Says how it went. What went wrong is always said; what was recorded is not said where nobody wants to hear of it,
/// or, unless it is asked for, on a terminal that the agent drew on.
fn tell(args: &ExecArgs, report: &ExecReport, recorded: Option<&RecordedLaunch>, app: &App) {
    for stream in &report.held_open {
        let text = format!("another process still holds the {stream} of the command; what it prints there now is lost");
        app.messages.say("warning", &text);
    }
    for (stream, error) in &report.broken {
        app.messages.say("warning", &format!("the {stream} of the command was closed: {error}"));
    }
    if let Some(lost) = recorded.filter(|recorded| !recorded.is_there) {
        let text = format!("{} is not on record: its files were removed or moved while it ran", lost.id);
        app.messages.say("warning", &text);
    }
    if args.json {
        say_json(&summary::Document::new(report, recorded));
    }
    let agent_owns_terminal = app.environment.stdout.is_terminal() && app.environment.stderr.is_terminal();
    let is_wanted = !args.json && !args.quiet && !agent_owns_terminal;
    if let Some(recorded) = recorded.filter(|recorded| is_wanted && recorded.is_there) {
        app.messages.say("trace", &summary::line(report, recorded));
    }
}
