//! Times as people say them.

use std::{str::FromStr, time::Duration};

use jiff::{civil::Date, tz::TimeZone};
use trace_model::timestamp::Timestamp;

use crate::calendar::Calendar;

/// A time as a person says it; some of it is told from the time that it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// A certain time.
    At(Timestamp),
    /// A certain day.
    On(Date),
    /// The day that many days ago.
    Day(u32),
    /// That long ago.
    Ago(Duration),
}

const DAY: u64 = 24 * 60 * 60;

/// The units of how long ago something was, in seconds.
const UNITS: [(char, u64); 4] = [('m', 60), ('h', 60 * 60), ('d', DAY), ('w', 7 * DAY)];

impl When {
    /// Returns the time that is meant by one who says it now and counts days in UTC: of a day its first moment.
    pub(crate) fn from(self, now: Timestamp) -> Timestamp {
        self.start(now, &Calendar::new(TimeZone::UTC))
    }

    /// Returns the time that is meant by one who says it now: of a day its first moment.
    pub(crate) fn start(self, now: Timestamp, calendar: &Calendar) -> Timestamp {
        match self.day(now, calendar) {
            Some(day) => calendar.start_of(day),
            None => self.moment(now),
        }
    }

    /// Returns the time that is meant by one who says it now: of a day the first moment after it.
    pub(crate) fn end(self, now: Timestamp, calendar: &Calendar) -> Timestamp {
        match self.day(now, calendar) {
            Some(day) => calendar.start_of(day.tomorrow().unwrap_or(day)),
            None => self.moment(now),
        }
    }

    fn day(self, now: Timestamp, calendar: &Calendar) -> Option<Date> {
        match self {
            Self::On(day) => Some(day),
            Self::Day(days_ago) => Some(calendar.days_before(calendar.day_of(now), days_ago)),
            Self::At(_) | Self::Ago(_) => None,
        }
    }

    fn moment(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(duration) => before(now, duration),
            Self::On(_) | Self::Day(_) => now,
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
        let date = || Some(text).filter(|text| is_date(text))?.parse().ok().map(Self::On);
        date().or_else(|| text.parse().ok().map(Self::At)).ok_or_else(|| {
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

/// A stretch of time that ends now, as a person says it: `7d`, `2w`, `12h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// That long, to the minute.
    Time(Duration),
    /// That many days, of which today is the last.
    Days(u32),
}

impl Last {
    /// Returns when the stretch began.
    pub(crate) fn start(self, now: Timestamp, calendar: &Calendar) -> Timestamp {
        match self {
            Self::Time(duration) => before(now, duration),
            Self::Days(days) => calendar.start_of(calendar.days_before(calendar.day_of(now), days.saturating_sub(1))),
        }
    }
}

impl FromStr for Last {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let duration = ago(text).filter(|duration| !duration.is_zero());
        let duration = duration.ok_or("it is no number of minutes, hours, days or weeks, such as 12h, 7d or 2w")?;
        if !text.ends_with(['d', 'w']) {
            return Ok(Self::Time(duration));
        }
        let days = u32::try_from(duration.as_secs() / DAY).map_err(|_| "that is longer than there are records")?;
        Ok(Self::Days(days))
    }
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
    fn a_day_is_that_of_the_place_from_its_first_moment_to_its_last() {
        let calendar = Calendar::new(TimeZone::get("America/New_York").unwrap());
        let now = "2026-11-30T03:00:00Z".parse().unwrap();
        for (text, start, end) in [
            ("today", "2026-11-29T05:00:00.000000Z", "2026-11-30T05:00:00.000000Z"),
            ("yesterday", "2026-11-28T05:00:00.000000Z", "2026-11-29T05:00:00.000000Z"),
            // The clocks go back on that day: it has 25 hours.
            ("2026-11-01", "2026-11-01T04:00:00.000000Z", "2026-11-02T05:00:00.000000Z"),
            ("2026-03-08", "2026-03-08T05:00:00.000000Z", "2026-03-09T04:00:00.000000Z"),
            ("1h", "2026-11-30T02:00:00.000000Z", "2026-11-30T02:00:00.000000Z"),
        ] {
            let when: When = text.parse().unwrap();
            let found = (when.start(now, &calendar).to_string(), when.end(now, &calendar).to_string());
            assert_eq!(found, (start.to_owned(), end.to_owned()), "{text}");
        }
    }

    #[test]
    fn the_last_days_are_whole_and_today_is_one_of_them() {
        let calendar = Calendar::new(TimeZone::get("America/New_York").unwrap());
        let now = "2026-11-02T12:30:00Z".parse().unwrap();
        for (text, start) in [
            ("1d", "2026-11-02T05:00:00.000000Z"),
            ("2d", "2026-11-01T04:00:00.000000Z"),
            ("1w", "2026-10-27T04:00:00.000000Z"),
            ("90m", "2026-11-02T11:00:00.000000Z"),
        ] {
            assert_eq!(text.parse::<Last>().unwrap().start(now, &calendar).to_string(), start, "{text}");
        }
        for bad in ["", "0d", "7", "7 days", "-1d", "today"] {
            assert!(bad.parse::<Last>().is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn what_is_no_time_says_what_would_be() {
        for bad in ["", "tomorrow", "h", "-2h", "2 h", "2y", "1.5h", "99999999999d", "2026-13-01", "ääääh"] {
            let error = bad.parse::<When>().unwrap_err();
            assert!(error.contains("yesterday") && error.contains("3d"), "{bad:?}: {error}");
        }
    }
}
