//! Facts of sessions to rows.
//!
//! A session that was read whole is folded like a recording: its turns and usage records are the events. What a source
//! says later is a boundary of its own.

use std::collections::BTreeMap;

use trace_model::{
    codec::Line,
    context::Sha256Hex,
    event::{Event, Payload, Receipt, SCHEMA_VERSION},
    fold::{Fold, FoldLine},
    id::{LaunchId, ProcessId, RunId, TurnId},
    launch::{CaptureState, Launch, LaunchHeader, LaunchState},
    path::ArtifactPath,
    rows::{BoundaryRows, LaunchChange, LaunchRows, TurnRows, UsageChange},
    timestamp::Timestamp,
    turn::{EndStatus, Outcome, Turn, TurnState},
    usage::{Agent, UsageRecord},
    words::{Coverage, InputOp, Provider},
};

use super::{
    beside::OnRecord,
    facts::{SessionFacts, TurnFact, UsageFact},
};

/// Why an imported launch is not complete, in words that people read.
const INDEXED_ONLY: &str = "it is indexed only: no copy of the session is kept";

/// What an imported launch was used through.
pub(crate) const SURFACE: &str = "import";

/// The part of an imported launch that its sources do not tell.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// What stands for the times that no source tells.
    pub(crate) default_at: Timestamp,
    /// When the last turn counts as over though no source says that it ended; before that it runs.
    pub(crate) is_over: bool,
}

/// Returns the folder of the launch that a session is.
pub(crate) fn artifact_dir(provider: &Provider, session: &str) -> ArtifactPath {
    let run = RunId::of_session(provider, session);
    let launch = LaunchId::of_session(provider, session);
    format!("{run}/{SURFACE}/{launch}").parse().expect("ids are single path parts")
}

/// Returns how complete an imported launch is.
pub(crate) fn capture_of(is_kept: bool) -> CaptureState {
    if is_kept { CaptureState::Complete } else { CaptureState::Partial { reason: INDEXED_ONLY.to_owned() } }
}

/// Returns the header of the launch that a session is.
pub(crate) fn header(provider: &Provider, session: &str, facts: &SessionFacts, setting: &Setting) -> LaunchHeader {
    let cwd = facts.seen.cwd.clone().unwrap_or_default();
    let parent = facts.seen.parent.as_ref().filter(|parent| *parent != session);
    LaunchHeader {
        schema_version: SCHEMA_VERSION,
        id: LaunchId::of_session(provider, session),
        run_id: RunId::of_session(provider, session),
        process_id: SURFACE.parse::<ProcessId>().expect("the word is an id"),
        parent_launch_id: parent.map(|parent| LaunchId::of_session(provider, parent)),
        parent_turn_id: None,
        started_at: facts.first_at.unwrap_or(setting.default_at),
        repo: cwd.clone(),
        worktree: cwd,
        wave: None,
        project: None,
        task: None,
        flow: None,
        skill: None,
        tags: BTreeMap::new(),
        machine_id: None,
        hostname: None,
        os_user: None,
        provider: provider.clone(),
        model: facts.receipt.model.clone(),
        surface: SURFACE.to_owned(),
        raw: false,
        control: None,
    }
}

/// Adds all that the sources tell to the fold of an imported launch, and returns its rows.
pub(crate) fn whole(
    header: LaunchHeader,
    mut facts: SessionFacts,
    capture: CaptureState,
    setting: &Setting,
) -> LaunchRows {
    let usage = std::mem::take(&mut facts.usage);
    let facts = &facts;
    let launch = header.id;
    let mut fold = Fold::new(header);
    let started_at = fold.launch().header.started_at;
    let mut put = |at: Timestamp, turn_id: Option<TurnId>, payload: Payload| {
        let line = Line::Event(event(at, turn_id, payload));
        fold.apply(FoldLine { bytes: b"", line: Some(&line) }, None);
    };
    put(started_at, None, Payload::Receipt(receipt_of(facts)));
    let times = turn_times(facts, setting);
    for (place, turn) in facts.turns.iter().enumerate() {
        let row = Turn { state: TurnState::Running, ..turn_row(launch, facts, place, &times, setting) };
        let context_sha256 = Sha256Hex::of(b"");
        put(row.started_at, Some(row.id), Payload::TurnOpened { turn: row, context_sha256 });
        let id = TurnId::of_import(launch, ordinal_of(facts, place));
        if let TurnState::Ended { at, status } = turn_state(turn, facts, place, &times, setting) {
            let (status, partial_reason) = status.words();
            put(at, Some(id), Payload::TurnEnded { status, partial_reason });
        }
    }
    for fact in usage.into_values() {
        let UsageFact { report, turn } = *fact;
        let turn = turn.or_else(|| facts.turn_at(report.observed_at));
        let turn_id = turn.map(|place| TurnId::of_import(launch, ordinal_of(facts, place)));
        let record = UsageRecord { launch_id: launch, turn_id, report };
        put(started_at, turn_id, Payload::UsageRecord { record });
    }
    let mut rows = fold.into_rows();
    let row = &mut rows.launch;
    row.conversation_path = None;
    row.provider_events_path = None;
    row.conversation_event_count = 0;
    row.conversation_bytes = 0;
    row.state = launch_state(facts, setting);
    row.capture = capture;
    for turn in &mut rows.turns {
        turn.turn.first_event_seq = None;
        turn.turn.last_event_seq = None;
        turn.turn.root_output = None;
    }
    rows
}

