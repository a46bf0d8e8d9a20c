//! `trace statusline`.

mod said;

use std::{
    io::Read,
    process::ExitCode,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use clap::Args;
use pollster::FutureExt;
use trace_capture::{
    Clock, SystemClock,
    intake::import::{ImportFrom, ImportRequest, Keep, import},
};
use trace_model::{
    launch::Launch,
    money::NanoUsd,
    query::{LaunchQuery, Order},
    usage::{UsageRow, base_model},
    usage_query::UsageQuery,
};
use trace_report::usage::session_of;

use self::said::Said;
use crate::{
    app::App,
    pricing::Pricing,
    render::text::{escape, figures},
    store::Store,
};

/// Print one short line: a session's model, context and cost
///
/// It is made for the status line of Claude Code, which tells on standard input which session it shows; of that one
/// alone is told. Without it, it is the last session of this folder. Stored costs are shown and none is computed.
#[derive(Debug, Args)]
pub(crate) struct StatuslineArgs {}

/// How long standard input is waited for. Whoever has something to say has said it when it starts the command.
const INPUT_LIMIT: Duration = Duration::from_millis(100);

/// The most bytes that are read of it.
const INPUT_BYTES: u64 = 1 << 20;

/// How long it may take to bring in what the session's file says. What is left comes with the next look at the home.
const REFRESH_LIMIT: Duration = Duration::from_millis(8);

/// How many of the last launches may be the folder's.
const LAST_LAUNCHES: u32 = 200;

/// Prints the line. A status line has no place for an error, so there is none: what is not known is left out.
pub(crate) fn run(app: &mut App) -> ExitCode {
    let parts = match input(app) {
        Input::Nothing => of_folder(app).unwrap_or_default(),
        Input::Said(said) => of_session(&said, app),
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

/// What the line is made of.
#[derive(Debug, Default)]
struct Parts {
    model: Option<String>,
    context: Context,
    /// The cost that the ledger keeps.
    stored: Option<NanoUsd>,
    /// What the provider says of the process, which may have had other sessions.
    said: Option<NanoUsd>,
}

/// How full the context is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Context {
    tokens: Option<u64>,
    per_cent: Option<u64>,
    window: Option<u64>,
}

impl Context {
    fn text(self) -> Option<String> {
        let of_window = |tokens: u64, window: u64| tokens.saturating_mul(100).saturating_add(window / 2) / window;
        let per_cent = self.per_cent.or_else(|| Some(of_window(self.tokens?, self.window.filter(|window| *window > 0)?)));
        match (per_cent, self.window, self.tokens) {
            (Some(per_cent), Some(window), _) => Some(format!("{per_cent} % of {}", short(window))),
            (Some(per_cent), None, _) => Some(format!("{per_cent} %")),
            (None, _, Some(tokens)) => Some(format!("{} in context", short(tokens))),
            (None, Some(window), None) => Some(format!("{} % of {}", figures::UNKNOWN, short(window))),
            (None, None, None) => None,
        }
    }
}

impl Parts {
    fn line(&self) -> String {
        let model = self.model.as_deref().map(|model| escape::line(model).into_owned());
        let stored = self.stored.map(|cost| figures::money(Some(cost)));
        let said = self.said.map(|cost| format!("claude says {}", figures::money(Some(cost))));
        let parts: Vec<String> = [model, self.context.text(), stored, said].into_iter().flatten().collect();
        if parts.is_empty() { "trace: nothing is known of this session".to_owned() } else { parts.join(" · ") }
    }
}

/// Returns the tokens in thousands or millions, where it is whole ones.
fn short(tokens: u64) -> String {
    match tokens {
        1_000_000.. if tokens.is_multiple_of(1_000_000) => format!("{}M", tokens / 1_000_000),
        1_000.. => format!("{}k", tokens / 1_000),
        _ => tokens.to_string(),
    }
}

/// Returns the window that a `[1m]` behind a model's name selects.
fn window_of(model: &str) -> Option<u64> {
    model.to_ascii_lowercase().ends_with("[1m]").then_some(1_000_000)
}

/// Tells of the session that Claude Code names, and of no other one.
fn of_session(said: &Said, app: &App) -> Parts {
    let id = said.model_id.as_deref();
    let window = said.window.or_else(|| id.and_then(window_of));
    let context = Context { tokens: said.context_tokens, per_cent: said.used_per_cent, window };
    let model = said.model_name.clone().or_else(|| id.map(|id| base_model(id).to_owned()));
    let store = app.open_store_to_look().ok().flatten();
    let stored = store.zip(said.session.as_deref()).and_then(|(store, session)| {
        if let Some(path) = said.transcript.clone().filter(|path| path.is_file()) {
            refresh(&store, ImportFrom::Paths(vec![path]));
        }
        stored_cost(&store, session)
    });
    Parts { model, context, stored, said: said.cost }
}

/// Tells of the session of this folder that began last.
fn of_folder(app: &App) -> Option<Parts> {
    let folder = app.environment.current_dir.as_deref()?.to_str()?;
    let store = app.open_store_to_look().ok()??;
    let last = LaunchQuery { order: Order::NewestFirst, limit: Some(LAST_LAUNCHES), ..LaunchQuery::default() };
    let launches = store.ledger.launches(&last).block_on().ok()?;
    let launch = launches.into_iter().find(|launch| [&launch.header.worktree, &launch.header.repo].contains(&&folder.to_owned()))?;
    let usage = store.ledger.usage(launch.header.id).block_on().ok()?;
    let request = last_request(&usage);
    let model = request.and_then(|row| row.record.report.model.clone()).or_else(|| launch.header.model.clone());
    let named = [&model, &launch.header.model].into_iter().flatten().find_map(|model| window_of(model));
    let context = Context {
        tokens: request.and_then(|row| row.record.report.context_tokens),
        per_cent: None,
        window: named.or_else(|| request.and_then(|row| row.record.report.context_window_tokens)),
    };
    let stored = cost_of(&store, &launch);
    Some(Parts { model: model.map(|model| base_model(&model).to_owned()), context, stored, said: None })
}

/// Returns the last request of the main agent that tells how full its context was.
fn last_request(usage: &[UsageRow]) -> Option<&UsageRow> {
    let of_main = usage.iter().filter(|row| row.record.report.agent.is_main() && row.record.report.context_tokens.is_some());
    of_main.max_by_key(|row| row.record.report.observed_at)
}

fn cost_of(store: &Store, launch: &Launch) -> Option<NanoUsd> {
    if launch.provider_session_id.is_some() {
        return stored_cost(store, &session_of(launch));
    }
    let usage = store.ledger.usage(launch.header.id).block_on().ok()?;
    usage.iter().filter_map(|row| row.record.report.reported_cost_usd).reduce(NanoUsd::saturating_add)
}

/// Returns what the ledger keeps of the session's cost: the computed one, else what the provider said.
fn stored_cost(store: &Store, session: &str) -> Option<NanoUsd> {
    let version = Pricing::read(Some(&store.home), None).ok().map(|pricing| pricing.version);
    let launches = LaunchQuery { sessions: [session.to_owned()].into(), ..LaunchQuery::default() };
    let query = UsageQuery { launches, price_version: version, ..UsageQuery::default() };
    let cells = store.ledger.usage_cells(&query).block_on().ok()?;
    let sum = |cost: fn(&trace_model::usage_sum::UsageSum) -> Option<NanoUsd>| {
        cells.iter().filter_map(|cell| cost(&cell.sum)).reduce(NanoUsd::saturating_add)
    };
    sum(|sum| sum.computed_cost_usd).or_else(|| sum(|sum| sum.reported_cost_usd))
}

/// Brings in what the session's own file says, while that is quick.
fn refresh(store: &Store, from: ImportFrom) {
    let keep = if store.home.settings().is_ok_and(|settings| settings.keep) { Keep::Copies } else { Keep::Index };
    let (home, ledger) = (store.home.clone(), Arc::clone(&store.ledger));
    let (done, result) = mpsc::channel();
    let request = ImportRequest { from, keep, now: SystemClock.now() };
    let started = thread::Builder::new().name("trace-refresh".to_owned()).spawn(move || {
        // What cannot be brought in is told by whoever looks at the whole; nobody may wait any more, too.
        let _ = import(&home, &*ledger, &request, &mut |_| {}).block_on();
        let _ = done.send(());
    });
    if started.is_ok() {
        // The end of the process ends an import: it writes whole sessions or nothing.
        let _ = result.recv_timeout(REFRESH_LIMIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_context_is_told_as_far_as_it_is_known() {
        let text = |tokens, per_cent, window| Context { tokens, per_cent, window }.text();
        assert_eq!(text(Some(31_200), None, Some(200_000)).as_deref(), Some("16 % of 200k"));
        assert_eq!(text(Some(31_200), Some(15), Some(1_000_000)).as_deref(), Some("15 % of 1M"));
        assert_eq!(text(None, Some(15), None).as_deref(), Some("15 %"));
        assert_eq!(text(Some(31_200), None, None).as_deref(), Some("31k in context"));
        assert_eq!(text(Some(5), None, Some(0)).as_deref(), Some("5 in context"));
        assert_eq!(text(None, None, Some(200_000)).as_deref(), Some("– % of 200k"));
        assert_eq!(text(None, None, None), None);
    }

    #[test]
    fn a_suffix_selects_the_window() {
        assert_eq!(window_of("claude-opus-4-8[1m]"), Some(1_000_000));
        assert_eq!(window_of("claude-opus-4-8"), None);
    }
}
