//! The tokens of segments: their share of the text's tokens, and what each has on its own.

use alloc::vec::Vec;
use core::ops::Range;

use crate::{sync::sync_points, tokenizer::Encoder};

/// The token counts of one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentTokens {
    /// The tokens of the text that begin in the segment.
    pub(crate) attributed: u64,
    /// The tokens of the segment's own bytes encoded alone.
    pub(crate) isolated: u64,
}

/// Counts the tokens of segments that tile the text, and returns them with the tokens of the whole text.
///
/// The text is encoded once. A token may straddle two segments; it belongs to the one that holds its first byte, so
/// that the shares sum to the total, always. Of each segment, only what is before its first sync point and behind its
/// last one is encoded a second time.
pub(crate) fn count<'a>(
    encoder: &mut Encoder,
    text: &str,
    segments: impl Iterator<Item = &'a Range<usize>>,
) -> (u64, Vec<SegmentTokens>) {
    let mut offsets = Vec::new();
    for segment in segments {
        // Without a sync point, all of the segment is encoded a second time.
        let (first_sync, last_sync) = sync_points(text, segment).unwrap_or((segment.end, segment.end));
        offsets.extend([segment.start, first_sync, last_sync]);
    }
    offsets.push(text.len());
    let tokens_before = encoder.tokens_before(text, &offsets);

    let mut isolated = |from: usize, to: usize| encoder.count(&text[from..to]);
    let offsets = offsets.array_windows().step_by(3);
    let counts = offsets.zip(tokens_before.array_windows().step_by(3)).map(
        |(&[start, first_sync, last_sync, end], [at_start, at_first_sync, at_last_sync, at_end])| SegmentTokens {
            attributed: at_end - at_start,
            isolated: isolated(start, first_sync) + (at_last_sync - at_first_sync) + isolated(last_sync, end),
        },
    );
    (tokens_before.last().copied().unwrap_or(0), counts.collect())
}
