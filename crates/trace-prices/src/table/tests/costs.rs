//! What tokens cost by class, time and length of the prompt.

use std::vec::Vec;

use super::*;

/// Every class has another number of tokens.
fn all_classes(model: &str, prompt: u64) -> UsageReport {
    let (read, five_minutes, an_hour) = (30_000, 1_000, 200);
    UsageReport {
        input_tokens: Some(prompt - read - five_minutes - an_hour),
        cache_read_tokens: Some(read),
        cache_write_tokens: Some(five_minutes + an_hour),
        cache_write_5m_tokens: Some(five_minutes),
        cache_write_1h_tokens: Some(an_hour),
        output_tokens: Some(500),
        context_tokens: Some(prompt),
        ..report(model)
    }
}

fn nanos(provider: &Provider, report: &UsageReport) -> Option<u64> {
    PriceTable::embedded().cost(provider, report).map(|cost| cost.amount.as_nanos())
}

#[test]
fn the_classes_are_priced_apart_and_do_not_overlap() {
    // Opus 4.8: 5 dollars in, 0.5 read, 6.25 written for five minutes, 10 for an hour, 25 out, for a million each.
    let report = all_classes("claude-opus-4-8", 131_200);
    let expected = 100_000 * 5_000 + 30_000 * 500 + 1_000 * 6_250 + 200 * 10_000 + 500 * 25_000;
    assert_eq!(nanos(&Provider::Claude, &report), Some(expected));
}

#[test]
fn writes_of_which_nobody_says_how_long_they_are_kept_are_those_of_five_minutes() {
    let unsaid = |all, five_minutes, an_hour| UsageReport {
        input_tokens: Some(0),
        cache_write_tokens: all,
        cache_write_5m_tokens: five_minutes,
        cache_write_1h_tokens: an_hour,
        ..report("claude-opus-4-8")
    };
    let cost = |report: UsageReport| nanos(&Provider::Claude, &report);
    assert_eq!(cost(unsaid(Some(1_000), None, None)), Some(1_000 * 6_250));
    assert_eq!(cost(unsaid(Some(1_000), None, Some(1_000))), Some(1_000 * 10_000));
    assert_eq!(cost(unsaid(Some(1_000), Some(200), Some(300))), Some(700 * 6_250 + 300 * 10_000));
}

