//! Times as people say them.

use std::{str::FromStr, time::Duration};

use trace_model::timestamp::Timestamp;

/// A time as a person says it; some of it is told from the time that it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// A certain time.
    At(Timestamp),
    /// The first moment of the day, in UTC, that many days ago.
    Day(u32),
    /// That long ago.
    Ago(Duration),
}

const DAY: u64 = 24 * 60 * 60;

/// The units of how long ago something was, in seconds.
const UNITS: [(char, u64); 4] = [('m', 60), ('h', 60 * 60), ('d', DAY), ('w', 7 * DAY)];

impl When {
    /// Returns the time that is meant by one who says it now.
    pub(crate) fn from(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Day(days_ago) => before(start_of_day(now), Duration::from_secs(u64::from(days_ago) * DAY)),
            Self::Ago(duration) => before(now, duration),
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "today" => return Ok(Self::Day(0)),
            "yesterday" => return Ok(Self::Day(1)),
            _ => {}
        }
        if let Some(duration) = ago(text) {
            return Ok(Self::Ago(duration));
        }
        let time = if is_date(text) { format!("{text}T00:00:00Z").parse() } else { text.parse() };
        time.map(Self::At).map_err(|_| {
            "it is no RFC 3339 time or date, none of `today` and `yesterday`, and not how long ago, such as 2h or 3d"
                .to_owned()
        })
    }
}

/// Reads a number and a unit.
fn ago(text: &str) -> Option<Duration> {
    let (unit, seconds) = UNITS.into_iter().find(|(unit, _)| text.ends_with(*unit))?;
    let number: u32 = text.strip_suffix(unit)?.parse().ok()?;
    Some(Duration::from_secs(u64::from(number) * seconds))
}

fn is_date(text: &str) -> bool {
    text.len() == "2026-11-30".len()
}

/// Returns the earlier time, which is not before the first one that there is.
fn before(time: Timestamp, duration: Duration) -> Timestamp {
    let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
    // Nothing was recorded before 1970, so no earlier time tells anything else.
    Timestamp::from_micros(time.as_micros().saturating_sub(micros)).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns the first moment of the day in UTC.
fn start_of_day(now: Timestamp) -> Timestamp {
    const DAY: i64 = 24 * 60 * 60 * 1_000_000;
    Timestamp::from_micros(now.as_micros().div_euclid(DAY) * DAY).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_from_the_moment_it_is_said() {
        let now = "2026-11-30T17:18:10.65Z".parse().unwrap();
        for (text, time) in [
            ("today", "2026-11-30T00:00:00.000000Z"),
            ("yesterday", "2026-11-29T00:00:00.000000Z"),
            ("0m", "2026-11-30T17:18:10.650000Z"),
            ("90m", "2026-11-30T15:48:10.650000Z"),
            ("2h", "2026-11-30T15:18:10.650000Z"),
            ("3d", "2026-11-27T17:18:10.650000Z"),
            ("1w", "2026-11-23T17:18:10.650000Z"),
            ("4294967295w", "1970-01-01T00:00:00.000000Z"),
            ("2026-11-30", "2026-11-30T00:00:00.000000Z"),
            ("2026-11-30T12:00:00+01:00", "2026-11-30T11:00:00.000000Z"),
        ] {
            assert_eq!(text.parse::<When>().unwrap().from(now).to_string(), time, "{text}");
        }
    }

    #[test]
    fn a_day_begins_at_midnight() {
        let start = |text: &str| start_of_day(text.parse().unwrap()).to_string();
        assert_eq!(start("2026-11-30T17:18:10.65Z"), "2026-11-30T00:00:00.000000Z");
        assert_eq!(start("2026-11-30T00:00:00Z"), "2026-11-30T00:00:00.000000Z");
    }

    #[test]
    fn what_is_no_time_says_what_would_be() {
        for bad in ["", "tomorrow", "h", "-2h", "2 h", "2y", "1.5h", "99999999999d", "2026-13-01", "ääääh"] {
            let error = bad.parse::<When>().unwrap_err();
            assert!(error.contains("yesterday") && error.contains("3d"), "{bad:?}: {error}");
        }
    }
}
