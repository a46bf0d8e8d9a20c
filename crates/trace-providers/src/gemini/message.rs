//! One message of a session file, and what its request cost.
//!
//! Sources: google-gemini/gemini-cli@04741d1d7383 `services/chatRecordingTypes.ts` and @016443b5e7bf
//! `services/chatRecordingService.ts`, and recordings of Gemini CLI 0.61.
//!
//! * `tokens` is what one request cost, not a running total. `input` includes `cached`; `thoughts` and `tool`
//!   (prompts of tools that the server runs) are in neither `input` nor `output`, and `total` is the sum of input,
//!   output, thoughts and tool (measured on all samples). Where it is not, something else was counted, and what is
//!   told is a lower bound.
//! * A message that was said and has no `tokens` is a request of which nobody counted; so it is until they come, with a
//!   later line of the same id. A message of tool calls alone may be a part of the request before it.
//! * `user` messages also carry the results of tools, and what the client itself says to the model: the context of the
//!   session, "System: Please continue.", "System: Potential loop detected. …". Those are no prompts. A prompt that
//!   begins with these words is not counted as one, either.

use alloc::{borrow::Cow, format, string::String};

use trace_model::{
    timestamp::Timestamp,
    usage::{Agent, UsageReport},
    words::{Grain, Quality},
};

use crate::json::Json;

/// How the client's own texts to the model begin.
const BY_CLIENT: [&str; 2] = ["<session_context>", "System: "];

/// How the client tells the model that it stops.
const STOP_BY_CLIENT: &str = "System: Potential loop detected";

/// How the client tells a person that a request was broken off.
const BROKEN_OFF: [&str; 2] = ["Request cancelled", "A potential loop was detected"];

/// The shortest id that is taken for unique over all sessions, in bytes.
const UNIQUE_ID: usize = 20;

/// A message, looked at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    kind: Option<Json<'a>>,
    id: Option<Json<'a>>,
    timestamp: Option<Json<'a>>,
    content: Option<Json<'a>>,
    tokens: Option<Json<'a>>,
    model: Option<Json<'a>>,
    pub(super) thoughts: Option<Json<'a>>,
    pub(super) tool_calls: Option<Json<'a>>,
}

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A person asked.
    Prompt(String),
    /// The client gave the model the results of tools, or told it something.
    ByClient {
        /// Whether it told the model that it stops.
        stops: bool,
    },
    Reply,
    Error,
    /// A notice to the person.
    Notice {
        /// Whether it says that a request was broken off, or that something else is wrong.
        doubtful: bool,
        /// Whether it says that the work on the prompt was stopped.
        stopped: bool,
    },
    Unknown(String),
}

impl<'a> Message<'a> {
    pub(super) fn read(json: Json<'a>) -> Self {
        let [kind, id, timestamp, content, tokens, model, thoughts, tool_calls] =
            json.fields(["type", "id", "timestamp", "content", "tokens", "model", "thoughts", "toolCalls"]);
        let tool_calls = tool_calls.filter(|calls| calls.source() != "[]");
        Self { kind, id, timestamp, content, tokens, model, thoughts, tool_calls }
    }

    pub(super) fn id(&self) -> Option<String> {
        self.id.and_then(Json::name)
    }

    pub(super) fn at(&self) -> Option<Timestamp> {
        self.timestamp.and_then(Json::text).and_then(|time| time.parse().ok())
    }

    pub(super) fn model(&self) -> Option<String> {
        self.model.and_then(Json::name)
    }

    /// Returns the text of a content that is one, or a list of parts.
    pub(super) fn text(&self) -> String {
        let Some(content) = self.content else { return String::new() };
        content.text().map_or_else(
            || {
                let mut text = String::new();
                content.for_each_element(|part| {
                    let of_part = part.text().or_else(|| part.field("text").and_then(Json::text));
                    text.push_str(&of_part.unwrap_or_default());
                });
                text
            },
            Cow::into_owned,
        )
    }

    pub(super) fn kind(&self) -> Kind {
        match self.kind.and_then(Json::text).as_deref().unwrap_or_default() {
            "user" => self.kind_of_user(),
            "gemini" => Kind::Reply,
            "error" => Kind::Error,
            "warning" => Kind::Notice { doubtful: true, stopped: false },
            "info" => {
                let text = self.text();
                let stopped = BROKEN_OFF.iter().any(|words| text.starts_with(words));
                Kind::Notice { doubtful: stopped, stopped }
            }
            kind => Kind::Unknown(String::from(kind)),
        }
    }

