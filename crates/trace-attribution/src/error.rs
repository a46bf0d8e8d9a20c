//! What can be wrong with an input.

use core::ops::Range;

use trace_model::words::Channel;

/// Why a context could not be prepared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttributionError {
    /// A range of a marked text begins or ends inside a character.
    #[error("range {range:?} of the {channel} text begins or ends inside a character")]
    RangeOffCharacter {
        /// The channel that the text is for.
        channel: Channel,
        /// The range as it was given.
        range: Range<usize>,
    },
    /// A range of a marked text ends before it begins, or reaches past the text.
    #[error("range {range:?} is no range of the {channel} text of {bytes} bytes")]
    RangeOutside {
        /// The channel that the text is for.
        channel: Channel,
        /// The range as it was given.
        range: Range<usize>,
        /// The length of the text.
        bytes: usize,
    },
    /// A range of a marked text begins before the one in front of it ends.
    #[error("range {range:?} of the {channel} text begins before {previous_end}, the end of the range in front of it")]
    RangesOverlap {
        /// The channel that the text is for.
        channel: Channel,
        /// The range as it was given.
        range: Range<usize>,
        /// Where the range in front of it ends.
        previous_end: usize,
    },
    /// A decision of the caller has so large a position that no position is left for those behind it.
    #[error("no decision position is left behind {largest}")]
    PositionsExhausted {
        /// The largest position in use.
        largest: u32,
    },
}
