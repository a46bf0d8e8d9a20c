//! What the line is made of.

use trace_model::{money::NanoUsd, words::Quality};

use crate::render::text::{escape, figures};

/// What is known of the session.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) model: Option<String>,
    pub(super) context: Context,
    pub(super) stored: Option<Stored>,
    /// What Claude Code says of its process, which may have had other sessions.
    pub(super) said: Option<NanoUsd>,
}

/// How full the context is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Context {
    pub(super) tokens: Option<u64>,
    pub(super) per_cent: Option<u64>,
    pub(super) window: Option<u64>,
}

/// The cost that the ledger keeps of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) cost: NanoUsd,
    /// Exact only if all usage of the session has a cost.
    pub(super) quality: Quality,
    /// Who said so, if it was not computed.
    pub(super) said_by: Option<String>,
}

impl Parts {
    pub(super) fn line(&self) -> String {
        let model = self.model.as_deref().map(|model| escape::line(model).into_owned());
        let said = self.said.map(|cost| format!("claude says {}", figures::money(Some(cost))));
        let stored = self.stored.as_ref().map(Stored::text);
        let parts: Vec<String> = [model, self.context.text(), stored, said].into_iter().flatten().collect();
        if parts.is_empty() { "trace: nothing is known of this session".to_owned() } else { parts.join(" · ") }
    }
}

impl Stored {
    fn text(&self) -> String {
        let cost = figures::marked(figures::money(Some(self.cost)), self.quality);
        self.said_by.as_ref().map_or_else(|| cost.clone(), |who| format!("{} said {cost}", escape::line(who)))
    }
}

impl Context {
    fn text(self) -> Option<String> {
        let of_window =
            |tokens: u64, window: u64| tokens.saturating_mul(100).saturating_add(window / 2).checked_div(window);
        let per_cent = self.per_cent.or_else(|| of_window(self.tokens?, self.window?));
        match (per_cent, self.window, self.tokens) {
            (Some(per_cent), Some(window), _) => Some(format!("{per_cent} % of {}", short(window))),
            (Some(per_cent), None, _) => Some(format!("{per_cent} %")),
            (None, _, Some(tokens)) => Some(format!("{} in context", short(tokens))),
            (None, Some(window), None) => Some(format!("{} % of {}", figures::UNKNOWN, short(window))),
            (None, None, None) => None,
        }
    }
}

/// Returns the tokens in thousands or millions, where it is whole ones.
fn short(tokens: u64) -> String {
    match tokens {
        1_000_000.. if tokens.is_multiple_of(1_000_000) => format!("{}M", tokens / 1_000_000),
        1_000.. => format!("{}k", tokens / 1_000),
        _ => tokens.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_context_is_told_as_far_as_it_is_known() {
        let text = |tokens, per_cent, window| Context { tokens, per_cent, window }.text();
        assert_eq!(text(Some(31_200), None, Some(200_000)).as_deref(), Some("16 % of 200k"));
        assert_eq!(text(Some(31_200), Some(15), Some(1_000_000)).as_deref(), Some("15 % of 1M"));
        assert_eq!(text(None, Some(15), None).as_deref(), Some("15 %"));
        assert_eq!(text(Some(31_200), None, None).as_deref(), Some("31k in context"));
        assert_eq!(text(Some(5), None, Some(0)).as_deref(), Some("5 in context"));
        assert_eq!(text(None, None, Some(200_000)).as_deref(), Some("– % of 200k"));
        assert_eq!(text(None, None, None), None);
    }

    #[test]
    fn a_line_has_what_is_known_and_says_who_said_it() {
        let stored = |quality, said_by: Option<&str>| {
            let cost = NanoUsd::from_nanos(20_500_000);
            Some(Stored { cost, quality, said_by: said_by.map(str::to_owned) })
        };
        let parts = |stored| Parts { model: Some("opus\u{1b}[31m".to_owned()), stored, ..Parts::default() };
        assert_eq!(parts(None).line(), "opus\\u{1b}[31m");
        assert_eq!(parts(stored(Quality::Exact, None)).line(), "opus\\u{1b}[31m · $0.0205");
        assert_eq!(parts(stored(Quality::LowerBound, None)).line(), "opus\\u{1b}[31m · ≥ $0.0205");
        let said = Parts {
            said: Some(NanoUsd::from_nanos(39_300_000)),
            stored: stored(Quality::LowerBound, Some("claude")),
            ..Parts::default()
        };
        assert_eq!(said.line(), "claude said ≥ $0.0205 · claude says $0.0393");
        assert_eq!(Parts::default().line(), "trace: nothing is known of this session");
    }
}
