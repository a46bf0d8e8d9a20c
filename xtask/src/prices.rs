//! `cargo xtask prices`: takes the prices of tokens out of the data of the crate `genai-prices`.
//!
//! That crate looks prices up by patterns and computes in floating point, and has no way to ask for a price itself. So
//! `trace-prices` holds its data, reduced to what it prices, as text that a reviewer can read: one line per name,
//! sorted by name, with every number as it is written there. `cargo xtask ci` makes the table again and compares.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::MetadataCommand;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// Where the table is.
const TABLE: &str = "crates/trace-prices/data/prices.txt";

/// The prices that usage records have tokens for, and what the table calls them.
const PRICES: &[(&str, &str)] = &[
    ("input_mtok", "input"),
    ("output_mtok", "output"),
    ("cache_read_mtok", "cache_read"),
    ("cache_write_mtok", "cache_write"),
    ("cache_write_1h_mtok", "cache_write_1h"),
];

/// Makes the table anew.
pub(crate) fn write(root: &Path) -> Result<()> {
    let path = root.join(TABLE);
    fs::write(&path, table(root)?).with_context(|| format!("write {TABLE}"))
}

/// Fails unless the table is what [`write()`] makes.
pub(crate) fn check(root: &Path) -> Result<()> {
    let text = fs::read_to_string(root.join(TABLE)).with_context(|| format!("read {TABLE}"))?;
    ensure!(text == table(root)?, "{TABLE} is not that of genai-prices: `cargo xtask prices` makes it anew");
    Ok(())
}

fn table(root: &Path) -> Result<String> {
    let metadata = MetadataCommand::new().current_dir(root).other_options(["--locked".to_owned()]).exec()?;
    let package = metadata.packages.iter().find(|package| package.name == "genai-prices");
    let package = package.context("genai-prices is not among the dependencies")?;
    let data = package.manifest_path.with_file_name("data").join("prices.json");
    let data = fs::read(&data).with_context(|| format!("read {data}"))?;
    let providers: Vec<Provider<'_>> = serde_json::from_slice(&data).context("the data of genai-prices")?;
    let mut table = format!("# genai-prices {} sha256:{}\n", package.version, hex::encode(Sha256::digest(&data)));
    for (name, prices) in rows(&providers)? {
        writeln!(table, "{name}\t{prices}")?;
    }
    Ok(table)
}

#[derive(Deserialize)]
struct Provider<'a> {
    id: &'a str,
    #[serde(borrow)]
    models: Vec<Model<'a>>,
}

#[derive(Deserialize)]
struct Model<'a> {
    id: &'a str,
    #[serde(borrow)]
    r#match: &'a RawValue,
    #[serde(borrow)]
    prices: &'a RawValue,
}

/// The rules by which the crate finds a model. Only names that are spelled out matter here.
#[derive(Deserialize)]
struct Rule {
    equals: Option<String>,
    or: Option<Vec<Rule>>,
}

impl Rule {
    fn names(self) -> Vec<String> {
        let alternatives = self.or.into_iter().flatten().flat_map(Self::names);
        self.equals.into_iter().chain(alternatives.collect::<Vec<_>>()).collect()
    }
}

#[derive(Deserialize)]
struct Era<'a> {
    constraint: Option<Constraint>,
    #[serde(borrow)]
    prices: BTreeMap<&'a str, &'a RawValue>,
}

#[derive(Deserialize)]
struct Constraint {
    start_date: Option<String>,
    start_time: Option<String>,
    end_time: Option<String>,
}

/// Returns the lines by name: the prices of a model by its id, and `=` and the id by each other name that is spelled
/// out for it. The first model of a name has it, and an id goes before another model's further name.
fn rows(providers: &[Provider<'_>]) -> Result<BTreeMap<String, String>> {
    let mut rows = BTreeMap::new();
    for provider in providers {
        for model in &provider.models {
            if let Some(prices) = prices(model).with_context(|| format!("{}/{}", provider.id, model.id))? {
                rows.entry(format!("{}/{}", provider.id, model.id)).or_insert(prices);
            }
        }
        for model in &provider.models {
            let id = format!("{}/{}", provider.id, model.id);
            let rule: Rule = serde_json::from_str(model.r#match.get())?;
            if !rows.contains_key(&id) {
                continue;
            }
            for name in rule.names() {
                rows.entry(format!("{}/{name}", provider.id)).or_insert_with(|| format!("={}", model.id));
            }
        }
    }
    ensure!(rows.keys().all(|name| !name.contains(['\t', '\n'])), "a name breaks the lines of the table");
    Ok(rows)
}

/// Returns the model's prices of tokens, if it has any. A model that costs something by the request, too, is left out:
/// its tokens would not tell what it cost.
fn prices(model: &Model<'_>) -> Result<Option<String>> {
    let text = model.prices.get();
    let eras: Vec<Era<'_>> = if text.starts_with('[') {
        serde_json::from_str(text)?
    } else {
        vec![Era { constraint: None, prices: serde_json::from_str(text)? }]
    };
    let mut lines = Vec::new();
    let mut has_prices = false;
    if eras.iter().any(|era| era.prices.contains_key("requests_kcount")) {
        return Ok(None);
    }
    for era in eras {
        let mut fields: Vec<String> = era.constraint.as_ref().map(constraint).transpose()?.into_iter().collect();
        for (key, name) in PRICES {
            if let Some(price) = era.prices.get(key).filter(|price| price.get() != "null") {
                has_prices = true;
                fields.push(format!("\"{name}\":{}", price.get().split_ascii_whitespace().collect::<String>()));
            }
        }
        lines.push(format!("{{{}}}", fields.join(",")));
    }
    Ok(has_prices.then(|| format!("[{}]", lines.join(","))))
}

fn constraint(constraint: &Constraint) -> Result<String> {
    match constraint {
        Constraint { start_date: Some(date), start_time: None, end_time: None } => {
            Ok(format!("\"from\":\"{date}T00:00:00Z\""))
        }
        Constraint { start_date: None, start_time: Some(start), end_time: Some(end) } => {
            Ok(format!("\"daily\":[{},{}]", second_of_day(start)?, second_of_day(end)?))
        }
        _ => bail!("a condition of another kind"),
    }
}

fn second_of_day(time: &str) -> Result<u32> {
    let parts: Option<Vec<u32>> =
        time.strip_suffix('Z').map(|time| time.split(':').filter_map(|part| part.parse().ok()).collect());
    match parts.as_deref() {
        Some([hours, minutes, seconds]) => Ok(hours * 3600 + minutes * 60 + seconds),
        _ => bail!("{time:?} is no time of the day in UTC"),
    }
}
