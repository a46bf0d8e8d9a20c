//! Short ways to make inputs and to read results.

use trace_attribution::{AssetSpec, PreparedTurnContext, Prompts, Source};
use trace_model::{
    context::Decision,
    words::{AssetKind, Channel, DecisionKind, Scope, TokenizerName},
};

pub(crate) const TOKENIZER: TokenizerName = TokenizerName::Cl100kBase;

/// A spec for the task channel.
pub(crate) fn spec(label: &str, content: &str) -> AssetSpec {
    AssetSpec {
        channel: Channel::Task,
        kind: AssetKind::Document,
        scope: Scope::Repo,
        label: label.to_owned(),
        source_path: None,
        included_by: "harness".to_owned(),
        content: content.to_owned(),
        match_all_occurrences: false,
    }
}

/// A spec for the task channel that claims every occurrence.
pub(crate) fn spec_for_all(label: &str, content: &str) -> AssetSpec {
    AssetSpec { match_all_occurrences: true, ..spec(label, content) }
}

pub(crate) fn source(label: &str) -> Source {
    Source {
        kind: AssetKind::Memory,
        scope: Scope::Project,
        label: label.to_owned(),
        source_path: Some(format!("memories/{label}")),
        included_by: "harness".to_owned(),
    }
}

pub(crate) fn decision(position: u32, label: &str) -> Decision {
    Decision {
        position,
        kind: AssetKind::Summary,
        scope: Scope::Wave,
        label: label.to_owned(),
        source_path: None,
        decision: DecisionKind::Summarized,
        reason: "too long".to_owned(),
        original_bytes: Some(1_000),
        original_tokens: None,
        asset_position: None,
    }
}

pub(crate) fn prompts(system: &str, task: &str) -> Prompts {
    Prompts { system: Some(system.to_owned()), task: Some(task.to_owned()) }
}

/// Attributes a task prompt.
pub(crate) fn attribute(task: &str, specs: &[AssetSpec]) -> PreparedTurnContext {
    PreparedTurnContext::from_attributed_prompts(TOKENIZER, prompts("", task), specs, Vec::new()).unwrap()
}

/// The label of each asset with its text, over both channels.
pub(crate) fn tiles(context: &PreparedTurnContext) -> Vec<(&str, &str)> {
    let tile = |asset: &trace_model::context::Asset| asset.span.slice(context.channel(asset.channel)?.text());
    context.assets().map(|asset| (asset.label.as_str(), tile(asset).unwrap())).collect()
}

/// The position, label, decision, reason and asset of each decision.
pub(crate) fn outcomes(context: &PreparedTurnContext) -> Vec<(u32, &str, DecisionKind, &str, Option<u32>)> {
    let decisions = context.decisions().iter();
    decisions
        .map(|one| (one.position, one.label.as_str(), one.decision, one.reason.as_str(), one.asset_position))
        .collect()
}
