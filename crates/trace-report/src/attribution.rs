//! Where the bytes and tokens of given prompts come from.

use alloc::vec::Vec;

use serde::Serialize;
use trace_model::{
    context::{Asset, Decision},
    words::{Channel, TokenizerName},
};

use crate::SCHEMA_VERSION;

/// The channels of a context that was attributed without being recorded.
#[derive(Debug, Clone, Serialize)]
pub struct AttributionReport<'a> {
    /// The schema of the document.
    pub schema_version: u32,
    /// The encoding of all token counts.
    pub tokenizer: Option<TokenizerName>,
    /// The channels that are there, the system prompt first.
    pub channels: Vec<ChannelReport<'a>>,
    /// What was done with each candidate, by position.
    pub decisions: &'a [Decision],
}

/// One channel with the assets that tile it.
#[derive(Debug, Clone, Serialize)]
pub struct ChannelReport<'a> {
    /// Which prompt it is.
    pub channel: Channel,
    /// The size of its text.
    pub bytes: u64,
    /// The tokens of its text, counted here.
    pub tokens: u64,
    /// The assets by position.
    pub assets: &'a [Asset],
}

impl<'a> AttributionReport<'a> {
    /// Returns the report of the channels and the decisions behind them.
    pub fn new(tokenizer: Option<TokenizerName>, channels: Vec<ChannelReport<'a>>, decisions: &'a [Decision]) -> Self {
        Self { schema_version: SCHEMA_VERSION, tokenizer, channels, decisions }
    }
}