    fn kind_of_user(&self) -> Kind {
        let mut has_results = false;
        if let Some(content) = self.content {
            content.for_each_element(|part| has_results |= part.field("functionResponse").is_some());
        }
        let text = self.text();
        if has_results || text.is_empty() || BY_CLIENT.iter().any(|words| text.starts_with(words)) {
            Kind::ByClient { stops: text.starts_with(STOP_BY_CLIENT) }
        } else {
            Kind::Prompt(text)
        }
    }

    /// Returns what the request of a reply cost, and whether a figure of it makes no sense; `None` if nothing says that
    /// the message is a request.
    pub(super) fn usage(&self, agent: &Agent) -> Option<(UsageReport, bool)> {
        let (id, model) = (self.id()?, self.model());
        let tokens = match self.tokens {
            Some(tokens) => Tokens::read(tokens),
            None if model.is_some() && !self.text().is_empty() => Tokens::default(),
            None => return None,
        };
        let [input_tokens, cache_read_tokens, output_tokens, reasoning_tokens] = tokens.classes;
        let known = tokens.classes.iter().any(Option::is_some);
        let quality = match (known, tokens.is_whole) {
            (false, _) => Quality::Unknown,
            (true, false) => Quality::LowerBound,
            (true, true) => Quality::Exact,
        };
        let report = UsageReport {
            request_key: Some(request_key(&id, model.as_deref(), input_tokens, cache_read_tokens)),
            agent: agent.clone(),
            model,
            observed_at: self.at(),
            input_tokens,
            cache_read_tokens,
            cache_write_tokens: known.then_some(0),
            output_tokens,
            reasoning_tokens,
            context_tokens: tokens.context,
            ..UsageReport::new(id, Grain::Request, quality)
        };
        Some((report, tokens.is_illegible))
    }
}

/// Returns a name of the request that copies of the message share, and no other message has.
fn request_key(id: &str, model: Option<&str>, input: Option<u64>, cached: Option<u64>) -> String {
    if id.len() >= UNIQUE_ID {
        return String::from(id);
    }
    let figure = |figure: Option<u64>| figure.unwrap_or(0);
    format!("{id}:{}:{}:{}", model.unwrap_or_default(), figure(input), figure(cached))
}

/// A `tokens` object.
#[derive(Debug, Clone, Copy, Default)]
struct Tokens {
    /// Input, cache read, output and how much of it is thinking.
    classes: [Option<u64>; 4],
    /// The size of the prompt.
    context: Option<u64>,
    /// Whether the figures are all there and their sum is the total.
    is_whole: bool,
    is_illegible: bool,
}

impl Tokens {
    fn read(tokens: Json<'_>) -> Self {
        let fields = tokens.fields(["input", "cached", "tool", "output", "thoughts", "total"]);
        let is_a_number = |field: &Json<'_>| field.number().is_some();
        let are_numbers = tokens.source().starts_with('{') && fields.iter().flatten().all(is_a_number);
        let [input, cached, tool, output, thoughts, total] = fields.map(|field| field.and_then(Json::number));
        // Clients that say nothing of a tool's prompts or of thoughts had none.
        let (tool, thinking) = (tool.unwrap_or(0), thoughts.unwrap_or(0));
        let uncached = input.zip(cached).map(|(input, cached)| input.checked_sub(cached));
        let sum = input.zip(output).map(|(input, output)| {
            [input, tool, output, thinking].into_iter().reduce(u64::saturating_add).unwrap_or_default()
        });
        Self {
            classes: [
                uncached.flatten().map(|uncached| uncached.saturating_add(tool)),
                cached,
                output.map(|output| output.saturating_add(thinking)),
                thoughts,
            ],
            context: input.map(|input| input.saturating_add(tool)),
            is_whole: are_numbers
                && sum.is_some()
                && uncached.flatten().is_some()
                && total.is_none_or(|total| Some(total) == sum),
            is_illegible: !are_numbers || uncached == Some(None),
        }
    }
}
