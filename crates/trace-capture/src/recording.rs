//! What to record: a pure state machine without files, clock or threads.
//!
//! [`Recording::decide`] turns an input into the events that it makes, as the lines that are to be written. Its state
//! changes only in [`Recording::commit`], once they are written, and is nothing but the [`Fold`] of the lines so far
//! and what no line tells. Lines that could not be written go to [`Recording::lose`] and take no place in the file.
//!
//! So the rows that the ledger gets are those that a later fold over the file finds, whatever failed in between.

mod batch;
mod input;
mod usage;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use trace_model::{
    codec::Line,
    context::{Sha256Hex, TurnContext},
    event::{ConversationEvent, FileHash, Payload, RawSpan, Receipt, TextStream, UsageFigures},
    fold::{Boundary, Fold},
    id::{LaunchId, TurnId},
    launch::{CaptureState, Launch, LaunchHeader, LaunchState},
    money::NanoUsd,
    rows::BoundaryRows,
    timestamp::Timestamp,
    totals::Totals,
    turn::{EndStatus, Outcome, Turn},
    usage::Agent,
    words::{PartialReason, Provider, TokenizerName},
};

pub(crate) use batch::Batch;
pub(crate) use input::{Ending, Input};
pub use input::{Recorded, ResultCost, StreamEvent};

/// The recording of one launch.
#[derive(Debug)]
pub(crate) struct Recording {
    fold: Fold,
    /// The first trouble, in words: it makes the capture partial.
    trouble: Option<String>,
    /// The trouble that no line tells yet.
    owed: Option<Owed>,
    lost_events: u64,
    /// The stream's usage of a turn so far, as its last `usage` event states it.
    stream_usage: Option<(TurnId, UsageFigures)>,
    /// The last running total of the provider's cost.
    running_cost: Option<NanoUsd>,
    /// What the results of a turn cost so far.
    result_cost: Option<(TurnId, NanoUsd)>,
    /// The first launch that owns a session which is seen on the streams of this one.
    yielded_to: Option<LaunchId>,
    /// What is recorded of the exchange.
    recorded: Recorded,
    /// How the launch is to end; nothing but its end is recorded any more.
    ending: Option<Ending>,
}

/// What a `capture_error` event has to tell.
#[derive(Debug, Clone)]
struct Owed {
    message: String,
    lost_events: u64,
}

/// Tells whether a trouble is the launch's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    First,
    Further,
}

impl Recording {
    pub(crate) fn new(header: LaunchHeader) -> Self {
        Self {
            fold: Fold::new(header),
            trouble: None,
            owed: None,
            lost_events: 0,
            stream_usage: None,
            running_cost: None,
            result_cost: None,
            yielded_to: None,
            recorded: Recorded::PromptOnly,
            ending: None,
        }
    }

    pub(crate) const fn launch(&self) -> &Launch {
        self.fold.launch()
    }

    pub(crate) fn running_turn(&self) -> Option<&Turn> {
        self.fold.running_turn()
    }

    /// Returns the ordinal of the next turn.
    pub(crate) fn next_ordinal(&self) -> u32 {
        self.fold.turns().next_back().map_or(1, |turn| turn.ordinal.saturating_add(1))
    }

    /// Returns the encoding of the last turn's token counts.
    pub(crate) fn tokenizer(&self) -> Option<TokenizerName> {
        self.fold.turns().next_back().and_then(|turn| turn.tokenizer)
    }

    /// Returns what the launch's usage adds up to. What it replays of other launches is not known here, and counts.
    pub(crate) fn totals(&self) -> Totals {
        self.fold.totals()
    }

    pub(crate) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    pub(crate) const fn lost_events(&self) -> u64 {
        self.lost_events
    }

    /// Tells whether the launch ended or is about to: only [`Input::EndLaunch`] can still do something then.
    pub(crate) fn is_closed(&self) -> bool {
        self.ending.is_some()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.launch().state != LaunchState::Running
    }

    /// Puts the events that the input makes into the batch: none if there is nothing to record.
    pub(crate) fn decide(&self, input: Input, now: Timestamp, batch: &mut Batch) {
        batch.begin(self.launch().conversation_event_count, now);
        if self.has_ended() {
            return;
        }
        match input {
            Input::EndLaunch { files } => return self.end_launch(files, batch),
            Input::Close => return self.close(batch),
            _ if self.is_closed() => return,
            _ => {}
        }
        self.tell_trouble(batch);
        match input {
            Input::OpenTurn { turn, context_sha256, text } => self.open_turn(*turn, context_sha256, text, batch),
            Input::EndTurn(outcome) => self.end_turn(EndStatus::Of(outcome), batch),
            Input::Conversation { event, agent, raw } => self.conversation(event, agent, raw, batch),
            Input::Stream(event) => self.stream(event, batch),
            Input::Result { status, cost_usd, duration_secs, raw } => {
                let result = Payload::Result { status, cost_usd, duration_secs };
                batch.push_observed(self.spending_turn(), Agent::Main, raw, result);
            }
            Input::Usage(report) => self.usage_report(report, batch),
            Input::Observed(receipt) => self.receipt(self.fill(receipt), batch),
            Input::Stated(receipt) => self.receipt(self.replace(receipt), batch),
            Input::Close | Input::EndLaunch { .. } => {}
        }
    }

