//! Which bytes each spec gets.

use trace_attribution::AssetSpec;
use trace_model::words::{AssetKind, Channel};

use crate::support::{TOKENIZER, attribute, prompts, spec, spec_for_all, tiles};

/// Checks the label and text of each asset of a task prompt; `-` stands for assembly.
#[track_caller]
fn check(task: &str, specs: &[AssetSpec], expected: &[(&str, &str)]) {
    let context = attribute(task, specs);
    let found: Vec<_> = tiles(&context)
        .into_iter()
        .map(|(label, text)| (if label == "prompt assembly" { "-" } else { label }, text))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_spec_claims_its_first_occurrence_alone() {
    check("go then go", &[spec("a", "go")], &[("a", "go"), ("-", " then go")]);
}

#[test]
fn a_spec_for_all_occurrences_claims_each_from_the_left() {
    check("go then go", &[spec_for_all("a", "go")], &[("a", "go"), ("-", " then "), ("a", "go")]);
    check("aaaaa", &[spec_for_all("a", "aa")], &[("a", "aa"), ("a", "aa"), ("-", "a")]);
}

#[test]
fn the_first_occurrence_that_is_wholly_unclaimed_comes_before_one_that_is_partly_claimed() {
    check("xaby ab", &[spec("x", "xa"), spec("ab", "ab")], &[("x", "xa"), ("-", "by "), ("ab", "ab")]);
}

#[test]
fn an_occurrence_may_overlap_another_one() {
    check("aaaaa", &[spec("b", "a"), spec("a", "aaa")], &[("b", "a"), ("a", "aaa"), ("-", "a")]);
    check("abababab", &[spec("b", "a"), spec("a", "abab")], &[("b", "a"), ("-", "b"), ("a", "abab"), ("-", "ab")]);
}

#[test]
fn a_later_spec_gets_the_fragments_that_earlier_ones_left() {
    check(
        "one two three",
        &[spec("two", "two"), spec("all", "one two three")],
        &[("all", "one "), ("two", "two"), ("all", " three")],
    );
}

#[test]
fn a_partly_claimed_occurrence_is_chosen_by_its_first_unclaimed_byte() {
    // The first "aaaa" is held; the next one with an unclaimed byte begins inside of it.
    check("aaaaaa", &[spec("a", "aaaa"), spec("b", "aaaa")], &[("a", "aaaa"), ("b", "a"), ("-", "a")]);
}

#[test]
fn nested_and_repeated_sources_get_what_is_theirs() {
    let guide = AssetSpec { kind: AssetKind::RepoInstructions, ..spec_for_all("guide", "Use tabs.") };
    let memory = AssetSpec { kind: AssetKind::Memory, ..spec("memory", "We ship on Fridays.") };
    let goal = AssetSpec { kind: AssetKind::Goal, ..spec("goal", "Release. We ship on Fridays. Tell all.") };
    check(
        "Use tabs.\nRelease. We ship on Fridays. Tell all.\nUse tabs.",
        &[guide, memory, goal],
        &[
            ("guide", "Use tabs."),
            ("-", "\n"),
            ("goal", "Release. "),
            ("memory", "We ship on Fridays."),
            ("goal", " Tell all."),
            ("-", "\n"),
            ("guide", "Use tabs."),
        ],
    );
}

#[test]
fn equal_contents_take_one_occurrence_each() {
    check(
        "go then go",
        &[spec("a", "go"), spec("b", "go"), spec("c", "go")],
        &[("a", "go"), ("-", " then "), ("b", "go")],
    );
}

#[test]
fn empty_content_claims_nothing() {
    check("text", &[spec("a", ""), spec_for_all("b", "")], &[("-", "text")]);
}

#[test]
fn a_spec_looks_in_its_own_channel_alone() {
    let system = AssetSpec { channel: Channel::System, ..spec("a", "go") };
    check("go", &[system], &[("-", "go")]);
}

#[test]
fn positions_run_on_from_the_system_channel_to_the_task_channel() {
    let specs = [AssetSpec { channel: Channel::System, ..spec("a", "b") }, spec("b", "b")];
    let context = trace_attribution::PreparedTurnContext::from_attributed_prompts(
        TOKENIZER,
        prompts("abc", "abc"),
        &specs,
        Vec::new(),
    )
    .unwrap();
    let places: Vec<_> = context.assets().map(|asset| (asset.position, asset.channel)).collect();
    let system = (0..3).map(|position| (position, Channel::System));
    assert_eq!(places, system.chain((3..6).map(|position| (position, Channel::Task))).collect::<Vec<_>>());
}

#[test]
fn thousands_of_equal_contents_share_the_occurrences_out() {
    let task = "word ".repeat(3_000);
    let specs: Vec<_> = (0..4_000).map(|number| spec(&format!("spec {number}"), "word")).collect();
    let context = attribute(&task, &specs);
    let placed = context.assets().filter(|asset| asset.kind == AssetKind::Document);
    let labels: Vec<_> = placed.map(|asset| asset.label.clone()).collect();
    assert_eq!(labels, specs.iter().take(3_000).map(|spec| spec.label.clone()).collect::<Vec<_>>());
}

#[test]
fn thousands_of_nested_contents_of_one_letter_find_their_places() {
    // In order of priority 1, 2, 3 … letters: each takes the next free ones.
    let task = "a".repeat(1_000 * 1_001 / 2);
    let specs: Vec<_> = (1..=1_000).map(|length| spec(&format!("{length}"), &task[..length])).collect();
    let context = attribute(&task, &specs);
    assert!(context.assets().map(|asset| asset.span.len()).eq(1..=1_000));
}

#[test]
fn many_contents_of_which_every_other_byte_is_held_find_their_fragments() {
    let task = "ab".repeat(20_000);
    let specs: Vec<_> = (1..=2_000).map(|pairs| spec(&format!("{pairs}"), &task[..2 * pairs])).collect();
    let context = attribute(&task, &[vec![spec_for_all("b", "b")], specs].concat());
    let of = |label: &str| context.assets().filter(|asset| asset.label == label).count();
    // Each spec's first occurrence with an unclaimed byte begins where the one before it ended, less its own length.
    assert_eq!((of("b"), of("1"), of("2"), of("3")), (20_000, 1, 1, 1));
    assert_eq!(context.assets().count(), 40_000);
}
