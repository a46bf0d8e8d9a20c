//! What the Anthropic API says that a request cost, and the key of its record.
//!
//! The key of a record is the `message.id`. Transcripts of a run have the same ids on their lines as its stream, so an
//! import finds the same keys. Their `requestId`, which the stream calls `request_id`, is no part of the key: partial
//! messages and some versions of the transcripts lack it, and one id never belongs to two requests of one launch.

use alloc::{format, string::String};

use serde::{Deserialize, Serialize};
use trace_model::{
    usage::{UsageOrigin, UsageReport},
    words::{Grain, Quality},
};

use crate::{
    account::Figures,
    json::Json,
    typed::{Part as _, parts},
};

/// The shortest id, in bytes, that is taken to be unique over all launches.
///
/// Anthropic's ids have 28 bytes, or more with the name of a cloud in them. Gateways and servers of tests count their
/// replies instead (`msg_0001`) and use the same ids in each launch: such an id is a key within the launch only.
const UNIQUE_ID: usize = 20;

/// What one line says that a request cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Usage {
    figures: Figures,
    write_5m: Option<u64>,
    write_1h: Option<u64>,
}

parts! {
    /// A `usage` object.
    pub(super) struct UsageFields<'a> {
        input: Option<Json<'a>> = "input_tokens",
        cache_read: Option<Json<'a>> = "cache_read_input_tokens",
        cache_write: Option<Json<'a>> = "cache_creation_input_tokens",
        output: Option<Json<'a>> = "output_tokens",
        cache_creation: CacheCreation<'a> = "cache_creation",
        output_details: OutputDetails<'a> = "output_tokens_details",
    }
}

parts! {
    struct CacheCreation<'a> {
        five_minutes: Option<Json<'a>> = "ephemeral_5m_input_tokens",
        one_hour: Option<Json<'a>> = "ephemeral_1h_input_tokens",
    }
}

parts! {
    struct OutputDetails<'a> {
        thinking: Option<Json<'a>> = "thinking_tokens",
    }
}

impl Usage {
    /// Reads a `usage` object.
    pub(super) fn read(json: Json<'_>) -> Self {
        Self::of(&UsageFields::of(Some(json)))
    }

    /// Returns what the fields of a `usage` object say.
    pub(super) fn of(fields: &UsageFields<'_>) -> Self {
        let number = |field: Option<Json<'_>>| field.and_then(Json::number);
        let UsageFields { input, cache_read, cache_write, output, cache_creation, output_details } = fields;
        Self {
            figures: [*input, *cache_read, *cache_write, *output, output_details.thinking].map(number),
            write_5m: number(cache_creation.five_minutes),
            write_1h: number(cache_creation.one_hour),
        }
    }

    /// Returns what adds up.
    pub(super) const fn figures(&self) -> Figures {
        self.figures
    }

    /// Forgets how much of the output is thinking.
    pub(super) const fn without_thinking(self) -> Self {
        let [input, cache_read, cache_write, output, _] = self.figures;
        Self { figures: [input, cache_read, cache_write, output, None], ..self }
    }

    /// Joins two lines, number by number.
    pub(super) fn join(self, other: Self, one: fn(Option<u64>, Option<u64>) -> Option<u64>) -> Self {
        let mut figures = self.figures;
        for (figure, other) in figures.iter_mut().zip(other.figures) {
            *figure = one(*figure, other);
        }
        Self { figures, write_5m: one(self.write_5m, other.write_5m), write_1h: one(self.write_1h, other.write_1h) }
    }

    /// Tells whether nothing is known.
    pub(super) fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the record of the reply of that id; who made it, and when, is for the caller to add.
    pub(super) fn report(&self, id: &str, is_exact: bool) -> UsageReport {
        let [input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens] = self.figures;
        let quality = match self.figures {
            _ if is_exact => Quality::Exact,
            [None, None, None, None, None] => Quality::Unknown,
            _ => Quality::LowerBound,
        };
        let cached = [cache_read_tokens, cache_write_tokens].into_iter().flatten();
        UsageReport {
            input_tokens,
            cache_read_tokens,
            cache_write_tokens,
            cache_write_5m_tokens: self.write_5m,
            cache_write_1h_tokens: self.write_1h,
            output_tokens,
            reasoning_tokens,
            context_tokens: input_tokens.map(|input| cached.fold(input, u64::saturating_add)),
            ..UsageReport::new(key(id), Grain::Request, quality)
        }
    }

    /// Returns the key that the reply of that id has in every session that it was copied to.
    ///
    /// A short id alone is no such key. The model and the input go with it: they are the same on all lines of a reply
    /// and in all copies, and the input of two requests in different sessions is hardly ever the same.
    pub(super) fn key_over_sessions(&self, id: &str, model: Option<&str>) -> String {
        if is_unique(id) {
            return String::from(id);
        }
        let [input, cache_read, cache_write, ..] = self.figures.map(Option::unwrap_or_default);
        format!("{id}:{}:{input}:{cache_read}:{cache_write}", model.unwrap_or_default())
    }
}

/// Tells whether an id is unique over all launches.
pub(super) fn is_unique(id: &str) -> bool {
    id.len() >= UNIQUE_ID
}

/// Returns the record's key: the id, unless it reads like the key of another kind of record.
fn key(id: &str) -> String {
    match UsageOrigin::of_key(id) {
        UsageOrigin::Request => String::from(id),
        _ => format!("message:{id}"),
    }
}
