//! Shares of a whole, without floating point.

use alloc::{vec, vec::Vec};

/// Returns the share of each part in thousandths; they add up to exactly 1000.
///
/// Each part gets its share rounded down, and the thousandths that are left go to the parts with the largest
/// remainders, of equal ones to the earlier part. So no share is off by a whole thousandth, and equal parts differ by
/// at most one. Parts that are all zero have no shares: `None`.
///
/// # Panics
///
/// Never: no part is more than the whole.
///
/// # Examples
///
/// ```
/// use trace_report::share::per_mille;
///
/// assert_eq!(per_mille(&[1, 1, 1]), Some(vec![334, 333, 333]));
/// assert_eq!(per_mille(&[0, 0]), None);
/// ```
pub fn per_mille(parts: &[u64]) -> Option<Vec<u32>> {
    let whole: u128 = parts.iter().copied().map(u128::from).sum();
    if whole == 0 {
        return None;
    }
    let mut shares = vec![0; parts.len()];
    let mut remainders = Vec::with_capacity(parts.len());
    let mut left = 1000;
    for (index, (share, part)) in shares.iter_mut().zip(parts).enumerate() {
        let thousandfold = u128::from(*part) * 1000;
        *share = u32::try_from(thousandfold / whole).expect("a part is at most the whole");
        left -= *share;
        remainders.push((thousandfold % whole, index));
    }
    remainders.sort_unstable_by(|(a, first), (b, second)| b.cmp(a).then(first.cmp(second)));
    for (_, index) in remainders.into_iter().zip(0..left).map(|(remainder, _)| remainder) {
        shares[index] += 1;
    }
    Some(shares)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn shares_add_up_and_none_is_off_by_a_thousandth(parts in prop::collection::vec(any::<u64>(), 0..50)) {
            let whole: u128 = parts.iter().copied().map(u128::from).sum();
            let Some(shares) = per_mille(&parts) else {
                prop_assert_eq!(whole, 0);
                return Ok(());
            };
            prop_assert_eq!(shares.iter().sum::<u32>(), 1000);
            for (share, part) in shares.iter().zip(&parts) {
                let exact = u128::from(*part) * 1000;
                prop_assert!((u128::from(*share) * whole).abs_diff(exact) < whole);
            }
        }
    }

    #[test]
    fn the_rest_goes_to_the_largest_remainders() {
        assert_eq!(per_mille(&[2, 1, 0]), Some(vec![667, 333, 0]));
        assert_eq!(per_mille(&[1, 1999, 4000]), Some(vec![0, 333, 667]));
        assert_eq!(per_mille(&[u64::MAX, u64::MAX]), Some(vec![500, 500]));
    }
}
