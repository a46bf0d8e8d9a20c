//! Parts of messages to items of the exchange; the stream and the store have the same ones.
//!
//! Sources: sst/opencode@31e22f65a23c `session/message-v2.ts` (the types), `tool/task.ts` (subagents), and recordings
//! of `OpenCode` 1.18.
//!
//! | part | what becomes of it |
//! |---|---|
//! | `text`, `reasoning` | a message, a thought |
//! | `tool` | a tool; of `task`, whose metadata names the session that it started, a subagent, too |
//! | `retry` | an error: the request is tried again |
//! | `compaction` | an item that says so |
//! | `step-start`, `step-finish` | see the stream and the store |
//! | `snapshot`, `patch`, `file`, `agent`, `subtask` | nothing: they stand beside the exchange or repeat it |
//!
//! In messages of version 2 a tool has `id` and `name` instead of `callID` and `tool`.

use alloc::{
    borrow::Cow,
    string::{String, ToString},
};

use trace_model::{
    event::{ConversationEvent, Item, ItemStatus},
    timestamp::Timestamp,
    usage::Agent,
};

use crate::{json::Json, observation::AgentSeen, saying::Saying, source::Detail};

/// The types of parts that are known.
const TYPES: [&str; 12] = [
    "text",
    "reasoning",
    "tool",
    "retry",
    "compaction",
    "step-start",
    "step-finish",
    "snapshot",
    "patch",
    "file",
    "agent",
    "subtask",
];

/// Returns the time that is so many milliseconds after 1970 began.
pub(super) fn time(millis: Json<'_>) -> Option<Timestamp> {
    let micros = i64::try_from(millis.number()?).ok()?.checked_mul(1000)?;
    Timestamp::from_micros(micros)
}

/// Returns the words of an error object: its name, and what it says.
pub(super) fn error(error: Json<'_>) -> (String, String) {
    let [name, data, message] = error.fields(["name", "data", "message"]);
    let said = data.and_then(|data| data.field("message")).or(message).or(data);
    let name = name.and_then(Json::name).unwrap_or_else(|| String::from("error"));
    (name, said.map(words).unwrap_or_default())
}

fn words(json: Json<'_>) -> String {
    json.text().map_or_else(|| String::from(json.source()), Cow::into_owned)
}

/// Tells of a part, if it is a step of the exchange and that is wanted. `id` is the part's; `false` means that its
/// type is not known.
pub(super) fn tell(id: &str, part: Json<'_>, detail: Detail, line: &mut Saying<'_>) -> bool {
    let [kind, text] = part.fields(["type", "text"]).map(|field| field.and_then(Json::text));
    let kind = kind.unwrap_or_default();
    if detail == Detail::Usage {
        return TYPES.contains(&&*kind);
    }
    let id = String::from(id);
    let completed = |item| ConversationEvent::ItemCompleted { turn_id: None, item };
    let text = text.unwrap_or_default().into_owned();
    match &*kind {
        "text" => line.event(completed(Item::Message { id, text, phase: None })),
        "reasoning" => line.event(completed(Item::Thought { id, text })),
        "tool" => line.event(tool(id, part)),
        "retry" => {
            let message = part.field("error").map(|said| error(said).1).unwrap_or_default();
            line.event(ConversationEvent::Error { code: String::from("retry"), message });
        }
        "compaction" => line.compaction(id, None),
        kind => return TYPES.contains(&kind),
    }
    true
}

fn tool(part_id: String, part: Json<'_>) -> ConversationEvent {
    let [call, second_call, name, second_name, state] = part.fields(["callID", "id", "tool", "name", "state"]);
    let [status, input, output, error, content] =
        state.map(|state| state.fields(["status", "input", "output", "error", "content"])).unwrap_or_default();
    let status = match status.and_then(Json::text).as_deref() {
        Some("completed") => ItemStatus::Completed,
        Some("error") => ItemStatus::Failed,
        Some("pending") => ItemStatus::Pending,
        _ => ItemStatus::Running,
    };
    let item = Item::Tool {
        id: call.or(second_call).and_then(Json::name).unwrap_or(part_id),
        name: name.or(second_name).and_then(Json::name).unwrap_or_default(),
        status,
        input: input.map(|input| input.source().to_string()),
        output: output.or(error).or(content).map(words),
    };
    match status {
        ItemStatus::Completed | ItemStatus::Failed => ConversationEvent::ItemCompleted { turn_id: None, item },
        _ => ConversationEvent::ItemStarted { turn_id: None, item },
    }
}

/// Returns the subagent that a tool is, if it is one; its id is that of its session.
pub(super) fn subagent(part: Json<'_>, parent: &Agent) -> Option<AgentSeen> {
    let [tool, second_tool, call, second_call, state] = part.fields(["tool", "name", "callID", "id", "state"]);
    if tool.or(second_tool)?.text()? != "task" {
        return None;
    }
    let [metadata, input] = state?.fields(["metadata", "input"]);
    let [camel, upper] = metadata?.fields(["sessionId", "sessionID"]);
    let session = camel.or(upper)?.name()?;
    let [prompt, kind] = input.map(|input| input.fields(["prompt", "subagent_type"])).unwrap_or_default();
    Some(AgentSeen {
        agent: Agent::Sub(session),
        parent: parent.clone(),
        tool_call: call.or(second_call).and_then(Json::name),
        kind: kind.and_then(Json::name),
        prompt: prompt.and_then(Json::name),
        at: None,
    })
}
