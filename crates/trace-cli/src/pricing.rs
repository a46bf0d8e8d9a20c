//! The costs of what the ledger holds: computed where nobody has yet, and kept there.

use std::{collections::BTreeMap, fs, io, path::Path};

use anyhow::{Context, ensure};
use pollster::FutureExt;
use trace_capture::Home;
use trace_model::{
    id::LaunchId,
    launch::Launch,
    usage::{UsageRecord, UsageReport},
    usage_query::{CostEntry, PriceVersion, UsageCell},
    words::Provider,
};
use trace_prices::{ModelPrices, PriceTable};

use crate::{
    error::{Advise, WrongUsage},
    store::Store,
};

/// The file of the home that holds its owner's own prices.
const OWN_PRICES: &str = "prices.json";

/// How many records are priced at a time.
const BATCH: u32 = 10_000;

/// The prices, and their version.
#[derive(Debug)]
pub(crate) struct Pricing {
    table: PriceTable,
    pub(crate) version: PriceVersion,
}

impl Pricing {
    /// Returns the embedded prices with a user's own: those of the file, if one is given, else those of the home.
    pub(crate) fn read(home: Option<&Home>, file: Option<&Path>) -> anyhow::Result<Self> {
        let own = home.map(|home| home.root().join(OWN_PRICES));
        let mut table = PriceTable::embedded();
        let (path, is_asked_for) = match (file, &own) {
            (Some(file), _) => (file, true),
            (None, Some(own)) => (own.as_path(), false),
            (None, None) => return Ok(Self { version: table.version(), table }),
        };
        match fs::read_to_string(path) {
            Ok(json) => {
                table = table
                    .with_override(&json)
                    .with_context(|| WrongUsage(format!("{} holds no prices", path.display())))
                    .advise(|| {
                        "prices are in LiteLLM's format: {\"MODEL\": {\"input_cost_per_token\": 3e-06}}".to_owned()
                    })?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_asked_for => {}
            Err(error) => return Err(error).with_context(|| WrongUsage(format!("cannot read {}", path.display()))),
        }
        Ok(Self { version: table.version(), table })
    }

    /// Computes the cost of every record that has none by these prices yet, and keeps it in the ledger.
    pub(crate) fn price_all(&self, store: &Store, launches: &BTreeMap<LaunchId, Launch>) -> anyhow::Result<()> {
        let mut known: BTreeMap<(Provider, String), Option<ModelPrices>> = BTreeMap::new();
        let mut before = Vec::new();
        loop {
            let records = store.ledger.uncosted(&self.version, BATCH).block_on().context("cannot look for costs")?;
            let entry = |record: UsageRecord| {
                let launch = launches.get(&record.launch_id)?;
                Some(CostEntry { cost: self.cost(&mut known, launch, &record.report), record })
            };
            let entries: Vec<CostEntry> = records.into_iter().filter_map(entry).collect();
            if entries.is_empty() {
                // There are none, or only those of launches that came meanwhile: they wait for the next one who asks.
                return Ok(());
            }
            ensure!(entries != before, "the ledger keeps none of {}", entries.len());
            store.ledger.save_costs(&self.version, &entries).block_on().context("cannot keep costs")?;
            before = entries;
        }
    }

    fn cost(
        &self,
        known: &mut BTreeMap<(Provider, String), Option<ModelPrices>>,
        launch: &Launch,
        report: &UsageReport,
    ) -> Option<trace_model::money::NanoUsd> {
        let provider = &launch.header.provider;
        let model = report.model.clone()?;
        let prices =
            known.entry((provider.clone(), model)).or_insert_with_key(|(_, model)| self.table.prices(provider, model));
        let prices = prices.as_ref()?;
        let cost = match report.observed_at {
            Some(_) => prices.cost(report),
            // It was used while the launch ran.
            None => prices.cost(&UsageReport { observed_at: Some(launch.header.started_at), ..report.clone() }),
        };
        Some(cost?.amount)
    }

    /// Returns what a reader has to know of the costs of the cells.
    pub(crate) fn notes<'a>(
        &self,
        launches: &BTreeMap<LaunchId, Launch>,
        cells: impl Iterator<Item = &'a UsageCell>,
    ) -> Vec<String> {
        let sums = cells.filter(|cell| cell.sum.unlisted > 0);
        let may_be_dearer = |cell: &&UsageCell| {
            let (Some(launch), Some(model)) = (launches.get(&cell.launch_id), cell.model.as_deref()) else {
                return false;
            };
            let sum = &cell.sum;
            let prompts = [sum.input_tokens, sum.cache_read_tokens, sum.cache_write_tokens];
            let prompts = prompts.into_iter().flatten().fold(0, u64::saturating_add);
            let prices = self.table.prices(&launch.header.provider, model);
            prices.is_some_and(|prices| prices.has_tier_below(prompts))
        };
        let mut models: Vec<&str> = sums.filter(may_be_dearer).filter_map(|cell| cell.model.as_deref()).collect();
        models.sort_unstable();
        models.dedup();
        let note = |model| {
            format!(
                "some usage of {model} is known for several requests together: it is priced as that of short prompts"
            )
        };
        models.into_iter().map(note).collect()
    }
}
