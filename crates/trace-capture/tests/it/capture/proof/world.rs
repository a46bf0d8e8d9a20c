//! Lets a story happen to captures, as a harness makes it happen: through the public interface alone.

use std::{collections::BTreeMap, sync::Arc};

use trace_capture::{
    Capture, CaptureEnv, CaptureError, Home, LedgerKind, Recorded, ReservationUse, ResultCost, Start, StreamEvent,
    open_home_ledger, reindex::index_deferred,
};
use trace_model::{
    event::{ConversationEvent, Receipt, UsageFigures},
    id::{ControlRunId, LaunchId, TurnId},
    launch::LaunchState,
    ledger::Ledger,
    money::NanoUsd,
    query::LaunchQuery,
    turn::{Outcome, TurnState},
    usage::UsageReport,
    words::{Grain, InputOp, OutputStream, Provider, Quality},
};
use trace_testkit::{FaultLedger, SimulatedFiles, samples};

use super::{
    super::support::{begin, env, home_on, labels, prompt, start, text},
    reference::{LaunchReference, Reference},
    steps::{Step, Story},
};

/// A story that has come to its end: every handle is gone, and so is the environment.
pub(super) struct Told {
    pub(super) home: Home,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) reference: Reference,
    /// What waits by what the harness was answered.
    pub(super) waiting: BTreeMap<ControlRunId, LaunchId>,
    /// Where the ledger lies, until nobody looks into it any more.
    _folder: tempfile::TempDir,
}

struct World {
    files: SimulatedFiles,
    env: CaptureEnv,
    ledger: Arc<dyn Ledger>,
    captures: Vec<Capture>,
    /// A launch that ended before all others began.
    ended: Capture,
    reference: Reference,
    waiting: BTreeMap<ControlRunId, LaunchId>,
    is_ledger_faultless: bool,
    /// The ends that the ledger was seen to hold.
    ended_launches: BTreeMap<LaunchId, LaunchState>,
    ended_turns: BTreeMap<TurnId, TurnState>,
}

/// Lets the story happen.
pub(super) fn tell(story: &Story, kind: LedgerKind) -> Told {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open_home_ledger(&Home::open_real(folder.path()).unwrap(), Some(kind)).unwrap();
    let files = SimulatedFiles::new();
    let home = home_on(&files);
    let failing = FaultLedger::new(Arc::clone(&ledger), story.fault);
    let env = env(&home, Arc::new(failing));
    let ended = begin(&env);
    ended.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let mut reference = Reference::default();
    reference.begin(ended.launch_id().unwrap());
    reference.launches[0].finish(Outcome::Completed);
    let mut world = World {
        env,
        files,
        ledger: Arc::clone(&ledger),
        captures: Vec::new(),
        ended,
        reference,
        waiting: BTreeMap::new(),
        is_ledger_faultless: story.fault.is_none(),
        ended_launches: BTreeMap::new(),
        ended_turns: BTreeMap::new(),
    };
    world.take(&Step::Begin(None));
    for step in &story.steps {
        world.take(step);
        world.what_ended_stays_ended();
    }
    world.files.heal();
    let World { env, captures, ended, reference, waiting, .. } = world;
    drop((captures, ended));
    drop(env);
    // What the ledger was behind with at the end, the next one who opens it brings in.
    let brought_in = pollster::block_on(index_deferred(&home, &*ledger)).unwrap();
    assert!(brought_in == 0 || story.can_fail(), "the ledger was behind although nothing failed");
    Told { home, ledger, reference, waiting, _folder: folder }
}

