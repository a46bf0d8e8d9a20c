//! What a line says, put down as observations; the part that all providers' rules share.

use alloc::{
    collections::BTreeSet,
    string::{String, ToString},
    vec::Vec,
};

use serde::{Deserialize, Serialize};
use trace_model::{
    context::Sha256Hex,
    event::{ConversationEvent, Item, ItemStatus},
    span::ByteSpan,
    timestamp::Timestamp,
    usage::{Agent, UsageReport},
};

use crate::observation::{Note, NoteKind, Observation, Observed};

/// How many unknown types are noted. A stream of nothing but unknown types is no stream of the provider.
const MAX_UNKNOWN_TYPES: usize = 64;

/// The longest name of an unknown type that a note repeats, in bytes.
const TYPE_NAME: usize = 100;

/// Where the observations of one line come from and go to.
pub(crate) struct Saying<'o> {
    pub(crate) agent: Agent,
    /// When, where the line tells.
    pub(crate) at: Option<Timestamp>,
    pub(crate) span: ByteSpan,
    pub(crate) out: &'o mut Vec<Observation>,
}

impl Saying<'_> {
    pub(crate) fn event(&mut self, event: ConversationEvent) {
        self.out.push(Observation::Event(Observed {
            event,
            agent: self.agent.clone(),
            at: self.at,
            span: Some(self.span),
        }));
    }

    /// Tells that the context was compacted: an item like that of a tool, with what the provider says about it.
    pub(crate) fn compaction(&mut self, id: String, said: Option<&str>) {
        let name = String::from("compaction");
        let item = Item::Tool { id, name, status: ItemStatus::Completed, input: said.map(String::from), output: None };
        self.event(ConversationEvent::ItemCompleted { turn_id: None, item });
    }

    pub(crate) fn usage(&mut self, reports: impl IntoIterator<Item = UsageReport>) {
        self.out.extend(reports.into_iter().map(Observation::Usage));
    }

    pub(crate) fn note(&mut self, kind: NoteKind, detail: &str) {
        self.out.push(Observation::Note(Note { offset: self.span.start(), kind, detail: detail.to_string() }));
    }
}

/// The types that the rules do not know.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct UnknownTypes(BTreeSet<String>);

impl UnknownTypes {
    /// Notes a type, once.
    pub(crate) fn note(&mut self, kind: &str, saying: &mut Saying<'_>) {
        let kind = &kind[..kind.floor_char_boundary(TYPE_NAME)];
        if self.0.len() < MAX_UNKNOWN_TYPES && self.0.insert(String::from(kind)) {
            saying.note(NoteKind::UnknownType, kind);
        }
    }
}

/// The words of the last error of a turn, hashed: what ends the turn repeats them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LastError(Option<Sha256Hex>);

impl LastError {
    /// Tells of an error, unless its words are those of the last one.
    pub(crate) fn tell(&mut self, code: String, message: String, saying: &mut Saying<'_>) {
        let hash = Some(Sha256Hex::of(message.as_bytes()));
        if self.0 != hash {
            self.0 = hash;
            saying.event(ConversationEvent::Error { code, message });
        }
    }
}