    /// Takes note that the batch is in the file.
    ///
    /// `context` is the context of the turn that the batch opens, if it opens one.
    pub(crate) fn commit(&mut self, batch: &Batch, mut context: Option<TurnContext>) -> Boundary {
        if let Some(total) = batch.running_cost() {
            self.running_cost = Some(total);
        }
        self.result_cost = batch.result_cost().or(self.result_cost);
        let mut reached = Boundary::No;
        for line in batch.lines() {
            let mut opened = None;
            if let Some(Line::Event(event)) = line.line {
                match &event.payload {
                    Payload::TurnOpened { .. } => opened = context.take(),
                    Payload::Usage { usage } => {
                        self.stream_usage = event.turn_id.map(|turn| (turn, usage.clone()));
                    }
                    Payload::CaptureError { .. } => self.owed = None,
                    _ => {}
                }
                if is_of_exchange(&event.payload) {
                    self.recorded = Recorded::Conversation;
                }
            }
            if self.fold.apply(line, opened) == Boundary::Reached {
                reached = Boundary::Reached;
            }
        }
        reached
    }

    /// Takes note that the batch could not be written.
    pub(crate) fn lose(&mut self, batch: &Batch, message: &str) -> Trouble {
        let lost = batch.events_but_trouble();
        self.lost_events += lost;
        let trouble = self.take_trouble(message);
        let owed = || Owed { message: message.to_owned(), lost_events: 0 };
        self.owed.get_or_insert_with(owed).lost_events += lost;
        trouble
    }

    /// Takes note of a trouble that lost no event. Only the first one is told by a line of its own.
    pub(crate) fn take_trouble(&mut self, message: &str) -> Trouble {
        if self.trouble.is_some() {
            return Trouble::Further;
        }
        self.trouble = Some(message.to_owned());
        self.owed = Some(Owed { message: message.to_owned(), lost_events: 0 });
        Trouble::First
    }

    /// Takes note that a session which is seen on the streams is that of another launch. The first one counts.
    pub(crate) fn yield_to(&mut self, owner: LaunchId) {
        self.yielded_to.get_or_insert(owner);
    }

    /// Returns the launch whose session is seen in place of one of this launch.
    pub(crate) fn yielded_to(&self) -> Option<LaunchId> {
        self.yielded_to.filter(|_| self.launch().provider_session_id.is_none())
    }

    /// Returns what is recorded of the exchange.
    pub(crate) const fn recorded(&self) -> Recorded {
        self.recorded
    }

    /// Lets the launch end so; the first ending stays.
    pub(crate) fn begin_end(&mut self, ending: Ending) {
        self.ending.get_or_insert(ending);
    }

    /// Returns what changed since this was last called.
    pub(crate) fn take_changes(&mut self) -> BoundaryRows {
        self.fold.take_changes()
    }

    fn tell_trouble(&self, batch: &mut Batch) {
        if let Some(Owed { message, lost_events }) = self.owed.clone() {
            let lost_events = Some(lost_events).filter(|lost| *lost > 0);
            batch.push(self.running_id(), Payload::CaptureError { message, lost_events });
        }
    }

    fn open_turn(&self, turn: Turn, context_sha256: Sha256Hex, text: Option<String>, batch: &mut Batch) {
        self.end_turn(EndStatus::Partial(PartialReason::Superseded), batch);
        let (id, op) = (turn.id, turn.input_op);
        batch.push(Some(id), Payload::TurnOpened { turn, context_sha256 });
        if let Some(text) = text {
            batch.push(Some(id), Payload::UserInput { op, text });
        }
    }

    fn end_turn(&self, status: EndStatus, batch: &mut Batch) {
        if let Some(running) = self.running_id() {
            let (status, partial_reason) = status.words();
            batch.push(Some(running), Payload::TurnEnded { status, partial_reason });
        }
    }

    /// Ends the running turn as the launch ends, and tells what trouble is not told yet.
    fn close(&self, batch: &mut Batch) {
        self.tell_trouble(batch);
        let outcome = self.ending.map_or(Outcome::Interrupted, Ending::outcome);
        self.end_turn(
            if self.trouble.is_some() {
                EndStatus::Partial(PartialReason::CaptureFailed)
            } else {
                EndStatus::Of(outcome)
            },
            batch,
        );
    }