impl World {
    fn take(&mut self, step: &Step) {
        match *step {
            Step::Reserve(run) => self.reserve(run),
            Step::Release(run) => self.release(run),
            Step::Begin(run) => self.begin(run),
            Step::FailFile(nth, torn) => {
                self.files.tear_failing_writes(torn);
                self.files.fail_once_at(nth);
            }
            Step::Retry(at) => self.retry(at),
            Step::Drop(at) => self.drop(at),
            Step::BeginTurn(at) => {
                let Some(capture) = self.capture(at) else { return };
                let begun = capture.blocking_begin_turn(InputOp::Message, "Again.");
                if let (Ok(_), Some(launch)) = (begun, self.open(&capture)) {
                    launch.begin_turn();
                }
            }
            Step::FinishTurn(at, outcome) => {
                let finish = |capture: &Capture| capture.blocking_finish_turn(outcome);
                self.record(at, finish, LaunchReference::finish_turn);
            }
            Step::Finish(at, outcome) => self.finish(at, outcome),
            Step::FinishBadly(at, outcome, nth) => {
                self.files.fail_once_at(nth);
                self.finish(at, outcome);
            }
            Step::Text(at) => self.record(at, |capture| capture.record_stream_event(text("text")), |_| {}),
            Step::Raw(at) => self.record(at, |capture| capture.record_raw(OutputStream::Stdout, b"bytes\n"), |_| {}),
            Step::Session(at, session) => {
                let receipt = Receipt { provider_session_id: Some(format!("s{session}")), ..Receipt::default() };
                self.record(at, |capture| capture.record_receipt(receipt), |_| {});
            }
            Step::Delta(at, name) => {
                let event = ConversationEvent::TextDelta { turn_id: named(name), content: "delta".to_owned() };
                let hear = |launch: &mut LaunchReference| {
                    launch.hear(name);
                };
                self.record(at, |capture| capture.record_conversation(event), hear);
            }
            Step::StreamUsage(at, tokens) => {
                let usage =
                    StreamEvent::Usage { input_tokens: Some(tokens), output_tokens: None, cache_read_tokens: None };
                self.record(at, |capture| capture.record_stream_event(usage), |launch| launch.event_tokens(tokens));
            }
            Step::TurnUsage(at, name, tokens) => {
                let usage = UsageFigures { input_tokens: Some(tokens), ..UsageFigures::default() };
                let event = ConversationEvent::TurnUsage { turn_id: named(name), usage };
                let spend = |launch: &mut LaunchReference| launch.turn_figure(name, tokens);
                self.record(at, |capture| capture.record_conversation(event), spend);
            }
            Step::Cost(at, nanos) => {
                let cost = Some(ResultCost::RunningTotal(NanoUsd::from_nanos(nanos)));
                let result = StreamEvent::Result { status: Outcome::Completed, cost, duration_secs: None };
                self.record(at, |capture| capture.record_stream_event(result), |launch| launch.running_total(nanos));
            }
            Step::Request(at, key, tokens) => {
                let report = UsageReport {
                    request_key: Some(format!("request-{key}")),
                    input_tokens: Some(tokens),
                    ..UsageReport::new(format!("msg_{key}"), Grain::Request, Quality::Exact)
                };
                let Some(capture) = self.capture(at) else { return };
                if is_on_record(&capture, |capture| capture.record_usage(report)) {
                    self.reference.request(capture.launch_id().unwrap(), key, tokens);
                }
            }
        }
    }

    fn reserve(&mut self, n: u32) {
        let control = samples::control(n);
        let run = control.run_id.clone();
        let reserved = self.env.blocking_reserve(control, Provider::Claude, None, "headless");
        if self.is_ledger_faultless {
            assert_eq!(reserved.is_ok(), !self.waiting.contains_key(&run), "one waits at most: {reserved:?}");
        }
        if let Ok(reservation) = reserved {
            self.waiting.insert(run, reservation.launch_id);
        }
    }

    fn release(&mut self, n: u32) {
        let run = samples::control(n).run_id;
        if self.env.blocking_release(&run).is_ok() {
            self.waiting.remove(&run);
        }
    }

