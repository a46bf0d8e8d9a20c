//! `trace statusline`.

mod parts;
mod said;
mod stored;

use std::{
    collections::BTreeSet,
    io::Read,
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use pollster::FutureExt;
use trace_capture::{
    Clock, Home, LedgerKind, SystemClock,
    intake::import::{ImportFrom, ImportRequest, Keep, import},
    open_home_ledger,
};
use trace_model::{
    launch::Launch,
    ledger::Ledger,
    query::{LaunchQuery, Order},
    usage::{UsageRow, base_model},
};

use self::{
    parts::{Context, Parts},
    said::Said,
};
use crate::{app::App, store::Store};

/// Print one short line: a session's model, context and cost
///
/// It is made for the status line of Claude Code, which tells on standard input which session it shows: that one alone
/// is told of. Without that it is the last session of this folder. The cost is the one that `trace usage` computed
/// last, with ≥ where it lacks some; what claude says is its own figure, of its whole process.
#[derive(Debug, Args)]
pub(crate) struct StatuslineArgs {}

/// How long standard input is waited for. Whoever has something to say has said it when it starts the command.
const INPUT_LIMIT: Duration = Duration::from_millis(100);

/// The most bytes that are read of it.
const INPUT_BYTES: u64 = 1 << 20;

/// When the command stops to wait for what the session's file says, counted from the time that it knows the session.
/// What is left comes with the next look at the home.
const REFRESH_LIMIT: Duration = Duration::from_millis(9);

/// How many of the last launches are looked at for one that worked in a folder within its repository.
const LAST_LAUNCHES: u32 = 20;

/// Prints the line. A status line has no place for an error, so there is none: what is not known is left out.
pub(crate) fn run(app: &mut App) -> ExitCode {
    let input = input(app);
    let begun = Instant::now();
    let parts = match input {
        Input::Nothing => of_folder(app, begun).unwrap_or_default(),
        Input::Said(said) => of_session(&said, app, begun),
        Input::Unreadable => Parts::default(),
    };
    // Nobody can be told that nobody reads it.
    let _ = app.output.line(&parts.line());
    ExitCode::SUCCESS
}

/// What standard input holds.
enum Input {
    Nothing,
    Said(Box<Said>),
    Unreadable,
}

fn input(app: &App) -> Input {
    if app.environment.stdin.is_terminal() {
        return Input::Nothing;
    }
    let (send, receive) = mpsc::channel();
    let reader = thread::Builder::new().name("trace-stdin".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        // What could be read before a failure tells as much as it does. Whoever waits may have stopped to.
        let _ = std::io::stdin().lock().take(INPUT_BYTES).read_to_end(&mut bytes);
        let _ = send.send(bytes);
    });
    let Some(bytes) = reader.ok().and_then(|_| receive.recv_timeout(INPUT_LIMIT).ok()) else { return Input::Nothing };
    if bytes.trim_ascii().is_empty() {
        return Input::Nothing;
    }
    Said::read(&bytes).map_or(Input::Unreadable, |said| Input::Said(Box::new(said)))
}

/// Returns the window that a `[1m]` behind a model's name selects.
fn window_of(model: &str) -> Option<u64> {
    model.to_ascii_lowercase().ends_with("[1m]").then_some(1_000_000)
}

/// Tells of the session that Claude Code names, and of no other one.
fn of_session(said: &Said, app: &App, begun: Instant) -> Parts {
    let id = said.model_id.as_deref();
    let window = id.and_then(window_of).or(said.window);
    // A share of another window tells nothing of this one.
    let per_cent = said.used_per_cent.filter(|_| said.window.is_none() || said.window == window);
    let context = Context { tokens: said.context_tokens, per_cent, window };
    let model = said.model_name.clone().or_else(|| id.map(|id| base_model(id).to_owned()));
    let store = app.open_store_as_it_is().ok().flatten();
    let stored = store.zip(said.session()).and_then(|(store, session)| {
        if let Some(path) = said.transcript.clone().filter(|path| path.is_file()) {
            refresh(&store, ImportFrom::Paths(vec![path]), begun);
        }
        stored::of_session(&store, session)
    });
    Parts { model, context, stored, said: said.cost }
}

