//! What the tests of capture have in common.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

use serde_json::Value;
use trace_capture::{
    Capture, CaptureEnv, Clock, EnvParts, Home, IdSource, Labels, LedgerKind, Machine, MemoryLedger,
    PreparedTurnContext, Prompts, Start, StreamEvent, TokenizerName,
};
use trace_model::{
    codec::Line,
    context::{Asset, Decision},
    event::{Event, Payload},
    launch::Launch,
    ledger::Ledger,
    query::LaunchQuery,
    timestamp::Timestamp,
    turn::TurnRow,
    usage::UsageRow,
    words::Provider,
};
use trace_testkit::{SimulatedFiles, samples};
use uuid::Uuid;

/// A clock that goes on by a millisecond each time it is asked.
#[derive(Debug)]
pub(super) struct TickingClock(AtomicI64);

impl TickingClock {
    pub(super) fn new() -> Self {
        Self(AtomicI64::new(1_790_000_000_000_000))
    }
}

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(1_000, Ordering::Relaxed)).unwrap()
    }
}

/// Ids that count.
#[derive(Debug, Default)]
pub(super) struct CountingIds(AtomicU64);

impl IdSource for CountingIds {
    fn next(&self, _now: Timestamp) -> Uuid {
        let n = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        Uuid::from_u128(0x0199_0000_0000_7000_8000_0000_0000_0000 + u128::from(n))
    }
}

/// Returns an environment with a clock and ids that are the same in every run.
pub(super) fn env(home: &Home, ledger: Arc<dyn Ledger>) -> CaptureEnv {
    env_with_clock(home, ledger, Arc::new(TickingClock::new()))
}

pub(super) fn env_with_clock(home: &Home, ledger: Arc<dyn Ledger>, clock: Arc<dyn Clock>) -> CaptureEnv {
    let machine = Machine {
        machine_id: Some("m-1".to_owned()),
        hostname: Some("host".to_owned()),
        os_user: Some("sam".to_owned()),
    };
    let parts = EnvParts::new(home.clone(), ledger);
    CaptureEnv::new(EnvParts { clock, ids: Arc::new(CountingIds::default()), machine, ..parts })
}

/// A home in simulated files, and a memory ledger.
pub(super) struct Rig {
    pub(super) files: SimulatedFiles,
    pub(super) home: Home,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) env: CaptureEnv,
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with_ledger(Arc::new(MemoryLedger::new()))
    }

    pub(super) fn with_ledger(ledger: Arc<dyn Ledger>) -> Self {
        let files = SimulatedFiles::new();
        let home = home_on(&files);
        let env = env(&home, Arc::clone(&ledger));
        Self { files, home, ledger, env }
    }

    pub(super) fn begin(&self) -> Capture {
        begin(&self.env)
    }

    /// Waits until all that was recorded is in the ledger, and returns what the ledger holds.
    pub(super) fn rows(self) -> Value {
        let Self { env, ledger, .. } = self;
        drop(env);
        dump(&*ledger)
    }
}

pub(super) fn home_on(files: &SimulatedFiles) -> Home {
    Home::open(Path::new("/home/sam/trace"), Arc::new(files.clone())).unwrap()
}

pub(super) fn labels() -> Labels {
    Labels::new("run_1".parse().unwrap(), "process_1".parse().unwrap(), "/repo", "/repo")
}

pub(super) fn start() -> Start {
    Start::new(Provider::Unknown, "headless")
}

pub(super) fn controlled() -> Start {
    Start { control: Some(samples::control(1)), ..start() }
}

pub(super) fn prompt(text: &str) -> PreparedTurnContext {
    let prompts = Prompts { system: Some("Be brief.".to_owned()), task: Some(text.to_owned()) };
    PreparedTurnContext::from_prompts(TokenizerName::Cl100kBase, prompts)
}

pub(super) fn begin(env: &CaptureEnv) -> Capture {
    Capture::blocking_begin(env, labels(), prompt("Fix the parser."), start()).unwrap()
}

pub(super) fn text(text: impl Into<String>) -> StreamEvent {
    StreamEvent::Text { text: text.into() }
}

/// Every kind of ledger with files that this build has.
pub(super) fn disk_kinds() -> impl Iterator<Item = LedgerKind> {
    LedgerKind::ALL.iter().copied().filter(|kind| kind.is_compiled() && kind.file_name().is_some())
}

/// Removes all files of the home's ledger.
pub(super) fn delete_ledger(root: &Path, kind: LedgerKind) {
    for path in kind.file_names().iter().map(|name| root.join(name)).filter(|path| path.exists()) {
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        removed.unwrap();
    }
}

/// What a ledger holds of one launch.
#[derive(serde::Serialize)]
struct Rows {
    launch: Launch,
    turns: Vec<TurnRows>,
    usage: Vec<UsageRow>,
}

#[derive(serde::Serialize)]
struct TurnRows {
    turn: TurnRow,
    assets: Vec<Asset>,
    decisions: Vec<Decision>,
}

/// Returns everything that the ledger holds, as one JSON text.
pub(super) fn document(ledger: &dyn Ledger) -> String {
    let rows = pollster::block_on(async {
        let mut rows = Vec::new();
        for launch in ledger.launches(&LaunchQuery::default()).await.unwrap() {
            let mut turns = Vec::new();
            for turn in ledger.turns(launch.header.id).await.unwrap() {
                let assets = ledger.assets(turn.turn.id).await.unwrap();
                let decisions = ledger.decisions(turn.turn.id).await.unwrap();
                turns.push(TurnRows { turn, assets, decisions });
            }
            let usage = ledger.usage(launch.header.id).await.unwrap();
            rows.push(Rows { launch, turns, usage });
        }
        rows
    });
    serde_json::to_string_pretty(&rows).unwrap()
}

/// Returns everything that the ledger holds.
pub(super) fn dump(ledger: &dyn Ledger) -> Value {
    serde_json::from_str(&document(ledger)).unwrap()
}

/// Returns the events of the home's only launch; every byte of its file belongs to one.
pub(super) fn events(home: &Home) -> Vec<Event> {
    let dirs = home.list_launch_artifact_dirs().unwrap();
    let [dir] = &dirs[..] else { panic!("there is not one launch: {dirs:?}") };
    let (events, skipped) = read_events(home, dir);
    assert_eq!(skipped, 0, "every line is an event");
    for (event, seq) in events.iter().zip(0..) {
        assert_eq!(event.seq, seq, "the seqs have no gap");
    }
    events
}

/// Returns the events of a launch, and the number of lines and tails that are none.
pub(super) fn read_events(home: &Home, dir: &trace_model::path::ArtifactPath) -> (Vec<Event>, usize) {
    let mut reader = home.open_launch(dir).unwrap().conversation().unwrap();
    let (mut events, mut skipped) = (Vec::new(), 0);
    while let Some(stretch) = reader.next().unwrap() {
        match stretch.line {
            Some(Line::Event(event)) => events.push(event),
            Some(Line::Unknown(event)) => panic!("{event:?}"),
            None => skipped += 1,
        }
    }
    skipped += usize::from(reader.tail().is_some());
    (events, skipped)
}

/// Returns the texts that the agent said, in order.
pub(super) fn texts(events: &[Event]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::LegacyText { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// Returns the word of each payload.
pub(super) fn kinds(events: &[Event]) -> Vec<String> {
    let kind = |event: &Event| serde_json::to_value(&event.payload).unwrap()["type"].as_str().unwrap().to_owned();
    events.iter().map(kind).collect()
}
