//! What each request cost.
//!
//! * One reply has one `message.id`, whatever number of lines it is written on; the lines of an id are one request. The
//!   model `<synthetic>` is no request.
//! * The input classes are exact on every line of the id. The output on `assistant` lines and in `message_start` is a
//!   placeholder that repeats on each of them (measured: 1 for a true 51), so the largest is a lower bound.
//! * `message_delta`, only there with partial messages, has the true output; it is cumulative for its message, so it
//!   replaces what was there before, and the last one counts. Only it tells how much of the output is thinking.
//!
//! The key of the record is the `message.id`. Transcripts of the same run have the same ids on their lines, so an
//! import finds the same keys. Their `requestId`, which the stream calls `request_id`, is no part of the key: partial
//! messages and some versions of the transcripts lack it, and one id never belongs to two requests of one launch.

use alloc::{format, string::String};

use trace_model::{
    timestamp::Timestamp,
    usage::{Agent, UsageOrigin, UsageReport},
    words::{Grain, Quality},
};

use super::SYNTHETIC_MODEL;
use crate::{
    account::{Account, Figures, Moment},
    json::Json,
    recent::Recent,
};

/// The shortest id, in bytes, that is taken to be unique over all launches.
///
/// Anthropic's ids have 28 bytes, or more with the name of a cloud in them. Gateways and servers of tests count their
/// replies instead (`msg_0001`) and use the same ids in each launch: such an id is a key within the launch only.
const UNIQUE_ID: usize = 20;

/// What one line says that a request cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    figures: Figures,
    write_5m: Option<u64>,
    write_1h: Option<u64>,
}

impl Usage {
    /// Reads a `usage` object of the Anthropic API.
    pub(super) fn read(json: Json<'_>) -> Self {
        let [input, cache_read, cache_write, output, cache_creation, output_details] = json.fields([
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "output_tokens",
            "cache_creation",
            "output_tokens_details",
        ]);
        let [five_minutes, one_hour] = cache_creation
            .map(|split| split.fields(["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"]))
            .unwrap_or_default();
        let thinking = output_details.and_then(|details| details.field("thinking_tokens"));
        let number = |field: Option<Json<'_>>| field.and_then(Json::number);
        Self {
            figures: [input, cache_read, cache_write, output, thinking].map(number),
            write_5m: number(five_minutes),
            write_1h: number(one_hour),
        }
    }

    /// Returns what adds up.
    pub(super) const fn figures(&self) -> Figures {
        self.figures
    }

    /// Forgets how much of the output is thinking.
    const fn without_thinking(self) -> Self {
        let [input, cache_read, cache_write, output, _] = self.figures;
        Self { figures: [input, cache_read, cache_write, output, None], ..self }
    }

    /// Joins two lines, number by number.
    fn join(self, other: Self, one: fn(Option<u64>, Option<u64>) -> Option<u64>) -> Self {
        let mut figures = self.figures;
        for (figure, other) in figures.iter_mut().zip(other.figures) {
            *figure = one(*figure, other);
        }
        Self { figures, write_5m: one(self.write_5m, other.write_5m), write_1h: one(self.write_1h, other.write_1h) }
    }
}

/// The `message` of a line, as far as its usage is concerned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) id: &'a str,
    pub(super) model: Option<&'a str>,
    pub(super) usage: Option<Json<'a>>,
    pub(super) at: Option<Timestamp>,
}

impl Message<'_> {
    /// Tells whether Claude Code made the reply up itself.
    pub(super) fn is_synthetic(&self) -> bool {
        self.model == Some(SYNTHETIC_MODEL)
    }
}

/// The replies of late.
#[derive(Debug, Default)]
pub(super) struct Replies {
    replies: Recent<Reply>,
}

/// A reply so far.
#[derive(Debug)]
struct Reply {
    agent: Agent,
    model: Option<String>,
    at: Option<Timestamp>,
    seen: Moment,
    usage: Usage,
    /// Whether the true output is known.
    is_exact: bool,
    /// How many blocks of content there were.
    blocks: u64,
}

