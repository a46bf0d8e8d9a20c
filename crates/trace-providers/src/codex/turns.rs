//! The turns of a rollout.
//!
//! | line | what becomes of it |
//! |---|---|
//! | `task_started` | a turn of the client; one without a prompt, such as a compaction, is told at its first usage or end |
//! | `user_message`, a `UserMessage` | a prompt; where a client writes both, they are one |
//! | `task_complete` | the end; a failure if it has an error, or if an `error` was the last that came of the turn |
//! | `turn_aborted` | the end: interrupted |
//! | `error` | the end, if the turn shows no other one before the next prompt |
//!
//! Clients before about October 2025 write no end. A turn that failed or was interrupted may have had a request that
//! was broken off, whose usage is nowhere: a record without figures says so.

use alloc::{
    format,
    string::{String, ToString},
};

use serde::{Deserialize, Serialize};
use trace_model::{
    context::Sha256Hex,
    span::ByteSpan,
    timestamp::Timestamp,
    turn::Outcome,
    usage::UsageReport,
    words::{Grain, Quality},
};

use crate::{lines::span, observation::Observation, saying::Saying};

/// How a prompt is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum PromptLine {
    Event,
    Item,
}

/// The turn that is being read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Turns {
    /// The provider's id of it.
    id: Option<String>,
    /// Whether it has begun and not ended.
    is_open: bool,
    /// The line that began it, if no prompt of it was told.
    untold: Option<Place>,
    /// The error that was the last that came of it.
    failure: Option<Place>,
    /// How the last prompt was written, and its hash.
    prompt: Option<(PromptLine, Sha256Hex)>,
    /// How many turns ended without their usage being whole.
    unstated: u64,
}

/// Where and when something was said.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Place {
    at: Option<Timestamp>,
    offset: u64,
    len: usize,
}

impl Place {
    fn of(line: &Saying<'_>) -> Self {
        let len = usize::try_from(line.span.len()).unwrap_or(usize::MAX);
        Self { at: line.at, offset: line.span.start(), len }
    }

    fn span(self) -> ByteSpan {
        span(self.offset, self.len)
    }
}

impl Turns {
    /// Returns the provider's id of the turn.
    pub(super) fn id(&self) -> Option<String> {
        self.id.clone()
    }

    /// Takes the beginning of a turn, whose prompt may follow, or was told before under the same id.
    pub(super) fn begin(&mut self, id: Option<String>, owner: Option<&str>, line: &mut Saying<'_>) {
        if self.is_open && self.prompt.is_some() && id.is_some() && id == self.id {
            return;
        }
        self.settle(owner, line);
        self.id = id;
        self.is_open = true;
        self.untold = Some(Place::of(line));
        self.prompt = None;
    }

    /// Takes the id of a turn from a line that is not its beginning.
    pub(super) fn name(&mut self, id: String) {
        self.id = Some(id);
    }

    /// Takes a prompt, and tells whether it is not one that was told already.
    pub(super) fn prompt(
        &mut self,
        kind: PromptLine,
        text: String,
        owner: Option<&str>,
        line: &mut Saying<'_>,
    ) -> bool {
        let hash = Sha256Hex::of(text.as_bytes());
        if self.prompt.is_some_and(|(other, told)| other != kind && told == hash) {
            self.prompt = None;
            return false;
        }
        if self.untold.take().is_none() {
            self.settle(owner, line);
        }
        self.prompt = Some((kind, hash));
        self.is_open = true;
        line.out.push(Observation::Input { text: Some(text), at: line.at, span: line.span });
        true
    }

    /// Tells of the turn now if it has no prompt that a line shows; returns whether it was not told before.
    pub(super) fn tell(&mut self, line: &mut Saying<'_>) -> bool {
        let Some(place) = self.untold.take() else { return false };
        line.out.push(Observation::Input { text: None, at: place.at, span: place.span() });
        true
    }

    /// Notes that a request of the turn was answered.
    pub(super) fn go_on(&mut self) {
        self.failure = None;
    }

    /// Takes an error.
    pub(super) fn fail(&mut self, line: &Saying<'_>) {
        self.failure = self.is_open.then(|| Place::of(line));
    }

    /// Returns how the turn ended that ends now; `None` if none is open.
    pub(super) fn end(&mut self, stated: Outcome) -> Option<Outcome> {
        let failed = self.failure.take().is_some() && stated == Outcome::Completed;
        core::mem::take(&mut self.is_open).then_some(if failed { Outcome::Failed } else { stated })
    }

    /// Tells of an end that only an error shows.
    pub(super) fn settle(&mut self, owner: Option<&str>, line: &mut Saying<'_>) {
        let Some(place) = self.failure else { return };
        if let Some(status) = self.end(Outcome::Failed) {
            self.conclude(status, owner, place.at, place.span(), line);
        }
    }

    /// Tells of an end at this line.
    pub(super) fn conclude_here(&mut self, status: Outcome, owner: Option<&str>, line: &mut Saying<'_>) {
        self.conclude(status, owner, line.at, line.span, line);
    }

    fn conclude(
        &mut self,
        status: Outcome,
        owner: Option<&str>,
        at: Option<Timestamp>,
        span: ByteSpan,
        line: &mut Saying<'_>,
    ) {
        if status != Outcome::Completed {
            let report = self.unstated(owner);
            line.usage([UsageReport { observed_at: at, ..report }]);
        }
        line.out.push(Observation::Result { status, cost_usd: None, duration_secs: None, at, span });
    }

    /// Returns a record that says that there may be usage that no line states.
    fn unstated(&mut self, owner: Option<&str>) -> UsageReport {
        self.unstated += 1;
        let key = format!("unstated:{}", self.id.clone().unwrap_or_else(|| self.unstated.to_string()));
        UsageReport { request_key: request_key(owner, &key), ..UsageReport::new(key, Grain::Turn, Quality::LowerBound) }
    }
}

/// Returns the name of a record that it has in each copy of the lines, too.
pub(super) fn request_key(owner: Option<&str>, key: &str) -> Option<String> {
    owner.map(|owner| format!("codex:{owner}:{key}"))
}
