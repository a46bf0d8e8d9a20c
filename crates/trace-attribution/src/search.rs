//! Where contents occur in a text, for all contents in one pass.
//!
//! A search per content reads the text once for each of them. Here each content is looked up by one short window of
//! its bytes, the rarest in the text: a first pass counts windows in a small sketch, a second one writes down where
//! the chosen windows occur. Occurrences are then read off these lists one by one, as far as somebody asks, so that
//! neither a content that occurs everywhere nor thousands of contents with a common beginning cost more than what is
//! asked for. All lists of one window width together have at most one entry per byte of the text.
//!
//! A window is as wide as the content allows, up to eight bytes. Few contents of one width are not worth the two
//! passes, and are searched for each by itself.

use alloc::{boxed::Box, vec, vec::Vec};
use core::{iter::StepBy, ops::Range};

use memchr::memmem;

/// Up to this many contents of one window width are searched for each by itself.
const FEW: usize = 4;

/// Of contents of up to twice this many bytes, every window is a candidate for looking them up.
const EVERY_WINDOW_UP_TO: usize = 64;

/// A window that occurs at most this often is rare enough to look no further.
const RARE: u8 = 4;

/// The end of a chain of windows.
const NONE: u32 = u32::MAX;

/// A text, prepared for finding any of the contents.
pub(crate) struct Search<'a> {
    text: &'a [u8],
    contents: Vec<Content<'a>>,
    /// Where each chosen window occurs, ascending.
    positions: Vec<Vec<u32>>,
}

struct Content<'a> {
    bytes: &'a [u8],
    lookup: Lookup<'a>,
}

enum Lookup<'a> {
    /// It is not in the text.
    Absent,
    /// Read the text.
    Scan(Box<memmem::Finder<'a>>),
    /// Read where a window of it occurs.
    Window {
        /// The index of the list.
        list: usize,
        /// Where the window begins in the content.
        offset: usize,
    },
}

impl<'a> Search<'a> {
    /// Prepares the search for contents of at least one byte each, which should differ from each other.
    pub(crate) fn new(text: &'a str, contents: &[&'a str]) -> Self {
        let content = |content: &&'a str| Content { bytes: content.as_bytes(), lookup: Lookup::Absent };
        let contents = contents.iter().map(content).collect();
        let mut search = Self { text: text.as_bytes(), contents, positions: Vec::new() };
        search.look_up::<8>(8..usize::MAX);
        search.look_up::<4>(4..8);
        search.look_up::<2>(2..4);
        search.look_up::<1>(1..2);
        search
    }

    /// Returns the start of the first occurrence of a content that begins at `from` or behind it.
    pub(crate) fn next(&self, content: usize, from: usize) -> Option<usize> {
        let Content { bytes, lookup } = self.contents.get(content)?;
        match lookup {
            Lookup::Absent => None,
            Lookup::Scan(finder) => Some(from + finder.find(self.text.get(from..)?)?),
            Lookup::Window { list, offset } => {
                let positions = self.positions.get(*list)?;
                let first = positions.partition_point(|&position| to_usize(position) < from + offset);
                let mut starts = positions.iter().skip(first).map(|&position| to_usize(position) - offset);
                starts.find(|&start| self.text.get(start..start + bytes.len()) == Some(bytes))
            }
        }
    }

    /// Decides how the contents whose length is in `lengths` are looked up, by windows of `W` bytes or without.
    fn look_up<const W: usize>(&mut self, lengths: Range<usize>) {
        let chosen = |content: &&mut Content<'_>| lengths.contains(&content.bytes.len());
        let contents = self.contents.iter_mut().filter(chosen);
        // Positions are kept in 32 bits. A text of 4 GiB is no prompt, but it gets its answer.
        if u32::try_from(self.text.len()).is_err() || contents.count() <= FEW {
            for content in self.contents.iter_mut().filter(chosen) {
                content.lookup = Lookup::Scan(Box::new(memmem::Finder::new(content.bytes)));
            }
            return;
        }
        let sketch = Sketch::of::<W>(self.text);
        let mut windows = Windows::with_capacity(self.contents.len(), self.positions.len());
        for content in self.contents.iter_mut().filter(chosen) {
            if let Some((offset, window)) = sketch.rarest::<W>(content.bytes) {
                content.lookup = Lookup::Window { list: windows.insert(window), offset };
            }
        }
        self.positions.extend(windows.positions_in::<W>(self.text));
    }
}