    fn begin(&mut self, run: Option<u32>) {
        let control = run.map(samples::control);
        let promised = control.as_ref().and_then(|control| self.waiting.get(&control.run_id)).copied();
        let start = Start { raw: run.is_none(), control: control.clone(), ..start() };
        let begun = Capture::blocking_begin(&self.env, labels(), prompt("Fix the parser."), start);
        let Ok(capture) = begun else { return };
        let id = capture.launch_id().unwrap();
        match capture.status().reservation {
            ReservationUse::Taken if self.is_ledger_faultless => assert_eq!(promised, Some(id)),
            ReservationUse::NoneWaiting if self.is_ledger_faultless => assert_eq!(promised, None),
            ReservationUse::Unanswered if self.is_ledger_faultless => panic!("it answers at once"),
            _ => {}
        }
        if promised == Some(id) {
            self.waiting.retain(|_, waiting| *waiting != id);
        }
        self.reference.begin(id);
        self.captures.push(capture);
    }

    fn retry(&mut self, at: usize) {
        let Some(capture) = self.capture(at) else { return };
        let retried = capture.blocking_retry_as_new_launch(Provider::Claude, None, "Go on.");
        if matches!(retried, Err(CaptureError::UnderControl)) {
            return;
        }
        if let Some(launch) = self.open(&capture) {
            launch.finish(Outcome::Failed);
        }
        if let Ok(next) = retried {
            self.reference.begin(next.launch_id().unwrap());
            self.captures.push(next);
        }
    }

    fn finish(&mut self, at: usize, outcome: Outcome) {
        let Some(capture) = self.capture(at) else { return };
        capture.blocking_finish(outcome, Recorded::Conversation);
        if let Some(launch) = self.open(&capture) {
            launch.finish(outcome);
        }
    }

    /// Drops a handle. A launch whose end cannot be written then has none, so that this may not fail here.
    fn drop(&mut self, at: usize) {
        let Some(place) = self.place(at) else { return };
        self.files.heal();
        drop(self.captures.remove(place));
        // The recorder does in order what it is asked for.
        self.ended.blocking_finish_turn(Outcome::Failed);
    }

    /// Records something, and retells it if it is on record.
    fn record(&mut self, at: usize, record: impl FnOnce(&Capture), retell: impl FnOnce(&mut LaunchReference)) {
        let Some(capture) = self.capture(at) else { return };
        if is_on_record(&capture, record)
            && let Some(launch) = self.open(&capture)
        {
            retell(launch);
        }
    }

    fn place(&self, at: usize) -> Option<usize> {
        at.checked_rem(self.captures.len())
    }

    fn capture(&self, at: usize) -> Option<Capture> {
        self.captures.get(self.place(at)?).cloned()
    }

    fn open(&mut self, capture: &Capture) -> Option<&mut LaunchReference> {
        self.reference.open(capture.launch_id()?)
    }

    /// What the ledger once said to have ended is as it was.
    fn what_ended_stays_ended(&mut self) {
        pollster::block_on(async {
            for launch in self.ledger.launches(&LaunchQuery::default()).await.unwrap() {
                let before = self.ended_launches.get(&launch.header.id);
                assert!(before.is_none_or(|before| *before == launch.state), "{before:?} became {launch:?}");
                if launch.state != LaunchState::Running {
                    self.ended_launches.insert(launch.header.id, launch.state);
                }
                for turn in self.ledger.turns(launch.header.id).await.unwrap() {
                    let turn = turn.turn;
                    let before = self.ended_turns.get(&turn.id);
                    assert!(before.is_none_or(|before| *before == turn.state), "{before:?} became {turn:?}");
                    if turn.state != TurnState::Running {
                        self.ended_turns.insert(turn.id, turn.state);
                    }
                }
            }
        });
    }
}

fn named(turn: Option<u8>) -> Option<String> {
    turn.map(|turn| format!("p{turn}"))
}

/// Records something, and tells whether no event of it was lost.
fn is_on_record(capture: &Capture, record: impl FnOnce(&Capture)) -> bool {
    let lost = capture.status().lost_events;
    record(capture);
    capture.status().lost_events == lost
}
