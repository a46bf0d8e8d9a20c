//! Prices as exact decimal numbers.

use core::iter;

/// A price for one token, in units of 10⁻²⁴ dollars, which is 10⁻¹⁸ dollars for a million tokens.
///
/// That is finer than any price in use, so a price read from decimal text is the price itself, and a sum of prices
/// times tokens is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Rate(u128);

/// How many units a nano-dollar has.
const UNITS_OF_A_NANO: u128 = 10_u128.pow(15);

impl Rate {
    /// Reads dollars for a million tokens.
    pub(crate) fn for_million_tokens(text: &str) -> Option<Self> {
        parse(text, 18).map(Self)
    }

    /// Reads dollars for one token.
    pub(crate) fn for_token(text: &str) -> Option<Self> {
        parse(text, 24).map(Self)
    }

    /// Returns this price `quarters` quarters of a time.
    pub(crate) const fn times_quarters(self, quarters: u128) -> Self {
        Self(self.0.saturating_mul(quarters) / 4)
    }

    /// Returns what the tokens cost, in units.
    pub(crate) fn of(self, tokens: u64) -> u128 {
        self.0.saturating_mul(u128::from(tokens))
    }
}

/// Returns units as whole nano-dollars, rounded half up.
pub(crate) fn nanos(units: u128) -> u64 {
    u64::try_from(units.saturating_add(UNITS_OF_A_NANO / 2) / UNITS_OF_A_NANO).unwrap_or(u64::MAX)
}

/// Reads `digits[.digits][e[sign]digits]` as a multiple of 10⁻ᵖˡᵃᶜᵉˢ; what lies below is rounded half up.
fn parse(text: &str, places: i64) -> Option<u128> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.parse::<i16>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if whole.is_empty() || !digits().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // How many of the digits are whole units, zeros after the last one included.
    let kept = i64::try_from(whole.len()).ok()? + i64::from(exponent) + places;
    let Ok(kept) = usize::try_from(kept) else { return Some(0) };
    let units = digits()
        .chain(iter::repeat(b'0'))
        .take(kept)
        .try_fold(0_u128, |units, byte| units.checked_mul(10)?.checked_add(u128::from(byte - b'0')))?;
    let rounds_up = digits().nth(kept).is_some_and(|byte| byte >= b'5');
    units.checked_add(u128::from(rounds_up))
}

#[cfg(test)]
mod tests {
    use std::format;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_price_is_read_to_the_last_digit() {
        for (text, units) in [
            ("0", 0),
            ("0e9999", 0),
            ("3", 3_000_000_000_000_000_000),
            ("0.25", 250_000_000_000_000_000),
            ("0.041666666666666664", 41_666_666_666_666_664),
            ("1e-18", 1),
            ("5e-19", 1),
            ("4e-19", 0),
            ("9e-20", 0),
            ("1e-30000", 0),
            ("1.5E2", 150_000_000_000_000_000_000),
        ] {
            assert_eq!(Rate::for_million_tokens(text), Some(Rate(units)), "{text}");
        }
        assert_eq!(Rate::for_token("3e-06"), Rate::for_million_tokens("3"));
        assert_eq!(Rate::for_token("0.0000000375"), Rate::for_million_tokens("0.0375"));
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for text in ["", ".", ".5", "-1", "+1", "1e", "e5", "NaN", "1,5", "1e99", "1e99999", "0x1", " 1", "1 "] {
            assert_eq!(Rate::for_million_tokens(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_cost_is_rounded_half_up_and_stops_at_the_largest_amount() {
        assert_eq!([0, 499_999_999_999_999, 500_000_000_000_000].map(nanos), [0, 0, 1]);
        assert_eq!(nanos(u128::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn the_place_of_the_point_makes_no_difference(digits in 0..1_000_000_000_u64, places in 0..15_usize) {
            let shifted = format!("{digits}e-{places}");
            let plain = format!("{:0>width$}", digits, width = places + 1);
            let (whole, fraction) = plain.split_at(plain.len() - places);
            prop_assert_eq!(parse(&shifted, 18), parse(&format!("{whole}.{fraction}"), 18));
            prop_assert_eq!(parse(&shifted, 18), Some(u128::from(digits) * 10_u128.pow(18 - u32::try_from(places).unwrap())));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse(&text, 24);
        }
    }
}
