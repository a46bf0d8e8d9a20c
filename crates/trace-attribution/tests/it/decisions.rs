//! What is said about each candidate.

use trace_attribution::{AssetSpec, AttributionError, PreparedTurnContext};
use trace_model::words::{AssetKind, Channel, DecisionKind};

use crate::support::{TOKENIZER, attribute, decision, outcomes, prompts, spec, spec_for_all};

#[test]
fn every_asset_that_is_no_assembly_is_included_in_asset_order() {
    let context = attribute("one two", &[spec("two", "two"), spec("one", "one")]);
    assert_eq!(
        outcomes(&context),
        [
            (0, "one", DecisionKind::Included, "included by harness", Some(0)),
            (1, "two", DecisionKind::Included, "included by harness", Some(2)),
        ]
    );
    let first = &context.decisions()[0];
    assert_eq!((first.original_bytes, first.original_tokens), (Some(3), Some(1)));
    assert_eq!((first.kind, first.scope), (AssetKind::Document, spec("", "").scope));
}

#[test]
fn each_fragment_is_included() {
    let context = attribute("one two three", &[spec("two", "two"), spec("all", "one two three")]);
    let labels: Vec<_> = context.decisions().iter().map(|decision| decision.label.as_str()).collect();
    assert_eq!(labels, ["all", "two", "all"]);
}

#[test]
fn what_claims_nothing_is_decided_in_the_order_of_the_specs() {
    let specs = [
        spec("absent", "nowhere"),
        spec("all", "one two"),
        spec("held", "two"),
        spec("empty", ""),
        AssetSpec { channel: Channel::System, ..spec("elsewhere", "one") },
        AssetSpec { channel: Channel::System, ..spec("empty elsewhere", "") },
    ];
    let context = attribute("one two", &specs);
    assert_eq!(
        outcomes(&context),
        [
            (0, "all", DecisionKind::Included, "included by harness", Some(0)),
            (1, "absent", DecisionKind::Excluded, "content not found in the prompt", None),
            (2, "held", DecisionKind::Deduplicated, "held by all", Some(0)),
            (3, "empty", DecisionKind::Excluded, "empty", None),
            (4, "elsewhere", DecisionKind::Excluded, "content not found in the prompt", None),
            (5, "empty elsewhere", DecisionKind::Excluded, "empty", None),
        ]
    );
    let sizes: Vec<_> = context.decisions().iter().map(|one| (one.original_bytes, one.original_tokens)).collect();
    assert_eq!(sizes[1..4], [(Some(7), None), (Some(3), None), (Some(0), None)]);
}

#[test]
fn a_deduplicated_spec_names_the_asset_with_the_first_byte_of_its_first_occurrence() {
    let specs = [spec("left", "ab"), spec("right", "cd"), spec("both", "bc"), spec_for_all("every", "abcd")];
    let context = attribute("-abcd", &specs);
    assert_eq!(
        outcomes(&context)[2..],
        [
            (2, "both", DecisionKind::Deduplicated, "held by left", Some(1)),
            (3, "every", DecisionKind::Deduplicated, "held by left", Some(1)),
        ]
    );
}

#[test]
fn the_callers_decisions_come_first_and_repeated_positions_move_behind_the_largest() {
    let caller = vec![decision(4, "a"), decision(1, "b"), decision(4, "c"), decision(1, "d")];
    let context = PreparedTurnContext::from_attributed_prompts(
        TOKENIZER,
        prompts("", "text"),
        &[spec("x", "text"), spec("y", "text")],
        caller,
    )
    .unwrap();
    let order: Vec<_> = outcomes(&context).into_iter().map(|(position, label, ..)| (position, label)).collect();
    assert_eq!(order, [(1, "b"), (4, "a"), (5, "c"), (6, "d"), (7, "x"), (8, "y")]);
}

#[test]
fn a_callers_decision_is_kept_word_for_word() {
    let caller = decision(3, "a");
    let context =
        PreparedTurnContext::from_attributed_prompts(TOKENIZER, prompts("", "text"), &[], vec![caller.clone()])
            .unwrap();
    assert_eq!(context.decisions(), [caller]);
}

#[test]
fn positions_that_run_out_are_a_typed_error() {
    let result = PreparedTurnContext::from_attributed_prompts(
        TOKENIZER,
        prompts("", "text"),
        &[spec("x", "text")],
        vec![decision(u32::MAX, "a")],
    );
    let error = result.unwrap_err();
    assert_eq!(error, AttributionError::PositionsExhausted { largest: u32::MAX });
    assert_eq!(error.to_string(), "no decision position is left behind 4294967295");
}
