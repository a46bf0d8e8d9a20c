//! Events that are written together, with one write: all of them or none.

use core::mem;

use trace_model::{
    codec,
    event::{Event, Payload, RawSpan, SCHEMA_VERSION},
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
    events: Vec<Event>,
    /// The end of each event's line.
    ends: Vec<usize>,
    bytes: Vec<u8>,
    running_cost: Option<NanoUsd>,
}

impl Batch {
    pub(crate) const fn new() -> Self {
        Self {
            now: Timestamp::UNIX_EPOCH,
            next_seq: 0,
            events: Vec::new(),
            ends: Vec::new(),
            bytes: Vec::new(),
            running_cost: None,
        }
    }

    /// Empties the batch; its first event will have that seq.
    pub(super) fn begin(&mut self, next_seq: u64, now: Timestamp) {
        self.now = now;
        self.next_seq = next_seq;
        self.events.clear();
        self.ends.clear();
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.running_cost = None;
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
        self.events.push(event);
        self.ends.push(self.bytes.len());
    }

    /// Notes the running total of the cost that a result in the batch states.
    pub(super) fn set_running_cost(&mut self, total: NanoUsd) {
        self.running_cost = Some(total);
    }

    pub(super) const fn running_cost(&self) -> Option<NanoUsd> {
        self.running_cost
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
        self.events.is_empty()
    }

    /// Returns the number of events that tell something else than a trouble.
    pub(super) fn events_but_trouble(&self) -> u64 {
        let events = self.events.iter().filter(|event| !matches!(event.payload, Payload::CaptureError { .. }));
        events.map(|_| 1).sum()
    }

    /// Hands out each event with its line, and empties the batch.
    pub(super) fn drain(&mut self, mut each: impl FnMut(Event, &[u8])) {
        let mut start = 0;
        for (event, end) in self.events.drain(..).zip(self.ends.drain(..)) {
            each(event, &self.bytes[mem::replace(&mut start, end)..end]);
        }
        self.bytes.clear();
    }
}
