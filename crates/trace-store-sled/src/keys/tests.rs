//! Bytes sort as what they stand for, and no key is the beginning of another one.

use std::collections::BTreeSet;

use proptest::prelude::*;
use trace_testkit::{samples, strategies};

use super::*;

fn text(text: &str) -> Key {
    Key::default().text(text)
}

/// Short texts, with the characters that escaping has to do with.
fn short_text() -> impl Strategy<Value = String> {
    prop_oneof!["[\0\u{1}\u{2}\u{3}ab]{0,5}", strategies::text()]
}

proptest! {
    #[test]
    fn texts_sort_by_their_bytes(one in short_text(), other in short_text()) {
        prop_assert_eq!(text(&one).cmp(&text(&other)), one.cmp(&other));
    }

    #[test]
    fn what_stands_behind_a_text_never_counts_before_it(
        (one, one_number) in (short_text(), any::<u32>()),
        (other, other_number) in (short_text(), any::<u32>()),
    ) {
        let (one_key, other_key) = (text(&one).number(one_number), text(&other).number(other_number));
        prop_assert_eq!(one_key.cmp(&other_key), (one, one_number).cmp(&(other, other_number)));
    }

    #[test]
    fn no_text_begins_with_another_one(one in short_text(), other in short_text()) {
        prop_assert_eq!(text(&one).0.starts_with(&text(&other).0), one == other);
    }

    #[test]
    fn times_sort_from_the_first_to_the_last(one in strategies::timestamp(), other in strategies::timestamp()) {
        let key = |time| Key::default().time(time);
        prop_assert_eq!(key(one).cmp(&key(other)), one.cmp(&other));
    }

    #[test]
    fn requests_sort_by_seniority(
        (one, other) in (strategies::usage_report(), strategies::usage_report()),
        (one_launch, other_launch) in (0_u32..3, 0_u32..3),
    ) {
        let record = |launch, mut report: trace_model::usage::UsageReport| {
            report.request_key = Some(String::from("request"));
            UsageRecord { launch_id: samples::launch_id(launch), turn_id: None, report }
        };
        let (one, other) = (record(one_launch, one), record(other_launch, other));
        prop_assert_eq!(request(&one).cmp(&request(&other)), one.seniority().cmp(&other.seniority()));
    }

    #[test]
    fn the_last_reservation_of_a_control_run_is_its_own(
        (mut one, other) in (strategies::reservation(), strategies::reservation()),
    ) {
        one.control.run_id = other.control.run_id.clone();
        prop_assert_eq!(reservation(&one).cmp(&reservation(&other)), one.precedence().cmp(&other.precedence()));
    }
}

#[test]
fn times_before_1970_come_first() {
    let key = |micros| Key::default().time(Timestamp::from_micros(micros).unwrap());
    assert!([i64::from(i32::MIN), -1, 0, 1, i64::from(i32::MAX)].map(key).is_sorted());
}

#[test]
fn a_long_text_is_cut_and_known_by_its_hash() {
    let longest = "x".repeat(LONGEST_TEXT);
    let nuls = "\0".repeat(LONGEST_TEXT);
    assert_eq!(text(&longest).before_cut(), None);
    for cut in [format!("{longest}y"), format!("{longest}x"), format!("{longest}\0"), nuls] {
        let key = text(&cut);
        assert_eq!(key.0.len(), LONGEST_TEXT + 2 + HASH_DIGITS);
        assert_eq!(key.before_cut(), Some(Key(key.0[..LONGEST_TEXT + 2].to_vec())));
    }
    let others = ["y", "x", "\0", "yy"].map(|end| text(&format!("{longest}{end}")));
    assert_eq!(others.into_iter().collect::<BTreeSet<_>>().len(), 4);
}

#[test]
fn the_parts_of_a_key_are_found_again() {
    let mut record = samples::usage_record(7, None, "msg_1");
    let beginning = of_request("request of msg_1");
    for observed_at in [Some(samples::time(1)), None] {
        record.report.observed_at = observed_at;
        let entry = request(&record).unwrap();
        assert!(entry.0.starts_with(&beginning.0));
        assert_eq!(usage_of_request(&entry, &beginning), usage(record.launch_id, "msg_1"));
    }
    assert_eq!(reservation(&samples::reservation(7)).last_launch(), launch(samples::launch_id(7)));
    for (tree, key, value) in ways_to_launch(&samples::launch(7)) {
        let found = if value == Key::default() { key.last_launch() } else { value };
        assert_eq!(found, launch(samples::launch_id(7)), "{tree:?}");
    }
}

#[test]
fn a_page_of_the_longest_keys_and_values_stays_in_the_log() {
    // The most entries that a page of sled has before it is split, and the size beyond which it gets a file of its own.
    let (leaf, branch, most) = (20, 257, (512 << 10) / 4 - 32 - 20);
    let longest = "\0".repeat(1_000);
    let mut record = samples::usage_record(7, None, &longest);
    record.report.request_key = Some(longest.clone());
    let key = request(&record).unwrap().0.len().max(usage(record.launch_id, &longest).0.len() + 4);
    // Beside the bytes of keys and values there are their lengths and the numbers of pages.
    assert!(leaf * (key + 1 + crate::pieces::LONGEST_PIECE + 20) < most);
    assert!(branch * (key + 20) < most);
}
