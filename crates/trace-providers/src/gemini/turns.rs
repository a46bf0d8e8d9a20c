//! When a turn of a session ends, how, and whether a request of it was broken off.
//!
//! No message says that a turn ends. It has ended as soon as a reply calls no tool, or where an error or a stop is
//! told. The usage of a request that the client broke off is in no file. So a turn in which something says so leaves
//! a doubt: what is known of it is a lower bound. These things say so:
//!
//! * an error, a warning, a notice that the request was cancelled, the client's word to the model that it stops;
//! * a list of all messages that leaves out the last one, to which nothing was answered (measured: the client takes a
//!   prompt back whose request failed);
//! * a new prompt where the last one, or the results of tools, have no reply.

use alloc::string::String;

use serde::{Deserialize, Serialize};
use trace_model::{
    timestamp::Timestamp,
    turn::Outcome,
    usage::{Agent, UsageReport},
};

use crate::doubts::Doubts;

/// The running turn of a session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Turns {
    last: Last,
    /// The id of the last message.
    last_id: String,
    /// When the last message was written.
    at: Option<Timestamp>,
    /// Whether the turn was stopped; a reply that comes after all takes it back.
    stopped: Option<Stop>,
    doubts: Doubts,
}

/// What the last message of the turn is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Last {
    /// There is no turn.
    #[default]
    Nothing,
    /// A message that the model is to answer.
    Question,
    /// A reply that calls tools.
    Calls,
    /// A reply that calls none.
    Answer,
}

/// How a turn was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stop {
    Failed,
    Interrupted,
}

impl Turns {
    /// Begins a turn. The last one must have been ended.
    pub(super) fn begin(&mut self, id: &str, at: Option<Timestamp>) {
        self.doubts.begin_turn();
        self.stopped = None;
        self.at = None;
        self.asked(id, at);
    }

    /// Takes a message that the model is to answer.
    pub(super) fn asked(&mut self, id: &str, at: Option<Timestamp>) {
        self.take(Last::Question, id, at);
    }

    pub(super) fn replied(&mut self, calls_tools: bool, id: &str, at: Option<Timestamp>) {
        self.take(if calls_tools { Last::Calls } else { Last::Answer }, id, at);
        self.stopped = None;
    }

    fn take(&mut self, last: Last, id: &str, at: Option<Timestamp>) {
        (self.last, self.at) = (last, at.or(self.at));
        self.last_id = String::from(id);
    }

    /// Notes that the turn was stopped.
    pub(super) fn stop(&mut self, stop: Stop, at: Option<Timestamp>) {
        self.stopped = Some(stop);
        self.at = at.or(self.at);
    }

    /// Returns the id of the last message, if it waits for an answer.
    pub(super) fn unanswered(&self) -> Option<&str> {
        (self.last == Last::Question).then_some(self.last_id.as_str())
    }

    /// Notes that a request of the turn may have been broken off, and returns the remainder that says so; once a turn.
    pub(super) fn doubt(&mut self, agent: &Agent) -> Option<UsageReport> {
        self.doubts.tell(agent, self.at)
    }

    /// Tells whether the last request has no reply, where nothing more will come.
    pub(super) fn is_left(&self) -> bool {
        matches!(self.last, Last::Question | Last::Calls)
    }

    /// Returns how the turn ended and when, if that is known.
    pub(super) fn end(&self) -> Option<(Outcome, Option<Timestamp>)> {
        let status = match (self.stopped, self.last) {
            (_, Last::Nothing) | (None, Last::Question | Last::Calls) => return None,
            (Some(Stop::Failed), _) => Outcome::Failed,
            (Some(Stop::Interrupted), _) => Outcome::Interrupted,
            (None, Last::Answer) => Outcome::Completed,
        };
        Some((status, self.at))
    }
}
