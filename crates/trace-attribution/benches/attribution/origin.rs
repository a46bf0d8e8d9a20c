//! The design that this crate replaces: the text is searched once for each spec, every claim is compared with every
//! other, and each prefix is encoded again.

use std::ops::Range;

use trace_attribution::AssetSpec;

/// Returns each segment's end, its share by prefix difference and its own tokens.
pub(crate) fn attribute(text: &str, specs: &[AssetSpec]) -> Vec<(usize, usize, usize)> {
    let mut claims: Vec<Range<usize>> = Vec::new();
    for spec in specs {
        let found = text.match_indices(&spec.content).map(|(start, found)| start..start + found.len());
        let free = |range: &Range<usize>| claims.iter().all(|held| held.end <= range.start || range.end <= held.start);
        if let Some(range) = found.into_iter().find(free) {
            claims.push(range);
        }
    }
    claims.sort_by_key(|claim| claim.start);
    let mut ends: Vec<usize> = claims.iter().flat_map(|claim| [claim.start, claim.end]).chain([text.len()]).collect();
    ends.dedup();

    let encoder = bpe_openai::cl100k_base();
    let (mut start, mut before) = (0, 0);
    ends.into_iter()
        .map(|end| {
            let prefix = encoder.count(&text[..end]);
            let segment = (end, prefix.saturating_sub(before), encoder.count(&text[start..end]));
            (start, before) = (end, prefix);
            segment
        })
        .collect()
}
