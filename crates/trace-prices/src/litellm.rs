//! A user's own prices, in `LiteLLM`'s format.

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
};

use serde_json::value::RawValue;

use crate::{
    ModelPrices, PriceError,
    decimal::Rate,
    prices::{Rates, TieredRate},
};

type Object<'a> = BTreeMap<String, &'a RawValue>;

/// Returns the prices by the names of their models.
pub(crate) fn read(json: &str) -> Result<BTreeMap<String, ModelPrices>, PriceError> {
    let models: Object<'_> = serde_json::from_str(json).map_err(|source| PriceError::NotPrices { source })?;
    let mut prices = BTreeMap::new();
    for (name, text) in models {
        let fields: Object<'_> = serde_json::from_str(text.get()).map_err(|source| PriceError::NotPrices { source })?;
        if let Some(rates) = read_model(&name, &fields)? {
            prices.insert(name, ModelPrices::always(rates));
        }
    }
    Ok(prices)
}

fn read_model(model: &str, fields: &Object<'_>) -> Result<Option<Rates>, PriceError> {
    let mut rates = Rates::default();
    let mut has_prices = false;
    let priced = || fields.iter().filter(|(_, value)| value.get() != "null");
    for (field, value) in priced() {
        let (class_name, over) = split(field);
        let Some(class) = class(&mut rates, class_name) else { continue };
        if over.is_some() && priced().all(|(field, _)| field != class_name) {
            return Err(PriceError::NoBasePrice { model: model.to_string(), class: class_name.to_string() });
        }
        let bad =
            || PriceError::BadPrice { model: model.to_string(), field: field.clone(), value: value.get().to_string() };
        let rate = Rate::for_token(value.get()).ok_or_else(bad)?;
        has_prices = true;
        let class = class.get_or_insert_default();
        match over {
            None => class.base = rate,
            Some(over) => class.tiers.push((over, rate)),
        }
    }
    for class in rates.all_mut() {
        class.tiers.sort_unstable();
    }
    Ok(has_prices.then_some(rates))
}

/// Returns the field of the class, and the length of the prompt beyond which the price holds.
fn split(field: &str) -> (&str, Option<u64>) {
    let longer = || {
        let (class, thousands) = field.strip_suffix("k_tokens")?.rsplit_once("_above_")?;
        Some((class, thousands.parse::<u64>().ok()?.checked_mul(1000)?))
    };
    longer().map_or((field, None), |(class, over)| (class, Some(over)))
}

/// Returns the class that a field prices.
fn class<'a>(rates: &'a mut Rates, field: &str) -> Option<&'a mut Option<TieredRate>> {
    Some(match field {
        "input_cost_per_token" => &mut rates.input,
        "output_cost_per_token" => &mut rates.output,
        "cache_read_input_token_cost" => &mut rates.cache_read,
        "cache_creation_input_token_cost" => &mut rates.cache_write,
        "cache_creation_input_token_cost_above_1hr" => &mut rates.cache_write_1h,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
