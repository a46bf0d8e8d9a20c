//! What each request cost.
//!
//! * One reply has one `message.id`, whatever number of lines it is written on; the lines of an id are one request. The
//!   model `<synthetic>` is no request.
//! * The input classes are exact on every line of the id. The output on `assistant` lines and in `message_start` is a
//!   placeholder that repeats on each of them (measured: 1 for a true 51), so the largest is a lower bound.
//! * `message_delta`, only there with partial messages, has the true output; it is cumulative for its message, so it
//!   replaces what was there before, and the last one counts. Only it tells how much of the output is thinking.
//!
//! The key of the record is the `message.id`, see [`usage`](super::usage).

use alloc::string::String;

use trace_model::{
    timestamp::Timestamp,
    usage::{Agent, UsageReport},
};

use super::{
    SYNTHETIC_MODEL,
    usage::{Usage, is_unique},
};
use crate::{
    account::{Account, Moment},
    json::Json,
    recent::Recent,
};

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
        let [_, _, _, output, _] = usage.figures();
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
        account.change(self.seen, self.agent.is_main(), model, self.usage.figures(), usage.figures());
        self.usage = usage;
    }

    fn report(&self, id: &str, account: &Account) -> UsageReport {
        UsageReport {
            request_key: is_unique(id).then(|| String::from(id)),
            agent: self.agent.clone(),
            model: self.model.clone(),
            observed_at: self.at,
            context_window_tokens: self.model.as_deref().and_then(|model| account.context_window(model)),
            ..self.usage.report(id, self.is_exact)
        }
    }
}
