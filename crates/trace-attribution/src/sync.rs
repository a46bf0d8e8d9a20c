//! Sync points: places where an encoder splits a text whatever stands around them.
//!
//! Both encoders first split a text into pieces with one pattern, then encode each piece by itself. A sync point is an
//! offset at which a text can be cut in two without changing a token: the tokens of the text are those of the part
//! before it and those of the part behind it. Whether an offset is one is said by the two bytes around it alone. So a
//! sync point of a text is one of each slice around it as well, and between two sync points of a slice lie the very
//! tokens of the whole. The tokens of a slice on its own are known from the encoding of the whole, but for a few bytes
//! at its two ends.
//!
//! # The rule, and why it holds
//!
//! The alternatives of the two patterns are, with small differences between `cl100k_base` and `o200k_base`: a
//! contraction (`'s`, `'ll`; in `o200k_base` only at the end of a word), letters with at most one character before
//! them that is no letter, digit or line break, one to three digits, other visible characters with at most one space
//! before them and line breaks (in `o200k_base` slashes too) behind them, and white space. Therefore:
//!
//! * *A visible ASCII character, then a space or tab.* No alternative goes on with a blank after anything visible.
//! * *An ASCII letter or digit, then a line break.* Only other visible characters take line breaks with them.
//! * *An ASCII letter or digit, then an ASCII punctuation mark that is no apostrophe.* No alternative goes on with a
//!   mark after a letter or a digit, but for the apostrophe of a contraction.
//!
//! In all three a piece ends at the point. The part behind it is split as before, since the pattern has no look-behind.
//! So is the part before it: it ends in a visible character, and the alternatives that look ahead are about white space
//! alone. The start and the end of a text are sync points as well. The tests hold both encoders to all of this.

use core::ops::Range;

/// Returns the first and the last sync point of the text in the range, its two ends included.
pub(crate) fn sync_points(text: &str, range: &Range<usize>) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let first = (range.start..=range.end).find(|&offset| is_sync_point(bytes, offset))?;
    let last = (first..=range.end).rfind(|&offset| is_sync_point(bytes, offset))?;
    Some((first, last))
}

/// Tells whether the encoders take the text for one piece, which is said only of lower-case ASCII letters.
///
/// They are letters to both patterns, and no case changes among them. What is told here saves the splitting of words
/// that a segment's end has cut.
pub(crate) fn is_one_piece(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn is_sync_point(text: &[u8], offset: usize) -> bool {
    if offset == 0 {
        return true;
    }
    let (Some(&before), Some(&behind)) = (text.get(offset - 1), text.get(offset)) else {
        return offset == text.len();
    };
    match behind {
        b' ' | b'\t' => before.is_ascii_graphic(),
        b'\r' | b'\n' => before.is_ascii_alphanumeric(),
        b'\'' => false,
        _ => behind.is_ascii_punctuation() && before.is_ascii_alphanumeric(),
    }
}

#[cfg(test)]
mod tests;