impl Replies {
    /// Takes a line that holds a reply or a part of one, and returns what it changes.
    pub(super) fn line(&mut self, message: Message<'_>, agent: &Agent, account: &mut Account) -> Option<UsageReport> {
        // Only message_delta tells what was thinking.
        let usage = message.usage.map(Usage::read).unwrap_or_default().without_thinking();
        let Some(reply) = self.replies.get_mut(message.id) else {
            let reply = Reply {
                agent: agent.clone(),
                model: message.model.map(String::from),
                at: message.at,
                seen: account.now(),
                usage: Usage::default(),
                is_exact: false,
                blocks: 0,
            };
            let held = agent.as_str().len() + message.model.map_or(0, str::len) + size_of::<Reply>();
            self.replies.insert(message.id, reply, held);
            let reply = self.replies.get_mut(message.id)?;
            reply.change(usage, account);
            return Some(reply.report(message.id, account));
        };
        let joined =
            if reply.is_exact { reply.usage.join(usage, Option::or) } else { reply.usage.join(usage, Option::max) };
        (joined != reply.usage).then(|| {
            reply.change(joined, account);
            reply.report(message.id, account)
        })
    }

    /// Takes the usage of a `message_delta` and returns what it changes; `None` if its reply is unknown or it says
    /// nothing new.
    pub(super) fn delta(&mut self, id: &str, usage: Json<'_>, account: &mut Account) -> Option<UsageReport> {
        let reply = self.replies.get_mut(id)?;
        let usage = Usage::read(usage);
        let [_, _, _, output, _] = usage.figures;
        let joined = usage.join(reply.usage, Option::or);
        let is_exact = reply.is_exact || output.is_some();
        (joined != reply.usage || is_exact != reply.is_exact).then(|| {
            reply.is_exact = is_exact;
            reply.change(joined, account);
            reply.report(id, account)
        })
    }

    /// Returns the position of the reply's next block of content, and counts it.
    pub(super) fn next_block(&mut self, id: &str) -> Option<u64> {
        let reply = self.replies.get_mut(id)?;
        reply.blocks += 1;
        Some(reply.blocks - 1)
    }
}

impl Reply {
    fn change(&mut self, usage: Usage, account: &mut Account) {
        let model = self.model.as_deref().unwrap_or_default();
        account.change(self.seen, self.agent.is_main(), model, self.usage.figures, usage.figures);
        self.usage = usage;
    }

    fn report(&self, id: &str, account: &Account) -> UsageReport {
        let [input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens] = self.usage.figures;
        let quality = match self.usage.figures {
            _ if self.is_exact => Quality::Exact,
            [None, None, None, None, None] => Quality::Unknown,
            _ => Quality::LowerBound,
        };
        let cached = [cache_read_tokens, cache_write_tokens].into_iter().flatten();
        UsageReport {
            request_key: (id.len() >= UNIQUE_ID).then(|| String::from(id)),
            agent: self.agent.clone(),
            model: self.model.clone(),
            observed_at: self.at,
            input_tokens,
            cache_read_tokens,
            cache_write_tokens,
            cache_write_5m_tokens: self.usage.write_5m,
            cache_write_1h_tokens: self.usage.write_1h,
            output_tokens,
            reasoning_tokens,
            context_tokens: input_tokens.map(|input| cached.fold(input, u64::saturating_add)),
            context_window_tokens: self.model.as_deref().and_then(|model| account.context_window(model)),
            reported_cost_usd: None,
            ..UsageReport::new(key(id), Grain::Request, quality)
        }
    }
}

/// Returns the record's key: the id, unless it reads like the key of another kind of record.
fn key(id: &str) -> String {
    match UsageOrigin::of_key(id) {
        UsageOrigin::Request => String::from(id),
        _ => format!("message:{id}"),
    }
}
