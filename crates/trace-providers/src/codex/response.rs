//! Response items to items of the exchange: what the model saw and said.
//!
//! | item | what becomes of it |
//! |---|---|
//! | `message` of the assistant | a message |
//! | `message` of others | nothing: a prompt is told by its event, and instructions and the state of the world are context |
//! | `reasoning` | a thought, if its summary or content is legible |
//! | `function_call`, `custom_tool_call`, `local_shell_call`, `tool_search_call` | a tool that runs |
//! | `function_call_output`, `custom_tool_call_output`, `tool_search_output` | the tool with its result |
//! | `web_search_call`, `image_generation_call` | a tool that is done; a picture by its size |
//! | `agent_message` | a message between agents, as a tool |
//! | `ghost_snapshot`, `compaction` | nothing |
//! | others | a tool of that name |

use alloc::{
    borrow::Cow,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::{Deserialize, Serialize};
use trace_model::event::{ConversationEvent, Item, ItemStatus};

use crate::{json::Json, recent::Recent};

/// How many calls may wait for their results.
const MAX_CALLS: usize = 256;

/// Beginnings of what the client itself writes in the user's name.
const CONTEXTS: [&str; 4] =
    ["<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>"];

/// The calls whose results are to come, by id: a result does not name its tool.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Calls(Recent<String>);

impl Default for Calls {
    fn default() -> Self {
        Self(Recent::with_entries(MAX_CALLS))
    }
}

/// Returns what an item tells.
pub(super) fn event(json: Json<'_>, turn_id: Option<&str>, calls: &mut Calls) -> Option<ConversationEvent> {
    let [kind, call, id] = json.fields(["type", "call_id", "id"]).map(|field| field.and_then(Json::name));
    let kind = kind.unwrap_or_default();
    // A result has the id of its call, and an id of its own.
    let id = call.or(id).unwrap_or_default();
    let turn_id = turn_id.map(String::from);
    let done = |item| ConversationEvent::ItemCompleted { turn_id: turn_id.clone(), item };
    let tool = |name: &str, status, input: Option<String>, output: Option<String>| Item::Tool {
        id: id.clone(),
        name: String::from(name),
        status,
        input,
        output,
    };
    Some(match kind.as_str() {
        "message" => {
            let [role, content, phase] = json.fields(["role", "content", "phase"]);
            role.and_then(Json::text).filter(|role| role == "assistant")?;
            let phase = phase.and_then(Json::name);
            done(Item::Message { text: content.map(text).unwrap_or_default(), phase, id })
        }
        "reasoning" => {
            let [summary, content] = json.fields(["summary", "content"]);
            let text = [summary, content].into_iter().flatten().map(text).find(|text| !text.is_empty())?;
            done(Item::Thought { text, id })
        }
        "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
            let [name, namespace, arguments] = json.fields(["name", "namespace", "arguments"]);
            let name = name.and_then(Json::name).unwrap_or_else(|| kind.trim_end_matches("_call").to_string());
            let name = namespace.and_then(Json::name).map_or(name.clone(), |namespace| format!("{namespace}.{name}"));
            let [input, action] = json.fields(["input", "action"]);
            let input = arguments.or(input).or(action).map(as_written);
            calls.0.insert(&id, name.clone(), name.len());
            ConversationEvent::ItemStarted {
                turn_id: turn_id.clone(),
                item: tool(&name, ItemStatus::Running, input, None),
            }
        }
        "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
            let [output, tools] = json.fields(["output", "tools"]);
            let success = output.and_then(|output| output.field("success"));
            let failed = success.is_some_and(Json::is_no);
            let status = if failed { ItemStatus::Failed } else { ItemStatus::Completed };
            let output = output.map(|output| output.field("content").unwrap_or(output)).map(result);
            let name = calls.0.remove(&id).unwrap_or_default();
            done(tool(&name, status, None, output.or_else(|| tools.map(|tools| tools.source().to_string()))))
        }
        "web_search_call" => {
            let action = json.field("action").map(|action| action.source().to_string());
            done(tool("web_search", ItemStatus::Completed, action, None))
        }
        "image_generation_call" => {
            let [prompt, picture] = json.fields(["revised_prompt", "result"]);
            let picture =
                picture.and_then(Json::text).map(|picture| format!("[image, {} bytes in Base64]", picture.len()));
            done(tool("image_generation", ItemStatus::Completed, prompt.and_then(Json::name), picture))
        }
        "agent_message" => {
            let [author, recipient, content] = json.fields(["author", "recipient", "content"]);
            let [author, recipient] = [author, recipient].map(|name| name.and_then(Json::name).unwrap_or_default());
            let ends = format!("{author} -> {recipient}");
            done(tool("agent_message", ItemStatus::Completed, Some(ends), content.map(text)))
        }
        "ghost_snapshot" | "compaction" | "compaction_summary" => return None,
        kind => done(tool(kind, ItemStatus::Completed, None, None)),
    })
}

/// Returns the prompt that an item is in a rollout that has no events: a message in the user's name that the client
/// did not write.
pub(super) fn prompt(json: Json<'_>) -> Option<String> {
    let [kind, role, content] = json.fields(["type", "role", "content"]);
    kind.and_then(Json::text).filter(|kind| kind == "message")?;
    role.and_then(Json::text).filter(|role| role == "user")?;
    let text = text(content?);
    (!CONTEXTS.iter().any(|context| text.trim_start().starts_with(context))).then_some(text)
}

/// Returns the texts of blocks of content; pictures are told and not copied.
pub(super) fn text(content: Json<'_>) -> String {
    if let Some(text) = content.text() {
        return text.into_owned();
    }
    let mut pieces: Vec<String> = Vec::new();
    content.for_each_element(|block| {
        let [kind, text, image] = block.fields(["type", "text", "image_url"]);
        match (text.and_then(Json::text), image.and_then(Json::text)) {
            (Some(text), _) => pieces.push(text.into_owned()),
            (None, Some(image)) => pieces.push(format!("[image, {} bytes]", image.len())),
            (None, None) => match kind.and_then(Json::text) {
                Some(kind) if kind.contains("image") => pieces.push(format!("[{kind}]")),
                _ => {}
            },
        }
    });
    pieces.join("\n")
}

fn as_written(arguments: Json<'_>) -> String {
    arguments.text().map_or_else(|| String::from(arguments.source()), Cow::into_owned)
}

/// Returns a tool's result, which is a text, blocks of content, or anything.
fn result(output: Json<'_>) -> String {
    let blocks = output.source().starts_with(['[', '"']).then(|| text(output));
    blocks.filter(|text| !text.is_empty()).unwrap_or_else(|| as_written(output))
}