/// Adds to the fold of a recorded launch what its sources tell beyond its own lines: the requests that are its own.
/// Tells whether there are any.
pub(crate) fn add_to(fold: &mut Fold, facts: &SessionFacts) -> bool {
    let on_record = OnRecord::of_fold(fold);
    let launch = fold.launch().header.id;
    let at = fold.launch().header.started_at;
    let turns: Vec<(Timestamp, TurnId)> = fold.turns().map(|turn| (turn.started_at, turn.id)).collect();
    // What its own lines tell of it stands.
    let told = fold.launch();
    let receipt = Receipt {
        model: facts.receipt.model.clone().filter(|_| told.header.model.is_none()),
        agent_version: facts.receipt.agent_version.clone().filter(|_| told.agent_version.is_none()),
        ..Receipt::default()
    };
    if receipt != Receipt::default() {
        let line = Line::Event(event(at, None, Payload::Receipt(receipt)));
        fold.apply(FoldLine { bytes: b"", line: Some(&line) }, None);
    }
    let mut has_requests = false;
    for fact in facts.usage.values().filter(|fact| on_record.owns(&fact.report)) {
        has_requests = true;
        let turn_id = turn_at(&turns, fact.report.observed_at);
        let record = UsageRecord { launch_id: launch, turn_id, report: fact.report.clone() };
        let line = Line::Event(event(at, turn_id, Payload::UsageRecord { record }));
        fold.apply(FoldLine { bytes: b"", line: Some(&line) }, None);
    }
    has_requests
}

/// Returns the turn that was on at that time, or the first one.
pub(super) fn turn_at(turns: &[(Timestamp, TurnId)], at: Option<Timestamp>) -> Option<TurnId> {
    let begun = turns.iter().rev().find(|(start, _)| at.is_none_or(|at| *start <= at));
    begun.or(turns.first()).map(|(_, id)| *id)
}

fn event(at: Timestamp, turn_id: Option<TurnId>, payload: Payload) -> Event {
    Event { schema_version: SCHEMA_VERSION, seq: 0, ts: at, turn_id, agent: Agent::Main, raw: None, payload }
}

/// Returns what the facts add to a launch whose rows are there: its last turn may end, turns and records come behind.
///
/// `turns` are the starts and ids of all turns that were there, for records of which only the time is known.
pub(crate) fn extension(
    mut launch: Launch,
    mut facts: SessionFacts,
    turns: &[(Timestamp, TurnId)],
    capture: CaptureState,
    setting: &Setting,
) -> BoundaryRows {
    let usage = std::mem::take(&mut facts.usage);
    let facts = &facts;
    let id = launch.header.id;
    let receipt = receipt_of(facts);
    launch.header.model = receipt.model.or(launch.header.model);
    launch.agent_version = receipt.agent_version.or(launch.agent_version);
    launch.provider_session_path = receipt.provider_session_path.or(launch.provider_session_path);
    launch.capture = capture;
    let has_turns = !facts.turns.is_empty();
    let state = launch_state(facts, setting);
    launch.state = match (launch.state, state) {
        // A source without turns, of a subagent, tells nothing of how the launch went.
        (LaunchState::Ended { at, outcome }, LaunchState::Ended { at: new, .. }) if !has_turns => {
            LaunchState::Ended { at: at.max(new), outcome }
        }
        (old, _) if !has_turns => old,
        (_, state) => state,
    };
    let times = turn_times(facts, setting);
    let mut boundary = BoundaryRows::of_launch(LaunchChange::Extended(launch));
    for place in 0..facts.turns.len() {
        let turn = turn_row(id, facts, place, &times, setting);
        if turn.ordinal <= facts.known_turns {
            boundary.turns_updated.insert(turn.id, turn);
        } else {
            boundary.turns_opened.push(TurnRows { turn, assets: Vec::new(), decisions: Vec::new() });
        }
    }
    for (key, fact) in usage {
        let UsageFact { report, turn } = *fact;
        let by_time = || turn_at(turns, report.observed_at);
        let turn_id = turn.map(|place| TurnId::of_import(id, ordinal_of(facts, place))).or_else(by_time);
        boundary.usage.insert(key, UsageChange::Saved(UsageRecord { launch_id: id, turn_id, report }));
    }
    boundary
}

