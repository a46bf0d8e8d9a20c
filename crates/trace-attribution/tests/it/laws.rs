//! The laws of attribution, over arbitrary Unicode and overlapping pieces of the prompt.

use proptest::prelude::*;
use trace_attribution::{AssetSpec, PreparedChannel, PreparedTurnContext};
use trace_model::{
    context::Sha256Hex,
    words::{AssetKind, Channel, DecisionKind, TokenizerName},
};

use crate::{
    reference::{self, Fate},
    strategies::{attributed, config},
    support::{decision, prompts},
};

const CHANNELS: [Channel; 2] = [Channel::System, Channel::Task];

fn attribute(name: TokenizerName, (system, task): (&str, &str), specs: &[AssetSpec]) -> PreparedTurnContext {
    PreparedTurnContext::from_attributed_prompts(name, prompts(system, task), specs, Vec::new()).unwrap()
}

/// Assets are contiguous, disjoint, and cover the channel; tokens are shared without rest, and counted alone rightly.
fn check_channel(name: TokenizerName, channel: &PreparedChannel) {
    let text = channel.text();
    let starts = reference::token_starts(name, text);
    assert!(!channel.assets().is_empty());
    let mut end = 0;
    for asset in channel.assets() {
        let slice = asset.span.slice(text).unwrap();
        assert_eq!(asset.span.start(), end);
        assert_eq!(asset.content_sha256, Sha256Hex::of(slice.as_bytes()));
        assert_eq!(asset.isolated_tokens, size(reference::encode(name, slice).len()), "{slice:?} of {text:?}");
        let first_bytes = starts.iter().filter(|&&start| (end..asset.span.end()).contains(&size(start)));
        assert_eq!(asset.attributed_tokens, size(first_bytes.count()), "{slice:?} of {text:?}");
        end = asset.span.end();
    }
    assert_eq!(end, size(text.len()));
    assert_eq!(channel.assets().iter().map(|asset| asset.attributed_tokens).sum::<u64>(), channel.tokens());
    assert_eq!(channel.tokens(), size(starts.len()));
}

/// The assets and decisions are those of the reference.
fn check_against_reference(context: &PreparedTurnContext, (system, task): (&str, &str), specs: &[AssetSpec]) {
    let mut assets = Vec::new();
    let mut fates = Vec::new();
    for (channel, text) in CHANNELS.into_iter().zip([system, task]) {
        let expected = reference::attribute(text, channel, specs);
        let first = assets.len();
        if context.channel(channel).is_some() {
            assets.extend(expected.assets.into_iter().map(|(range, owner)| (channel, range, owner)));
        }
        fates.extend(expected.fates.into_iter().map(|(spec, fate)| {
            let holder = match fate {
                Fate::Held(byte) => (first..assets.len()).find(|&index| assets[index].1.contains(&byte)),
                _ => None,
            };
            (spec, fate, holder)
        }));
    }
    fates.sort_by_key(|&(spec, ..)| spec);

    assert_eq!(context.assets().count(), assets.len());
    for (position, (asset, (channel, range, owner))) in context.assets().zip(&assets).enumerate() {
        assert_eq!(size(position), u64::from(asset.position));
        assert_eq!(*channel, asset.channel);
        assert_eq!((size(range.start), size(range.end)), (asset.span.start(), asset.span.end()));
        match owner.map(|owner| &specs[owner]) {
            Some(spec) => {
                assert_eq!((&spec.label, spec.kind, spec.scope), (&asset.label, asset.kind, asset.scope));
                assert_eq!((&spec.source_path, &spec.included_by), (&asset.source_path, &asset.included_by));
            }
            None => assert_eq!(("prompt assembly", AssetKind::Assembly), (asset.label.as_str(), asset.kind)),
        }
    }

    let included = context.assets().filter(|asset| asset.kind != AssetKind::Assembly).map(|asset| {
        let reason = format!("included by {}", asset.included_by);
        (DecisionKind::Included, asset.label.clone(), reason, Some(asset.position))
    });
    let left_out = fates.iter().filter_map(|&(spec, fate, holder)| {
        let (kind, reason) = match fate {
            Fate::Placed => return None,
            Fate::Empty => (DecisionKind::Excluded, "empty".to_owned()),
            Fate::Absent => (DecisionKind::Excluded, "content not found in the prompt".to_owned()),
            Fate::Held(_) => {
                let holder = context.assets().nth(holder.unwrap()).unwrap();
                (DecisionKind::Deduplicated, format!("held by {}", holder.label))
            }
        };
        Some((kind, specs[spec].label.clone(), reason, holder.map(|holder| u32::try_from(holder).unwrap())))
    });
    let expected: Vec<_> = included.chain(left_out).collect();
    let decisions = context.decisions().iter();
    let found: Vec<_> =
        decisions.map(|one| (one.decision, one.label.clone(), one.reason.clone(), one.asset_position)).collect();
    assert_eq!(found, expected);
    assert!(context.decisions().iter().map(|one| one.position).eq(0..u32::try_from(found.len()).unwrap()));
}

/// Each byte's owner among the first `count` specs.
fn owners(context: &PreparedTurnContext, count: usize) -> Vec<(Channel, u64, String)> {
    let early: Vec<String> = (0..count).map(|number| format!("spec {number}")).collect();
    let held = context.assets().filter(|asset| early.contains(&asset.label));
    held.flat_map(|asset| (asset.span.start()..asset.span.end()).map(|byte| (asset.channel, byte, asset.label.clone())))
        .collect()
}

fn size(length: usize) -> u64 {
    u64::try_from(length).unwrap()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn assets_tile_their_channel_and_share_its_tokens((system, task, specs) in attributed()) {
        for &name in TokenizerName::ALL {
            let context = attribute(name, (&system, &task), &specs);
            prop_assert_eq!(context.system().is_none(), system.is_empty());
            let channels: Vec<_> = CHANNELS.iter().filter_map(|&channel| context.channel(channel)).collect();
            for channel in &channels {
                check_channel(name, channel);
            }
            prop_assert_eq!(context.total_tokens(), Some(channels.iter().map(|channel| channel.tokens()).sum()));
        }
    }

    #[test]
    fn claims_and_decisions_are_those_of_the_plain_loop((system, task, specs) in attributed()) {
        let context = attribute(TokenizerName::Cl100kBase, (&system, &task), &specs);
        check_against_reference(&context, (&system, &task), &specs);
    }

    #[test]
    fn a_spec_at_the_end_changes_nothing_of_what_earlier_ones_hold((system, task, specs) in attributed()) {
        let without_last = specs.len().saturating_sub(1);
        let before = attribute(TokenizerName::Cl100kBase, (&system, &task), &specs[..without_last]);
        let after = attribute(TokenizerName::Cl100kBase, (&system, &task), &specs);
        prop_assert_eq!(owners(&before, without_last), owners(&after, without_last));
    }

    #[test]
    fn the_same_input_gives_the_same_output((system, task, specs) in attributed(), positions in prop::collection::vec(0_u32..6, 0..6)) {
        let decisions: Vec<_> = positions.iter().map(|&position| decision(position, "earlier")).collect();
        let attribute = || PreparedTurnContext::from_attributed_prompts(
            TokenizerName::O200kBase, prompts(&system, &task), &specs, decisions.clone(),
        );
        let context = attribute().unwrap();
        prop_assert_eq!(&context, &attribute().unwrap());
        prop_assert!(context.decisions().windows(2).all(|pair| pair[0].position < pair[1].position));
        for position in positions {
            prop_assert!(context.decisions().iter().any(|one| one.position == position && one.label == "earlier"));
        }
    }
}
