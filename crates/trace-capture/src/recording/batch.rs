//! Events that are written together, with one write: all of them or none.

use std::iter;

use trace_model::{
    codec::{self, Line},
    event::{Event, Payload, RawSpan, SCHEMA_VERSION},
    fold::FoldLine,
    id::TurnId,
    money::NanoUsd,
    timestamp::Timestamp,
    usage::Agent,
};

/// A buffer beyond this size is given back when the next batch begins.
const KEPT_BYTES: usize = 1 << 20;

/// The events that one input makes, with their lines. It is used again and again, so that recording allocates nothing
/// of its own.
#[derive(Debug)]
pub(crate) struct Batch {
    now: Timestamp,
    next_seq: u64,
    /// The events, in the form that a fold takes them in.
    lines: Vec<Line>,
    /// The end of each line in the bytes.
    ends: Vec<usize>,
    bytes: Vec<u8>,
    running_cost: Option<NanoUsd>,
    result_cost: Option<(TurnId, NanoUsd)>,
}

impl Batch {
    pub(crate) const fn new() -> Self {
        Self {
            now: Timestamp::UNIX_EPOCH,
            next_seq: 0,
            lines: Vec::new(),
            ends: Vec::new(),
            bytes: Vec::new(),
            running_cost: None,
            result_cost: None,
        }
    }

    /// Empties the batch; its first event will have that seq.
    pub(super) fn begin(&mut self, next_seq: u64, now: Timestamp) {
        self.now = now;
        self.next_seq = next_seq;
        self.lines.clear();
        self.ends.clear();
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.running_cost = None;
        self.result_cost = None;
    }

    /// Adds an event of the main agent that was not read from anywhere.
    pub(super) fn push(&mut self, turn_id: Option<TurnId>, payload: Payload) {
        self.push_observed(turn_id, Agent::Main, None, payload);
    }

    pub(super) fn push_observed(
        &mut self,
        turn_id: Option<TurnId>,
        agent: Agent,
        raw: Option<RawSpan>,
        payload: Payload,
    ) {
        let event =
            Event { schema_version: SCHEMA_VERSION, seq: self.next_seq, ts: self.now, turn_id, agent, raw, payload };
        self.next_seq += 1;
        codec::encode(&event, &mut self.bytes);
        self.lines.push(Line::Event(event));
        self.ends.push(self.bytes.len());
    }

    /// Notes the running total of the cost that a result in the batch states.
    pub(super) fn set_running_cost(&mut self, total: NanoUsd) {
        self.running_cost = Some(total);
    }

    pub(super) const fn running_cost(&self) -> Option<NanoUsd> {
        self.running_cost
    }

    /// Notes what the results of a turn cost, with the one in the batch.
    pub(super) fn set_result_cost(&mut self, turn: TurnId, cost: NanoUsd) {
        self.result_cost = Some((turn, cost));
    }

    pub(super) const fn result_cost(&self) -> Option<(TurnId, NanoUsd)> {
        self.result_cost
    }

    pub(super) const fn next_seq(&self) -> u64 {
        self.next_seq
    }

    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the lines.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the number of events that tell something else than a trouble.
    pub(super) fn events_but_trouble(&self) -> u64 {
        let tells_more =
            |line: &&Line| !matches!(line, Line::Event(Event { payload: Payload::CaptureError { .. }, .. }));
        self.lines.iter().filter(tells_more).map(|_| 1).sum()
    }

    /// Returns each line with its bytes.
    pub(super) fn lines(&self) -> impl Iterator<Item = FoldLine<'_>> {
        let starts = iter::once(0).chain(self.ends.iter().copied());
        let bytes = starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end]);
        self.lines.iter().zip(bytes).map(|(line, bytes)| FoldLine { bytes, line: Some(line) })
    }
}
