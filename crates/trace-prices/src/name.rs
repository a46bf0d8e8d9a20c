//! Which names stand for a model of the table.

use trace_model::{usage::base_model, words::Provider};

/// Returns who sells the model, as the table calls them, and the seller's name of it.
///
/// Claude Code, Codex and Gemini CLI have one seller each. What other agents use is known only if they name the seller
/// before the model, as `OpenCode` does: `anthropic/claude-sonnet-4-5`.
pub(crate) fn seller<'a>(provider: &Provider, model: &'a str) -> Option<(&'a str, &'a str)> {
    match provider {
        Provider::Claude => Some(("anthropic", model)),
        Provider::Codex => Some(("openai", model)),
        Provider::Gemini => Some(("google", model)),
        Provider::OpenCode | Provider::Unknown | Provider::Other(_) => {
            let (seller, model) = model.split_once('/')?;
            Some((table_seller(seller), model))
        }
    }
}

/// Returns the table's word for a seller that `OpenCode`'s list of providers, <https://models.dev>, spells otherwise.
fn table_seller(seller: &str) -> &str {
    match seller {
        "amazon-bedrock" => "aws",
        "fireworks-ai" => "fireworks",
        "togetherai" => "together",
        "xai" => "x-ai",
        _ => seller,
    }
}

/// Returns what the model may be called in the table, the name itself first: without a `[…]` suffix, which selects a
/// context window, and without a date.
pub(crate) fn spellings(model: &str) -> impl Iterator<Item = &str> {
    let base = base_model(model);
    let shorter = (base != model).then_some(base);
    [Some(model), shorter, without_date(base)].into_iter().flatten()
}

/// Returns the name before its date, `-20250929`, `@20250929` or `-2025-09-29`.
fn without_date(name: &str) -> Option<&str> {
    let compact = || {
        let (rest, date) = name.split_at_checked(name.len().checked_sub(8)?)?;
        let (year, month_and_day) = date.split_at_checked(4)?;
        let (month, day) = month_and_day.split_at_checked(2)?;
        let rest = rest.strip_suffix('-').or_else(|| rest.strip_suffix('@'))?;
        is_date(year, month, day).then_some(rest)
    };
    let dashed = || {
        let (rest, day) = name.rsplit_once('-')?;
        let (rest, month) = rest.rsplit_once('-')?;
        let (rest, year) = rest.rsplit_once('-')?;
        is_date(year, month, day).then_some(rest)
    };
    compact().or_else(dashed).filter(|rest| !rest.is_empty())
}

fn is_date(year: &str, month: &str, day: &str) -> bool {
    let number = |text: &str, digits: usize| {
        let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| is_number)
    };
    number(year, 4).is_some_and(|year| (2000..2100).contains(&year))
        && number(month, 2).is_some_and(|month| (1..=12).contains(&month))
        && number(day, 2).is_some_and(|day| (1..=31).contains(&day))
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn a_date_is_one_of_three_forms_and_nothing_else() {
        for (name, rest) in [
            ("claude-sonnet-4-5-20250929", Some("claude-sonnet-4-5")),
            ("claude-sonnet-4-5@20250929", Some("claude-sonnet-4-5")),
            ("gpt-5-2025-08-07", Some("gpt-5")),
            ("gpt-5", None),
            ("claude-sonnet-4-5-nonexistent", None),
            ("claude-sonnet-4-5-20251301", None),
            ("claude-sonnet-4-5-20250932", None),
            ("claude-sonnet-4-5-2025092", None),
            ("claude-sonnet-4-520250929", None),
            ("gpt-5-2025-8-07", None),
            ("gpt-5-08-07", None),
            ("-20250929", None),
            ("é20250929", None),
            ("é-2025-09-2é", None),
            ("", None),
        ] {
            assert_eq!(without_date(name), rest, "{name}");
        }
    }

    #[test]
    fn a_date_and_a_window_may_follow_an_id() {
        let all = |name| spellings(name).collect::<Vec<_>>();
        assert_eq!(all("claude-opus-4-8"), ["claude-opus-4-8"]);
        assert_eq!(all("claude-opus-4-8[1m]"), ["claude-opus-4-8[1m]", "claude-opus-4-8"]);
        let dated = "claude-sonnet-4-5-20250929";
        assert_eq!(
            all("claude-sonnet-4-5-20250929[1m]"),
            ["claude-sonnet-4-5-20250929[1m]", dated, "claude-sonnet-4-5"]
        );
    }
}
