//! The decisions of a turn: what was done with each candidate, and why.

use alloc::{borrow::ToOwned, collections::BTreeSet, format, string::String, vec::Vec};

use trace_model::{
    context::{Asset, Decision},
    words::{AssetKind, DecisionKind},
};

use crate::{AttributionError, channel::PreparedChannel, place::Unplaced, source::Origin};

/// Returns a decision about what became of an asset's source, at position 0.
pub(crate) fn included(asset: &Asset, reason: String) -> Decision {
    Decision {
        position: 0,
        kind: asset.kind,
        scope: asset.scope,
        label: asset.label.clone(),
        source_path: asset.source_path.clone(),
        decision: DecisionKind::Included,
        reason,
        original_bytes: Some(asset.span.len()),
        original_tokens: Some(asset.isolated_tokens),
        asset_position: Some(asset.position),
    }
}

/// Returns one `included` decision for each asset that is no assembly, in their order.
pub(crate) fn all_included<'a>(assets: impl Iterator<Item = &'a Asset>) -> impl Iterator<Item = Decision> {
    assets
        .filter(|asset| asset.kind != AssetKind::Assembly)
        .map(|asset| included(asset, format!("included by {}", asset.included_by)))
}

/// Returns the decision about a candidate of that many bytes that got nothing in `channel`.
///
/// Its tokens stay unknown: the text was not sent, and counting it would take as long as if it had been.
pub(crate) fn left_out(
    origin: Origin<'_>,
    bytes: usize,
    unplaced: Unplaced,
    channel: Option<&PreparedChannel>,
) -> Decision {
    let (decision, reason, holder) = match unplaced {
        Unplaced::Empty => (DecisionKind::Excluded, "empty".to_owned(), None),
        Unplaced::Absent => (DecisionKind::Excluded, "content not found in the prompt".to_owned(), None),
        Unplaced::Held { first } => {
            let holder = channel
                .and_then(|channel| channel.asset_at(first))
                .expect("a content that was found lies in a channel, and assets cover it");
            (DecisionKind::Deduplicated, format!("held by {}", holder.label), Some(holder.position))
        }
    };
    Decision {
        position: 0,
        kind: origin.kind,
        scope: origin.scope,
        label: origin.label.to_owned(),
        source_path: origin.source_path.map(ToOwned::to_owned),
        decision,
        reason,
        original_bytes: u64::try_from(bytes).ok(),
        original_tokens: None,
        asset_position: holder,
    }
}

/// Joins the caller's decisions and the generated ones, and sorts them by position.
///
/// A position belongs to the first of the caller's decisions that names it. Those that name a taken position are moved
/// behind the largest one, in the order they came in, and the generated ones follow behind them.
///
/// # Errors
///
/// [`AttributionError::PositionsExhausted`] if positions would not fit into 32 bits.
pub(crate) fn join(
    caller: Vec<Decision>,
    generated: impl Iterator<Item = Decision>,
) -> Result<Vec<Decision>, AttributionError> {
    let mut largest = caller.iter().map(|decision| decision.position).max();
    let mut taken = BTreeSet::new();
    let (mut decisions, repeated): (Vec<_>, Vec<_>) =
        caller.into_iter().partition(|decision| taken.insert(decision.position));
    decisions.sort_by_key(|decision| decision.position);
    for mut decision in repeated.into_iter().chain(generated) {
        let position = match largest {
            None => 0,
            Some(largest) => largest.checked_add(1).ok_or(AttributionError::PositionsExhausted { largest })?,
        };
        largest = Some(position);
        decision.position = position;
        decisions.push(decision);
    }
    Ok(decisions)
}

#[cfg(test)]
mod tests {
    use std::{string::ToString, vec};

    use trace_model::words::Scope;

    use super::*;

    fn decision(position: u32, label: &str) -> Decision {
        Decision {
            position,
            kind: AssetKind::Memory,
            scope: Scope::Repo,
            label: label.to_string(),
            source_path: None,
            decision: DecisionKind::Excluded,
            reason: "too old".to_string(),
            original_bytes: None,
            original_tokens: None,
            asset_position: None,
        }
    }

    #[track_caller]
    fn check(caller: &[(u32, &str)], generated: &[&str], expected: &[(u32, &str)]) {
        let caller = caller.iter().map(|&(position, label)| decision(position, label)).collect();
        let joined = join(caller, generated.iter().map(|label| decision(0, label))).unwrap();
        let joined: Vec<_> = joined.iter().map(|decision| (decision.position, decision.label.as_str())).collect();
        assert_eq!(joined, expected);
    }

    #[test]
    fn generated_decisions_follow_the_largest_position_of_the_caller() {
        check(&[], &["x", "y"], &[(0, "x"), (1, "y")]);
        check(&[(5, "a"), (2, "b")], &["x"], &[(2, "b"), (5, "a"), (6, "x")]);
    }

    #[test]
    fn a_repeated_position_goes_to_its_first_decision_and_the_others_move_behind_the_largest() {
        check(&[(0, "a"), (0, "b"), (1, "c"), (0, "d")], &["x"], &[(0, "a"), (1, "c"), (2, "b"), (3, "d"), (4, "x")]);
    }

    #[test]
    fn a_position_without_a_successor_is_a_typed_error() {
        let largest = u32::MAX;
        assert_eq!(join(vec![decision(largest, "a")], core::iter::empty()).map(|joined| joined.len()), Ok(1));
        assert_eq!(
            join(vec![decision(largest, "a"), decision(largest, "b")], core::iter::empty()),
            Err(AttributionError::PositionsExhausted { largest })
        );
        assert_eq!(
            join(vec![decision(largest, "a")], core::iter::once(decision(0, "x"))),
            Err(AttributionError::PositionsExhausted { largest })
        );
    }
}
