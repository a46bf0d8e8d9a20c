//! One channel of a turn, prepared: its text and the assets that tile it.

use alloc::{borrow::ToOwned, string::String, vec::Vec};
use core::ops::Range;

use trace_model::{
    context::{Asset, Sha256Hex},
    span::ByteSpan,
    words::Channel,
};

use crate::{count::count, source::Origin, tokenizer::Encoder};

/// The text of one channel, with the assets that tile it and its tokens.
///
/// The assets are contiguous, cover the text byte for byte, and share its tokens without rest. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedChannel {
    text: String,
    tokens: u64,
    assets: Vec<Asset>,
}

impl PreparedChannel {
    /// Returns the exact text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the number of tokens of the text, as the turn's tokenizer counts them.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Returns the assets by position, which is their order in the text.
    pub fn assets(&self) -> &[Asset] {
        &self.assets
    }

    /// Returns the asset that holds a byte.
    pub(crate) fn asset_at(&self, offset: usize) -> Option<&Asset> {
        let offset = u64::try_from(offset).ok()?;
        self.assets.get(self.assets.partition_point(|asset| asset.span.end() <= offset))
    }

    /// Makes assets of segments that tile the text; the first one gets `first_position`.
    pub(crate) fn prepare(
        encoder: &mut Encoder,
        channel: Channel,
        text: String,
        segments: &[(Range<usize>, Origin<'_>)],
        first_position: usize,
    ) -> Self {
        let (tokens, counts) = count(encoder, &text, segments.iter().map(|(range, _)| range));
        let assets =
            segments.iter().zip(counts).zip(first_position..).map(|(((range, origin), counts), position)| Asset {
                position: u32::try_from(position).expect("2^32 assets do not fit into memory"),
                channel,
                kind: origin.kind,
                scope: origin.scope,
                label: origin.label.to_owned(),
                source_path: origin.source_path.map(ToOwned::to_owned),
                included_by: origin.included_by.to_owned(),
                content_sha256: Sha256Hex::of(&text.as_bytes()[range.clone()]),
                span: ByteSpan::from_range(range).expect("a segment ends behind its start"),
                isolated_tokens: counts.isolated,
                attributed_tokens: counts.attributed,
            });
        let assets = assets.collect();
        Self { text, tokens, assets }
    }
}
