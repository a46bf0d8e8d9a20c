//! Items to items of the exchange.
//!
//! | item | what becomes of it |
//! |---|---|
//! | `agent_message`, `plan` | a message; only completed, without a start |
//! | `reasoning` | a thought; only completed, without a start |
//! | `command_execution` | a command: its text, joined and quoted by the client, is one word here |
//! | `file_change` | files |
//! | `mcp_tool_call`, `collab_tool_call`, `web_search`, `todo_list` | a tool |
//! | `error` | an error: a warning or a notice, such as that another model answers; nothing fails by it |
//!
//! Each line has the item as a whole, so nothing is remembered but how much of a command's output was told. An update
//! of a to-do list tells the list as it is then; other updates tell nothing that the completed item would not.
//!
//! A status that the client prints as `in_progress` on a completed item is that of an item that the end of its turn
//! stopped; `declined` is a command that the client refused to run.

use alloc::{
    borrow::Cow,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use trace_model::event::{ConversationEvent, FileChange, Item, ItemData, ItemStatus};

use crate::{json::Json, recent::Recent, result_text::text_of_result};

/// Which line of an item it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Started,
    Updated,
    Completed,
}

/// An item of a type that these rules do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnknownItem;

/// The items of a stream.
#[derive(Debug, Default)]
pub(super) struct Items {
    /// How many bytes of a running command's output were told.
    told: Recent<usize>,
}

impl Items {
    /// Takes a line of an item, and returns what it tells.
    pub(super) fn event(
        &mut self,
        stage: Stage,
        kind: &str,
        json: Json<'_>,
    ) -> Result<Option<ConversationEvent>, UnknownItem> {
        if kind == "error" {
            return Ok(Some(ConversationEvent::Error { code: String::from("warning"), message: words(json) }));
        }
        let id = json.field("id").and_then(Json::name).unwrap_or_default();
        let item = item(stage, kind, &id, json).ok_or(UnknownItem)?;
        Ok(match stage {
            Stage::Started => Some(ConversationEvent::ItemStarted { turn_id: None, item }),
            Stage::Completed => {
                self.told.remove(&id);
                Some(ConversationEvent::ItemCompleted { turn_id: None, item })
            }
            Stage::Updated => {
                let data = match kind {
                    "todo_list" => Some(ItemData::PlanText { content: to_do_list(json) }),
                    "command_execution" => self.output(&id, json).map(|content| ItemData::Output { content }),
                    _ => None,
                };
                data.map(|data| ConversationEvent::ItemUpdated { turn_id: None, item_id: id, data })
            }
        })
    }

    /// Returns what a command printed since its output was told last.
    fn output(&mut self, id: &str, json: Json<'_>) -> Option<String> {
        let output = json.field("aggregated_output").and_then(Json::name)?;
        let told = self.told.get(id).copied().unwrap_or(0);
        self.told.insert(id, output.len(), size_of::<usize>());
        output.get(told..).filter(|piece| !piece.is_empty()).map(String::from)
    }
}

fn item(stage: Stage, kind: &str, id: &str, json: Json<'_>) -> Option<Item> {
    let id = String::from(id);
    let text = || json.field("text").and_then(Json::text).unwrap_or_default().into_owned();
    let tool = |name: &str, input: Option<String>, output: Option<String>| Item::Tool {
        id: id.clone(),
        name: String::from(name),
        status: status(stage, json),
        input,
        output,
    };
    Some(match kind {
        "agent_message" => Item::Message { text: text(), phase: None, id },
        "plan" => Item::Message { text: text(), phase: Some(String::from("plan")), id },
        "reasoning" => Item::Thought { text: text(), id },
        "command_execution" => command(stage, id, json),
        "file_change" => Item::File { id, changes: changes(json), status: status(stage, json) },
        "mcp_tool_call" => {
            let [server, name, arguments, result, error] =
                json.fields(["server", "tool", "arguments", "result", "error"]);
            let [server, name] = [server, name].map(|name| name.and_then(Json::name).unwrap_or_default());
            let output = error.map(words).or_else(|| result.map(answered));
            tool(&format!("{server}.{name}"), arguments.map(|arguments| arguments.source().to_string()), output)
        }
        "collab_tool_call" => {
            let [name, states] = json.fields(["tool", "agents_states"]);
            let name = name.and_then(Json::name).unwrap_or_default();
            let output = states.filter(|states| states.source() != "{}").map(|states| states.source().to_string());
            tool(&name, arguments(json, ["receiver_thread_ids", "prompt"]), output)
        }
        "web_search" => tool("web_search", arguments(json, ["query", "action"]), None),
        "todo_list" => tool("todo_list", json.field("items").map(|items| items.source().to_string()), None),
        _ => return None,
    })
}

