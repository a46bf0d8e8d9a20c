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
            if gap_end >= range.end {
                return true;
            }
        }
        while let Some((&start, &end)) = self.gaps.range(range.clone()).next() {
            self.gaps.remove(&start);
            self.hold(start..end, &range, owner);
        }
        self.claims.len() > before
    }

    /// Claims many ranges for one owner, and tells whether there were unclaimed bytes in any.
    ///
    /// The ranges come from left to right and do not overlap. They are claimed as if one by one, but all gaps are
    /// walked through once where that is less work than to look each range's gap up.
    pub fn claim_each(&mut self, ranges: Vec<Range<usize>>, owner: usize) -> bool {
        let before = self.claims.len();
        if ranges.len() < self.gaps.len() / 8 {
            for range in ranges {
                self.claim(range, owner);
            }
            return self.claims.len() > before;
        }
        self.claims.reserve(ranges.len());
        let mut gaps = Vec::with_capacity(self.gaps.len() + ranges.len());
        let mut ranges = ranges.into_iter().peekable();
        for (mut start, end) in mem::take(&mut self.gaps) {
            while let Some(range) = ranges.peek().filter(|range| range.start < end) {
                let held = range.start.max(start)..range.end.min(end);
                let goes_on = range.end > end;
                if !held.is_empty() {
                    if start < held.start {
                        gaps.push((start, held.start));
                    }
                    start = held.end;
                    self.claims.push(Claim { range: held, owner });
                }
                if goes_on {
                    // It may reach into the next gap.
                    break;
                }
                ranges.next();
            }
            if start < end {
                gaps.push((start, end));
            }
        }
        self.gaps = gaps.into_iter().collect();
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

    /// Returns where the last gap ends, or 0 if all is claimed.
    pub fn last_gap_end(&self) -> usize {
        self.gaps.last_key_value().map_or(0, |(_, &end)| end)
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

#[cfg(test)]
mod tests {
    use std::vec;

    use proptest::prelude::*;

    use super::*;

    const BYTES: usize = 60;

    /// Claims as an owner for each byte.
    #[derive(Default)]
    struct Bytes(BTreeMap<usize, usize>);

    impl Bytes {
        fn claim(&mut self, range: Range<usize>, owner: usize) -> bool {
            let before = self.0.len();
            for byte in range.start..range.end.min(BYTES) {
                self.0.entry(byte).or_insert(owner);
            }
            self.0.len() > before
        }

        fn next_gap(&self, from: usize) -> Option<Range<usize>> {
            let free = |byte: &usize| !self.0.contains_key(byte);
            let start = (from..BYTES).find(free)?;
            let start = if start == from { (0..=start).rev().take_while(free).last()? } else { start };
            Some(start..(start..BYTES).find(|byte| !free(byte)).unwrap_or(BYTES))
        }
    }

    /// Returns the owner of each byte, having seen that claims are in order and do not overlap.
    fn owners(claims: Claims) -> BTreeMap<usize, usize> {
        let mut end = 0;
        let mut owners = BTreeMap::new();
        for Claim { range, owner } in claims.into_sorted() {
            assert!(range.start >= end && range.start < range.end);
            end = range.end;
            owners.extend(range.map(|byte| (byte, owner)));
        }
        owners
    }

    fn ranges() -> impl Strategy<Value = Vec<Range<usize>>> {
        let parts = prop::collection::vec((0_usize..9, 0_usize..7), 0..12);
        parts.prop_map(|parts| {
            let mut end = 0;
            let range = |(skip, length)| {
                let start = end + skip;
                end = start + length;
                start..end
            };
            parts.into_iter().map(range).collect()
        })
    }

    proptest! {
        #[test]
        fn claims_are_those_of_an_owner_for_each_byte(
            calls in prop::collection::vec((ranges(), any::<bool>()), 0..8),
            from in 0..BYTES,
        ) {
            let mut claims = Claims::new(BYTES);
            let mut bytes = Bytes::default();
            for (owner, (ranges, at_once)) in calls.into_iter().enumerate() {
                let expected = ranges.iter().filter(|range| bytes.claim((*range).clone(), owner)).count() > 0;
                let claimed = if at_once {
                    claims.claim_each(ranges, owner)
                } else {
                    ranges.into_iter().filter(|range| claims.claim(range.clone(), owner)).count() > 0
                };
                prop_assert_eq!(claimed, expected);
                prop_assert_eq!(claims.next_gap(from), bytes.next_gap(from));
            }
            let longest = (0..BYTES).filter_map(|from| bytes.next_gap(from)).map(|gap| gap.len()).max().unwrap_or(0);
            prop_assert_eq!(claims.longest_gap(), longest);
            prop_assert_eq!(owners(claims), bytes.0);
        }
    }

    #[test]
    fn an_empty_text_has_no_gap() {
        let mut claims = Claims::new(0);
        assert!(!claims.claim(0..5, 0));
        assert!(!claims.claim_each(vec![0..1, 1..2], 0));
        assert_eq!((claims.gaps(), claims.next_gap(0)), (0, None));
    }
}
