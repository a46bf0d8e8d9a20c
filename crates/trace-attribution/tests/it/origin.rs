//! Mistakes of an earlier design that must not come back.

use trace_model::words::{DecisionKind, TokenizerName};

use crate::{
    reference,
    support::{attribute, outcomes, spec, tiles},
};

#[test]
fn shares_never_sum_to_more_than_the_total() {
    // The prefixes of this text have 1, 2 and 1 tokens: shares by prefix difference would sum to 2.
    let context = attribute("\"in", &[spec("a", "\""), spec("b", "i"), spec("c", "n")]);
    let shares: Vec<_> = context.assets().map(|asset| asset.attributed_tokens).collect();
    assert_eq!(shares, [1, 0, 0]);
    assert_eq!(context.total_tokens(), Some(1));
}

#[test]
fn a_word_that_is_one_token_is_shared_as_one_token() {
    let count = |text| reference::encode(TokenizerName::Cl100kBase, text).len();
    assert_eq!((count("internationa"), count("international")), (3, 1));

    let context = attribute("international", &[spec("all but one", "internationa")]);
    let tokens: Vec<_> = context.assets().map(|asset| (asset.attributed_tokens, asset.isolated_tokens)).collect();
    assert_eq!(tokens, [(1, 3), (0, 1)]);
    assert_eq!(context.total_tokens(), Some(1));
}

#[test]
fn the_second_of_two_equal_contents_takes_the_next_occurrence() {
    let context = attribute("rule; rule;", &[spec("a", "rule;"), spec("b", "rule;")]);
    assert_eq!(tiles(&context), [("a", "rule;"), ("prompt assembly", " "), ("b", "rule;")]);
}

#[test]
fn the_second_of_two_equal_contents_does_not_vanish() {
    let context = attribute("rule;", &[spec("a", "rule;"), spec("b", "rule;")]);
    assert_eq!(
        outcomes(&context),
        [
            (0, "a", DecisionKind::Included, "included by harness", Some(0)),
            (1, "b", DecisionKind::Deduplicated, "held by a", Some(0)),
        ]
    );
}

#[test]
fn a_spec_that_is_not_found_does_not_vanish() {
    let context = attribute("text", &[spec("a", "other text")]);
    assert_eq!(outcomes(&context), [(0, "a", DecisionKind::Excluded, "content not found in the prompt", None)]);
}

#[test]
fn no_asset_cuts_a_character() {
    let context = attribute("日本語のテキスト", &[spec("a", "本語"), spec("b", "語のテ")]);
    assert_eq!(
        tiles(&context),
        [("prompt assembly", "日"), ("a", "本語"), ("b", "のテ"), ("prompt assembly", "キスト"),]
    );
}