    /// The files hold the bytes before this line, so nothing stands beside it.
    fn end_launch(&self, files: Vec<FileHash>, batch: &mut Batch) {
        let Some(ending) = &self.ending else { return };
        let capture = match (&self.trouble, ending) {
            (Some(reason), _) => CaptureState::Partial { reason: reason.clone() },
            (None, Ending::Finished { recorded: Recorded::Conversation, .. }) => CaptureState::Complete,
            (None, Ending::Finished { recorded: Recorded::PromptOnly, .. }) => {
                let not_captured = || "provider conversation not captured".to_owned();
                let reason = self.yielded_to().map(|owner| format!("its session is recorded by {owner}"));
                CaptureState::PromptOnly { reason: reason.unwrap_or_else(not_captured) }
            }
            (None, Ending::Dropped) => {
                CaptureState::Interrupted { reason: "the capture was dropped before it was finished".to_owned() }
            }
        };
        let (capture_status, reason) = capture.columns();
        let (outcome, reason) = (ending.outcome(), reason.map(str::to_owned));
        batch.push(None, Payload::LaunchEnded { outcome, capture_status, reason, files });
    }

    fn stream(&self, event: StreamEvent, batch: &mut Batch) {
        let turn = self.running_id();
        match event {
            StreamEvent::Text { text } => {
                batch.push(turn, Payload::LegacyText { stream: TextStream::Assistant, text });
            }
            StreamEvent::ToolUse { name, summary } => batch.push(turn, Payload::LegacyTool { name, summary }),
            StreamEvent::Usage { input_tokens, output_tokens, cache_read_tokens } => {
                self.stream_usage(input_tokens, output_tokens, cache_read_tokens, batch);
            }
            StreamEvent::Result { status, cost, duration_secs } => {
                self.result(status, cost, duration_secs, batch);
            }
        }
    }

    fn receipt(&self, receipt: Receipt, batch: &mut Batch) {
        if receipt != Receipt::default() {
            batch.push(self.running_id(), Payload::Receipt(receipt));
        }
    }

    /// Returns what of an observed receipt is news: it fills what is empty and replaces nothing.
    fn fill(&self, receipt: Receipt) -> Receipt {
        let launch = self.launch();
        let unless = |known: bool, value: Option<String>| value.filter(|value| !known && !value.is_empty());
        let provider_is_known = launch.header.provider != Provider::Unknown;
        Receipt {
            provider: receipt.provider.filter(|provider| !provider_is_known && *provider != Provider::Unknown),
            provider_session_id: unless(launch.provider_session_id.is_some(), receipt.provider_session_id),
            provider_session_path: unless(launch.provider_session_path.is_some(), receipt.provider_session_path),
            model: unless(launch.header.model.is_some(), receipt.model),
            agent_version: unless(launch.agent_version.is_some(), receipt.agent_version),
        }
    }

    /// Returns what of a stated receipt is news: it replaces what it names.
    fn replace(&self, receipt: Receipt) -> Receipt {
        let launch = self.launch();
        let news = |known: &Option<String>, value: Option<String>| value.filter(|value| known.as_ref() != Some(value));
        Receipt {
            provider: receipt.provider.filter(|provider| *provider != launch.header.provider),
            provider_session_id: news(&launch.provider_session_id, receipt.provider_session_id),
            provider_session_path: news(&launch.provider_session_path, receipt.provider_session_path),
            model: news(&launch.header.model, receipt.model),
            agent_version: news(&launch.agent_version, receipt.agent_version),
        }
    }

    fn running_id(&self) -> Option<TurnId> {
        self.running_turn().map(|turn| turn.id)
    }

    /// Returns the turn of an event: the one that has the provider's id, else the one that runs.
    fn turn_of(&self, provider_turn_id: Option<&str>) -> Option<TurnId> {
        let named = provider_turn_id
            .and_then(|named| self.fold.turns().rev().find(|turn| turn.provider_turn_id.as_deref() == Some(named)));
        named.or_else(|| self.running_turn()).map(|turn| turn.id)
    }

    /// Returns the turn that usage counts to when nothing names one: the one that runs, else the last one.
    fn spending_turn(&self) -> Option<TurnId> {
        self.fold.turns().next_back().map(|turn| turn.id)
    }

    fn conversation(&self, event: ConversationEvent, agent: Agent, raw: Option<RawSpan>, batch: &mut Batch) {
        let mut turn = self.turn_of(event.provider_turn_id());
        let usage = match &event {
            ConversationEvent::TurnUsage { usage, .. } => {
                turn = turn.or_else(|| self.spending_turn());
                turn.map(|turn| (turn, usage.clone(), agent.clone()))
            }
            _ => None,
        };
        batch.push_observed(turn, agent, raw, Payload::Conversation { event });
        if let Some((turn, usage, agent)) = usage {
            self.turn_usage(turn, &usage, &agent, batch);
        }
    }
}

/// Tells whether an event is a part of the exchange with the agent, or of what it cost.
const fn is_of_exchange(payload: &Payload) -> bool {
    match payload {
        Payload::Conversation { .. }
        | Payload::LegacyText { .. }
        | Payload::LegacyTool { .. }
        | Payload::Usage { .. }
        | Payload::UsageRecord { .. }
        | Payload::Result { .. } => true,
        Payload::TurnOpened { .. }
        | Payload::TurnEnded { .. }
        | Payload::UserInput { .. }
        | Payload::Receipt(_)
        | Payload::CaptureError { .. }
        | Payload::LaunchEnded { .. } => false,
    }
}
