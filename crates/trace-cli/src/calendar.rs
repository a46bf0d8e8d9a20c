//! Days, weeks and months, as they are where somebody looks.

use std::time::Duration;

use jiff::{
    Span, Timestamp as Instant,
    civil::{Date, Weekday},
    tz::TimeZone,
};
use trace_model::timestamp::Timestamp;

/// The days of one time zone.
#[derive(Debug, Clone)]
pub(crate) struct Calendar {
    zone: TimeZone,
}

impl Calendar {
    pub(crate) const fn new(zone: TimeZone) -> Self {
        Self { zone }
    }

    /// Returns what the zone is called.
    pub(crate) fn name(&self) -> &str {
        self.zone.iana_name().unwrap_or("local time")
    }

    /// Returns the day that a time is in.
    pub(crate) fn day_of(&self, time: Timestamp) -> Date {
        self.zone.to_datetime(instant(time)).date()
    }

    /// Returns the Monday of the week that a time is in.
    pub(crate) fn monday_of(&self, time: Timestamp) -> Date {
        let day = self.day_of(time);
        let days = day.weekday().since(Weekday::Monday);
        self.days_before(day, u32::from(days.unsigned_abs()))
    }

    /// Returns the year and month that a time is in, `2026-11`.
    pub(crate) fn month_of(&self, time: Timestamp) -> String {
        let day = self.day_of(time);
        format!("{:04}-{:02}", day.year(), day.month())
    }

    /// Returns the date, hour and minute of a time, `2026-11-30 18:18`.
    pub(crate) fn minute_of(&self, time: Timestamp) -> String {
        self.zone.to_datetime(instant(time)).strftime("%Y-%m-%d %H:%M").to_string()
    }

    /// Returns the first moment of a day. It is not midnight where the clocks go forward then.
    pub(crate) fn start_of(&self, day: Date) -> Timestamp {
        let start = day.to_zoned_datetime(self.zone.clone()).map(|start| start.timestamp().as_microsecond());
        // Beyond the first and the last time that there is, nothing was ever recorded.
        let beyond = if day.year() < 1970 { Timestamp::UNIX_EPOCH } else { Timestamp::UNIX_EPOCH + Duration::MAX };
        start.ok().and_then(Timestamp::from_micros).unwrap_or(beyond)
    }

    /// Returns the day that many days earlier.
    #[expect(clippy::unused_self, reason = "days are asked of a calendar")]
    pub(crate) fn days_before(&self, day: Date, days: u32) -> Date {
        Span::new().try_days(days).map_or(Date::MIN, |span| day.saturating_sub(span))
    }
}

fn instant(time: Timestamp) -> Instant {
    // The years of both begin and end far from anything recorded.
    Instant::from_microsecond(time.as_micros()).unwrap_or(Instant::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(zone: &str) -> Calendar {
        Calendar::new(TimeZone::get(zone).unwrap())
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_week_begins_on_monday_and_a_month_on_its_first_day() {
        let utc = calendar("UTC");
        for (at, monday, month) in [
            ("2026-11-30T00:00:00Z", "2026-11-30", "2026-11"),
            ("2026-11-29T23:59:59.999999Z", "2026-11-23", "2026-11"),
            ("2026-12-01T00:00:00Z", "2026-11-30", "2026-12"),
            ("2027-01-01T12:00:00Z", "2026-12-28", "2027-01"),
        ] {
            assert_eq!((utc.monday_of(time(at)).to_string(), utc.month_of(time(at))), (monday.into(), month.into()));
        }
    }

    #[test]
    fn a_day_is_that_of_the_zone_on_both_days_on_which_clocks_change() {
        let berlin = calendar("Europe/Berlin");
        let day = |at| berlin.day_of(time(at)).to_string();
        // 29 March 2026 has 23 hours, 25 October 25.
        assert_eq!([day("2026-03-28T22:59:59Z"), day("2026-03-28T23:00:00Z")], ["2026-03-28", "2026-03-29"]);
        assert_eq!([day("2026-03-29T21:59:59Z"), day("2026-03-29T22:00:00Z")], ["2026-03-29", "2026-03-30"]);
        assert_eq!([day("2026-10-24T21:59:59Z"), day("2026-10-24T22:00:00Z")], ["2026-10-24", "2026-10-25"]);
        assert_eq!([day("2026-10-25T22:59:59Z"), day("2026-10-25T23:00:00Z")], ["2026-10-25", "2026-10-26"]);
        // The same hour twice.
        assert_eq!(berlin.minute_of(time("2026-10-25T00:30:00Z")), "2026-10-25 02:30");
        assert_eq!(berlin.minute_of(time("2026-10-25T01:30:00Z")), "2026-10-25 02:30");
    }

    #[test]
    fn a_day_without_a_midnight_begins_when_it_begins() {
        // Brazil put its clocks forward at midnight.
        let start = calendar("America/Sao_Paulo").start_of("2018-11-04".parse().unwrap());
        assert_eq!(start.to_string(), "2018-11-04T03:00:00.000000Z");
        assert_eq!(calendar("America/Sao_Paulo").minute_of(start), "2018-11-04 01:00");
    }

    #[test]
    fn zones_are_whole_quarters_of_an_hour_apart() {
        // What is summed by quarters of an hour in UTC is in one day everywhere.
        assert_eq!(calendar("Asia/Kathmandu").minute_of(time("2026-11-30T18:15:00Z")), "2026-12-01 00:00");
    }

    #[test]
    fn no_day_is_before_the_first_one() {
        let utc = calendar("UTC");
        assert_eq!(utc.days_before("2026-11-30".parse().unwrap(), 30).to_string(), "2026-10-31");
        assert_eq!(utc.days_before("2026-11-30".parse().unwrap(), u32::MAX), Date::MIN);
        assert_eq!(utc.start_of(Date::MIN), Timestamp::UNIX_EPOCH);
        assert_eq!(utc.start_of(Date::MAX), time("9999-12-31T23:59:59.999999Z"));
    }
}
