//! The table and its sums against the calculator of the crate that the prices are from.

#![expect(clippy::disallowed_types, reason = "the calculator takes the time of the system's clock")]

use std::{
    format,
    string::String,
    time::{Duration, SystemTime},
    vec::Vec,
};

use genai_prices::{Calculator, PriceRequest, Usage, UsageKey};
use trace_model::{
    timestamp::Timestamp,
    words::{Grain, Quality},
};

use super::*;

/// The tokens of one request; those of the prompt are `prompt` together.
struct Tokens {
    prompt: u64,
    cache_read: u64,
    cache_write: u64,
    cache_write_1h: u64,
    output: u64,
}

impl Tokens {
    fn report(&self, model: &str, at: Timestamp) -> UsageReport {
        UsageReport {
            model: Some(model.into()),
            observed_at: Some(at),
            input_tokens: Some(self.prompt - self.cache_read - self.cache_write),
            cache_read_tokens: Some(self.cache_read),
            cache_write_tokens: Some(self.cache_write),
            cache_write_1h_tokens: Some(self.cache_write_1h),
            output_tokens: Some(self.output),
            ..UsageReport::new("msg_1", Grain::Request, Quality::Exact)
        }
    }

    /// That calculator counts cached tokens as a part of the prompt.
    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "the calculator takes floats")]
    fn usage(&self) -> Usage {
        Usage::from([
            (UsageKey::INPUT_TOKENS, self.prompt as f64),
            (UsageKey::CACHE_READ_TOKENS, self.cache_read as f64),
            (UsageKey::CACHE_WRITE_TOKENS, self.cache_write as f64),
            (UsageKey::CACHE_WRITE_1H_TOKENS, self.cache_write_1h as f64),
            (UsageKey::OUTPUT_TOKENS, self.output as f64),
        ])
    }
}

/// Returns the names of the table and what their lines say.
fn lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.lines().skip(1).map(|line| line.split_once('\t').unwrap())
}

/// Returns the table's dates, with a second before and after each.
fn times() -> Vec<Timestamp> {
    let mut dates: Vec<&str> = TABLE.split("\"from\":\"").skip(1).filter_map(|text| text.get(..20)).collect();
    dates.sort_unstable();
    dates.dedup();
    let of_dates = dates.into_iter().flat_map(|date| {
        let micros = date.parse::<Timestamp>().unwrap().as_micros();
        [micros - 1_000_000, micros, micros + 5_400_000_000].map(|micros| Timestamp::from_micros(micros).unwrap())
    });
    of_dates.collect()
}

fn system_time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(at.as_micros()).unwrap())
}

#[test]
fn the_table_is_sorted_and_every_line_is_found_and_read() {
    let names: Vec<&str> = lines().map(|(name, _)| name).collect();
    assert!(names.is_sorted());
    for (name, line) in lines() {
        assert_eq!(find(name), Some(line));
        let prices = PriceTable::embedded().prices(&Provider::OpenCode, name);
        assert!(prices.is_some(), "{name} has no prices");
    }
    assert_eq!(find(""), None);
    assert_eq!(find("anthropic/claude-sonnet-4-5-nonexistent"), None);
    assert_eq!(find("~"), None);
}

/// Every name, at every time at which any price changes, just below, at and just above every length of a prompt from
/// which on it costs more.
#[test]
#[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "the calculator gives floats")]
fn every_cost_is_that_of_the_calculator_less_its_noise() {
    let calculator = Calculator::bundled();
    let mut wrong: Vec<String> = Vec::new();
    let mut compared = 0;
    for (name, line) in lines() {
        let prices = PriceTable::embedded().prices(&Provider::OpenCode, name).unwrap();
        let (seller, model) = name.split_once('/').unwrap();
        let changes_over_time = line.contains("\"from\"") || line.contains("\"daily\"");
        let times = times().into_iter().take(if changes_over_time { usize::MAX } else { 1 });
        for at in times {
            let Some(rates) = prices.at(Some(at)).cloned() else { continue };
            let mut lengths: Vec<u64> = rates.thresholds().flat_map(|over| [over - 1, over, over + 1]).collect();
            lengths.extend([30_000, 1_000_003]);
            lengths.sort_unstable();
            lengths.dedup();
            for prompt in lengths {
                let has_1h = rates.cache_write_1h.is_some();
                let cache_write_1h = if has_1h { 1_001 } else { 0 };
                let output = if rates.output.is_some() { 777 } else { 0 };
                let tokens =
                    Tokens { prompt, cache_read: 20_011, cache_write: 5_003 + cache_write_1h, cache_write_1h, output };
                let usage = tokens.usage();
                let request = PriceRequest::new(model, &usage).with_provider_id(seller).with_timestamp(system_time(at));
                // Some ids are not among the names that the calculator takes for the model.
                let Ok(expected) = calculator.calculate(&request) else { continue };
                assert_eq!(expected.model_id, line.strip_prefix('=').unwrap_or(model), "{name}");
                let cost = prices.cost(&tokens.report(name, at)).unwrap();
                let nanos = expected.total_price * 1e9;
                compared += 1;
                if (cost.amount.as_nanos() as f64 - nanos).abs() > 0.501 + nanos * 1e-12 || cost.is_base_tier {
                    wrong.push(format!("{name} {at} {prompt}: {} not {nanos} of {}", cost.amount, expected.model_id));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(compared > 10_000, "{compared}");
}
