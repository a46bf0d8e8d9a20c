//! What each request of a session file cost.
//!
//! * A reply has one `message.id`, and a line for each of its blocks. The input classes are the same on all of them
//!   (anthropics/claude-code#6805). The output is the same on all, too, or grows with the lines (measured: 3, then 263;
//!   anthropics/claude-code#87303, titeya/dms-claudecode#52): so the largest of each figure counts, and never a sum.
//! * A line with a `stop_reason` was written when the reply was whole. In all recordings with a known truth such a line
//!   has the true output; the versions that never write the true one write no `stop_reason` either (measured: the
//!   `two-session-ids` and `subagent-dir` samples). So a reply with such a line is exact, any other a lower bound.
//! * A reply without a single figure is no record, but a note (measured: the last reply of the `two-session-ids`
//!   sample).
//! * Old versions wrote what a reply cost, `costUSD`, on its lines (ryoppippi/ccusage reads it).
//! * What the parent is told about a subagent, `toolUseResult.usage` and `totalTokens`, is in the subagent's own lines.

use alloc::string::String;

use serde::{Deserialize, Serialize};
use trace_model::{
    money::NanoUsd,
    timestamp::Timestamp,
    usage::{Agent, UsageReport},
};

use super::usage::Usage;
use crate::recent::Recent;

/// How many replies are remembered. The lines of one follow each other; those of subagents may stand between them.
const REMEMBERED: usize = 64;

/// The replies of late.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Requests(Recent<Request>);

impl Default for Requests {
    fn default() -> Self {
        Self(Recent::with_entries(REMEMBERED))
    }
}

/// A reply so far.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    agent: Agent,
    model: Option<String>,
    at: Option<Timestamp>,
    usage: Usage,
    cost: Option<NanoUsd>,
    is_whole: bool,
    /// How many blocks of content there were.
    blocks: u64,
}

/// A line of a reply, as far as its usage is concerned.
#[derive(Debug)]
pub(super) struct ReplyLine<'a> {
    pub(super) id: &'a str,
    pub(super) model: Option<&'a str>,
    pub(super) agent: &'a Agent,
    pub(super) at: Option<Timestamp>,
    pub(super) usage: Usage,
    pub(super) cost: Option<NanoUsd>,
    /// Whether the reply was whole when the line was written.
    pub(super) is_whole: bool,
}

impl Requests {
    /// Tells whether the reply is one of those that are remembered.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.0.get(id).is_some()
    }

    /// Takes a line of a reply, and returns what it changes.
    pub(super) fn line(&mut self, line: &ReplyLine<'_>) -> Option<UsageReport> {
        if let Some(request) = self.0.get_mut(line.id) {
            let joined = request.usage.join(line.usage, Option::max);
            let cost = request.cost.max(line.cost);
            let is_whole = request.is_whole || line.is_whole;
            if (joined, cost, is_whole) == (request.usage, request.cost, request.is_whole) {
                return None;
            }
            (request.usage, request.cost, request.is_whole) = (joined, cost, is_whole);
            return request.report(line.id);
        }
        let request = Request {
            agent: line.agent.clone(),
            model: line.model.map(String::from),
            at: line.at,
            usage: line.usage,
            cost: line.cost,
            is_whole: line.is_whole,
            blocks: 0,
        };
        let report = request.report(line.id);
        let held = line.agent.as_str().len() + line.model.map_or(0, str::len) + size_of::<Request>();
        self.0.insert(line.id, request, held);
        report
    }

    /// Returns the position of the reply's next block of content, and counts it.
    pub(super) fn next_block(&mut self, id: &str) -> Option<u64> {
        let request = self.0.get_mut(id)?;
        request.blocks += 1;
        Some(request.blocks - 1)
    }
}

impl Request {
    fn report(&self, id: &str) -> Option<UsageReport> {
        if self.usage.is_unknown() {
            return None;
        }
        Some(UsageReport {
            request_key: Some(self.usage.key_over_sessions(id, self.model.as_deref())),
            agent: self.agent.clone(),
            model: self.model.clone(),
            observed_at: self.at,
            reported_cost_usd: self.cost,
            ..self.usage.report(id, self.is_whole)
        })
    }
}
