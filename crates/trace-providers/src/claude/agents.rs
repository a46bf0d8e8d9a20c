//! Who speaks.
//!
//! A line's `parent_tool_use_id` is null for the main agent, else the id of the tool call that a subagent runs under.
//! `system`/`task_started` gives the subagent's own id for that call, `task_id`: the transcripts name the subagent's
//! file after it (measured: the `subagent` recording).

use alloc::string::String;

use trace_model::usage::Agent;

use crate::{json::Json, observation::AgentSeen, recent::Recent};

/// The subagents by the tool call that they run under.
#[derive(Debug, Default)]
pub(super) struct Agents {
    ids: Recent<String>,
}

impl Agents {
    /// Takes a `task_started` line of an agent, and returns what it tells of the one that it started.
    ///
    /// An agent has one id for good: where it spoke before this line, under the id of its tool call, it keeps that one.
    pub(super) fn started(&mut self, line: Json<'_>, by: &Agent) -> Option<AgentSeen> {
        let [task, call, kind, prompt] =
            line.fields(["task_id", "tool_use_id", "subagent_type", "prompt"]).map(|field| field.and_then(Json::name));
        let call = call?;
        // A subagent of that name could not be told from the main agent.
        if let Some(task) = task.filter(|task| task != "main")
            && self.ids.get(&call).is_none()
        {
            let held = task.len();
            self.ids.insert(&call, task, held);
        }
        let agent = self.under(Some(&call));
        Some(AgentSeen { agent, parent: by.clone(), tool_call: Some(call), kind, prompt, at: None })
    }

    /// Returns the agent that runs under the call; under none it is the main one.
    pub(super) fn under(&mut self, call: Option<&str>) -> Agent {
        let Some(call) = call else { return Agent::Main };
        if let Some(id) = self.ids.get(call) {
            return Agent::Sub(id.clone());
        }
        self.ids.insert(call, String::from(call), call.len());
        Agent::Sub(String::from(call))
    }
}
