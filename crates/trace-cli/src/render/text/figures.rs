//! Figures as people read them. What is unknown is a dash, and never a zero.

use std::time::Duration;

use trace_model::{money::NanoUsd, timestamp::Timestamp, words::Quality};

/// What stands where nothing is known.
pub(crate) const UNKNOWN: &str = "–";

/// Returns the number with its thousands apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the number and the thing, in the plural unless there is one of it.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    let ending = match number {
        1 => "",
        _ if thing.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {thing}{ending}", count(number))
}

/// Returns the number, or a dash.
pub(crate) fn known(number: Option<u64>) -> String {
    number.map_or_else(|| UNKNOWN.to_owned(), count)
}

/// Returns the number as far as it can be trusted: `≥` marks a lower bound.
pub(crate) fn measured(number: Option<u64>, quality: Quality) -> String {
    number.map_or_else(|| UNKNOWN.to_owned(), |number| marked(count(number), quality))
}

/// Returns a figure that is known as far as it can be trusted: `≥` marks a lower bound.
pub(crate) fn marked(figure: String, quality: Quality) -> String {
    if quality == Quality::Exact { figure } else { format!("≥ {figure}") }
}

/// Returns the number of bytes in the unit that fits.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if number < 1_000 {
        return format!("{number} B");
    }
    let mut tenths = number / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1_000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Returns the share in percent, or a dash.
pub(crate) fn percent(per_mille: Option<u32>) -> String {
    per_mille.map_or_else(|| UNKNOWN.to_owned(), |share| format!("{}.{} %", share / 10, share % 10))
}

/// Returns the amount in dollars to a hundredth of a cent, or a dash.
pub(crate) fn money(amount: Option<NanoUsd>) -> String {
    const STEP: u64 = 100_000;
    let Some(nanos) = amount.map(NanoUsd::as_nanos) else { return UNKNOWN.to_owned() };
    let steps = nanos / STEP + u64::from(nanos % STEP >= STEP / 2);
    if steps == 0 && nanos > 0 {
        return "< $0.0001".to_owned();
    }
    format!("${}.{:04}", count(steps / 10_000), steps % 10_000)
}

/// Returns the time of day and date, in UTC, to the second.
pub(crate) fn time(time: Timestamp) -> String {
    let text = time.to_string();
    text.replace('T', " ").chars().take(19).collect()
}

/// Returns the time of day and date, in UTC, to the minute.
pub(crate) fn minute(time: Timestamp) -> String {
    self::time(time).chars().take(16).collect()
}

/// Returns the time of day, in UTC, to the millisecond.
pub(crate) fn time_of_day(time: Timestamp) -> String {
    time.to_string().chars().skip(11).take(12).collect()
}

/// Returns the time that something took, in the two units that matter.
pub(crate) fn duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{millis} ms"),
        1..60 => format!("{seconds}.{} s", duration.subsec_millis() / 100),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
        assert_eq!(counted(1, "turn"), "1 turn");
        assert_eq!(counted(0, "turn"), "0 turns");
        assert_eq!(counted(2, "launch"), "2 launches");
    }

    #[test]
    fn bytes_have_the_unit_that_fits() {
        for (number, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (999_999, "999.9 kB"),
            (1_000_000, "1.0 MB"),
            (1_612_345_678, "1.6 GB"),
        ] {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn unknown_is_a_dash_and_a_lower_bound_says_so() {
        assert_eq!(measured(None, Quality::Exact), "–");
        assert_eq!(measured(Some(0), Quality::Exact), "0");
        assert_eq!(measured(Some(5), Quality::LowerBound), "≥ 5");
        assert_eq!(percent(None), "–");
        assert_eq!(percent(Some(7)), "0.7 %");
        assert_eq!(money(None), "–");
    }

    #[test]
    fn money_is_rounded_and_never_to_nothing() {
        for (nanos, text) in [
            (0, "$0.0000"),
            (1, "< $0.0001"),
            (49_999, "< $0.0001"),
            (50_000, "$0.0001"),
            (18_110_250, "$0.0181"),
            (999_999_999, "$1.0000"),
            (1_234_567_890_000, "$1,234.5679"),
        ] {
            assert_eq!(money(Some(NanoUsd::from_nanos(nanos))), text);
        }
    }

    #[test]
    fn times_are_short() {
        let at: Timestamp = "2026-11-30T17:18:10.650123Z".parse().unwrap();
        assert_eq!(time(at), "2026-11-30 17:18:10");
        assert_eq!(minute(at), "2026-11-30 17:18");
        assert_eq!(time_of_day(at), "17:18:10.650");
        for (millis, text) in
            [(0, "0 ms"), (999, "999 ms"), (9_040, "9.0 s"), (125_000, "2 min 05 s"), (3_720_000, "1 h 02 min")]
        {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
    }
}
