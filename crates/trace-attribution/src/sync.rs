//! Sync points: places where an encoder splits a text whatever stands around them.
//!
//! Both encoders first split a text into pieces with one pattern, then encode each piece by itself. The pattern has no
//! look-behind: how the text from a piece's start on is split depends on nothing before it. Suppose that at some
//! offset a piece ends in every text that has the same two bytes around the offset, and that the pieces before it do
//! not depend on what follows. Then the text encodes to the tokens of what is before it and the tokens of what is
//! behind it, and between two such offsets a slice of the text has the very tokens of the whole. So the tokens of a
//! slice on its own are known from the encoding of the whole, but for a few bytes at its two ends.
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
//! In all three the byte before the point ends its piece, and it is not white space, so that the alternatives that
//! look ahead (they are all about white space) have been decided before it: it does not matter what follows.
//! The start and the end of a text are sync points as well. The tests hold both encoders to all of this.

use core::ops::Range;

/// Returns the first and the last sync point of the text in the range, its two ends included.
pub(crate) fn sync_points(text: &str, range: &Range<usize>) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let first = (range.start..=range.end).find(|&offset| is_sync_point(bytes, offset))?;
    let last = (first..=range.end).rfind(|&offset| is_sync_point(bytes, offset))?;
    Some((first, last))
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
