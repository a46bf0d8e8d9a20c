//! Days of any zone, of 23 and 25 hours too.

use super::{Bench, output_by_key, reply_at, transcript, usage};

/// A reply at the last second and at the first one around each of the two changes of clocks in Berlin in 2026, with
/// output that tells which ones a day holds.
fn around_the_changes() -> Bench {
    let bench = Bench::new();
    let times = [
        ("2026-03-28T22:59:59.000Z", 1),
        ("2026-03-28T23:00:00.000Z", 2),
        ("2026-03-29T21:59:59.000Z", 4),
        ("2026-03-29T22:00:00.000Z", 8),
        ("2026-10-24T21:59:59.000Z", 16),
        ("2026-10-24T22:00:00.000Z", 32),
        ("2026-10-25T22:59:59.000Z", 64),
        ("2026-10-25T23:00:00.000Z", 128),
    ];
    let replies = times.map(|(at, output)| reply_at("s1", at, &format!("msg_number_{output}_of_eight"), output));
    transcript(&bench, "s1", &replies);
    bench
}

const BERLIN: &str = "Europe/Berlin";

#[test]
fn a_day_has_23_or_25_hours_where_clocks_change() {
    let bench = around_the_changes();
    let days = usage(&bench, &["--timezone", BERLIN]);
    assert_eq!(days["time_zone"], BERLIN);
    let expected = [
        ("2026-03-28", Some(1)),
        ("2026-03-29", Some(2 + 4)),
        ("2026-03-30", Some(8)),
        ("2026-10-24", Some(16)),
        ("2026-10-25", Some(32 + 64)),
        ("2026-10-26", Some(128)),
    ];
    assert_eq!(output_by_key(&days), expected);
    let weeks = usage(&bench, &["weekly", "--timezone", BERLIN]);
    let expected =
        [("2026-03-23", Some(7)), ("2026-03-30", Some(8)), ("2026-10-19", Some(16 + 96)), ("2026-10-26", Some(128))];
    assert_eq!(output_by_key(&weeks), expected);
    let months = usage(&bench, &["monthly", "--timezone", BERLIN]);
    assert_eq!(output_by_key(&months), [("2026-03", Some(15)), ("2026-10", Some(240))]);
}

#[test]
fn from_and_until_a_day_are_its_first_and_last_moment() {
    let bench = around_the_changes();
    let output = |since: &str, until: &str, zone: &str| {
        let document = usage(&bench, &["--since", since, "--until", until, "--timezone", zone]);
        document["totals"]["output_tokens"].as_u64()
    };
    assert_eq!(output("2026-03-29", "2026-03-29", BERLIN), Some(2 + 4));
    assert_eq!(output("2026-10-25", "2026-10-25", BERLIN), Some(32 + 64));
    assert_eq!(output("2026-03-29", "2026-03-29", "UTC"), Some(4 + 8));
    assert_eq!(output("2026-03-29", "2026-10-24", BERLIN), Some(2 + 4 + 8 + 16));
    assert_eq!(output("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", "UTC"), Some(32 + 64));
    let all = usage(&bench, &["--since", "1970-01-01", "--until", "9999-12-31"]);
    assert_eq!(all["totals"]["output_tokens"], 255);
}

#[test]
fn the_zone_is_the_one_asked_for_else_that_of_the_environment() {
    let bench = around_the_changes();
    let zone = |variable: &str, arguments: &[&str]| {
        let output = bench.trace().args(["usage", "--json"]).args(arguments).env("TZ", variable).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (document["time_zone"].as_str().unwrap().to_owned(), document["rows"][0]["key"].as_str().unwrap().to_owned())
    };
    let of = |zone: &str, day: &str| (zone.to_owned(), day.to_owned());
    assert_eq!(zone("Asia/Tokyo", &[]), of("Asia/Tokyo", "2026-03-29"));
    assert_eq!(zone("Asia/Tokyo", &["--timezone", BERLIN]), of(BERLIN, "2026-03-28"));
    assert_eq!(zone("America/New_York", &[]), of("America/New_York", "2026-03-28"));
}

#[test]
fn a_zone_that_is_not_known_is_wrong_usage() {
    let bench = around_the_changes();
    let output = bench.trace().arg("usage").env("TZ", "Mars/Olympus").output().unwrap();
    let text = super::stderr(&output);
    let expected = "error: TZ names no time zone that is known; `--timezone UTC` counts days in UTC\n";
    assert_eq!((output.status.code(), text.as_str()), (Some(2), expected));
    let output =
        bench.trace().args(["usage", "--json", "--timezone", "UTC"]).env("TZ", "Mars/Olympus").output().unwrap();
    assert!(output.status.success(), "who says the zone needs no other");
}
