//! Bytes in any pieces to lines.

use alloc::vec::Vec;
use core::mem;

use memchr::memchr;
use trace_model::span::ByteSpan;

/// The longest line that is held in memory, in bytes: 24 MiB.
///
/// Lines of 15 MB are real (a picture in a tool's result), so the limit is above. Of a longer line the beginning and
/// the end are held, 64 KiB of each; what they tell is read, and the line is noted with its place and size.
pub const MAX_LINE: usize = 24 << 20;

/// How much of the beginning and of the end of a line that is too long is held, in bytes.
const EDGE: usize = 64 << 10;

/// What is kept of an emptied buffer, in bytes: one long line does not hold its memory for the rest of the run.
const KEPT_CAPACITY: usize = 1 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One line of an output that is not blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Whole(WholeLine<'a>),
    TooLong(LongLine<'a>),
}

/// A line that was too long to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LongLine<'a> {
    /// The place of its first byte in the output.
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) beginning: &'a [u8],
    pub(crate) end: &'a [u8],
}

impl LongLine<'_> {
    pub(crate) fn span(&self) -> ByteSpan {
        ByteSpan::new(self.offset, self.offset.saturating_add(self.len)).expect("an end is not before its start")
    }
}

/// A line without its line feed, the carriage return before it, and a byte order mark at the start of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WholeLine<'a> {
    /// The place of its first byte in the output.
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
    /// Whether a line feed ended it, or the end of the output.
    pub(crate) ended: bool,
}

impl WholeLine<'_> {
    pub(crate) fn span(&self) -> ByteSpan {
        span(self.offset, self.bytes.len())
    }
}

/// Returns the span of `len` bytes at `offset`; offsets of a stream stay far below the largest number.
pub(crate) fn span(offset: u64, len: usize) -> ByteSpan {
    let end = offset.saturating_add(count(len));
    ByteSpan::new(offset, end).expect("an end is not before its start")
}

/// Returns a length as a number of bytes of a stream.
pub(crate) fn count(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// Splits at line feeds only: any other character that some programs take for the end of a line stands in real strings.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    limit: usize,
    /// The place of the first byte of the line that is being read.
    start: u64,
    /// The line so far, if it came in pieces.
    held: Vec<u8>,
    /// The line so far, if it is too long.
    long: Option<Edges>,
}

impl Default for LineSplitter {
    fn default() -> Self {
        Self::with_limit(MAX_LINE)
    }
}

impl LineSplitter {
    /// Returns a splitter that holds at most `limit` bytes of a line.
    pub(crate) const fn with_limit(limit: usize) -> Self {
        Self { limit, start: 0, held: Vec::new(), long: None }
    }

    /// Returns a splitter for a source whose first `offset` bytes, all whole lines, were split before.
    pub(crate) fn starting_at(offset: u64) -> Self {
        Self { start: offset, ..Self::with_limit(MAX_LINE) }
    }

