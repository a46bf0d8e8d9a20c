//! Which subagent a line of a transcript is of, and what started it.
//!
//! * A subagent has a file of its own under `<session>/subagents/`. Its lines have `isSidechain`, the session of the
//!   parent, and its own id as `agentId`: the `task_id` of the stream.
//! * Older versions wrote its lines into the parent's file, with `isSidechain` and no id. They hang together by
//!   `parentUuid`, and the first one holds the prompt. The call of the `Task` tool with the same prompt started it
//!   (measured: the `inline-sidechain` sample), and its id is the subagent's, as it is in the stream; without one it is
//!   the `uuid` of the first line.
//! * The parent's file says which call started a subagent: `toolUseResult.agentId` beside the answer, and, while it
//!   works, `data.agentId` beside `parentToolUseID` on a `progress` line. Other `progress` lines have a
//!   `parentToolUseID`, too, and it is no parent (measured: the `subagent-dir` sample).

use alloc::{
    collections::VecDeque,
    string::{String, ToString as _},
};

use serde::{Deserialize, Serialize};
use trace_model::{context::Sha256Hex, timestamp::Timestamp, usage::Agent};

use super::facts::{AgentCall, LineFacts};
use crate::{
    json::Json,
    observation::{AgentSeen, Observation},
    recent::Recent,
};

/// How many calls, lines and subagents are remembered. Some dozens of subagents work at a time.
const REMEMBERED: usize = 256;

/// The longest names of a call that are remembered, in bytes. Real ones have some dozens.
const MAX_NAMES: usize = 1 << 10;

/// The subagents of a session, and what is known of each.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sidechains {
    /// The calls that started subagents whose lines were not seen yet.
    calls: VecDeque<Call>,
    /// The subagent of each line without an agent's id, by the line's `uuid`.
    lines: Recent<String>,
    /// The subagent of the last such line.
    last: Option<String>,
    /// What was told of each subagent.
    told: Recent<Told>,
}

impl Default for Sidechains {
    fn default() -> Self {
        Self {
            calls: VecDeque::new(),
            lines: Recent::with_entries(REMEMBERED),
            last: None,
            told: Recent::with_entries(REMEMBERED),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Call {
    id: String,
    by: Agent,
    kind: Option<String>,
    prompt: Sha256Hex,
}

/// Which of the things that can be known of a subagent were told: its call, kind, prompt and time.
type Told = [bool; 4];

impl Sidechains {
    /// Returns who wrote the line, and tells of a subagent that is new, or of which the line tells more.
    pub(super) fn speaker(&mut self, line: &LineFacts<'_>, at: Option<Timestamp>) -> (Agent, Option<Observation>) {
        if !line.is_sidechain.is_some_and(Json::is_true) {
            return (Agent::Main, None);
        }
        // A subagent of that name could not be told from the main agent.
        let id = line.agent_id.and_then(Json::name).filter(|id| id != "main");
        // The first text that is put to a subagent is its prompt.
        let is_first = match &id {
            Some(id) => !self.told.get(id).is_some_and(|[_, _, prompt, _]| *prompt),
            None => line.parent.is_none(),
        };
        let is_prompt = is_first && line.kind.and_then(Json::text).is_some_and(|kind| kind == "user");
        let prompt = is_prompt.then(|| line.message.content.to_text()).filter(|prompt| !prompt.is_empty());
        let (id, call) = match id {
            Some(id) => (id, None),
            None => self.inline(line, prompt.as_deref()),
        };
        let agent = Agent::Sub(id);
        let seen = AgentSeen {
            agent: agent.clone(),
            parent: call.as_ref().map(|call| call.by.clone()).unwrap_or_default(),
            tool_call: call.as_ref().map(|call| call.id.clone()),
            kind: call.and_then(|call| call.kind).or_else(|| line.agent_kind.and_then(Json::name)),
            prompt,
            at,
        };
        (agent, self.tell(seen))
    }

    /// Returns the subagent of a line that does not name it, and the call that started it if this is its first line.
    fn inline(&mut self, line: &LineFacts<'_>, prompt: Option<&str>) -> (String, Option<Call>) {
        let uuid = line.uuid.and_then(Json::name).unwrap_or_default();
        let known = match line.parent.and_then(Json::text) {
            Some(parent) => self.lines.get(&parent).or(self.last.as_ref()).cloned(),
            None => None,
        };
        let (id, call) = if let Some(id) = known {
            (id, None)
        } else {
            let call = prompt.and_then(|prompt| self.take_call(prompt));
            (call.as_ref().map_or_else(|| uuid.clone(), |call| call.id.clone()), call)
        };
        if !uuid.is_empty() {
            let held = id.len();
            self.lines.insert(&uuid, id.clone(), held);
        }
        self.last = Some(id.clone());
        (id, call)
    }

    fn take_call(&mut self, prompt: &str) -> Option<Call> {
        let hash = Sha256Hex::of(prompt.as_bytes());
        let position = self.calls.iter().position(|call| call.prompt == hash)?;
        self.calls.remove(position)
    }

    /// Takes a call that starts a subagent.
    pub(super) fn called(&mut self, call: &AgentCall<'_>, by: &Agent) {
        let (Some(id), Some(prompt)) = (call.id.name(), call.prompt.text()) else { return };
        let kind = call.kind.and_then(Json::name);
        if id.len() + kind.as_ref().map_or(0, String::len) > MAX_NAMES {
            return;
        }
        if self.calls.len() == REMEMBERED {
            self.calls.pop_front();
        }
        self.calls.push_back(Call { id, by: by.clone(), kind, prompt: Sha256Hex::of(prompt.as_bytes()) });
    }

    /// Takes what a line of the parent says about a subagent: the answer of the tool that started it, or its progress.
    pub(super) fn named_by_parent(&mut self, line: &LineFacts<'_>, parent: &Agent) -> Option<Observation> {
        let (id, call, kind, prompt) = match (line.tool_result.agent_id, line.progress.agent_id) {
            (Some(id), _) => {
                let LineFacts { message, tool_result, .. } = line;
                (id, message.content.answered_call, tool_result.agent_kind, tool_result.prompt)
            }
            (None, Some(id)) => (id, line.parent_call, None, line.progress.prompt),
            (None, None) => return None,
        };
        let id = id.name().filter(|id| id != "main" && id != parent.as_str())?;
        let tool_call = call.and_then(Json::name);
        let made = self.calls.iter().find(|made| tool_call.as_ref() == Some(&made.id));
        self.tell(AgentSeen {
            agent: Agent::Sub(id),
            parent: parent.clone(),
            kind: kind.and_then(Json::name).or_else(|| made.and_then(|made| made.kind.clone())),
            tool_call,
            prompt: prompt.and_then(Json::name),
            at: None,
        })
    }

    fn tell(&mut self, seen: AgentSeen) -> Option<Observation> {
        let id = seen.agent.to_string();
        let AgentSeen { tool_call, kind, prompt, at, .. } = &seen;
        let told = self.told.get(&id).copied();
        let mut all = [tool_call.is_some(), kind.is_some(), prompt.is_some(), at.is_some()];
        all.iter_mut().zip(told.unwrap_or_default()).for_each(|(new, told)| *new |= told);
        if told == Some(all) {
            return None;
        }
        self.told.insert(&id, all, size_of::<Told>());
        Some(Observation::Agent(seen))
    }
}