fn receipt_of(facts: &SessionFacts) -> Receipt {
    let session = Some(facts.seen.id.clone()).filter(|id| !id.is_empty());
    Receipt { provider_session_id: session, ..facts.receipt.clone() }
}

fn ordinal_of(facts: &SessionFacts, place: usize) -> u32 {
    let place = u32::try_from(place).unwrap_or(u32::MAX);
    facts.turns_before.saturating_add(place).saturating_add(1)
}

/// Returns when each turn began; one without a time began with the one before it.
fn turn_times(facts: &SessionFacts, setting: &Setting) -> Vec<Timestamp> {
    let mut last = facts.first_at.unwrap_or(setting.default_at);
    let time = |turn: &TurnFact| {
        last = turn.at.unwrap_or(last).max(last);
        last
    };
    facts.turns.iter().map(time).collect()
}

fn turn_row(launch: LaunchId, facts: &SessionFacts, place: usize, times: &[Timestamp], setting: &Setting) -> Turn {
    let ordinal = ordinal_of(facts, place);
    let fact = &facts.turns[place];
    Turn {
        id: TurnId::of_import(launch, ordinal),
        launch_id: launch,
        ordinal,
        provider_turn_id: None,
        started_at: times[place],
        state: turn_state(fact, facts, place, times, setting),
        input_op: if ordinal == 1 { InputOp::Initial } else { InputOp::Message },
        context_coverage: if fact.has_usage { Coverage::ProviderTotalOnly } else { Coverage::Unknown },
        tokenizer: None,
        system_prompt_path: None,
        task_prompt_path: None,
        system_tokens: None,
        task_tokens: None,
        supplied_context_tokens: None,
        context_gather_ms: 0,
        context_render_ms: 0,
        context_persist_ms: 0,
        first_event_seq: None,
        last_event_seq: None,
        root_output: None,
        basis: None,
    }
}

/// Returns whether the turn ended. One that the next turn follows did, and so did the last one of a session at rest; of
/// what became of them nothing is told, so they were interrupted.
fn turn_state(
    turn: &TurnFact,
    facts: &SessionFacts,
    place: usize,
    times: &[Timestamp],
    setting: &Setting,
) -> TurnState {
    let start = times[place];
    match (turn.end, times.get(place + 1)) {
        (Some((at, status)), next) => {
            let at = at.or(next.copied()).or(facts.last_at).unwrap_or(start).max(start);
            TurnState::Ended { at, status: EndStatus::Of(status) }
        }
        (None, Some(next)) => TurnState::Ended { at: *next, status: EndStatus::Of(Outcome::Interrupted) },
        (None, None) if setting.is_over => {
            let at = facts.last_at.unwrap_or(start).max(start);
            TurnState::Ended { at, status: EndStatus::Of(Outcome::Interrupted) }
        }
        (None, None) => TurnState::Running,
    }
}

/// Returns whether the launch ended, and how: as its last turn did.
fn launch_state(facts: &SessionFacts, setting: &Setting) -> LaunchState {
    let at = facts.last_at.unwrap_or(setting.default_at);
    match facts.turns.last().map(|turn| turn.end) {
        Some(None) if !setting.is_over => LaunchState::Running,
        Some(None) => LaunchState::Ended { at, outcome: Outcome::Interrupted },
        Some(Some((_, outcome))) => LaunchState::Ended { at, outcome },
        None => LaunchState::Ended { at, outcome: Outcome::Completed },
    }
}
