//! The encoders behind the names of tokenizers.
//!
//! Text is always encoded as ordinary text: what looks like a special token is counted as the characters it is made
//! of, since that is how a prompt's text reaches the model. A local count is an estimate of nobody's bill.

use alloc::{vec, vec::Vec};

use trace_model::words::TokenizerName;

use crate::sync::is_one_piece;

/// Counts the tokens of texts.
pub(crate) struct Encoder {
    tokenizer: &'static bpe_openai::Tokenizer,
    /// The counts of short pieces, as the encoder splits text into them.
    pieces: ShortCounts,
    /// The counts of short texts: the ends of segments, which are often alike.
    texts: ShortCounts,
}

impl Encoder {
    /// Returns an encoder of that name; its tables are built at their first use in the process.
    pub(crate) fn new(name: TokenizerName) -> Self {
        let tokenizer = match name {
            TokenizerName::Cl100kBase => bpe_openai::cl100k_base(),
            TokenizerName::O200kBase => bpe_openai::o200k_base(),
        };
        Self { tokenizer, pieces: ShortCounts::new(), texts: ShortCounts::new() }
    }

    /// Returns the number of tokens of a text.
    pub(crate) fn count(&mut self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        let Self { tokenizer, pieces, texts } = self;
        texts.get_or_count(text.as_bytes(), || {
            if is_one_piece(text) {
                return count_piece(tokenizer, pieces, text);
            }
            tokenizer.split(text).map(|piece| count_piece(tokenizer, pieces, piece)).sum()
        })
    }

    /// Encodes the text once and returns, for each offset, the number of tokens whose first byte lies before it.
    ///
    /// The offsets ascend; one may be given several times. A token may begin inside a character.
    pub(crate) fn tokens_before(&mut self, text: &str, offsets: &[usize]) -> Vec<u64> {
        let Self { tokenizer, pieces, .. } = self;
        let bpe = &tokenizer.bpe;
        let mut counts = Vec::with_capacity(offsets.len());
        let mut waiting = offsets.iter().copied().peekable();
        let mut tokens = 0;
        let mut position = 0;
        for piece in tokenizer.split(text) {
            while waiting.next_if(|&offset| offset <= position).is_some() {
                counts.push(tokens);
            }
            let end = position + piece.len();
            if waiting.peek().is_none_or(|&offset| offset >= end) {
                tokens += count_piece(tokenizer, pieces, piece);
                position = end;
                continue;
            }
            for token in bpe.encode_via_backtracking(piece.as_bytes()) {
                while waiting.next_if(|&offset| offset <= position).is_some() {
                    counts.push(tokens);
                }
                tokens += 1;
                position += bpe.token_len(token);
            }
        }
        counts.extend(waiting.map(|_| tokens));
        counts
    }
}

/// Returns the number of tokens of one piece.
fn count_piece(tokenizer: &bpe_openai::Tokenizer, known: &mut ShortCounts, piece: &str) -> u64 {
    known.get_or_count(piece.as_bytes(), || to_u64(tokenizer.bpe.count(piece.as_bytes())))
}

/// The token counts of short strings that were met before.
///
/// Texts repeat their words, and to look one up is much cheaper than to encode it. A slot knows the last string that
/// fell into it by all its bytes, so an answer is never that of another string.
struct ShortCounts {
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// The string, as [`ShortCounts::key`] makes it; zero before there is one.
    key: [u64; 2],
    tokens: u64,
}

impl ShortCounts {
    /// There are two to that power of slots: a common vocabulary that stays in the processor's cache.
    const SLOT_BITS: u32 = 12;

    fn new() -> Self {
        Self { slots: vec![Slot::default(); 1 << Self::SLOT_BITS] }
    }

    /// Returns the number of tokens of a string, which is counted if it is not known.
    fn get_or_count(&mut self, bytes: &[u8], count: impl FnOnce() -> u64) -> u64 {
        let Some(key) = Self::key(bytes) else { return count() };
        let hash = (key[0] ^ key[1].rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let index = usize::try_from(hash >> (u64::BITS - Self::SLOT_BITS));
        let Some(slot) = index.ok().and_then(|index| self.slots.get_mut(index)) else { return count() };
        if slot.key != key {
            *slot = Slot { key, tokens: count() };
        }
        slot.tokens
    }

    /// Returns the bytes and the length of a string of at most 15 bytes, which is not empty.
    fn key(bytes: &[u8]) -> Option<[u64; 2]> {
        let mut low = [0; 8];
        let mut high = [0; 8];
        let (start, rest) = bytes.split_at(bytes.len().min(8));
        low[..start.len()].copy_from_slice(start);
        high[..7].get_mut(..rest.len())?.copy_from_slice(rest);
        high[7] = u8::try_from(bytes.len()).ok()?;
        Some([u64::from_le_bytes(low), u64::from_le_bytes(high)])
    }
}

/// Widens a number of things in memory.
fn to_u64(count: usize) -> u64 {
    u64::try_from(count).expect("no supported system has addresses of more than 64 bits")
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use super::*;

    #[test]
    fn an_offset_counts_the_tokens_that_begin_before_it() {
        let mut encoder = Encoder::new(TokenizerName::Cl100kBase);
        // "hello", " world", "!" begin at 0, 5 and 11.
        let counts = encoder.tokens_before("hello world!", &[0, 0, 1, 5, 6, 11, 12]);
        assert_eq!(counts, [0, 0, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn an_empty_text_has_no_tokens() {
        for &name in TokenizerName::ALL {
            assert_eq!(Encoder::new(name).count(""), 0);
            assert_eq!(Encoder::new(name).tokens_before("", &[0]), [0]);
        }
    }

    #[test]
    fn tokens_that_begin_inside_a_character_are_counted() {
        let mut encoder = Encoder::new(TokenizerName::Cl100kBase);
        let text = "𓀀";
        let counts = encoder.tokens_before(text, &[0, text.len()]);
        let count = encoder.count(text);
        assert_eq!(counts, [0, count]);
        assert!(count > 1);
    }

    #[test]
    fn the_last_offset_counts_the_whole_text() {
        let text: String = ["fn main() {}\n", "日本語", "   \n\n", "don't", "🦀🦀"].concat();
        for &name in TokenizerName::ALL {
            let mut encoder = Encoder::new(name);
            let count = encoder.count(&text);
            assert_eq!(encoder.tokens_before(&text, &[text.len()]), [count]);
        }
    }

    #[test]
    fn strings_that_were_met_before_count_as_at_the_first_time() {
        let mut encoder = Encoder::new(TokenizerName::Cl100kBase);
        // More different pieces than slots, of all lengths around the longest that is kept, and with zero bytes.
        let pieces: Vec<String> = (0..9_000)
            .map(|number: u32| {
                let length = usize::try_from(number % 18).unwrap();
                std::format!("{number}{}{}", "x".repeat(length), "\0".repeat(length % 3))
            })
            .collect();
        for piece in pieces.iter().chain(&pieces) {
            let expected = to_u64(bpe_openai::cl100k_base().count(piece));
            assert_eq!((encoder.count(piece), encoder.count(piece)), (expected, expected), "{piece:?}");
        }
    }
}