    /// Returns the place of the first byte of the line that is being read.
    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn push(&mut self, bytes: &[u8], on_line: &mut dyn FnMut(Line<'_>)) {
        let mut rest = bytes;
        while let Some((line, behind)) = memchr(b'\n', rest).and_then(|at| rest.split_at_checked(at)) {
            self.complete(line, true, on_line);
            rest = behind.get(1..).unwrap_or_default();
        }
        self.hold(rest);
    }

    pub(crate) fn finish(&mut self, on_line: &mut dyn FnMut(Line<'_>)) {
        self.complete(&[], false, on_line);
    }

    /// Adds to the line so far.
    fn hold(&mut self, bytes: &[u8]) {
        let len = self.held.len() + bytes.len();
        if let Some(edges) = &mut self.long {
            edges.push(bytes);
        } else if len > self.limit {
            let mut edges = Edges::default();
            edges.push(&mem::take(&mut self.held));
            edges.push(bytes);
            self.long = Some(edges);
        } else {
            // A buffer that only doubles could become almost twice as large as the limit.
            if len > self.held.capacity() {
                let wanted = (2 * self.held.capacity()).min(self.limit).max(len);
                self.held.reserve_exact(wanted - self.held.len());
            }
            self.held.extend_from_slice(bytes);
        }
    }

    fn complete(&mut self, last: &[u8], ended: bool, on_line: &mut dyn FnMut(Line<'_>)) {
        let offset = self.start;
        if self.long.is_some() || self.held.len() + last.len() > self.limit {
            self.hold(last);
        }
        if let Some(edges) = self.long.take() {
            self.start += edges.len + u64::from(ended);
            let beginning = edges.beginning.as_slice();
            let beginning = beginning.strip_prefix(BYTE_ORDER_MARK).filter(|_| offset == 0).unwrap_or(beginning);
            on_line(Line::TooLong(LongLine { offset, len: edges.len, beginning, end: edges.end() }));
            return;
        }
        self.start += count(self.held.len() + last.len()) + u64::from(ended);
        let bytes = if self.held.is_empty() {
            last
        } else {
            self.hold(last);
            self.held.as_slice()
        };
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let (offset, bytes) = match bytes.strip_prefix(BYTE_ORDER_MARK) {
            Some(bytes) if offset == 0 => (count(BYTE_ORDER_MARK.len()), bytes),
            _ => (offset, bytes),
        };
        if !bytes.trim_ascii().is_empty() {
            on_line(Line::Whole(WholeLine { offset, bytes, ended }));
        }
        if self.held.capacity() > KEPT_CAPACITY {
            self.held = Vec::new();
        } else {
            self.held.clear();
        }
    }
}

/// What is kept of a line that is too long.
#[derive(Debug, Default)]
struct Edges {
    len: u64,
    beginning: Vec<u8>,
    /// The last bytes behind the beginning, and up to as many before them.
    end: Vec<u8>,
}

impl Edges {
    fn push(&mut self, bytes: &[u8]) {
        self.len += count(bytes.len());
        let (beginning, rest) = bytes.split_at((EDGE - self.beginning.len()).min(bytes.len()));
        self.beginning.extend_from_slice(beginning);
        self.end.extend_from_slice(last_of(rest));
        if self.end.len() > 2 * EDGE {
            self.end.drain(..self.end.len() - EDGE);
        }
    }

    fn end(&self) -> &[u8] {
        last_of(&self.end)
    }
}

fn last_of(bytes: &[u8]) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(EDGE)..).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use std::{string::String, vec};

    use proptest::prelude::*;

    use super::*;

    fn split(limit: usize, pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut take = |line: Line<'_>| lines.push(std::format!("{line:?}"));
        let mut splitter = LineSplitter::with_limit(limit);
        for piece in pieces {
            splitter.push(piece, &mut take);
        }
        splitter.finish(&mut take);
        lines
    }

    fn texts(bytes: &[u8]) -> Vec<(u64, String, bool)> {
        let mut lines = Vec::new();
        let mut take = |line: Line<'_>| match line {
            Line::Whole(line) => {
                lines.push((line.offset, String::from_utf8(line.bytes.to_vec()).unwrap(), line.ended));
            }
            Line::TooLong(_) => panic!("no line is too long here"),
        };
        let mut splitter = LineSplitter::default();
        splitter.push(bytes, &mut take);
        splitter.finish(&mut take);
        lines
    }

    #[test]
    fn a_line_ends_at_a_line_feed_and_nowhere_else() {
        let text = "\u{feff}a\r\n\nb\u{2028}c\u{85}d\re\n  \r\nf";
        assert_eq!(
            texts(text.as_bytes()),
            vec![
                (3, String::from("a"), true),
                (7, String::from("b\u{2028}c\u{85}d\re"), true),
                (22, String::from("f"), false),
            ]
        );
    }

    #[test]
    fn a_line_above_the_limit_is_told_and_reading_goes_on() {
        let lines = split(4, &[b"1234\n12345\nok\n", b"123", b"456", b"78"]);
        assert_eq!(
            lines,
            [
                "Whole(WholeLine { offset: 0, bytes: [49, 50, 51, 52], ended: true })",
                "TooLong(LongLine { offset: 5, len: 5, beginning: [49, 50, 51, 52, 53], end: [] })",
                "Whole(WholeLine { offset: 11, bytes: [111, 107], ended: true })",
                "TooLong(LongLine { offset: 14, len: 8, beginning: [49, 50, 51, 52, 53, 54, 55, 56], end: [] })",
            ]
        );
    }

    #[test]
    fn of_a_line_above_the_limit_the_edges_are_kept_however_it_comes() {
        let line: Vec<u8> =
            (0..400_000_u32).map(|at| u8::try_from(at % 251).unwrap()).filter(|byte| *byte != b'\n').collect();
        for piece in [1 << 10, EDGE, EDGE + 1, line.len()] {
            let mut seen = None;
            let mut splitter = LineSplitter::with_limit(300_000);
            let mut take = |line: Line<'_>| {
                let Line::TooLong(line) = line else { panic!("it is too long") };
                seen = Some((line.len, line.beginning.to_vec(), line.end.to_vec()));
            };
            for bytes in line.chunks(piece) {
                splitter.push(bytes, &mut take);
                assert!(splitter.held.capacity() <= 300_000, "the buffer keeps to the limit");
            }
            splitter.finish(&mut take);
            let expected = (count(line.len()), line[..EDGE].to_vec(), line[line.len() - EDGE..].to_vec());
            assert_eq!(seen, Some(expected), "{piece}");
        }
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_the_bytes_are_cut(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), Just(0xEF)], 0..40),
            cuts in proptest::collection::vec(0..40_usize, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts.into_iter().chain([bytes.len()]) {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            prop_assert_eq!(split(7, &pieces), split(7, &[&bytes]));
        }
    }
}
