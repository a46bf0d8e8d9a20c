//! Points in time: UTC with microseconds.

use alloc::string::String;
use core::{
    fmt,
    ops::{self, Range},
    str::FromStr,
    time::Duration,
};

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    ModelError,
    text_enum::{FixedText, serde_as_text},
};

/// A point in time, in UTC, to the microsecond, between the years 1 and 9999.
///
/// It is an integer in stores and RFC 3339 text with six decimals in JSON, so that text sorts as time does.
///
/// ```
/// use trace_model::timestamp::Timestamp;
///
/// let time: Timestamp = "2026-11-30T18:18:10.65+01:00".parse().unwrap();
/// assert_eq!(time.to_string(), "2026-11-30T17:18:10.650000Z");
/// assert_eq!(time.as_micros(), 1_796_059_090_650_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

const MIN_MICROS: i64 = -62_135_596_800_000_000;
const MAX_MICROS: i64 = 253_402_300_799_999_999;

impl Timestamp {
    /// The first microsecond of 1970.
    pub const UNIX_EPOCH: Self = Self(0);

    /// Returns the time that many microseconds after 1970 began, or `None` outside of the years 1 to 9999.
    pub const fn from_micros(micros: i64) -> Option<Self> {
        if micros < MIN_MICROS || micros > MAX_MICROS { None } else { Some(Self(micros)) }
    }

    /// Returns the microseconds since 1970 began.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns the time from `earlier` to this one, or zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl ops::Add<Duration> for Timestamp {
    type Output = Self;

    /// Returns the later time; it stops at the end of the year 9999.
    fn add(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros).min(MAX_MICROS))
    }
}

impl Timestamp {
    /// Returns the RFC 3339 text. Its digits are written one by one: formatting seven numbers costs more than the rest
    /// of an event.
    fn text(self) -> FixedText<27> {
        let time = OffsetDateTime::from_unix_timestamp(self.0.div_euclid(1_000_000))
            .expect("a timestamp lies between the years 1 and 9999");
        let (year, month, day) = time.to_calendar_date();
        let (hour, minute, second) = time.to_hms();
        let micros = u32::try_from(self.0.rem_euclid(1_000_000)).expect("a remainder of a million fits");
        let parts: [(Range<usize>, u32); 7] = [
            (0..4, year.unsigned_abs()),
            (5..7, u8::from(month).into()),
            (8..10, day.into()),
            (11..13, hour.into()),
            (14..16, minute.into()),
            (17..19, second.into()),
            (20..26, micros),
        ];
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        for (place, mut number) in parts {
            for digit in text[place].iter_mut().rev() {
                *digit += u8::try_from(number % 10).expect("a digit fits");
                number /= 10;
            }
        }
        FixedText::of_ascii(text)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text())
    }
}

impl FromStr for Timestamp {
    type Err = ModelError;

    /// Reads any RFC 3339 time; digits below the microsecond are dropped.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        OffsetDateTime::parse(text, &Rfc3339)
            .ok()
            .and_then(|time| i64::try_from(time.unix_timestamp_nanos().div_euclid(1_000)).ok())
            .and_then(Self::from_micros)
            .ok_or_else(|| ModelError::BadTime { text: String::from(text) })
    }
}

serde_as_text!(Timestamp, text);

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_time_survives_its_text(micros in MIN_MICROS..=MAX_MICROS) {
            let time = Timestamp::from_micros(micros).unwrap();
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }

    #[test]
    fn times_outside_of_four_digit_years_are_refused() {
        assert_eq!(Timestamp::from_micros(MAX_MICROS + 1), None);
        assert_eq!(Timestamp::from_micros(MIN_MICROS - 1), None);
        assert!("tomorrow".parse::<Timestamp>().is_err());
    }
}
