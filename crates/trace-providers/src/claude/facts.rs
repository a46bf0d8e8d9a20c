//! What the rules need to know of a transcript's line.
//!
//! All of it is read in one pass over the line, and the pictures, files and answers of tools that make up most of its
//! bytes are passed over.

use alloc::{borrow::Cow, string::String, vec::Vec};
use core::fmt;

use serde::{
    Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{content::is_known_in_reply, usage::UsageFields};
use crate::{
    json::Json,
    typed::{self, Part, other_kinds_are_absent, parts},
};

/// The tools that start a subagent.
const AGENT_TOOLS: [&str; 2] = ["Task", "Agent"];

/// Beginnings of blocks of text that Claude Code and its editors put beside what a person wrote.
const INJECTED: [&str; 2] = ["<system-reminder>", "<ide_"];

parts! {
    /// A line.
    pub(super) struct LineFacts<'a> {
        pub(super) kind: Option<Json<'a>> = "type",
        pub(super) subtype: Option<Json<'a>> = "subtype",
        pub(super) uuid: Option<Json<'a>> = "uuid",
        pub(super) parent: Option<Json<'a>> = "parentUuid",
        pub(super) session: Option<Json<'a>> = "sessionId",
        pub(super) forked_from: ForkFacts<'a> = "forkedFrom",
        pub(super) at: Option<Json<'a>> = "timestamp",
        pub(super) cwd: Option<Json<'a>> = "cwd",
        pub(super) version: Option<Json<'a>> = "version",
        pub(super) is_sidechain: Option<Json<'a>> = "isSidechain",
        pub(super) agent_id: Option<Json<'a>> = "agentId",
        /// What kind of agent wrote it.
        pub(super) agent_kind: Option<Json<'a>> = "attributionAgent",
        pub(super) request_id: Option<Json<'a>> = "requestId",
        /// What the line's reply cost, in old versions.
        pub(super) cost: Option<Json<'a>> = "costUSD",
        /// How long a turn took.
        pub(super) duration: Option<Json<'a>> = "durationMs",
        pub(super) message: MessageFacts<'a> = "message",
        pub(super) tool_result: ToolResultFacts<'a> = "toolUseResult",
        pub(super) is_meta: Option<Json<'a>> = "isMeta",
        pub(super) is_compact_summary: Option<Json<'a>> = "isCompactSummary",
        pub(super) is_for_transcript_only: Option<Json<'a>> = "isVisibleInTranscriptOnly",
        pub(super) origin: OriginFacts<'a> = "origin",
        pub(super) error: Option<Json<'a>> = "error",
        pub(super) is_api_error: Option<Json<'a>> = "isApiErrorMessage",
        /// The tool call that a `progress` line belongs to.
        pub(super) parent_call: Option<Json<'a>> = "parentToolUseID",
        pub(super) progress: ProgressFacts<'a> = "data",
        pub(super) attachment: AttachmentFacts<'a> = "attachment",
    }
}

parts! {
    /// Where a copied line was copied from.
    pub(super) struct ForkFacts<'a> {
        pub(super) session: Option<Json<'a>> = "sessionId",
    }
}

parts! {
    /// Who wrote a prompt.
    pub(super) struct OriginFacts<'a> {
        kind: Option<Json<'a>> = "kind",
    }
}

impl OriginFacts<'_> {
    /// Tells whether it is said that no person did.
    pub(super) fn is_no_person(&self) -> bool {
        self.kind.and_then(Json::text).is_some_and(|kind| kind != "human")
    }
}

parts! {
    /// The `message` of a line.
    pub(super) struct MessageFacts<'a> {
        pub(super) id: Option<Json<'a>> = "id",
        pub(super) model: Option<Json<'a>> = "model",
        pub(super) stop_reason: Option<Json<'a>> = "stop_reason",
        pub(super) content: ContentFacts<'a> = "content",
        pub(super) usage: UsageFields<'a> = "usage",
    }
}

parts! {
    /// What stands beside the result of a tool; that of a subagent names the subagent.
    pub(super) struct ToolResultFacts<'a> {
        pub(super) agent_id: Option<Json<'a>> = "agentId",
        pub(super) agent_kind: Option<Json<'a>> = "agentType",
        pub(super) prompt: Option<Json<'a>> = "prompt",
    }
}

parts! {
    /// The `data` of a `progress` line; that of a subagent names the subagent.
    pub(super) struct ProgressFacts<'a> {
        pub(super) agent_id: Option<Json<'a>> = "agentId",
        pub(super) prompt: Option<Json<'a>> = "prompt",
    }
}

