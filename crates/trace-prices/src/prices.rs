//! The prices of one model: by time, by the size of a request, and by class of tokens.

use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;
use trace_model::timestamp::Timestamp;

use crate::decimal::Rate;

/// What a model's tokens cost, at each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPrices {
    /// The last one that holds at a time counts.
    eras: Vec<Era>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Era {
    when: When,
    rates: Rates,
}

/// When prices hold.
#[derive(Debug, Clone, PartialEq, Eq)]
enum When {
    Always,
    From(Timestamp),
    /// Between two seconds of each day in UTC, past midnight if the second one is smaller.
    Daily {
        start: i64,
        end: i64,
    },
}

/// The prices of all classes. A class without a price of its own has none here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rates {
    pub(crate) input: Option<TieredRate>,
    pub(crate) output: Option<TieredRate>,
    pub(crate) cache_read: Option<TieredRate>,
    /// What is kept for five minutes, or as long as the provider keeps it where there is no choice.
    pub(crate) cache_write: Option<TieredRate>,
    /// What is kept for an hour.
    pub(crate) cache_write_1h: Option<TieredRate>,
}

/// A price that may depend on how long the request's prompt is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TieredRate {
    pub(crate) base: Rate,
    /// The price of a request whose prompt is longer than that many tokens; by ascending length.
    pub(crate) tiers: Vec<(u64, Rate)>,
}

impl ModelPrices {
    pub(crate) fn always(rates: Rates) -> Self {
        Self { eras: Vec::from([Era { when: When::Always, rates }]) }
    }

    /// Returns the prices at a time. Without one there are prices only if they never changed.
    pub(crate) fn at(&self, time: Option<Timestamp>) -> Option<&Rates> {
        let mut eras = self.eras.iter().rev();
        let era = match (time, self.eras.as_slice()) {
            (Some(time), _) => eras.find(|era| era.when.holds(time)),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        era.map(|era| &era.rates)
    }

    /// Tells whether a prompt of so many tokens, or of fewer, may be long enough for another price than a short one's.
    pub fn has_tier_below(&self, tokens: u64) -> bool {
        self.eras.iter().any(|era| era.rates.thresholds().any(|over| over < tokens))
    }

    /// Reads a line of the table.
    pub(crate) fn from_table(text: &str) -> Option<Self> {
        let eras: Vec<EraText<'_>> = serde_json::from_str(text).ok()?;
        eras.iter().map(EraText::read).collect::<Option<_>>().map(|eras| Self { eras })
    }
}

impl When {
    fn holds(&self, time: Timestamp) -> bool {
        match *self {
            Self::Always => true,
            Self::From(start) => start <= time,
            Self::Daily { start, end } => {
                let second = time.as_micros().div_euclid(1_000_000).rem_euclid(86_400);
                if end < start { second >= start || second < end } else { (start..end).contains(&second) }
            }
        }
    }
}

impl Rates {
    /// Returns the prices that there are.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut TieredRate> {
        let all =
            [&mut self.input, &mut self.output, &mut self.cache_read, &mut self.cache_write, &mut self.cache_write_1h];
        all.into_iter().flatten()
    }

    /// Returns the lengths of a prompt beyond which any price differs.
    pub(crate) fn thresholds(&self) -> impl Iterator<Item = u64> {
        let all = [&self.input, &self.output, &self.cache_read, &self.cache_write, &self.cache_write_1h];
        all.into_iter().flatten().flat_map(|rate| rate.tiers.iter().map(|(over, _)| *over))
    }
}

impl TieredRate {
    /// Returns the price of all tokens of a request whose prompt has that many.
    pub(crate) fn for_prompt(&self, tokens: u64) -> Rate {
        self.tiers.iter().rev().find(|(over, _)| tokens > *over).map_or(self.base, |(_, rate)| *rate)
    }
}

/// The text form of an era, as `cargo xtask prices` writes it. Numbers are read as text: none becomes a float.
#[derive(Deserialize)]
struct EraText<'a> {
    from: Option<Timestamp>,
    daily: Option<(i64, i64)>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_read: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_write: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_write_1h: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TieredText<'a> {
    #[serde(borrow)]
    base: &'a RawValue,
    #[serde(borrow)]
    tiers: Vec<TierText<'a>>,
}

#[derive(Deserialize)]
struct TierText<'a> {
    start: u64,
    #[serde(borrow)]
    price: &'a RawValue,
}

impl EraText<'_> {
    fn read(&self) -> Option<Era> {
        let when = match (self.from, self.daily) {
            (Some(start), _) => When::From(start),
            (None, Some((start, end))) => When::Daily { start, end },
            (None, None) => When::Always,
        };
        let rates = Rates {
            input: tiered(self.input)?,
            output: tiered(self.output)?,
            cache_read: tiered(self.cache_read)?,
            cache_write: tiered(self.cache_write)?,
            cache_write_1h: tiered(self.cache_write_1h)?,
        };
        Some(Era { when, rates })
    }
}

/// Reads a price; the outer `None` is for what is none.
#[expect(clippy::option_option, reason = "absent and unreadable are two things")]
fn tiered(text: Option<&RawValue>) -> Option<Option<TieredRate>> {
    let Some(text) = text else { return Some(None) };
    if !text.get().starts_with('{') {
        return Some(Some(TieredRate { base: Rate::for_million_tokens(text.get())?, tiers: Vec::new() }));
    }
    let text: TieredText<'_> = serde_json::from_str(text.get()).ok()?;
    let base = Rate::for_million_tokens(text.base.get())?;
    let mut tiers = text
        .tiers
        .iter()
        .map(|tier| Some((tier.start, Rate::for_million_tokens(tier.price.get())?)))
        .collect::<Option<Vec<_>>>()?;
    tiers.sort_unstable();
    Some(Some(TieredRate { base, tiers }))
}
