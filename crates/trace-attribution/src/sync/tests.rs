use std::{string::String, vec::Vec};

use proptest::prelude::*;
use trace_model::words::TokenizerName;

use super::*;

/// Characters that the patterns of the encoders tell apart, and the words that they treat as one.
fn texts() -> impl Strategy<Value = String> {
    let parts = prop_oneof![
        4 => "[ \t\r\n]{1,3}",
        4 => "[a-zA-Z]{1,4}",
        2 => "[0-9]{1,5}",
        4 => "[!-/:-@\\[-`{-~]{1,3}",
        2 => prop::sample::select(&[
            "'s", "'S", "'ll", "'re", "'\u{17f}", "don't", "//", "/\n", "://", "\u{a0}", "\u{2028}", "\u{3000}", "\u{85}",
            "\u{b}", "\u{c}", "é", "e\u{301}", "\u{301}", "ſ", "ǅ", "ʰ", "日本", "。", "ß", "Ⅷ", "½", "٣", "🦀", "\u{200d}",
            "\u{feff}", "\0", "\u{7f}", "<|endoftext|>",
        ][..]).prop_map(String::from),
        1 => "\\PC{1,3}",
    ];
    prop::collection::vec(parts, 0..14).prop_map(|parts| parts.concat())
}

fn encode(name: TokenizerName, text: &str) -> Vec<u32> {
    match name {
        TokenizerName::Cl100kBase => bpe_openai::cl100k_base().encode(text),
        TokenizerName::O200kBase => bpe_openai::o200k_base().encode(text),
    }
}

/// Cutting the text at any sync point changes no token, and so no token of what is between two of them.
#[track_caller]
fn check(text: &str) {
    let points: Vec<usize> = (0..=text.len()).filter(|&offset| is_sync_point(text.as_bytes(), offset)).collect();
    for &name in TokenizerName::ALL {
        let whole = encode(name, text);
        for &point in &points {
            let halves = [encode(name, &text[..point]), encode(name, &text[point..])].concat();
            assert_eq!(halves, whole, "{name}: {text:?} cut at {point}");
        }
    }
}

proptest! {
    #[test]
    fn a_sync_point_splits_the_tokens_of_any_text(text in texts()) {
        check(&text);
    }

    #[test]
    fn what_is_called_one_piece_is_one(text in "[a-z]{1,40}|[a-zA-Z]{1,12}|[a-z0-9 '.é]{1,12}") {
        prop_assert!(is_one_piece(&text) || text.contains(|character: char| !character.is_ascii_lowercase()));
        for tokenizer in [bpe_openai::cl100k_base(), bpe_openai::o200k_base()] {
            prop_assert!(!is_one_piece(&text) || tokenizer.split(&text).eq([text.as_str()]));
        }
    }

    #[test]
    fn the_first_and_the_last_sync_point_of_a_range_are_found(text in texts(), one in 0_usize..40, other in 0_usize..40) {
        let (one, other) = (one.min(text.len()), other.min(text.len()));
        let range = one.min(other)..one.max(other);
        let points: Vec<usize> =
            (range.start..=range.end).filter(|&offset| is_sync_point(text.as_bytes(), offset)).collect();
        let expected = points.first().map(|&first| (first, *points.last().unwrap()));
        prop_assert_eq!(sync_points(&text, &range), expected);
    }
}

#[test]
fn every_pair_of_ascii_characters_keeps_the_rule_in_many_surroundings() {
    let surroundings = ["", "a", "A", "7", " ", "\n", "'", "/", ".", "s", "ll", "é", "日", "  ", "\u{3000}"];
    for before in 0..128_u8 {
        for behind in 0..128_u8 {
            let pair = String::from_iter([char::from(before), char::from(behind)]);
            if !is_sync_point(pair.as_bytes(), 1) {
                continue;
            }
            for (left, right) in surroundings.iter().zip(surroundings.iter().cycle().skip(usize::from(before) % 15)) {
                check(&[left, pair.as_str(), right].concat());
            }
        }
    }
}

#[test]
fn the_rule_finds_points_in_words_lines_and_code() {
    let points = |text: &str| -> Vec<usize> {
        (0..=text.len()).filter(|&offset| is_sync_point(text.as_bytes(), offset)).collect()
    };
    assert_eq!(points("one two"), [0, 3, 7]);
    assert_eq!(points("one\ntwo"), [0, 3, 7]);
    assert_eq!(points("f(x);\n"), [0, 1, 3, 6]);
    assert_eq!(points("don't"), [0, 5], "the apostrophe of a contraction is no point");
    assert_eq!(points("日本 語"), [0, 10], "white space may stand before it");
}
