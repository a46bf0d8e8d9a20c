//! The rules of names, versions and a user's own prices.

use std::{borrow::ToOwned, string::ToString};

use trace_model::words::{Grain, Quality};

use super::*;

mod against_genai_prices;
mod costs;

/// A report of a million tokens of the prompt.
fn report(model: &str) -> UsageReport {
    UsageReport {
        model: Some(model.to_owned()),
        observed_at: "2026-11-30T12:00:00Z".parse().ok(),
        input_tokens: Some(1_000_000),
        // So that no tier is reached.
        context_tokens: Some(1),
        ..UsageReport::new("msg_1", Grain::Request, Quality::Exact)
    }
}

/// Returns what a million tokens of the prompt cost in an agent of that provider.
fn price(table: &PriceTable, provider: &str, model: &str) -> Option<String> {
    Some(table.cost(&provider.parse().unwrap(), &report(model))?.amount.to_string())
}

#[track_caller]
fn check(provider: &str, model: &str, expected: Option<&str>) {
    assert_eq!(price(&PriceTable::embedded(), provider, model).as_deref(), expected, "{provider} {model}");
}

/// The list prices of <https://platform.claude.com/docs/en/about-claude/pricing>,
/// <https://developers.openai.com/api/docs/pricing> and <https://ai.google.dev/gemini-api/docs/pricing>.
#[test]
fn well_known_models_have_their_list_price() {
    check("claude", "claude-opus-4-1-20250805", Some("15"));
    check("claude", "claude-opus-4-20250514", Some("15"));
    check("claude", "claude-opus-4-5-20251101", Some("5"));
    check("claude", "claude-opus-4-8[1m]", Some("5"));
    check("claude", "claude-sonnet-4-20250514", Some("3"));
    check("claude", "claude-sonnet-4-5-20250929", Some("3"));
    check("claude", "claude-3-5-haiku-20241022", Some("0.8"));
    check("claude", "claude-3-7-sonnet-20250219", Some("3"));
    check("claude", "claude-haiku-4-5-20251001", Some("1"));
    check("codex", "gpt-5", Some("1.25"));
    check("codex", "gpt-5-codex", Some("1.25"));
    check("codex", "gpt-5.1-codex-mini", Some("0.25"));
    check("codex", "o4-mini", Some("1.1"));
    check("gemini", "gemini-2.5-pro", Some("1.25"));
    check("gemini", "gemini-2.5-flash", Some("0.3"));
}

#[test]
fn a_name_that_only_resembles_a_model_is_unknown() {
    for model in [
        "claude-sonnet-4-5-nonexistent",
        "claude-sonnet-4-5-",
        "claude-sonnet-4-50",
        "claude-sonnet-4-5-20251399",
        "claude-sonnet-4-5[1m",
        "Claude-Sonnet-4-5",
        " claude-sonnet-4-5",
        "my-claude-sonnet-4-5",
        "claude",
        "<synthetic>",
        "",
    ] {
        check("claude", model, None);
    }
    check("codex", "gpt-5-codex-nonexistent", None);
    check("gemini", "gemini-2.5-pro-nonexistent", None);
}

#[test]
fn the_seller_is_the_agents_or_the_named_one_and_no_other() {
    check("claude", "gpt-5", None);
    check("codex", "claude-sonnet-4-5", None);
    // The crate would look for it among Anthropic's.
    check("gemini", "claude-sonnet-4-0", None);
    check("claude", "anthropic/claude-sonnet-4-5", None);
    check("opencode", "anthropic/claude-sonnet-4-5-20250929", Some("3"));
    check("opencode", "openai/gpt-5", Some("1.25"));
    check("opencode", "openrouter/anthropic/claude-sonnet-4.5", Some("3"));
    check("opencode", "xai/grok-4", price(&PriceTable::embedded(), "opencode", "x-ai/grok-4").as_deref());
    assert!(price(&PriceTable::embedded(), "opencode", "xai/grok-4").is_some());
    check("opencode", "claude-sonnet-4-5", None);
    check("opencode", "nobody/claude-sonnet-4-5", None);
    check("my-agent", "claude-sonnet-4-5", None);
    check("my-agent", "anthropic/claude-sonnet-4-5", Some("3"));
    check("unknown", "claude-sonnet-4-5", None);
}

#[test]
fn a_record_without_a_model_has_no_cost() {
    let nameless = UsageReport { model: None, ..report("") };
    assert_eq!(PriceTable::embedded().cost(&Provider::Claude, &nameless), None);
}

#[test]
fn the_version_names_the_crate_its_data_and_what_the_user_set() {
    let embedded = PriceTable::embedded().version();
    let text = embedded.0.clone();
    let (source, rules) = text.split_once(" rules:").unwrap();
    let (name, sha256) = source.split_once(" sha256:").unwrap();
    assert_eq!((name, sha256.len(), rules), ("genai-prices 0.2.1", 64, "1"));
    let own = |json| PriceTable::embedded().with_override(json).unwrap().version();
    let one = own(r#"{"m": {"input_cost_per_token": 1e-6}}"#);
    assert_eq!(one, own(r#"{"m": {"input_cost_per_token": 1e-6}}"#));
    assert_ne!(one, own(r#"{"m": {"input_cost_per_token": 2e-6}}"#));
    assert_ne!(one, embedded);
    assert!(one.0.starts_with(&embedded.0));
}

#[test]
fn a_users_price_stands_instead_of_the_tables() {
    let json = r#"{
        "claude-sonnet-4-5": {"input_cost_per_token": 7e-6, "litellm_provider": "anthropic", "mode": "chat"},
        "anthropic/claude-opus-4-8": {"input_cost_per_token": 0.000008},
        "claude-opus-4-8": {"input_cost_per_token": 9e-06},
        "house-model": {"input_cost_per_token": 1.5e-7}
    }"#;
    let table = PriceTable::embedded().with_override(json).unwrap();
    let check = |provider, model, expected| assert_eq!(price(&table, provider, model).as_deref(), expected, "{model}");
    check("claude", "claude-sonnet-4-5-20250929[1m]", Some("7"));
    check("opencode", "anthropic/claude-sonnet-4-5", Some("7"));
    // What names the seller is more to the point.
    check("claude", "claude-opus-4-8", Some("8"));
    check("unknown", "claude-opus-4-8", Some("9"));
    check("my-agent", "house-model", Some("0.15"));
    check("claude", "claude-haiku-4-5", Some("1"));
    check("my-agent", "house-model-2", None);
}
