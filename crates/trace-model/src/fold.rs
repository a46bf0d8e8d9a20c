//! The one way from artifacts to rows.
//!
//! [`fold`] takes the header, the context files and the lines of a launch and yields its rows. [`Fold`] is the same,
//! one line at a time: the recorder feeds it what it has just written, so that what it sends to the ledger and what a
//! later reindex finds cannot differ.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};

mod output;
mod usage;

use crate::{
    codec::Line,
    context::{Sha256Hex, TurnContext},
    event::{ConversationEvent, Event, Payload, Receipt},
    id::TurnId,
    launch::{CaptureState, Launch, LaunchHeader, LaunchState},
    rows::{BoundaryRows, LaunchChange, LaunchRows, TurnRows, UsageChange},
    timestamp::Timestamp,
    totals::Totals,
    turn::{EndStatus, Turn, TurnState},
    usage::{UsageRecord, UsageRow},
    words::{Coverage, PartialReason},
};

pub use output::ROOT_OUTPUT_LIMIT;
use output::RootOutput;
use usage::UsageFold;

/// One stretch of `conversation.jsonl`, in order: together the stretches are the whole file.
#[derive(Debug, Clone, Copy)]
pub struct FoldLine<'a> {
    /// The bytes of the line, with its line feed.
    pub bytes: &'a [u8],
    /// What the line is; nothing for one that is blank or no event.
    pub line: Option<&'a Line>,
}

/// Tells whether a line changed rows that belong into the ledger now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// A turn or launch opened or ended, or a receipt, usage record or capture error came.
    Reached,
    /// Nothing that cannot wait.
    No,
}

/// The rows of a launch, built line by line.
#[derive(Debug)]
pub struct Fold {
    launch: Launch,
    turns: Vec<FoldTurn>,
    /// The place of each turn in `turns`.
    places: BTreeMap<TurnId, usize>,
    usage: UsageFold,
    changes: Changes,
}

#[derive(Debug)]
struct FoldTurn {
    turn: Turn,
    output: RootOutput,
}

/// What changed since the changes were last taken.
#[derive(Debug)]
struct Changes {
    launch_is_new: bool,
    opened: Vec<(TurnId, TurnContext)>,
    updated: BTreeSet<TurnId>,
    usage: BTreeSet<String>,
}

impl Fold {
    /// Returns the rows of a launch of which nothing is known but its header.
    ///
    /// The files that the header promises are taken to exist: `conversation.jsonl`, and `raw/stdout` if the provider's
    /// output is kept.
    ///
    /// # Panics
    ///
    /// Never: the names of the files are path parts.
    pub fn new(header: LaunchHeader) -> Self {
        let file = |name| header.artifact_dir().join(name).expect("the name is a path below the folder");
        let launch = Launch {
            state: LaunchState::Running,
            capture: CaptureState::Capturing,
            agent_version: None,
            conversation_path: Some(file("conversation.jsonl")),
            provider_events_path: header.raw.then(|| file("raw/stdout")),
            provider_session_id: None,
            provider_session_path: None,
            conversation_event_count: 0,
            conversation_bytes: 0,
            launch_ended_sha256: None,
            header,
        };
        let changes =
            Changes { launch_is_new: true, opened: Vec::new(), updated: BTreeSet::new(), usage: BTreeSet::new() };
        Self { launch, turns: Vec::new(), places: BTreeMap::new(), usage: UsageFold::default(), changes }
    }

    /// Returns the launch as it is now.
    pub const fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Returns the turns as they are now, by ordinal.
    pub fn turns(&self) -> impl DoubleEndedIterator<Item = &Turn> {
        self.turns.iter().map(|fold| &fold.turn)
    }

    /// Returns the turn that runs, if one does: only the last one can.
    pub fn running_turn(&self) -> Option<&Turn> {
        self.turns().next_back().filter(|turn| turn.state == TurnState::Running)
    }

    /// Returns the usage record of the key, as merged and replaced so far.
    pub fn usage_record(&self, key: &str) -> Option<&UsageRecord> {
        self.usage.get(key)
    }

    /// Returns the keys of all usage records, sorted.
    pub fn usage_keys(&self) -> impl Iterator<Item = &str> {
        self.usage.records().map(|record| record.report.key.as_str())
    }

    /// Returns what the usage records add up to as far as this launch knows: it sees no replays of other launches.
    pub fn totals(&self) -> Totals {
        let rows = self.usage.records().map(|record| UsageRow { record: record.clone(), replay_of: None });
        Totals::of(&rows.collect::<Vec<_>>())
    }

