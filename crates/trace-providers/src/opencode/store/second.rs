//! Messages of the second message table, which version 2 writes.
//!
//! Sources: `Dicklesworthstone/cross_agent_session_resumer#30`, getagentseal/codeburn#1293 and #1436,
//! JingbiaoMei/Tokdash#99, pingdotgg/t3code#8918 (no recording was at hand).
//!
//! A row is a whole message: its role is in `type`, its parts are in `content`, and there are no others. A message of
//! the assistant is one request, with the counters and the cost of the first table, and its model in `model`.
//!
//! | `type` | what becomes of it |
//! |---|---|
//! | `user` | the prompt, in `text` |
//! | `assistant` | as in the first table; its `content` are parts |
//! | `compaction` | an item that says so |
//! | `system`, `synthetic`, `shell`, `idle`, `…-switched` | nothing: no person asked, and no model answered |

use alloc::{format, string::String};

use super::{Assistant, OpenCodeStore, model_name};
use crate::{
    json::Json,
    observation::{NoteKind, Observation},
    opencode::{parts, tokens::Spent},
    saying::Saying,
    source::Detail,
};

impl OpenCodeStore {
    /// Takes a message of the second table.
    pub(super) fn second_message(&mut self, row: Json<'_>, line: &mut Saying<'_>) {
        let [id, session, kind, row_created, data] = row.fields(["id", "session_id", "type", "time_created", "data"]);
        let [id, session] = [id, session].map(|field| field.and_then(Json::name).unwrap_or_default());
        let Some(data) = data.filter(|data| data.source().starts_with('{')) else {
            return line.note(NoteKind::BadLine, &format!("the data of message {id:?} are no object"));
        };
        let [created, completed] =
            data.field("time").map(|times| times.fields(["created", "completed"])).unwrap_or_default();
        let created = created.or(row_created);
        line.agent = self.agent_of(&session);
        line.at = created.and_then(parts::time);
        match kind.and_then(Json::text).as_deref().unwrap_or_default() {
            "user" => {
                let text = data.field("text").and_then(Json::name);
                self.prompt(text.unwrap_or_default(), line);
            }
            "assistant" => {
                let mut assistant = Assistant::of_second(data);
                assistant.completed = completed.and_then(parts::time);
                assistant.created = created.map(|created| String::from(created.source())).unwrap_or_default();
                self.name_model(&assistant, line);
                self.content(&id, data, line);
                self.replied(id, &assistant, line);
            }
            "compaction" if self.detail == Detail::Everything => line.compaction(id, None),
            "system" | "synthetic" | "shell" | "idle" | "compaction" => {}
            kind if kind.ends_with("-switched") => {}
            kind => self.unknown_types.note(&format!("message of {kind:?}"), line),
        }
    }

    fn content(&mut self, id: &str, data: Json<'_>, line: &mut Saying<'_>) {
        let Some(content) = data.field("content") else { return };
        let mut number = 0_u64;
        content.for_each_element(|part| {
            line.out.extend(parts::subagent(part, &line.agent).map(Observation::Agent));
            let is_known = parts::tell(&format!("{id}:{number}"), part, self.detail, line);
            number += 1;
            if !is_known {
                let kind = part.field("type").and_then(Json::name).unwrap_or_default();
                self.unknown_types.note(&format!("part {kind:?}"), line);
            }
        });
    }
}

impl Assistant {
    fn of_second(data: Json<'_>) -> Self {
        let [model, cost, tokens, finish, error] = data.fields(["model", "cost", "tokens", "finish", "error"]);
        let [model, provider] = model.map(|model| model.fields(["id", "providerID"])).unwrap_or_default();
        Self {
            model: model_name(provider, model),
            created: String::new(),
            completed: None,
            finish: finish.and_then(Json::name),
            error: error.map(parts::error),
            spent: Spent::read(tokens, cost),
            steps_begun: 0,
            steps_ended: 0,
        }
    }
}
