//! What was counted here, with one tokenizer.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::Serialize;
use trace_model::{
    context::Asset,
    words::{AssetKind, Channel, Scope, TokenizerName},
};

use crate::{launch::TurnReport, share::per_mille};

/// The assets of the turns that were counted with one tokenizer, shared out by kind and by source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// The tokenizer.
    pub tokenizer: TokenizerName,
    /// The number of assets.
    pub assets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their tokens, as they are attributed to them in their prompts.
    pub tokens: u64,
    /// The shares of the kinds, most tokens first.
    pub by_kind: Vec<KindShare>,
    /// The shares of the sources, most tokens first.
    pub by_source: Vec<SourceShare>,
}

/// The share of all assets of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindShare {
    /// The kind.
    pub kind: AssetKind,
    /// The number of assets.
    pub assets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Their part of all tokens in thousandths; the shares of all kinds add up to 1000. Absent if there are no tokens.
    pub share_per_mille: Option<u32>,
}

/// The share of all assets of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceShare {
    /// The prompt that the assets are part of.
    pub channel: Channel,
    /// What the source is.
    pub kind: AssetKind,
    /// How far it reaches.
    pub scope: Scope,
    /// What a person calls it.
    pub label: String,
    /// Where its text came from, as the harness names it.
    pub source_path: Option<String>,
    /// The number of assets.
    pub assets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Their part of all tokens in thousandths; the shares of all sources add up to 1000. Absent if there are no
    /// tokens.
    pub share_per_mille: Option<u32>,
}

/// What the assets of one group add up to.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    assets: u64,
    bytes: u64,
    tokens: u64,
}

impl Sum {
    fn of(assets: &[&Asset]) -> Self {
        let mut sum = Self::default();
        for asset in assets {
            sum.add(asset);
        }
        sum
    }

    fn add(&mut self, asset: &Asset) {
        self.assets += 1;
        self.bytes = self.bytes.saturating_add(asset.span.len());
        self.tokens = self.tokens.saturating_add(asset.attributed_tokens);
    }
}

impl Counted {
    /// Returns one entry for each tokenizer that the turns were counted with, in the order of their names.
    pub(super) fn of(turns: &[TurnReport]) -> Vec<Self> {
        let mut assets: BTreeMap<TokenizerName, Vec<&Asset>> = BTreeMap::new();
        for turn in turns {
            if let Some(tokenizer) = turn.row.turn.tokenizer {
                assets.entry(tokenizer).or_default().extend(turn.assets.iter().map(|row| &row.asset));
            }
        }
        assets.into_iter().map(|(tokenizer, assets)| Self::with(tokenizer, &assets)).collect()
    }

    fn with(tokenizer: TokenizerName, assets: &[&Asset]) -> Self {
        let all = Sum::of(assets);
        let kinds = shared_out(assets, |asset| asset.kind).into_iter();
        let sources = shared_out(assets, |asset| {
            (asset.channel, asset.kind, asset.scope, asset.label.as_str(), asset.source_path.as_deref())
        })
        .into_iter();
        Self {
            tokenizer,
            assets: all.assets,
            bytes: all.bytes,
            tokens: all.tokens,
            by_kind: kinds
                .map(|(kind, Sum { assets, bytes, tokens }, share_per_mille)| KindShare {
                    kind,
                    assets,
                    bytes,
                    tokens,
                    share_per_mille,
                })
                .collect(),
            by_source: sources
                .map(|((channel, kind, scope, label, source_path), sum, share_per_mille)| SourceShare {
                    channel,
                    kind,
                    scope,
                    label: label.into(),
                    source_path: source_path.map(String::from),
                    assets: sum.assets,
                    bytes: sum.bytes,
                    tokens: sum.tokens,
                    share_per_mille,
                })
                .collect(),
        }
    }
}

/// Groups the assets and returns each group with its sum and its share of the tokens.
///
/// The group with the most tokens comes first, then the one with the most bytes, then by key.
fn shared_out<'a, K: Ord>(assets: &[&'a Asset], key: impl Fn(&'a Asset) -> K) -> Vec<(K, Sum, Option<u32>)> {
    let mut groups: BTreeMap<K, Sum> = BTreeMap::new();
    for asset in assets {
        groups.entry(key(asset)).or_default().add(asset);
    }
    let mut groups: Vec<(K, Sum)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, sum)| core::cmp::Reverse((sum.tokens, sum.bytes)));
    let tokens: Vec<u64> = groups.iter().map(|(_, sum)| sum.tokens).collect();
    let shares = per_mille(&tokens);
    let share = |index: usize| shares.as_ref().and_then(|shares| shares.get(index).copied());
    groups.into_iter().enumerate().map(|(index, (key, sum))| (key, sum, share(index))).collect()
}