    /// Adds one line.
    ///
    /// Whatever the lines say, the rows are ones that a ledger takes: a turn of another launch or of a place that is
    /// taken is no turn, usage of a turn that is not here belongs to none, and a context whose positions do not ascend
    /// is no context.
    ///
    /// `context` is the context file of the turn that the line opens; it is not looked at for any other line. Without
    /// it the turn has no assets and no decisions.
    pub fn apply(&mut self, line: FoldLine<'_>, context: Option<TurnContext>) -> Boundary {
        let launch = &mut self.launch;
        launch.conversation_bytes += u64::try_from(line.bytes.len()).unwrap_or(u64::MAX);
        launch.conversation_event_count += u64::from(line.line.is_some());
        match line.line {
            Some(Line::Event(event)) => self.apply_event(event, line.bytes, context),
            Some(Line::Unknown(_)) | None => Boundary::No,
        }
    }

    fn apply_event(&mut self, event: &Event, bytes: &[u8], context: Option<TurnContext>) -> Boundary {
        if let Payload::TurnOpened { turn, .. } = &event.payload {
            self.open_turn(turn, event.ts, context);
        }
        if let Some(turn) = self.running_turn_mut(event.turn_id) {
            turn.turn.first_event_seq.get_or_insert(event.seq);
            turn.turn.last_event_seq = Some(event.seq);
        }
        match &event.payload {
            Payload::TurnOpened { .. } => {}
            Payload::TurnEnded { status, partial_reason } => {
                let Ok(Some(status)) = EndStatus::from_words(*status, *partial_reason) else { return Boundary::No };
                if let Some(turn) = event.turn_id {
                    self.end_turn(turn, event.ts, status);
                }
            }
            Payload::Receipt(receipt) => self.take_receipt(receipt),
            Payload::UsageRecord { record } => self.take_usage(record),
            Payload::CaptureError { message, .. } => {
                if self.launch.capture == CaptureState::Capturing {
                    self.launch.capture = CaptureState::Partial { reason: message.clone() };
                }
            }
            Payload::LaunchEnded { outcome, capture_status, reason, .. } => {
                // The turn's own end could not be written.
                self.end_running_turn(event.ts, PartialReason::CaptureFailed);
                self.launch.state = LaunchState::Ended { at: event.ts, outcome: *outcome };
                if let Ok(capture) = CaptureState::from_columns(*capture_status, reason.clone()) {
                    self.launch.capture = capture;
                }
                let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                self.launch.launch_ended_sha256 = Some(Sha256Hex::of(line));
            }
            Payload::Conversation { event: step } => {
                self.take_conversation(event, step);
                return Boundary::No;
            }
            Payload::LegacyText { .. }
            | Payload::UserInput { .. }
            | Payload::LegacyTool { .. }
            | Payload::Usage { .. }
            | Payload::Result { .. } => {
                if let Some(turn) = self.running_turn_mut(event.turn_id) {
                    turn.output.take(event);
                }
                return Boundary::No;
            }
        }
        Boundary::Reached
    }

    fn open_turn(&mut self, turn: &Turn, at: Timestamp, context: Option<TurnContext>) {
        let place_is_taken = self.turns().next_back().is_some_and(|last| last.ordinal >= turn.ordinal);
        if turn.launch_id != self.launch.header.id || self.places.contains_key(&turn.id) || place_is_taken {
            return;
        }
        // Only one turn runs, even where the line that ended the last one is damaged.
        self.end_running_turn(at, PartialReason::Superseded);
        let context = context.filter(TurnContext::positions_ascend).unwrap_or_else(|| TurnContext {
            schema_version: crate::event::SCHEMA_VERSION,
            turn_id: turn.id,
            coverage: turn.context_coverage,
            tokenizer: turn.tokenizer,
            assets: Vec::new(),
            decisions: Vec::new(),
        });
        self.changes.opened.push((turn.id, context));
        self.places.insert(turn.id, self.turns.len());
        self.turns.push(FoldTurn { turn: turn.clone(), output: RootOutput::default() });
    }

    fn end_running_turn(&mut self, at: Timestamp, reason: PartialReason) {
        if let Some(id) = self.running_turn().map(|turn| turn.id) {
            self.end_turn(id, at, EndStatus::Partial(reason));
        }
    }

    fn end_turn(&mut self, id: TurnId, at: Timestamp, status: EndStatus) {
        let Some(fold) = self.running_turn_mut(Some(id)) else { return };
        fold.turn.state = TurnState::Ended { at, status };
        fold.turn.root_output = core::mem::take(&mut fold.output).into_text();
        self.changes.updated.insert(id);
    }

