use std::{format, string::ToString};

use super::*;

fn rates(fields: &str) -> Result<Option<Rates>, PriceError> {
    let models = read(&format!(r#"{{"m": {{{fields}}}}}"#))?;
    Ok(models.get("m").map(|prices| prices.at(None).unwrap().clone()))
}

fn tiered(base: &str, tiers: &[(u64, &str)]) -> TieredRate {
    let rate = |text| Rate::for_million_tokens(text).unwrap();
    TieredRate { base: rate(base), tiers: tiers.iter().map(|(over, price)| (*over, rate(price))).collect() }
}

#[test]
fn every_class_has_its_field() {
    let fields = r#"
        "input_cost_per_token": 3e-06, "input_cost_per_token_above_200k_tokens": 6e-06,
        "output_cost_per_token": 0.000015, "output_cost_per_token_above_200k_tokens": 2.25e-05,
        "cache_read_input_token_cost": 3e-07,
        "cache_creation_input_token_cost": 3.75e-06,
        "cache_creation_input_token_cost_above_1hr": 6e-06,
        "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 1.2e-05,
        "input_cost_per_token_batches": "cheap", "max_tokens": 64000, "supports_vision": true"#;
    let expected = Rates {
        input: Some(tiered("3", &[(200_000, "6")])),
        output: Some(tiered("15", &[(200_000, "22.5")])),
        cache_read: Some(tiered("0.3", &[])),
        cache_write: Some(tiered("3.75", &[])),
        cache_write_1h: Some(tiered("6", &[(200_000, "12")])),
    };
    assert_eq!(rates(fields).unwrap(), Some(expected));
}

#[test]
fn tiers_are_in_order_whatever_the_order_of_the_text() {
    let fields = r#"
        "input_cost_per_token_above_1000k_tokens": 4e-06, "input_cost_per_token_above_200k_tokens": 3e-06,
        "input_cost_per_token": 1e-06, "input_cost_per_token_above_32k_tokens": 2e-06"#;
    let expected = tiered("1", &[(32_000, "2"), (200_000, "3"), (1_000_000, "4")]);
    assert_eq!(rates(fields).unwrap().unwrap().input, Some(expected));
}

#[test]
fn a_model_without_prices_of_tokens_is_passed_over() {
    assert_eq!(rates(r#""input_cost_per_image": 0.04, "input_cost_per_token": null"#).unwrap(), None);
    assert_eq!(rates("").unwrap(), None);
}

#[test]
fn what_is_no_price_is_named() {
    for value in ["-1", "\"free\"", "[]", "true", "1e99"] {
        let error = rates(&format!(r#""output_cost_per_token": {value}"#)).unwrap_err();
        assert_eq!(error.to_string(), format!("output_cost_per_token of m is no price: {value}"));
    }
    let error = rates(r#""input_cost_per_token_above_200k_tokens": 1e-6"#).unwrap_err().to_string();
    assert_eq!(error, "m has a price of input_cost_per_token for long prompts, and none for short ones");
    for text in ["", "[]", "{", r#"{"m": 1}"#, "{} {}"] {
        assert!(matches!(read(text), Err(PriceError::NotPrices { .. })), "{text}");
    }
}
