//! Attribution as one would write it without a thought for speed: an owner for each byte, a search at every offset,
//! every slice encoded by another implementation of the encoders.

use trace_attribution::AssetSpec;
use trace_model::words::{Channel, TokenizerName};

/// Each byte's owner: the index of the spec, and the start of the occurrence that gave it the byte.
type Owners = Vec<Option<(usize, usize)>>;

/// What one channel should come to.
pub(crate) struct Expected {
    /// Each asset's range and spec.
    pub(crate) assets: Vec<(std::ops::Range<usize>, Option<usize>)>,
    /// What became of each spec of the channel, by its index.
    pub(crate) fates: Vec<(usize, Fate)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Placed,
    Empty,
    Absent,
    /// The byte whose holder is named.
    Held(usize),
}

pub(crate) fn attribute(text: &str, channel: Channel, specs: &[AssetSpec]) -> Expected {
    let mut owners: Owners = vec![None; text.len()];
    let mut fates = Vec::new();
    for (index, spec) in specs.iter().enumerate().filter(|(_, spec)| spec.channel == channel) {
        fates.push((index, claim(text, &mut owners, index, spec)));
    }
    Expected { assets: runs(&owners), fates }
}

fn claim(text: &str, owners: &mut Owners, index: usize, spec: &AssetSpec) -> Fate {
    let length = spec.content.len();
    if length == 0 {
        return Fate::Empty;
    }
    let all: Vec<usize> =
        (0..text.len()).filter(|&start| text.as_bytes()[start..].starts_with(spec.content.as_bytes())).collect();
    let Some(&first) = all.first() else { return Fate::Absent };
    let free = |start: usize| owners[start..start + length].iter().filter(|owner| owner.is_none()).count();
    let chosen: Vec<usize> = if spec.match_all_occurrences {
        let mut end = 0;
        all.into_iter()
            .filter(|&start| {
                start >= end && {
                    end = start + length;
                    true
                }
            })
            .collect()
    } else {
        let whole = all.iter().find(|&&start| free(start) == length);
        whole.or_else(|| all.iter().find(|&&start| free(start) > 0)).copied().into_iter().collect()
    };
    if chosen.iter().all(|&start| free(start) == 0) {
        return Fate::Held(first);
    }
    for start in chosen {
        for owner in owners[start..start + length].iter_mut().filter(|owner| owner.is_none()) {
            *owner = Some((index, start));
        }
    }
    Fate::Placed
}

/// The longest ranges of one owner; an empty text is one range.
fn runs(owners: &Owners) -> Vec<(std::ops::Range<usize>, Option<usize>)> {
    let mut runs = Vec::new();
    let mut start = 0;
    for run in owners.chunk_by(|one, other| one == other) {
        runs.push((start..start + run.len(), run[0].map(|(spec, _)| spec)));
        start += run.len();
    }
    if runs.is_empty() {
        runs.push((0..0, None));
    }
    runs
}

/// The tokens of a text, by the reference implementation.
pub(crate) fn encode(name: TokenizerName, text: &str) -> Vec<u32> {
    match name {
        TokenizerName::Cl100kBase => tiktoken_rs::cl100k_base_singleton().encode_ordinary(text),
        TokenizerName::O200kBase => tiktoken_rs::o200k_base_singleton().encode_ordinary(text),
    }
}

/// The offset of each token's first byte, by the reference implementation.
pub(crate) fn token_starts(name: TokenizerName, text: &str) -> Vec<usize> {
    let encoder = match name {
        TokenizerName::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
        TokenizerName::O200kBase => tiktoken_rs::o200k_base_singleton(),
    };
    let mut position = 0;
    let mut starts = Vec::new();
    for token in encode(name, text) {
        starts.push(position);
        position += encoder.decode_bytes(&[token]).unwrap().len();
    }
    assert_eq!(position, text.len(), "the tokens spell the text");
    starts
}