/// Returns how far an item is; one without a status is as far as its line says.
fn status(stage: Stage, json: Json<'_>) -> ItemStatus {
    let status = json.field("status").and_then(Json::text);
    match (status.as_deref(), stage) {
        (Some("failed" | "declined"), _) => ItemStatus::Failed,
        (Some("in_progress"), Stage::Completed) => ItemStatus::Interrupted,
        (Some("completed"), _) | (_, Stage::Completed) => ItemStatus::Completed,
        (_, Stage::Started | Stage::Updated) => ItemStatus::Running,
    }
}

fn command(stage: Stage, id: String, json: Json<'_>) -> Item {
    let [command, output, exit_code] = json.fields(["command", "aggregated_output", "exit_code"]);
    let output = output.and_then(Json::text).map(Cow::into_owned);
    Item::Command {
        id,
        command: vec![command.and_then(Json::text).unwrap_or_default().into_owned()],
        cwd: None,
        status: status(stage, json),
        // A command that just started has printed nothing yet, which the client writes as an empty text.
        output: output.filter(|output| stage == Stage::Completed || !output.is_empty()),
        exit_code: exit_code.and_then(|code| code.source().parse().ok()),
        duration_ms: None,
    }
}

fn changes(json: Json<'_>) -> Vec<FileChange> {
    let mut changes = Vec::new();
    if let Some(list) = json.field("changes") {
        list.for_each_element(|change| {
            let [path, kind, diff] = change.fields(["path", "kind", "diff"]).map(|field| field.and_then(Json::name));
            changes.push(FileChange { path: path.unwrap_or_default(), kind, diff });
        });
    }
    changes
}

/// Returns the words of an error: its `message`, else all of it.
pub(super) fn words(error: Json<'_>) -> String {
    let words = error.field("message").unwrap_or(error);
    words.text().map_or_else(|| String::from(words.source()), Cow::into_owned)
}

/// Returns what an MCP server answered.
fn answered(result: Json<'_>) -> String {
    let [content, structured] = result.fields(["content", "structured_content"]);
    let content = content.filter(|content| content.source() != "[]");
    match (content, structured) {
        (Some(content), _) => text_of_result(content),
        (None, Some(structured)) => String::from(structured.source()),
        (None, None) => String::new(),
    }
}

/// Returns the arguments of a tool that the client has made fields of the item.
fn arguments<const N: usize>(json: Json<'_>, names: [&str; N]) -> Option<String> {
    let fields = names.into_iter().zip(json.fields(names));
    let fields = fields.filter_map(|(name, field)| Some(format!("\"{name}\":{}", field?.source())));
    let fields: Vec<String> = fields.collect();
    (!fields.is_empty()).then(|| format!("{{{}}}", fields.join(",")))
}

fn to_do_list(json: Json<'_>) -> String {
    let mut lines = Vec::new();
    if let Some(items) = json.field("items") {
        items.for_each_element(|item| {
            let [text, completed] = item.fields(["text", "completed"]);
            let mark = if completed.is_some_and(Json::is_true) { 'x' } else { ' ' };
            lines.push(format!("- [{mark}] {}", text.and_then(Json::text).unwrap_or_default()));
        });
    }
    lines.join("\n")
}
