//! What the main agent said in a turn.

use alloc::string::String;

use crate::event::{ConversationEvent, Event, Item, Payload, TextStream};

/// The largest `root_output` of a turn, in bytes; what goes beyond is cut at a character, and a mark is added.
pub const ROOT_OUTPUT_LIMIT: usize = 1 << 20;

const CUT_MARK: &str = "\n[… cut at 1 MiB]";

/// Every text and text delta of the main agent, in order; a completed message only where no delta came for it.
#[derive(Debug, Default)]
pub(super) struct RootOutput {
    text: String,
    seen: bool,
    cut: bool,
    delta_since_message: bool,
}

impl RootOutput {
    /// Adds what the event says, if the main agent says something in it.
    pub(super) fn take(&mut self, event: &Event) {
        if !event.agent.is_main() {
            return;
        }
        match &event.payload {
            Payload::LegacyText { stream: TextStream::Assistant, text } => self.push(text),
            Payload::Conversation { event: ConversationEvent::TextDelta { content, .. } } => {
                self.delta_since_message = true;
                self.push(content);
            }
            // A stream that sends deltas repeats them as a whole message.
            Payload::Conversation {
                event: ConversationEvent::ItemCompleted { item: Item::Message { text, .. }, .. },
            } if !core::mem::replace(&mut self.delta_since_message, false) => self.push(text),
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        self.seen = true;
        let room = ROOT_OUTPUT_LIMIT - self.text.len();
        if !self.cut && text.len() <= room {
            self.text.push_str(text);
        } else if !self.cut {
            self.cut = true;
            self.text.push_str(&text[..text.floor_char_boundary(room)]);
        }
    }

    /// Returns the text, or `None` if nothing was said.
    pub(super) fn into_text(mut self) -> Option<String> {
        if self.cut {
            self.text.push_str(CUT_MARK);
        }
        self.seen.then_some(self.text)
    }
}
