//! Prompts that are assembled with exact ranges.

use std::ops::Range;

use proptest::prelude::*;
use trace_attribution::{AttributionError, PreparedTurnContext, PromptBuilder};
use trace_model::words::{Channel, DecisionKind};

use crate::{
    strategies::{config, text},
    support::{TOKENIZER, decision, outcomes, source, tiles},
};

fn build(builder: PromptBuilder) -> PreparedTurnContext {
    builder.build(TOKENIZER, Vec::new()).unwrap()
}

#[test]
fn sections_and_glue_become_assets() {
    let mut builder = PromptBuilder::new();
    builder.glue(Channel::System, "# Guide\n").section(Channel::System, source("guide"), "Be kind.");
    builder.section(Channel::Task, source("goal"), "Go on.").glue(Channel::Task, "\n").glue(Channel::Task, "\n");
    builder.section(Channel::Task, source("memory"), "Go on.");
    let context = build(builder);
    assert_eq!(
        tiles(&context),
        [
            ("prompt assembly", "# Guide\n"),
            ("guide", "Be kind."),
            ("goal", "Go on."),
            ("prompt assembly", "\n\n"),
            ("memory", "Go on."),
        ]
    );
    assert_eq!(context.assets().nth(1).unwrap().source_path.as_deref(), Some("memories/guide"));
}

#[test]
fn a_section_with_the_text_of_another_keeps_its_own_range() {
    let mut builder = PromptBuilder::new();
    builder.glue(Channel::Task, "x").section(Channel::Task, source("late"), "x");
    assert_eq!(tiles(&build(builder)), [("prompt assembly", "x"), ("late", "x")]);
}

#[test]
fn an_empty_section_is_excluded_and_not_forgotten() {
    let mut builder = PromptBuilder::new();
    builder.section(Channel::Task, source("full"), "x").section(Channel::Task, source("empty"), "");
    let context = builder.build(TOKENIZER, vec![decision(7, "caller")]).unwrap();
    assert_eq!(
        outcomes(&context)[1..],
        [
            (8, "full", DecisionKind::Included, "included by harness", Some(0)),
            (9, "empty", DecisionKind::Excluded, "empty", None),
        ]
    );
}

#[test]
fn without_text_the_system_prompt_is_absent_and_the_task_prompt_empty() {
    let context = build(PromptBuilder::new());
    assert_eq!(context.system(), None);
    assert_eq!(tiles(&context), [("prompt assembly", "")]);
}

#[test]
fn ranges_of_a_finished_text_are_marked() {
    let mut builder = PromptBuilder::new();
    let ranges = [(0..3, source("one")), (4..4, source("nothing")), (4..7, source("two"))];
    builder.glue(Channel::Task, "> ").marked(Channel::Task, "one two three", ranges).unwrap();
    let context = build(builder);
    assert_eq!(
        tiles(&context),
        [
            ("prompt assembly", "> "),
            ("one", "one"),
            ("prompt assembly", " "),
            ("two", "two"),
            ("prompt assembly", " three"),
        ]
    );
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "a reversed range is one of the mistakes")]
#[expect(clippy::single_range_in_vec_init, reason = "one range is a list of ranges")]
fn a_wrong_range_is_a_typed_error_and_appends_nothing() {
    let channel = Channel::Task;
    let check = |ranges: &[Range<usize>], expected: AttributionError| {
        let mut builder = PromptBuilder::new();
        let ranges = ranges.iter().map(|range| (range.clone(), source("a")));
        assert_eq!(builder.marked(channel, "日本語", ranges).err(), Some(expected));
        assert_eq!(tiles(&build(builder)), [("prompt assembly", "")]);
    };
    check(&[0..3, 4..6], AttributionError::RangeOffCharacter { channel, range: 4..6 });
    check(&[3..7], AttributionError::RangeOffCharacter { channel, range: 3..7 });
    check(&[3..10], AttributionError::RangeOutside { channel, range: 3..10, bytes: 9 });
    check(&[6..3], AttributionError::RangeOutside { channel, range: 6..3, bytes: 9 });
    check(&[3..9, 0..3], AttributionError::RangesOverlap { channel, range: 0..3, previous_end: 9 });
    check(&[0..6, 3..9], AttributionError::RangesOverlap { channel, range: 3..9, previous_end: 6 });
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_section_has_the_very_range_it_was_appended_at(parts in prop::collection::vec((any::<bool>(), text()), 0..8)) {
        let mut builder = PromptBuilder::new();
        let mut whole = String::new();
        let mut expected = Vec::new();
        for (number, (is_section, text)) in parts.iter().enumerate() {
            if *is_section {
                builder.section(Channel::Task, source(&number.to_string()), text);
                if !text.is_empty() {
                    expected.push((number.to_string(), whole.len(), whole.len() + text.len()));
                }
            } else {
                builder.glue(Channel::Task, text);
            }
            whole.push_str(text);
        }
        let context = build(builder);
        prop_assert_eq!(context.task().unwrap().text(), whole);
        let sections: Vec<_> = context
            .assets()
            .filter(|asset| asset.label != "prompt assembly")
            .map(|asset| {
                let bounds = [asset.span.start(), asset.span.end()].map(|bound| usize::try_from(bound).unwrap());
                (asset.label.clone(), bounds[0], bounds[1])
            })
            .collect();
        prop_assert_eq!(sections, expected);
        let attributed: u64 = context.assets().map(|asset| asset.attributed_tokens).sum();
        prop_assert_eq!(Some(attributed), context.total_tokens());
    }
}