parts! {
    /// An attachment, as far as it may be a prompt that a person wrote while the agent worked.
    pub(super) struct AttachmentFacts<'a> {
        pub(super) kind: Option<Json<'a>> = "type",
        pub(super) prompt: Option<Json<'a>> = "prompt",
        pub(super) mode: Option<Json<'a>> = "commandMode",
        pub(super) is_meta: Option<Json<'a>> = "isMeta",
        pub(super) origin: OriginFacts<'a> = "origin",
    }
}

parts! {
    struct BlockFacts<'a> {
        kind: Option<Json<'a>> = "type",
        text: Option<Json<'a>> = "text",
        id: Option<Json<'a>> = "id",
        name: Option<Json<'a>> = "name",
        input: Option<Json<'a>> = "input",
        tool_use_id: Option<Json<'a>> = "tool_use_id",
    }
}

/// The `content` of a message: a text, or blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct ContentFacts<'a> {
    /// The text, where it is one.
    text: Option<Cow<'a, str>>,
    /// The texts of the blocks.
    texts: Vec<Json<'a>>,
    /// Whether there is a picture or a document.
    pub(super) has_media: bool,
    /// Whether a tool is called.
    pub(super) has_calls: bool,
    /// Whether a tool answers.
    pub(super) has_results: bool,
    /// The call that the first answer is of.
    pub(super) answered_call: Option<Json<'a>>,
    /// The subagents that are started.
    pub(super) agent_calls: Vec<AgentCall<'a>>,
    /// The types of blocks that the rules do not know in a reply.
    pub(super) unknown: Vec<Json<'a>>,
}

/// A call of the tool that starts a subagent.
#[derive(Debug, Clone, Copy)]
pub(super) struct AgentCall<'a> {
    pub(super) id: Json<'a>,
    pub(super) prompt: Json<'a>,
    pub(super) kind: Option<Json<'a>>,
}

impl<'a> ContentFacts<'a> {
    /// Tells whether there is any text.
    pub(super) fn has_text(&self) -> bool {
        self.text.is_some() || !self.texts.is_empty()
    }

    /// Returns the text, without what Claude Code put beside it.
    pub(super) fn to_text(&self) -> String {
        if let Some(text) = &self.text {
            return String::from(&**text);
        }
        let texts = self.texts.iter().filter_map(|text| text.text());
        let written = texts.filter(|text| !INJECTED.iter().any(|beginning| text.starts_with(beginning)));
        written.collect::<Vec<_>>().join("\n")
    }

    fn add(&mut self, block: &BlockFacts<'a>) {
        let kind = block.kind.and_then(Json::text).unwrap_or_default();
        match &*kind {
            "text" => self.texts.extend(block.text),
            "image" | "document" => self.has_media = true,
            kind if kind.ends_with("tool_result") => {
                self.has_results = true;
                self.answered_call = self.answered_call.or(block.tool_use_id);
            }
            kind if kind.ends_with("tool_use") => {
                self.has_calls = true;
                self.agent_calls.extend(agent_call(block));
            }
            _ => {}
        }
        if !is_known_in_reply(&kind) {
            self.unknown.extend(block.kind);
        }
    }
}

fn agent_call<'a>(block: &BlockFacts<'a>) -> Option<AgentCall<'a>> {
    let name = block.name?.text()?;
    if !AGENT_TOOLS.contains(&&*name) {
        return None;
    }
    let [prompt, kind] = block.input?.fields(["prompt", "subagent_type"]);
    Some(AgentCall { id: block.id?, prompt: prompt?, kind })
}

impl<'a> Part<'a> for ContentFacts<'a> {
    fn read<D: Deserializer<'a>>(&mut self, source: D) -> Result<(), D::Error> {
        *self = Self::default();
        source.deserialize_any(ContentVisitor(self))
    }

    fn of(json: Option<Json<'a>>) -> Self {
        let mut content = Self::default();
        if let Some(json) = json {
            content.text = json.text();
            json.for_each_element(|block| content.add(&BlockFacts::of(Some(block))));
        }
        content
    }
}

struct ContentVisitor<'c, 'a>(&'c mut ContentFacts<'a>);

impl<'a> Visitor<'a> for ContentVisitor<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or blocks")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'a str) -> Result<(), E> {
        self.0.text = Some(Cow::Borrowed(text));
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.text = Some(Cow::Owned(String::from(text)));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut elements: A) -> Result<(), A::Error> {
        let mut block = BlockFacts::default();
        while typed::next_element(&mut block, &mut elements)? {
            self.0.add(&block);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    other_kinds_are_absent!();
}

#[cfg(test)]
mod tests;
