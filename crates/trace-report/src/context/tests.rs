use std::{vec, vec::Vec};

use trace_model::{
    turn::{TurnRow, TurnUsage},
    words::{AssetKind, Channel},
};

use super::*;
use crate::{launch::TurnParts, samples};

#[test]
fn shares_are_of_kinds_and_of_sources_and_add_up() {
    let profile = ContextProfile::of_launch(&samples::two_turns());
    let [counted] = profile.counted.as_slice() else { panic!("one tokenizer is in use") };
    assert_eq!((counted.assets, counted.bytes, counted.tokens), (5, 96, 25));
    let kinds: Vec<_> = counted.by_kind.iter().map(|kind| (kind.kind, kind.tokens, kind.share_per_mille)).collect();
    assert_eq!(
        kinds,
        [
            (AssetKind::RepoInstructions, 15, Some(600)),
            (AssetKind::Goal, 8, Some(320)),
            (AssetKind::UserMessage, 1, Some(40)),
            (AssetKind::Assembly, 1, Some(40)),
        ]
    );
    let sources: Vec<_> = counted.by_source.iter().map(|source| (&*source.label, source.assets)).collect();
    assert_eq!(sources, [("GUIDE.md", 2), ("goal", 1), ("user message", 1), ("prompt assembly", 1)]);
    assert_eq!(counted.by_source.iter().filter_map(|source| source.share_per_mille).sum::<u32>(), 1000);
}

#[test]
fn counts_of_two_tokenizers_are_never_added() {
    let part = |ordinal, tokenizer| TurnParts {
        row: TurnRow { turn: samples::turn(ordinal, tokenizer), usage: TurnUsage::of(&[]) },
        assets: vec![samples::asset(0, Channel::Task, AssetKind::Goal, "goal", 0..3, 2)],
        decisions: Vec::new(),
    };
    let parts = [part(1, Some(TokenizerName::O200kBase)), part(2, Some(TokenizerName::Cl100kBase)), part(3, None)];
    let report = LaunchReport::new(samples::two_turns().launch, Vec::new(), parts, Vec::new());
    let profile = ContextProfile::of_launch(&report);
    let counted: Vec<_> = profile.counted.iter().map(|counted| (counted.tokenizer, counted.tokens)).collect();
    assert_eq!(counted, [(TokenizerName::Cl100kBase, 2), (TokenizerName::O200kBase, 2)]);
    assert_eq!(profile.turns.len(), 3);
}

#[test]
fn one_turn_is_profiled_alone() {
    let report = samples::two_turns();
    let profile = ContextProfile::of_turn(&report, 2).unwrap();
    assert_eq!(profile.turns.len(), 1);
    assert_eq!(profile.counted[0].tokens, 1);
    assert!(profile.decisions.is_empty());
    assert_eq!(profile.measured.totals.total_tokens, None);
    assert!(ContextProfile::of_turn(&report, 3).is_none());
}

#[test]
fn assets_without_tokens_have_no_share() {
    let part = TurnParts {
        row: TurnRow { turn: samples::turn(1, Some(TokenizerName::Cl100kBase)), usage: TurnUsage::of(&[]) },
        assets: vec![samples::asset(0, Channel::Task, AssetKind::Assembly, "prompt assembly", 0..0, 0)],
        decisions: Vec::new(),
    };
    let report = LaunchReport::new(samples::two_turns().launch, Vec::new(), [part], Vec::new());
    let profile = ContextProfile::of_launch(&report);
    assert_eq!(profile.counted[0].by_kind[0].share_per_mille, None);
}

#[test]
fn the_document_keeps_counted_and_measured_apart() {
    let profile = ContextProfile::of_launch(&samples::two_turns());
    insta::assert_snapshot!(serde_json::to_string_pretty(&profile).unwrap());
}
