//! The encoders against the reference implementation, which is slow and dies of a million white-space characters.

use proptest::prelude::*;
use trace_attribution::{PreparedTurnContext, Prompts};
use trace_model::words::TokenizerName;

use crate::{
    reference,
    strategies::{config, text},
    support::prompts,
};

fn count(name: TokenizerName, text: &str) -> u64 {
    let task = Prompts { system: None, task: Some(text.to_owned()) };
    PreparedTurnContext::from_prompts(name, task).total_tokens().unwrap()
}

#[track_caller]
fn check(text: &str) {
    for &name in TokenizerName::ALL {
        let expected = reference::encode(name, text).len();
        assert_eq!(count(name, text), u64::try_from(expected).unwrap(), "{name} of {text:?}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn counts_are_those_of_the_reference(text in text()) {
        check(&text);
    }
}

#[test]
fn every_character_alone_and_among_others_counts_like_the_reference() {
    // One in 97 of all characters, and the first blocks whole.
    let some = (0..=0x10_FFFF).filter(|code| *code < 0x600 || code % 97 == 0).filter_map(char::from_u32);
    for chunk in some.collect::<Vec<_>>().chunks(64) {
        let text: Vec<String> = chunk.iter().map(|it| format!("a{it} {it}\n{it}{it}'s")).collect();
        check(&text.concat());
    }
}

#[test]
fn long_runs_count_like_the_reference() {
    for unit in ["a", " ", "\n", "\t", "=", "ab", "日", "🦀", "\u{301}", " \n", "0"] {
        check(&unit.repeat(20_000 / unit.len()));
    }
    check(&format!("{}x", " ".repeat(100_000)));
}

#[test]
fn special_tokens_are_ordinary_text() {
    for special in ["<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>"] {
        check(special);
        assert!(count(TokenizerName::Cl100kBase, special) > 1);
    }
}

#[test]
fn two_megabytes_of_white_space_and_a_letter_are_counted() {
    // As many spaces as the longest token has, again and again, and the last of them goes with the letter.
    for &name in TokenizerName::ALL {
        let spaces = |count: usize| format!("{}x", " ".repeat(count));
        let small = count(name, &spaces(200_000));
        let large = count(name, &spaces(2_000_000));
        assert_eq!(small, u64::try_from(reference::encode(name, &spaces(200_000)).len()).unwrap());
        assert!((9 * small..=10 * small).contains(&large), "{name}: {small} and {large}");
    }
}

#[test]
fn the_tokenizer_is_the_one_that_was_asked_for() {
    let text = "日本語のテキスト";
    assert_ne!(count(TokenizerName::Cl100kBase, text), count(TokenizerName::O200kBase, text));
    for &name in TokenizerName::ALL {
        assert_eq!(PreparedTurnContext::from_prompts(name, prompts("", text)).tokenizer(), Some(name));
    }
}
