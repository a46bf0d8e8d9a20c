//! Blocks of content to items of the exchange.
//!
//! A tool call is an item that starts on the `assistant` line and is completed by the `tool_result` on a `user` line,
//! or, for tools that the server runs, by a `…_tool_result` block on a later `assistant` line. A call of the `Bash`
//! tool is a command: its text is what a shell is given.

use alloc::{string::String, vec};

use serde::{Deserialize, Serialize};
use trace_model::event::{ConversationEvent, Item, ItemStatus};

use crate::{json::Json, recent::Recent, result_text::text_of_result};

/// The items that were started and not completed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct OpenItems {
    items: Recent<Item>,
}

/// What the client says beside the result of a tool, as `tool_use_result`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Beside {
    exit_code: Option<i32>,
    interrupted: bool,
}

impl Beside {
    pub(super) fn read(json: Json<'_>) -> Self {
        let [exit_code, interrupted] = json.fields(["exit_code", "interrupted"]);
        Self {
            exit_code: exit_code.and_then(|code| code.source().parse().ok()),
            interrupted: interrupted.is_some_and(Json::is_true),
        }
    }
}

/// A block of content, looked at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContentBlock<'a> {
    kind: Option<Json<'a>>,
    pub(super) text: Option<Json<'a>>,
    thinking: Option<Json<'a>>,
    id: Option<Json<'a>>,
    name: Option<Json<'a>>,
    input: Option<Json<'a>>,
    tool_use_id: Option<Json<'a>>,
    content: Option<Json<'a>>,
    is_error: Option<Json<'a>>,
}

impl<'a> ContentBlock<'a> {
    pub(super) fn read(block: Json<'a>) -> Self {
        let [kind, text, thinking, id, name, input, tool_use_id, content, is_error] =
            block.fields(["type", "text", "thinking", "id", "name", "input", "tool_use_id", "content", "is_error"]);
        Self { kind, text, thinking, id, name, input, tool_use_id, content, is_error }
    }

    pub(super) fn is(&self, kind: &str) -> bool {
        self.kind.and_then(Json::text).is_some_and(|own| own == kind)
    }
}

/// What becomes of a block of content.
pub(super) enum Block {
    Event(ConversationEvent),
    /// Known to be nothing to show.
    Silent,
    Unknown(String),
}

/// Tells whether the type of a block of a reply is one that the rules know.
pub(super) fn is_known_in_reply(kind: &str) -> bool {
    matches!(kind, "text" | "thinking" | "redacted_thinking")
        || kind.ends_with("tool_use")
        || kind.ends_with("tool_result")
}

impl OpenItems {
    /// Takes one block of a reply; `id` names a block that has no id of its own.
    pub(super) fn block_of_reply(&mut self, block: &ContentBlock<'_>, id: impl FnOnce() -> String) -> Block {
        let completed = |item| Block::Event(ConversationEvent::ItemCompleted { turn_id: None, item });
        let owned = |text: Option<Json<'_>>| text.and_then(Json::text).unwrap_or_default().into_owned();
        match block.kind.and_then(Json::text).as_deref().unwrap_or_default() {
            "text" => completed(Item::Message { id: id(), text: owned(block.text), phase: None }),
            "thinking" => completed(Item::Thought { id: id(), text: owned(block.thinking) }),
            // Only the model can read it.
            "redacted_thinking" => Block::Silent,
            kind if kind.ends_with("tool_use") => {
                Block::Event(ConversationEvent::ItemStarted { turn_id: None, item: self.start(block) })
            }
            kind if kind.ends_with("tool_result") => Block::Event(self.complete(block, Beside::default())),
            kind => Block::Unknown(String::from(kind)),
        }
    }

    fn start(&mut self, call: &ContentBlock<'_>) -> Item {
        let id = call.id.and_then(Json::name).unwrap_or_default();
        let name = call.name.and_then(Json::name).unwrap_or_default();
        let input = call.input.map(Json::source);
        let command = call.input.filter(|_| name == "Bash").and_then(|input| input.field("command"));
        // What the item holds is text of the call.
        let held = name.len() + input.map_or(0, str::len) + size_of::<Item>();
        let item = match command.and_then(Json::name) {
            Some(command) => Item::Command {
                id: id.clone(),
                command: vec![String::from("bash"), String::from("-c"), command],
                cwd: None,
                status: ItemStatus::Running,
                output: None,
                exit_code: None,
                duration_ms: None,
            },
            None => Item::Tool {
                id: id.clone(),
                name,
                status: ItemStatus::Running,
                input: input.map(String::from),
                output: None,
            },
        };
        self.items.insert(&id, item.clone(), held);
        item
    }

    /// Takes the result of a tool and returns the whole item.
    ///
    /// A call that was not seen, or is forgotten, has no name.
    pub(super) fn complete(&mut self, result: &ContentBlock<'_>, beside: Beside) -> ConversationEvent {
        let id = result.tool_use_id.and_then(Json::name).unwrap_or_default();
        let done = match (beside.interrupted, result.is_error.is_some_and(Json::is_true)) {
            (true, _) => ItemStatus::Interrupted,
            (false, true) => ItemStatus::Failed,
            (false, false) => ItemStatus::Completed,
        };
        let said = result.content.map(text_of_result);
        let mut item = self.items.remove(&id).unwrap_or_else(|| Item::Tool {
            id,
            name: String::from("unknown"),
            status: done,
            input: None,
            output: None,
        });
        match &mut item {
            Item::Command { status, output, exit_code, .. } => {
                *status = done;
                *output = said;
                *exit_code = beside.exit_code;
            }
            Item::Tool { status, output, .. } => {
                *status = done;
                *output = said;
            }
            Item::File { .. } | Item::Message { .. } | Item::Thought { .. } => {}
        }
        ConversationEvent::ItemCompleted { turn_id: None, item }
    }
}