/// How often windows occur in a text, roughly: never too low, but for counts of 255 and more.
struct Sketch {
    counts: Vec<u8>,
    bits: u32,
}

impl Sketch {
    fn of<const W: usize>(text: &[u8]) -> Self {
        // A cell for every byte, as long as the cells stay in the processor's cache.
        let bits = bits_for(text.len()).clamp(12, 20);
        let mut counts = vec![0_u8; 1 << bits];
        for window in text.array_windows::<W>() {
            // A full cell is left alone: to write it again would make a text of one letter wait for itself.
            if let Some(count) = counts.get_mut(hash(value(window), bits)).filter(|count| **count < u8::MAX) {
                *count += 1;
            }
        }
        Self { counts, bits }
    }

    /// Returns the place and value of a window of the content that is rare in the text, or `None` if one is not in
    /// the text at all.
    ///
    /// Of a long content not all windows are looked at: first some that leave out no byte, then those around the best.
    fn rarest<const W: usize>(&self, content: &[u8]) -> Option<(usize, u64)> {
        let last = content.len().checked_sub(W)?;
        let step = (content.len() / EVERY_WINDOW_UP_TO).clamp(1, W);
        let mut best = last;
        let mut fewest = self.count_at::<W>(content, last)?;
        let mut look_at = |offsets: StepBy<Range<usize>>| {
            for offset in offsets {
                if fewest <= RARE {
                    break;
                }
                let count = self.count_at::<W>(content, offset)?;
                if count < fewest {
                    (fewest, best) = (count, offset);
                }
            }
            Some(best)
        };
        let best = look_at((0..last).step_by(step))?;
        let best = look_at((best.saturating_sub(step)..last.min(best + step)).step_by(1))?;
        Some((best, value(content.get(best..)?.first_chunk::<W>()?)))
    }

    /// Returns how often the window of the content at that offset occurs, or `None` if it does not.
    fn count_at<const W: usize>(&self, content: &[u8], offset: usize) -> Option<u8> {
        let window = value(content.get(offset..)?.first_chunk::<W>()?);
        self.counts.get(hash(window, self.bits)).copied().filter(|&count| count > 0)
    }
}

/// The chosen windows of one width: a hash table with chains.
struct Windows {
    /// The first entry of each chain.
    heads: Vec<u32>,
    bits: u32,
    entries: Vec<Window>,
    /// The index of the first entry's list among all lists.
    first_list: usize,
}

struct Window {
    /// The bytes of the window as one number.
    value: u64,
    next: u32,
    positions: Vec<u32>,
}

impl Windows {
    fn with_capacity(windows: usize, first_list: usize) -> Self {
        // Sixteen chains for a window: most windows of the text meet an empty chain.
        let bits = bits_for(windows.saturating_mul(16)).clamp(8, 24);
        Self { heads: vec![NONE; 1 << bits], bits, entries: Vec::new(), first_list }
    }

    /// Adds a window, unless it is there already, and returns the index of its list.
    fn insert(&mut self, value: u64) -> usize {
        let slot = hash(value, self.bits);
        if let Some(index) = self.find(slot, value) {
            return self.first_list + index;
        }
        let index = self.entries.len();
        if let (Some(head), Ok(index)) = (self.heads.get_mut(slot), u32::try_from(index)) {
            self.entries.push(Window { value, next: *head, positions: Vec::new() });
            *head = index;
        }
        self.first_list + index
    }

    fn find(&self, slot: usize, value: u64) -> Option<usize> {
        let mut index = *self.heads.get(slot)?;
        while index != NONE {
            let entry = self.entries.get(to_usize(index))?;
            if entry.value == value {
                return Some(to_usize(index));
            }
            index = entry.next;
        }
        None
    }

