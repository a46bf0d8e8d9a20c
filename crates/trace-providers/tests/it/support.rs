//! The one door of the tests: bytes in, observations, text and rows out.

use std::{fmt::Write as _, fs, mem, path::Path};

use serde_json::{Value, json};
use trace_model::{
    codec::{self, Line},
    context::Sha256Hex,
    event::{ConversationEvent, Event, Payload, SCHEMA_VERSION},
    fold::{Fold, FoldLine},
    id::TurnId,
    launch::LaunchHeader,
    rows::LaunchRows,
    timestamp::Timestamp,
    totals::Totals,
    turn::{EndStatus, Outcome, Turn},
    usage::{Agent, UsageRecord, UsageReport, UsageRow},
    words::Provider,
};
use trace_providers::{
    AgentSeen, Detail, Note, NoteKind, Observation, SessionSeen, SourceFormat, interpreter_for, reader_for,
    recognise::SessionStart, resume_reader,
};

/// Returns a recorded stream.
#[expect(clippy::disallowed_methods, reason = "the crate reads no file; its tests read their recordings")]
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Interprets an output that comes in pieces.
pub(crate) fn interpret<'a>(
    provider: &Provider,
    start: SessionStart,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Observation> {
    let mut interpreter = interpreter_for(provider, start).unwrap();
    let mut out = Vec::new();
    for piece in pieces {
        interpreter.push(piece, &mut out);
    }
    interpreter.finish(&mut out);
    out
}

/// Reads a source as a whole.
pub(crate) fn read(format: SourceFormat, detail: Detail, source: &[u8]) -> Vec<Observation> {
    let mut reader = reader_for(format, detail).unwrap();
    let mut out = Vec::new();
    reader.push(source, &mut out);
    reader.finish(&mut out);
    out
}

/// Reads a source that was read up to `cut` before: what the first reader did not keep is read by the second one.
///
/// `None` for a format without checkpoints.
pub(crate) fn read_in_two(format: SourceFormat, detail: Detail, source: &[u8], cut: usize) -> Option<Vec<Observation>> {
    let mut first = reader_for(format, detail).unwrap();
    let mut out = Vec::new();
    first.push(&source[..cut], &mut out);
    let checkpoint = first.checkpoint()?;
    let offset = usize::try_from(checkpoint.offset).unwrap();
    let mut second = resume_reader(format, detail, &checkpoint).unwrap();
    second.push(&source[offset..], &mut out);
    second.finish(&mut out);
    Some(out)
}

/// Returns a stream of these lines.
pub(crate) fn lines(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// Returns the steps of the exchange, and who made them.
pub(crate) fn events(observations: &[Observation]) -> Vec<(Agent, ConversationEvent)> {
    observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Event(observed) => Some((observed.agent.clone(), observed.event.clone())),
            _ => None,
        })
        .collect()
}

/// Returns input, cache read, cache write and output of what a server charged.
pub(crate) fn charged(truth: &Value) -> [Option<u64>; 4] {
    ["input_uncached", "cache_read", "cache_write", "output_total"].map(|class| truth[class].as_u64())
}

/// Returns input, cache read, cache write and output.
pub(crate) fn classes(totals: &Totals) -> [Option<u64>; 4] {
    [totals.input_tokens, totals.cache_read_tokens, totals.cache_write_tokens, totals.output_tokens]
}

/// Returns the usage reports.
pub(crate) fn usage(observations: &[Observation]) -> Vec<&UsageReport> {
    observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Usage(report) => Some(report),
            _ => None,
        })
        .collect()
}

/// Returns the notes, each by place and kind.
pub(crate) fn notes(observations: &[Observation]) -> Vec<(u64, NoteKind)> {
    observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Note(Note { offset, kind, .. }) => Some((*offset, *kind)),
            _ => None,
        })
        .collect()
}

/// Returns the texts of the prompts.
pub(crate) fn prompts(observations: &[Observation]) -> Vec<Option<&str>> {
    observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Input { text, .. } => Some(text.as_deref()),
            _ => None,
        })
        .collect()
}

/// Writes observations as one line of text each.
pub(crate) fn render(observations: &[Observation]) -> String {
    let mut text = String::new();
    for seen in observations {
        let (name, value) = match seen {
            Observation::Session(SessionSeen { id, parent, cwd, at }) => {
                (String::from("session"), json!({"id": id, "parent": parent, "cwd": cwd, "at": at}))
            }
            Observation::Agent(AgentSeen { agent, parent, tool_call, kind, prompt, at }) => (
                String::from("agent  "),
                json!({"agent": agent, "parent": parent, "tool_call": tool_call, "kind": kind, "prompt": prompt, "at": at}),
            ),
            Observation::Event(observed) => {
                let span = observed.span.unwrap();
                let mut value = serde_json::to_value(&observed.event).unwrap();
                let agent = observed.agent.as_str();
                drop_nulls(&mut value);
                (format!("event  {agent} {}+{}", span.start(), span.len()), value)
            }
            Observation::Input { text, span, .. } => (format!("input  {}+{}", span.start(), span.len()), json!(text)),
            Observation::Usage(report) => (String::from("usage "), json!(report)),
            Observation::Receipt(receipt) => (String::from("receipt"), json!(receipt)),
            Observation::Result { status, cost_usd, duration_secs, span, .. } => (
                format!("result {}+{}", span.start(), span.len()),
                json!({"status": status, "cost_usd": cost_usd, "duration_secs": duration_secs}),
            ),
            Observation::Note(note) => (format!("note   {}", note.offset), json!({note.kind.as_str(): note.detail})),
        };
        let mut value = value;
        drop_nulls(&mut value);
        writeln!(text, "{name} {value}").unwrap();
    }
    text
}

