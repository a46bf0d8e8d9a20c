//! The embedded table, and a user's prices over it.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use core::cmp::Ordering;

use sha2::{Digest as _, Sha256};
use trace_model::{usage::UsageReport, usage_query::PriceVersion, words::Provider};

use crate::{Cost, ModelPrices, PriceError, litellm, name};

/// The table: a line that says what it is of, then one line per name, sorted. `cargo xtask prices` makes it.
const TABLE: &str = include_str!("../data/prices.txt");

/// The revision of the rules by which costs are computed. It rises with every change of a result.
const RULES: u32 = 1;

/// All known prices: the embedded table, and what a user set over it.
///
/// A model is known only if it is named: by an id of the table, or such an id with a date or a `[…]` suffix, among the
/// models of the provider that sold it. Nothing is guessed, and nothing is decoded before it is asked for.
///
/// ```
/// use trace_model::{usage::UsageReport, words::{Grain, Provider, Quality}};
/// use trace_prices::PriceTable;
///
/// let table = PriceTable::embedded();
/// let report = UsageReport {
///     model: Some("claude-sonnet-5-20260804".to_owned()),
///     input_tokens: Some(1_000),
///     output_tokens: Some(10),
///     ..UsageReport::new("msg_1", Grain::Request, Quality::Exact)
/// };
/// // 2 dollars for a million tokens of the prompt, 10 for a million produced.
/// assert_eq!(table.cost(&Provider::Claude, &report).unwrap().amount.to_string(), "0.0021");
///
/// let invented = UsageReport { model: Some("claude-sonnet-5-nonexistent".to_owned()), ..report };
/// assert_eq!(table.cost(&Provider::Claude, &invented), None);
/// ```
#[derive(Debug, Clone, Default)]
pub struct PriceTable {
    overrides: BTreeMap<String, ModelPrices>,
    override_sha256: Option<String>,
}

impl PriceTable {
    /// Returns the embedded table. It costs nothing.
    pub const fn embedded() -> Self {
        Self { overrides: BTreeMap::new(), override_sha256: None }
    }

    /// Returns this table with a user's own prices, which stand instead of the table's for the models that they name.
    ///
    /// The text is in `LiteLLM`'s format: an object of models, prices in dollars for one token, in
    /// `input_cost_per_token`, `output_cost_per_token`, `cache_read_input_token_cost`,
    /// `cache_creation_input_token_cost`, and these with `_above_1hr` and `_above_200k_tokens` (or another number)
    /// behind. A model is named as in the records, or with its seller: `my-model`, `anthropic/claude-sonnet-5`.
    /// Fields of other kinds, and models without any price of tokens, are passed over.
    ///
    /// # Errors
    ///
    /// [`PriceError::NotPrices`] if the text is no object of objects, [`PriceError::BadPrice`] if a price is no number.
    pub fn with_override(mut self, json: &str) -> Result<Self, PriceError> {
        self.overrides = litellm::read(json)?;
        self.override_sha256 = Some(hex::encode(Sha256::digest(json)));
        Ok(self)
    }

    /// Returns which prices these are: two tables of one version give the same costs.
    ///
    /// It names the crate that the prices are from with the SHA-256 of its data, the revision of the rules here, and
    /// the SHA-256 of the user's own prices if there are any.
    pub fn version(&self) -> PriceVersion {
        let source = TABLE.lines().next().unwrap_or_default().trim_start_matches("# ");
        PriceVersion(match &self.override_sha256 {
            None => format!("{source} rules:{RULES}"),
            Some(sha256) => format!("{source} rules:{RULES} override:{sha256}"),
        })
    }

    /// Returns the prices of a model that an agent of `provider` used, if its name is known.
    pub fn prices(&self, provider: &Provider, model: &str) -> Option<ModelPrices> {
        let sold = name::seller(provider, model);
        if !self.overrides.is_empty()
            && let Some(prices) = self.override_of(sold, model)
        {
            return Some(prices.clone());
        }
        let (seller, model) = sold?;
        name::spellings(model).find_map(|name| {
            // `latest` stands where the name of the model itself has a date.
            let line = find(&format!("{seller}/{name}")).or_else(|| find(&format!("{seller}/{name}-latest")))?;
            let line = match line.strip_prefix('=') {
                Some(id) => find(&format!("{seller}/{id}"))?,
                None => line,
            };
            ModelPrices::from_table(line)
        })
    }

    fn override_of(&self, sold: Option<(&str, &str)>, model: &str) -> Option<&ModelPrices> {
        let sold_names = sold.into_iter().flat_map(|(seller, model)| {
            name::spellings(model).map(move |name| (format!("{seller}/{name}"), String::from(name)))
        });
        let names = name::spellings(model).map(String::from).chain(sold_names.flat_map(|(long, short)| [long, short]));
        let mut names = names.collect::<Vec<_>>();
        // What names the seller is more to the point than what does not.
        names.sort_by_key(|name| !name.contains('/'));
        names.iter().find_map(|name| self.overrides.get(name))
    }

    /// Returns what the report's tokens cost, at the time that it was observed.
    ///
    /// It is `None`, never zero, for a model that is not known or not named, for tokens of a class without a price,
    /// where no tokens are known, and where the prices changed over time and the report has none.
    pub fn cost(&self, provider: &Provider, report: &UsageReport) -> Option<Cost> {
        self.prices(provider, report.model.as_deref()?)?.cost(report)
    }
}

/// Returns what the line of that name says, by bisection.
fn find(name: &str) -> Option<&'static str> {
    let mut rest = TABLE;
    while !rest.is_empty() {
        let middle = rest.floor_char_boundary(rest.len() / 2);
        let start = rest.get(..middle)?.rfind('\n').map_or(0, |at| at + 1);
        let end = rest.get(start..)?.find('\n').map_or(rest.len(), |at| start + at + 1);
        let line = rest.get(start..end)?.trim_end();
        // The first line has no tab, and sorts before every name as a whole.
        let (key, prices) = line.split_once('\t').unwrap_or((line, ""));
        rest = match name.cmp(key) {
            Ordering::Less => rest.get(..start)?,
            Ordering::Equal => return Some(prices),
            Ordering::Greater => rest.get(end..)?,
        };
    }
    None
}

#[cfg(test)]
mod tests;