#[test]
fn where_the_table_has_no_price_of_cache_writes_anthropics_multiples_hold() {
    // 15 dollars in, and 18.75 for a million written: nothing is said of an hour.
    let hour = UsageReport { cache_write_1h_tokens: Some(1_000), cache_write_tokens: Some(1_000), ..report("") };
    let hour = UsageReport { input_tokens: Some(0), ..hour };
    let named = UsageReport { model: Some("aws/regional.anthropic.claude-opus-4-1-20250805-v1:0".to_owned()), ..hour };
    let input = UsageReport { cache_write_tokens: None, cache_write_1h_tokens: None, ..named.clone() };
    let input = nanos(&Provider::OpenCode, &UsageReport { input_tokens: Some(1_000), ..input }).unwrap();
    assert_eq!(nanos(&Provider::OpenCode, &named), Some(2 * input));
    let table = PriceTable::embedded().with_override(r#"{"m": {"input_cost_per_token": 4e-6}}"#).unwrap();
    let five_minutes = UsageReport {
        model: Some("m".to_owned()),
        cache_write_1h_tokens: None,
        cache_write_5m_tokens: Some(1_000),
        ..named
    };
    assert_eq!(table.cost(&Provider::Claude, &five_minutes).unwrap().amount.as_nanos(), 1_000 * 5_000);
}

#[test]
fn cached_tokens_without_a_price_of_their_own_are_tokens_of_the_prompt() {
    // o1-pro has no price of cached input.
    let report = UsageReport { cache_read_tokens: Some(10), input_tokens: Some(5), ..report("o1-pro") };
    assert_eq!(nanos(&Provider::Codex, &report), Some(15 * 150_000));
}

#[test]
fn a_class_that_has_no_price_makes_the_cost_unknown_and_never_nothing() {
    let embedding = UsageReport { output_tokens: Some(1), ..report("text-embedding-3-large") };
    assert_eq!(nanos(&Provider::Codex, &embedding), None);
    assert_eq!(nanos(&Provider::Codex, &UsageReport { output_tokens: Some(0), ..embedding }), Some(130_000_000));
}

#[test]
fn without_any_tokens_the_cost_is_unknown() {
    assert_eq!(nanos(&Provider::Codex, &UsageReport { input_tokens: None, ..report("gpt-5") }), None);
    assert_eq!(nanos(&Provider::Codex, &UsageReport { input_tokens: Some(0), ..report("gpt-5") }), Some(0));
}

/// Every length of a prompt in the table from which on a request costs more: the whole request does.
#[test]
fn a_long_prompt_makes_the_whole_request_dearer_from_the_next_token_on() {
    let cost = |model, prompt| nanos(&Provider::Claude, &all_classes(model, prompt)).unwrap();
    let short = |prompt: u64| (prompt - 31_200) * 3_000 + 30_000 * 300 + 1_000 * 3_750 + 200 * 6_000 + 500 * 15_000;
    let long = |prompt: u64| (prompt - 31_200) * 6_000 + 30_000 * 600 + 1_000 * 7_500 + 200 * 12_000 + 500 * 22_500;
    assert_eq!(cost("claude-sonnet-4-5", 199_999), short(199_999));
    assert_eq!(cost("claude-sonnet-4-5", 200_000), short(200_000));
    assert_eq!(cost("claude-sonnet-4-5", 200_001), long(200_001));
    // The size of the context decides, not a sum of what happens to be known.
    let report = UsageReport { context_tokens: None, ..all_classes("claude-sonnet-4-5", 200_001) };
    assert_eq!(nanos(&Provider::Claude, &report), Some(long(200_001)));
}

#[test]
fn prices_are_those_of_the_time_of_the_request() {
    let at = |time: Option<&str>| {
        let observed_at = time.map(|time| time.parse().unwrap());
        nanos(&Provider::Claude, &UsageReport { observed_at, ..all_classes("claude-opus-4-6", 200_001) })
    };
    // Long prompts became as cheap as short ones on that day.
    let (before, after) = (at(Some("2026-03-12T23:59:59.999999Z")), at(Some("2026-03-13T00:00:00Z")));
    assert!(before > after, "{before:?} {after:?}");
    assert_eq!(at(Some("2026-11-30T00:00:00Z")), after);
    assert_eq!(at(None), None);
    // A price that never changed needs no time.
    let flat = UsageReport { observed_at: None, ..report("gpt-5") };
    assert_eq!(nanos(&Provider::Codex, &flat), Some(1_250_000_000));
}

#[test]
fn prices_may_depend_on_the_hour() {
    let at = |time: &str| {
        let observed_at = Some(time.parse().unwrap());
        nanos(&Provider::OpenCode, &UsageReport { observed_at, ..report("deepseek/deepseek-chat") }).unwrap()
    };
    let [before, from, last, after] =
        ["00:29:59", "00:30:00", "16:29:59", "16:30:00"].map(|time| at(&format!("2026-11-30T{time}Z")));
    assert_eq!((before, from), (after, last));
    assert_ne!(before, from);
}

#[test]
fn the_requests_of_a_sum_have_unknown_tiers_unless_all_of_them_are_short() {
    let cost = |key: &str, grain, model, prompt| {
        let report = UsageReport { key: key.to_owned(), grain, ..all_classes(model, prompt) };
        PriceTable::embedded().cost(&Provider::Claude, &report).unwrap()
    };
    let of_turn = cost("turn:1", Grain::Turn, "claude-sonnet-4-5", 500_000);
    assert!(of_turn.is_base_tier);
    let as_if_short = 468_800 * 3_000 + 30_000 * 300 + 1_000 * 3_750 + 200 * 6_000 + 500 * 15_000;
    assert_eq!(of_turn.amount.as_nanos(), as_if_short);
    assert!(cost("s", Grain::Session, "claude-sonnet-4-5", 200_001).is_base_tier);
    assert!(!cost("s", Grain::Session, "claude-sonnet-4-5", 200_000).is_base_tier);
    // What a remainder holds is a part of requests whose prompts are in other records.
    assert!(cost("remainder:1:m", Grain::Turn, "claude-sonnet-4-5", 40_000).is_base_tier);
    assert!(!cost("turn:1", Grain::Turn, "claude-opus-4-8", 500_000).is_base_tier);
    assert!(!cost("msg_1", Grain::Request, "claude-sonnet-4-5", 500_000).is_base_tier);
}

/// A product of whole numbers, rounded once, in quarters of nano-dollars so that halves are seen.
#[test]
fn a_cost_is_rounded_once_and_half_up() {
    let json = r#"{"m": {"input_cost_per_token": 2.5e-10, "output_cost_per_token": 0.5e-9}}"#;
    let table = PriceTable::embedded().with_override(json).unwrap();
    for (input, output) in (0..40).flat_map(|input| (0..40).map(move |output| (input, output))) {
        let report = UsageReport { input_tokens: Some(input), output_tokens: Some(output), ..report("m") };
        let quarters = input + 2 * output;
        let cost = table.cost(&Provider::Claude, &report).unwrap().amount.as_nanos();
        assert_eq!(cost, (quarters + 2) / 4, "{input} {output}");
    }
}

#[test]
fn no_noise_of_floats_reaches_a_cost() {
    // 0.1 + 0.2 and the like: 15 thousand tokens at 0.3 dollars for a million are 0.0045, and not a bit more.
    let costs: Vec<String> = (1..=5_u64)
        .map(|thousands| {
            let report = UsageReport {
                input_tokens: Some(0),
                cache_read_tokens: Some(thousands * 3_000),
                ..report("claude-sonnet-4-5")
            };
            PriceTable::embedded().cost(&Provider::Claude, &report).unwrap().amount.to_string()
        })
        .collect();
    assert_eq!(costs, ["0.0009", "0.0018", "0.0027", "0.0036", "0.0045"]);
}
