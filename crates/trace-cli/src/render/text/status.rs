//! How something went, as a mark and in a colour; and totals as one line.

use anstyle::Style;
use trace_model::{
    launch::{CaptureState, Launch},
    totals::Totals,
    words::{DecisionKind, LaunchOutcome, TurnStatus},
};

use super::{figures, style};

/// Returns the style and the mark of a launch's outcome.
pub(crate) const fn outcome(outcome: LaunchOutcome) -> (Style, &'static str) {
    match outcome {
        LaunchOutcome::Running => (style::NAME, "●"),
        LaunchOutcome::Completed => (style::GOOD, "✓"),
        LaunchOutcome::Failed => (style::BAD, "✗"),
        LaunchOutcome::Interrupted => (style::ODD, "■"),
    }
}

/// Returns how long a launch took; nothing while it runs.
pub(crate) fn took(launch: &Launch) -> String {
    let (ended_at, _) = launch.state.columns();
    ended_at.map_or_else(String::new, |at| figures::duration(at.since(launch.header.started_at)))
}

/// Returns the word of a capture that does not hold everything, else nothing.
pub(crate) fn lack(capture: &CaptureState) -> String {
    match capture {
        CaptureState::Capturing | CaptureState::Complete => String::new(),
        incomplete => incomplete.columns().0.to_string(),
    }
}

/// Returns the style and the mark of a turn's status.
pub(crate) const fn turn(status: TurnStatus) -> (Style, &'static str) {
    match status {
        TurnStatus::Running => (style::NAME, "●"),
        TurnStatus::Completed => (style::GOOD, "✓"),
        TurnStatus::Failed => (style::BAD, "✗"),
        TurnStatus::Interrupted => (style::ODD, "■"),
        TurnStatus::Partial => (style::ODD, "◐"),
    }
}

/// Returns the style and the mark of a decision.
pub(crate) const fn decision(decision: DecisionKind) -> (Style, &'static str) {
    match decision {
        DecisionKind::Included => (style::GOOD, "+"),
        DecisionKind::Excluded => (style::BAD, "-"),
        DecisionKind::Summarized | DecisionKind::StatOnly | DecisionKind::Truncated => (style::ODD, "~"),
        DecisionKind::Deduplicated => (style::FAINT, "="),
    }
}

/// Returns the prompt tokens of all classes, or `None` if none is known.
pub(crate) fn all_input(totals: &Totals) -> Option<u64> {
    let classes = [totals.input_tokens, totals.cache_read_tokens, totals.cache_write_tokens];
    classes.into_iter().flatten().reduce(u64::saturating_add)
}

/// Returns the totals in words; without the classes of the prompt tokens if they would not fit into `room` columns.
pub(crate) fn totals(totals: &Totals, room: Option<usize>) -> String {
    let long = describe(totals, true);
    match room {
        Some(room) if long.chars().count() > room => describe(totals, false),
        _ => long,
    }
}

fn describe(totals: &Totals, with_classes: bool) -> String {
    if totals.total_tokens.is_none() && totals.cost_usd.is_none() {
        return "nothing reported".to_owned();
    }
    let quality = totals.quality;
    let mut parts = Vec::new();
    if let Some(requests) = totals.requests {
        parts.push(figures::counted(requests, "request"));
    }
    if let Some(input) = all_input(totals) {
        let classes = [
            (totals.input_tokens, "uncached"),
            (totals.cache_read_tokens, "cache read"),
            (totals.cache_write_tokens, "cache write"),
        ];
        let classes =
            classes.into_iter().filter_map(|(tokens, name)| Some(format!("{} {name}", figures::count(tokens?))));
        let classes = classes.collect::<Vec<_>>().join(" + ");
        let classes = if with_classes { format!(" ({classes})") } else { String::new() };
        parts.push(format!("{} in{classes}", figures::measured(Some(input), quality)));
    }
    if totals.output_tokens.is_some() {
        let thinking = totals.reasoning_tokens.map(|tokens| format!(" ({} thinking)", figures::count(tokens)));
        let output = figures::measured(totals.output_tokens, quality);
        parts.push(format!("{output} out{}", thinking.unwrap_or_default()));
    }
    if totals.cost_usd.is_some() {
        parts.push(figures::money(totals.cost_usd));
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use trace_model::words::Quality;

    use super::*;

    #[test]
    fn totals_say_what_is_known_and_nothing_else() {
        let nothing = Totals::of(&[]);
        assert_eq!(totals(&nothing, None), "nothing reported");
        let some = Totals {
            requests: Some(2),
            input_tokens: Some(700),
            cache_read_tokens: Some(12_000),
            output_tokens: Some(50),
            total_tokens: Some(12_750),
            quality: Quality::Exact,
            ..nothing
        };
        assert_eq!(totals(&some, Some(40)), "2 requests · 12,700 in · 50 out");
        assert_eq!(totals(&some, None), "2 requests · 12,700 in (700 uncached + 12,000 cache read) · 50 out");
        let bound = Totals { quality: Quality::LowerBound, requests: None, ..some };
        assert_eq!(totals(&bound, None), "≥ 12,700 in (700 uncached + 12,000 cache read) · ≥ 50 out");
    }
}