fn drop_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(drop_nulls);
    }
}

/// What a launch looks like that was recorded from these observations, as a recorder would do it.
pub(crate) struct Recorded {
    pub(crate) rows: LaunchRows,
    pub(crate) usage: Vec<UsageRow>,
    pub(crate) outcomes: Vec<Outcome>,
}

impl Recorded {
    pub(crate) fn totals(&self) -> Totals {
        Totals::of(&self.usage)
    }

    /// Returns the totals of a turn.
    pub(crate) fn totals_of_turn(&self, turn: usize) -> Totals {
        let id = self.rows.turns[turn].turn.id;
        let of_turn = self.usage.iter().filter(|row| row.record.turn_id == Some(id));
        Totals::of(&of_turn.cloned().collect::<Vec<_>>())
    }

    /// Returns what the main agent said in a turn.
    pub(crate) fn output(&self, turn: usize) -> Option<&str> {
        self.rows.turns[turn].turn.root_output.as_deref()
    }
}

/// Records observations into events, and folds them into rows.
pub(crate) fn record(observations: &[Observation]) -> Recorded {
    let header: LaunchHeader = serde_json::from_value(json!({
        "schema_version": SCHEMA_VERSION,
        "id": "launch_01a01d2e5c0070008000000000000001",
        "run_id": "run",
        "process_id": "process",
        "started_at": "2026-12-01T00:00:00Z",
        "repo": "/repo",
        "worktree": "/repo",
        "provider": "claude",
        "surface": "headless",
        "raw": true,
    }))
    .unwrap();
    let mut recorder = Recorder { fold: Fold::new(header), seq: 0, turns: 0 };
    let mut outcomes = Vec::new();
    recorder.open_turn();
    let mut is_first_prompt = true;
    for seen in observations {
        match seen {
            Observation::Event(observed) => {
                recorder.append(Payload::Conversation { event: observed.event.clone() }, |event| {
                    event.agent = observed.agent.clone();
                });
            }
            Observation::Usage(report) => recorder.usage(report),
            Observation::Receipt(receipt) => recorder.append(Payload::Receipt(receipt.clone()), |_| {}),
            Observation::Input { .. } => {
                if !mem::take(&mut is_first_prompt) {
                    recorder.open_turn();
                }
            }
            Observation::Result { status, .. } => {
                outcomes.push(*status);
                let (status, partial_reason) = EndStatus::Of(*status).words();
                let payload = Payload::TurnEnded { status, partial_reason };
                recorder.append(payload, |_| {});
            }
            Observation::Session(_) | Observation::Agent(_) | Observation::Note(_) => {}
        }
    }
    let rows = recorder.fold.into_rows();
    let usage = rows.usage.values().map(|record| UsageRow { record: record.clone(), replay_of: None }).collect();
    Recorded { rows, usage, outcomes }
}

struct Recorder {
    fold: Fold,
    seq: u64,
    turns: u32,
}

impl Recorder {
    fn open_turn(&mut self) {
        self.turns += 1;
        let ordinal = self.turns;
        let turn: Turn = serde_json::from_value(json!({
            "id": format!("turn_01a01d2e5c0070008000{ordinal:012}"),
            "launch_id": "launch_01a01d2e5c0070008000000000000001",
            "ordinal": ordinal,
            "started_at": "2026-12-01T00:00:00Z",
            "status": "running",
            "input_op": if ordinal == 1 { "initial" } else { "message" },
            "context_coverage": "unknown",
            "context_gather_ms": 0,
            "context_render_ms": 0,
            "context_persist_ms": 0,
        }))
        .unwrap();
        let id = turn.id;
        let payload = Payload::TurnOpened { turn, context_sha256: Sha256Hex::of(b"") };
        self.append(payload, |event| event.turn_id = Some(id));
    }

    fn usage(&mut self, report: &UsageReport) {
        let (launch_id, turn_id) = (self.fold.launch().header.id, self.last_turn());
        let record = UsageRecord { launch_id, turn_id, report: report.clone() };
        self.append(Payload::UsageRecord { record }, |_| {});
    }

    /// Returns the turn that runs, or the last one that did.
    fn last_turn(&self) -> Option<TurnId> {
        self.fold.turns().next_back().map(|turn| turn.id)
    }

    fn append(&mut self, payload: Payload, amend: impl FnOnce(&mut Event)) {
        let mut event = Event {
            schema_version: SCHEMA_VERSION,
            seq: self.seq,
            ts: Timestamp::UNIX_EPOCH,
            turn_id: self.last_turn(),
            agent: Agent::Main,
            raw: None,
            payload,
        };
        amend(&mut event);
        self.seq += 1;
        let mut bytes = Vec::new();
        codec::encode(&event, &mut bytes);
        self.fold.apply(FoldLine { bytes: &bytes, line: Some(&Line::Event(event)) }, None);
    }
}