    /// Reads the text once and returns where each window occurs.
    fn positions_in<const W: usize>(mut self, text: &[u8]) -> impl Iterator<Item = Vec<u32>> {
        // A run of one character is one window again and again.
        let mut previous = None;
        for (position, window) in (0_u32..).zip(text.array_windows::<W>()) {
            let value = value(window);
            let index = match previous {
                Some((same, index)) if same == value => index,
                _ => self.find(hash(value, self.bits), value),
            };
            previous = Some((value, index));
            if let Some(entry) = index.and_then(|index| self.entries.get_mut(index)) {
                entry.positions.push(position);
            }
        }
        self.entries.into_iter().map(|entry| entry.positions)
    }
}

/// Returns the bytes of a window, of which there are at most eight, as one number.
fn value<const W: usize>(window: &[u8; W]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..W].copy_from_slice(window);
    u64::from_le_bytes(bytes)
}

/// Returns a number of that many bits that depends on the whole window (Fibonacci hashing).
fn hash(window: u64, bits: u32) -> usize {
    let product = window.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    usize::try_from(product >> (u64::BITS - bits)).expect("a hash has at most 24 bits")
}

/// Returns the number of bits that count up to `length`.
fn bits_for(length: usize) -> u32 {
    usize::BITS - length.leading_zeros()
}

fn to_usize(position: u32) -> usize {
    usize::try_from(position).expect("no supported system has addresses of less than 32 bits")
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use proptest::prelude::*;

    use super::*;

    /// Returns every occurrence, overlapping ones included.
    fn all(search: &Search<'_>, content: usize) -> Vec<usize> {
        let mut from = 0;
        core::iter::from_fn(|| {
            let start = search.next(content, from)?;
            from = start + 1;
            Some(start)
        })
        .collect()
    }

    fn naive(text: &str, content: &str) -> Vec<usize> {
        (0..text.len()).filter(|&start| text.as_bytes()[start..].starts_with(content.as_bytes())).collect()
    }

    #[track_caller]
    fn check(text: &str, contents: &[&str]) {
        let search = Search::new(text, contents);
        for (index, content) in contents.iter().enumerate() {
            assert_eq!(all(&search, index), naive(text, content), "{content:?} in {text:?}");
        }
    }

    #[test]
    fn finds_few_contents_and_many() {
        let text = "the cat sat on the mat, the end of the tale";
        check(text, &["the", "cat"]);
        check(text, &["the", "cat", "sat", "mat", "end", "tale", "dog", "t", "e", " ", "a", "z", "of", "on the mat"]);
    }

    #[test]
    fn finds_overlapping_occurrences() {
        check("aaaaaaaaaaaaaaaaaaaaaaaaaaaa", &["a", "aa", "aaa", "aaaa", "aaaaaaaa", "aaaaaaaaa", "aaaaaaaaaaaaaaaa"]);
    }

    #[test]
    fn tells_contents_with_a_common_beginning_apart() {
        let common = "-".repeat(200);
        let contents: Vec<String> = (0..50).map(|number| std::format!("{common}{number:03}")).collect();
        let text = contents[10..40].concat();
        check(&text, &contents.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn finds_contents_of_zero_bytes() {
        check(
            "\0\0\0\0\0\0\0\0\0\0a",
            &["\0", "a", "b", "\0a", "c", "\0\0\0\0\0\0\0\0\0", "0", "00", "a0", "b0", "\0\0\0"],
        );
    }

    #[test]
    fn an_empty_text_holds_nothing() {
        check("", &["a", "b", "c", "d", "e", "abcdefghij", "bcdefghijk", "c-efghijkl", "defghijklm", "efghijklmn"]);
    }

    proptest! {
        #[test]
        fn agrees_with_trying_every_offset(
            text in "[ab]{0,60}|[abcß]{0,60}|\\PC{0,60}",
            others in prop::collection::vec("[ab]{1,12}|\\PC{1,12}", 0..8),
            cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..30),
        ) {
            let bounds: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
            let pieces = cuts.iter().map(|(one, other)| {
                let (one, other) = (*one.get(&bounds), *other.get(&bounds));
                &text[one.min(other)..one.max(other)]
            });
            let contents: Vec<&str> =
                pieces.chain(others.iter().map(String::as_str)).filter(|content| !content.is_empty()).collect();
            check(&text, &contents);
        }
    }
}
