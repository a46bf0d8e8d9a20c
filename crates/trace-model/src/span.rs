//! Ranges of bytes.

use core::ops::Range;

/// A range of bytes of a text: `start` is inside, `end` is not, and `start <= end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ByteSpan {
    start: u64,
    end: u64,
}

impl ByteSpan {
    /// Returns the span, or `None` if it ends before it starts.
    pub const fn new(start: u64, end: u64) -> Option<Self> {
        if start <= end { Some(Self { start, end }) } else { None }
    }

    /// Returns the span of a range of memory, or `None` if it ends before it starts.
    pub fn from_range(range: &Range<usize>) -> Option<Self> {
        Self::new(u64::try_from(range.start).ok()?, u64::try_from(range.end).ok()?)
    }

    /// Returns the offset of the first byte.
    pub const fn start(self) -> u64 {
        self.start
    }

    /// Returns the offset behind the last byte.
    pub const fn end(self) -> u64 {
        self.end
    }

    /// Returns the number of bytes.
    pub const fn len(self) -> u64 {
        self.end - self.start
    }

    /// Tells whether there is no byte in it.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns the bytes of `text` that the span covers, or `None` if it reaches past the end or cuts a character.
    pub fn slice(self, text: &str) -> Option<&str> {
        text.get(usize::try_from(self.start).ok()?..usize::try_from(self.end).ok()?)
    }
}
