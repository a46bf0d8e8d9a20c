//! From claims to segments without holes.

use alloc::vec::Vec;
use core::ops::Range;

use crate::claims::Claim;

/// A range of bytes of a text with one owner, or with none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) range: Range<usize>,
    pub(crate) owner: Option<usize>,
}

/// Fills the holes between claims, which come from left to right and do not overlap.
///
/// A text that is there has at least one segment, even if it has no byte.
pub(crate) fn tile(bytes: usize, claims: Vec<Claim>) -> Vec<Segment> {
    let mut segments = Vec::with_capacity(claims.len() * 2 + 1);
    let mut end = 0;
    for Claim { range, owner } in claims {
        if range.start > end {
            segments.push(Segment { range: end..range.start, owner: None });
        }
        end = range.end;
        segments.push(Segment { range, owner: Some(owner) });
    }
    if end < bytes || segments.is_empty() {
        segments.push(Segment { range: end..bytes, owner: None });
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: usize, claims: &[(Range<usize>, usize)], expected: &[(Range<usize>, Option<usize>)]) {
        let claims = claims.iter().map(|(range, owner)| Claim { range: range.clone(), owner: *owner }).collect();
        let segments: Vec<_> = tile(bytes, claims).into_iter().map(|segment| (segment.range, segment.owner)).collect();
        assert_eq!(segments, expected);
    }

    #[test]
    fn holes_become_segments_without_an_owner() {
        check(10, &[], &[(0..10, None)]);
        check(10, &[(2..4, 7), (4..5, 8)], &[(0..2, None), (2..4, Some(7)), (4..5, Some(8)), (5..10, None)]);
        check(10, &[(0..10, 0)], &[(0..10, Some(0))]);
    }

    #[test]
    fn an_empty_text_has_one_empty_segment() {
        check(0, &[], &[(0..0, None)]);
    }
}