/// Tells of the session of this folder that began last.
fn of_folder(app: &App, begun: Instant) -> Option<Parts> {
    let folder = app.environment.current_dir.as_deref()?.to_str()?;
    let store = app.open_store_as_it_is().ok()??;
    let launch = last_of(&store, folder)?;
    if let Some(from) = source_of(&launch) {
        refresh(&store, from, begun);
    }
    let usage = store.ledger.usage(launch.header.id).block_on().ok()?;
    let request = last_request(&usage);
    let model = request.and_then(|row| row.record.report.model.clone()).or_else(|| launch.header.model.clone());
    let named = [&model, &launch.header.model].into_iter().flatten().find_map(|model| window_of(model));
    let context = Context {
        tokens: request.and_then(|row| row.record.report.context_tokens),
        per_cent: None,
        window: named.or_else(|| request.and_then(|row| row.record.report.context_window_tokens)),
    };
    let stored = stored::of_launch(&store, &launch);
    Some(Parts { model: model.map(|model| base_model(&model).to_owned()), context, stored, said: None })
}

/// Returns the last launch on the folder, or among the last ones that one which worked in it.
fn last_of(store: &Store, folder: &str) -> Option<Launch> {
    let last = |repos: BTreeSet<String>, limit| {
        let query = LaunchQuery { repos, order: Order::NewestFirst, limit: Some(limit), ..LaunchQuery::default() };
        store.ledger.launches(&query).block_on().ok()
    };
    let on_it = last(BTreeSet::from([folder.to_owned()]), 1)?;
    on_it
        .into_iter()
        .next()
        .or_else(|| last(BTreeSet::new(), LAST_LAUNCHES)?.into_iter().find(|launch| launch.header.worktree == folder))
}

/// Returns where the session of a launch is written.
fn source_of(launch: &Launch) -> Option<ImportFrom> {
    let path = PathBuf::from(launch.provider_session_path.as_ref()?);
    let is_store = path.extension().is_some_and(|ending| ending == "db");
    match (path.is_file(), is_store, &launch.provider_session_id) {
        (true, false, _) => Some(ImportFrom::Paths(vec![path])),
        (true, true, Some(session)) => Some(ImportFrom::Stored { store: path, session: session.clone() }),
        _ => None,
    }
}

/// Returns the last request of the main agent that tells how full its context was.
fn last_request(usage: &[UsageRow]) -> Option<&UsageRow> {
    let of_main =
        usage.iter().filter(|row| row.record.report.agent.is_main() && row.record.report.context_tokens.is_some());
    of_main.max_by_key(|row| row.record.report.observed_at)
}

/// Brings in what the session's own file says, while that is quick.
fn refresh(store: &Store, from: ImportFrom, begun: Instant) {
    let keep = if store.home.settings().is_ok_and(|settings| settings.keep) { Keep::Copies } else { Keep::Index };
    let (home, shared) = (store.home.clone(), Arc::clone(&store.ledger));
    let (done, result) = mpsc::channel();
    let request = ImportRequest::new(from, keep, SystemClock.now());
    let started = thread::Builder::new().name("trace-refresh".to_owned()).spawn(move || {
        let ledger = ledger_of_its_own(&home).unwrap_or(shared);
        // What cannot be brought in is told by whoever looks at the whole; nobody may wait any more, too.
        let _ = import(&home, &*ledger, &request, &mut |_| {}).block_on();
        let _ = done.send(());
    });
    if started.is_ok() {
        // The end of the process ends an import: it writes whole sessions or nothing.
        let _ = result.recv_timeout(REFRESH_LIMIT.saturating_sub(begun.elapsed()));
    }
}

/// Opens the ledger a second time, so that nobody who reads waits behind a write that is synced, or waits itself for
/// another process; `None` where only one may have it.
fn ledger_of_its_own(home: &Home) -> Option<Arc<dyn Ledger>> {
    let kind = LedgerKind::of_home(home).ok().filter(|kind| *kind == LedgerKind::Sqlite)?;
    open_home_ledger(home, Some(kind)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_selects_the_window() {
        assert_eq!(window_of("claude-opus-4-8[1m]"), Some(1_000_000));
        assert_eq!(window_of("claude-opus-4-8"), None);
    }
}
