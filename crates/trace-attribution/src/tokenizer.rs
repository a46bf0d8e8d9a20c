//! The encoders behind the names of tokenizers.
//!
//! Text is always encoded as ordinary text: what looks like a special token is counted as the characters it is made
//! of, since that is how a prompt's text reaches the model. A local count is an estimate of nobody's bill.

use alloc::vec::Vec;

use trace_model::words::TokenizerName;

/// Counts the tokens of texts.
#[derive(Clone, Copy)]
pub(crate) struct Encoder {
    tokenizer: &'static bpe_openai::Tokenizer,
}

impl Encoder {
    /// Returns the encoder of that name, whose tables are built at its first use in the process.
    pub(crate) fn new(name: TokenizerName) -> Self {
        let tokenizer = match name {
            TokenizerName::Cl100kBase => bpe_openai::cl100k_base(),
            TokenizerName::O200kBase => bpe_openai::o200k_base(),
        };
        Self { tokenizer }
    }

    /// Returns the number of tokens of a text.
    pub(crate) fn count(self, text: &str) -> u64 {
        if text.is_empty() { 0 } else { to_u64(self.tokenizer.count(text)) }
    }

    /// Encodes the text once and returns, for each offset, the number of tokens whose first byte lies before it.
    ///
    /// The offsets ascend; one may be given several times. A token may begin inside a character.
    pub(crate) fn tokens_before(self, text: &str, offsets: &[usize]) -> Vec<u64> {
        let bpe = &self.tokenizer.bpe;
        let mut counts = Vec::with_capacity(offsets.len());
        let mut waiting = offsets.iter().copied().peekable();
        let mut tokens = 0;
        let mut position = 0;
        for piece in self.tokenizer.split(text) {
            let end = position + piece.len();
            if waiting.peek().is_none_or(|&offset| offset >= end) {
                tokens += to_u64(bpe.count(piece.as_bytes()));
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
        let encoder = Encoder::new(TokenizerName::Cl100kBase);
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
        let encoder = Encoder::new(TokenizerName::Cl100kBase);
        let text = "𓀀";
        let counts = encoder.tokens_before(text, &[0, text.len()]);
        assert_eq!(counts, [0, encoder.count(text)]);
        assert!(encoder.count(text) > 1);
    }

    #[test]
    fn the_last_offset_counts_the_whole_text() {
        let text: String = ["fn main() {}\n", "日本語", "   \n\n", "don't", "🦀🦀"].concat();
        for &name in TokenizerName::ALL {
            let encoder = Encoder::new(name);
            assert_eq!(encoder.tokens_before(&text, &[text.len()]), [encoder.count(&text)]);
        }
    }
}