    fn take_receipt(&mut self, receipt: &Receipt) {
        let launch = &mut self.launch;
        if let Some(provider) = &receipt.provider {
            launch.header.provider = provider.clone();
        }
        let replace = |field: &mut Option<String>, value: &Option<String>| {
            if value.is_some() {
                field.clone_from(value);
            }
        };
        replace(&mut launch.header.model, &receipt.model);
        replace(&mut launch.agent_version, &receipt.agent_version);
        replace(&mut launch.provider_session_id, &receipt.provider_session_id);
        replace(&mut launch.provider_session_path, &receipt.provider_session_path);
    }

    fn take_usage(&mut self, record: &UsageRecord) {
        let turn_id = record.turn_id.filter(|turn| self.places.contains_key(turn));
        let own = UsageRecord { launch_id: self.launch.header.id, turn_id, report: record.report.clone() };
        let changed = self.usage.add(own);
        self.changes.usage.extend(changed);
        // Nothing was known of the turn's input; now the provider's totals are. A record may stay with an earlier turn.
        let Some(stored) = self.usage.get(&record.report.key) else { return };
        let turn = stored.turn_id.filter(|_| stored.report.prompt_tokens().is_some());
        let unknown = |fold: &&mut FoldTurn| fold.turn.context_coverage == Coverage::Unknown;
        if let Some(fold) = self.turn_mut(turn).filter(unknown) {
            fold.turn.context_coverage = Coverage::ProviderTotalOnly;
            let id = fold.turn.id;
            self.changes.updated.insert(id);
        }
    }

    fn take_conversation(&mut self, event: &Event, step: &ConversationEvent) {
        let Some(fold) = self.running_turn_mut(event.turn_id) else { return };
        fold.output.take(event);
        if let (None, Some(provider_turn)) = (&fold.turn.provider_turn_id, step.provider_turn_id()) {
            fold.turn.provider_turn_id = Some(String::from(provider_turn));
            let id = fold.turn.id;
            self.changes.updated.insert(id);
        }
    }

    fn turn_mut(&mut self, id: Option<TurnId>) -> Option<&mut FoldTurn> {
        let place = *self.places.get(&id?)?;
        self.turns.get_mut(place)
    }

    fn running_turn_mut(&mut self, id: Option<TurnId>) -> Option<&mut FoldTurn> {
        self.turn_mut(id).filter(|fold| fold.turn.state == TurnState::Running)
    }

    /// Returns what changed since this was last called, and the running turn; at first, everything.
    pub fn take_changes(&mut self) -> BoundaryRows {
        let launch = self.launch.clone();
        let launch_is_new = core::mem::replace(&mut self.changes.launch_is_new, false);
        let opened = core::mem::take(&mut self.changes.opened);
        let mut updated = core::mem::take(&mut self.changes.updated);
        // Every line of the running turn moves its end.
        updated.extend(self.running_turn().map(|turn| turn.id));
        let usage = core::mem::take(&mut self.changes.usage);
        let turn = |id: TurnId| self.turns.get(*self.places.get(&id)?).map(|fold| fold.turn.clone());
        for (id, _) in &opened {
            updated.remove(id);
        }
        let turns_updated = updated.into_iter().filter_map(|id| Some((id, turn(id)?))).collect();
        let turns_opened = opened
            .into_iter()
            .filter_map(|(id, context)| {
                Some(TurnRows { turn: turn(id)?, assets: context.assets, decisions: context.decisions })
            })
            .collect();
        let usage = usage
            .into_iter()
            .map(|key| {
                let change = self.usage.get(&key).cloned().map_or(UsageChange::Deleted, UsageChange::Saved);
                (key, change)
            })
            .collect();
        let launch = if launch_is_new { LaunchChange::Opened(launch) } else { LaunchChange::Updated(launch) };
        BoundaryRows { launch, turns_opened, turns_updated, usage }
    }
}

/// Returns all rows of a launch: its header, its context files by turn, and the lines of its conversation.
pub fn fold<'a>(
    header: LaunchHeader,
    mut contexts: BTreeMap<TurnId, TurnContext>,
    lines: impl IntoIterator<Item = FoldLine<'a>>,
) -> LaunchRows {
    let mut fold = Fold::new(header);
    for line in lines {
        let context = match line.line {
            Some(Line::Event(Event { payload: Payload::TurnOpened { turn, .. }, .. })) => contexts.remove(&turn.id),
            _ => None,
        };
        fold.apply(line, context);
    }
    fold.into_rows()
}

impl Fold {
    /// Returns all rows, provided that no changes were taken before.
    ///
    /// What was taken is missing: contexts are not kept twice.
    pub fn into_rows(mut self) -> LaunchRows {
        // All records are handed over, so no one is copied.
        self.changes.usage.clear();
        let changes = self.take_changes();
        LaunchRows { launch: self.launch, turns: changes.turns_opened, usage: self.usage.into_records() }
    }
}

#[cfg(test)]
mod tests;
