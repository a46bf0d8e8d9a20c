//! Who holds which bytes of a text.
//!
//! Claims are made one after the other, and what is held stays held. Open to callers because it is useful alone:
//! to measure it, and to place ranges that are known already.

use alloc::{collections::BTreeMap, vec::Vec};
use core::{mem, ops::Range};

/// A range of bytes that one owner holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The bytes.
    pub range: Range<usize>,
    /// The index of the owner, as the caller counts.
    pub owner: usize,
}

/// The claims on one text, and the gaps between them.
///
/// ```
/// use trace_attribution::claims::Claims;
///
/// let mut claims = Claims::new(10);
/// assert!(claims.claim(3..5, 0));
/// assert!(claims.claim(2..8, 1), "the unclaimed bytes on both sides");
/// assert!(!claims.claim(4..6, 2), "nothing is left there");
///
/// let held: Vec<_> = claims.into_sorted().into_iter().map(|claim| (claim.range, claim.owner)).collect();
/// assert_eq!(held, [(2..3, 1), (3..5, 0), (5..8, 1)]);
/// ```
#[derive(Debug, Clone)]
pub struct Claims {
    /// The unclaimed ranges, none of them empty, from start to end.
    gaps: BTreeMap<usize, usize>,
    claims: Vec<Claim>,
}

impl Claims {
    /// Returns the claims on a text of that many bytes, of which none is claimed.
    pub fn new(bytes: usize) -> Self {
        let gaps = if bytes == 0 { BTreeMap::new() } else { BTreeMap::from([(0, bytes)]) };
        Self { gaps, claims: Vec::new() }
    }

    /// Gives the unclaimed bytes of the range to the owner, and tells whether there were any.
    ///
    /// Each unclaimed fragment becomes one claim. What lies behind the end of the text is not claimed.
    pub fn claim(&mut self, range: Range<usize>, owner: usize) -> bool {
        if range.is_empty() {
            return false;
        }
        let before = self.claims.len();
        if let Some((_, end)) = self.gaps.range_mut(..range.start).next_back()
            && *end > range.start
        {
            let gap_end = mem::replace(end, range.start);
            self.hold(range.start..gap_end, &range, owner);
        }
        while let Some((&start, &end)) = self.gaps.range(range.clone()).next() {
            self.gaps.remove(&start);
            self.hold(start..end, &range, owner);
        }
        self.claims.len() > before
    }

    /// Gives the owner the part of a gap that begins in `range`; what lies behind the range is a gap again.
    fn hold(&mut self, gap: Range<usize>, range: &Range<usize>, owner: usize) {
        let end = gap.end.min(range.end);
        self.claims.push(Claim { range: gap.start..end, owner });
        if gap.end > end {
            self.gaps.insert(end, gap.end);
        }
    }

    /// Returns the first gap that ends behind `from`, or `None` if all from there on is claimed.
    pub fn next_gap(&self, from: usize) -> Option<Range<usize>> {
        let around = self.gaps.range(..=from).next_back().filter(|&(_, &end)| end > from);
        around.or_else(|| self.gaps.range(from..).next()).map(|(&start, &end)| start..end)
    }

    /// Returns the number of gaps.
    pub fn gaps(&self) -> usize {
        self.gaps.len()
    }

    /// Returns the length of the longest gap, which takes a walk over all of them.
    pub fn longest_gap(&self) -> usize {
        self.gaps.iter().map(|(&start, &end)| end - start).max().unwrap_or(0)
    }

    /// Returns the claims from left to right.
    pub fn into_sorted(self) -> Vec<Claim> {
        let mut claims = self.claims;
        claims.sort_unstable_by_key(|claim| claim.range.start);
        claims
    }
}
