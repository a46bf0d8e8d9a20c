//! Amounts of money without floating point.

use alloc::string::String;
use core::{fmt, iter::Sum, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::ModelError;

/// An amount of US dollars in whole nano-dollars.
///
/// It is an integer in stores (`…_nanousd`) and a decimal number in JSON (`…_usd`); neither passes through floating
/// point. Sums stop at the largest amount.
///
/// ```
/// use trace_model::money::NanoUsd;
///
/// let cost: NanoUsd = "0.01811025".parse().unwrap();
/// assert_eq!(cost.as_nanos(), 18_110_250);
/// assert_eq!(cost.to_string(), "0.01811025");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NanoUsd(u64);

impl NanoUsd {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// Returns the amount of that many nano-dollars.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the amount in nano-dollars.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns this amount less `other`, or nothing if `other` is more.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns both amounts together.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for NanoUsd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::saturating_add)
    }
}

impl fmt::Display for NanoUsd {
    /// Writes the shortest exact decimal, with at least one digit after the point only where there is a fraction.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, nanos) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        if nanos == 0 {
            return write!(formatter, "{dollars}");
        }
        let (mut digits, mut width) = (nanos, 9);
        while digits % 10 == 0 {
            digits /= 10;
            width -= 1;
        }
        write!(formatter, "{dollars}.{digits:0width$}")
    }
}

impl FromStr for NanoUsd {
    type Err = ModelError;

    /// Reads a decimal number, with or without an exponent; what lies below a nano-dollar is rounded half up.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).map(Self).ok_or_else(|| ModelError::BadMoney { text: String::from(text) })
    }
}

/// Reads `[digits][.digits][e[sign]digits]` as nano-dollars.
fn parse(text: &str) -> Option<u64> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() == 0 || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // The digit at index i of whole+fraction counts 10^(point - 1 - i) nano-dollars.
    let point = i64::try_from(whole.len()).ok()? + i64::from(exponent) + 9;
    let mut nanos: u64 = 0;
    let mut digits = whole.bytes().chain(fraction.bytes());
    let mut index = 0;
    while index < point {
        let digit = digits.next();
        if digit.is_none() && nanos == 0 {
            break;
        }
        nanos = nanos.checked_mul(10)?.checked_add(u64::from(digit.unwrap_or(b'0') - b'0'))?;
        index += 1;
    }
    // A point left of all digits means that the first of them is not the one just below a nano-dollar.
    let round_up = point >= 0 && digits.next().is_some_and(|digit| digit >= b'5');
    nanos.checked_add(u64::from(round_up))
}

impl Serialize for NanoUsd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = alloc::string::ToString::to_string(self);
        serde_json::value::RawValue::from_string(text).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for NanoUsd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A floating-point number is read through its shortest text, which is the text that it was written as
        // wherever that text had at most 15 digits.
        let number = serde_json::Number::deserialize(deserializer)?;
        alloc::string::ToString::to_string(&number).parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_amount_survives_its_text(nanos: u64) {
            let amount = NanoUsd::from_nanos(nanos);
            prop_assert_eq!(amount.to_string().parse(), Ok(amount));
        }

        #[test]
        fn an_amount_of_up_to_a_million_dollars_survives_json(nanos in 0..1_000_000_000_000_000_u64) {
            let amount = NanoUsd::from_nanos(nanos);
            let json = serde_json::to_string(&amount).unwrap();
            prop_assert_eq!(&json, &amount.to_string());
            prop_assert_eq!(serde_json::from_str::<NanoUsd>(&json).unwrap(), amount);
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = text.parse::<NanoUsd>();
        }
    }

    #[test]
    fn numbers_are_read_exactly_and_rounded_half_up() {
        for (text, nanos) in [
            ("0", 0),
            ("1", 1_000_000_000),
            ("0.0393", 39_300_000),
            ("0.0045000000000000005", 4_500_000),
            ("1.5e-9", 2),
            ("1.4e-9", 1),
            ("5e-10", 1),
            ("9e-11", 0),
            ("1.2E3", 1_200_000_000_000),
            (".5", 500_000_000),
            ("0e99999", 0),
        ] {
            assert_eq!(text.parse::<NanoUsd>().map(NanoUsd::as_nanos), Ok(nanos), "{text}");
        }
        for text in ["", ".", "-1", "1e", "NaN", "99999999999", "1e99999999", "1,5"] {
            assert!(text.parse::<NanoUsd>().is_err(), "{text:?} was taken");
        }
    }
}
