//! The usage records of a launch: merged by key, finer ones instead of coarser ones, remainders kept true.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};

use crate::{
    id::TurnId,
    money::NanoUsd,
    usage::{UsageOrigin, UsageRecord, UsageReport, base_model},
};

/// The records of a launch by key.
#[derive(Debug, Default, Clone)]
pub(super) struct UsageFold {
    records: BTreeMap<String, UsageRecord>,
    /// What each turn has of each origin, with the keys; requests are too many to be listed, and none replaces them.
    origins: BTreeMap<Option<TurnId>, BTreeMap<UsageOrigin, BTreeSet<String>>>,
    /// The turns that have remainders, which are few: each new request looks at those from its turn on.
    with_remainders: BTreeSet<Option<TurnId>>,
}

impl UsageFold {
    pub(super) fn get(&self, key: &str) -> Option<&UsageRecord> {
        self.records.get(key)
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &UsageRecord> {
        self.records.values()
    }

    pub(super) fn into_records(self) -> BTreeMap<String, UsageRecord> {
        self.records
    }

    /// Adds a record and returns the keys of all records that are new, changed or gone because of it.
    pub(super) fn add(&mut self, mut record: UsageRecord) -> BTreeSet<String> {
        let key = record.report.key.clone();
        let origin = record.report.origin();
        if let Some(old) = self.records.get(&key) {
            // A record stays with the turn that it was first seen in.
            record.turn_id = old.turn_id.or(record.turn_id);
        }
        let of_turn = self.origins.entry(record.turn_id).or_default();
        if of_turn.keys().any(|finer| finer.supersedes(origin)) {
            return BTreeSet::new();
        }
        let mut changed = BTreeSet::new();
        for (_, keys) in of_turn.extract_if(.., |coarser, _| origin.supersedes(*coarser)) {
            changed.extend(keys);
        }
        let listed = of_turn.entry(origin).or_default();
        if origin != UsageOrigin::Request {
            listed.insert(key.clone());
        }
        if origin == UsageOrigin::Remainder {
            self.with_remainders.insert(record.turn_id);
        }
        for replaced in &changed {
            self.records.remove(replaced);
        }
        let before = self.records.remove(&key);
        let record = match &before {
            Some(before) => UsageRecord::merge(before, &record),
            None => record,
        };
        if origin == UsageOrigin::Request {
            changed.extend(self.lessen_remainders(&record, before.as_ref().map(|before| &before.report)));
        }
        self.records.insert(key.clone(), record);
        changed.insert(key);
        changed
    }

    /// Takes what a record adds from the remainders that held it, and returns their keys.
    ///
    /// A running total covers the turn that it ended and all before it. A finer record that comes after the total was
    /// stated is part of it: the total stays what the provider said, so the remainder becomes less, never negative.
    /// What the first total did not hold, the next one does. Where no remainder is of the record's model, all are
    /// looked at.
    fn lessen_remainders(&mut self, record: &UsageRecord, before: Option<&UsageReport>) -> Vec<String> {
        let model = record.report.model.as_deref().map(base_model);
        let mut holders: Vec<(bool, String)> = self
            .with_remainders
            .range(record.turn_id..)
            .filter_map(|turn| self.origins.get(turn)?.get(&UsageOrigin::Remainder))
            .flatten()
            .map(|key| {
                let of = self.records.get(key).and_then(|remainder| remainder.report.model.as_deref());
                (of.map(base_model) == model, key.clone())
            })
            .collect();
        if holders.iter().any(|(matches, _)| *matches) {
            holders.retain(|(matches, _)| *matches);
        }
        let old = before.map(classes).unwrap_or_default();
        let mut added: [u64; 7] = classes(&record.report).map(Option::unwrap_or_default);
        for (added, old) in added.iter_mut().zip(old) {
            *added = added.saturating_sub(old.unwrap_or(0));
        }
        let old_cost = before.and_then(|before| before.reported_cost_usd).unwrap_or(NanoUsd::ZERO);
        let mut cost = record.report.reported_cost_usd.unwrap_or(NanoUsd::ZERO).saturating_sub(old_cost);
        for (_, key) in &holders {
            let Some(holder) = self.records.get_mut(key) else { continue };
            for (rest, added) in classes_mut(&mut holder.report).into_iter().zip(&mut added) {
                let taken = rest.unwrap_or(0).min(*added);
                *rest = rest.map(|rest| rest - taken);
                *added -= taken;
            }
            let rest = &mut holder.report.reported_cost_usd;
            let taken = rest.unwrap_or(NanoUsd::ZERO).min(cost);
            *rest = rest.map(|rest| rest.saturating_sub(taken));
            cost = cost.saturating_sub(taken);
        }
        holders.into_iter().map(|(_, key)| key).collect()
    }
}

/// The numbers of a report that add up.
fn classes(report: &UsageReport) -> [Option<u64>; 7] {
    [
        report.input_tokens,
        report.cache_read_tokens,
        report.cache_write_tokens,
        report.cache_write_5m_tokens,
        report.cache_write_1h_tokens,
        report.output_tokens,
        report.reasoning_tokens,
    ]
}

fn classes_mut(report: &mut UsageReport) -> [&mut Option<u64>; 7] {
    [
        &mut report.input_tokens,
        &mut report.cache_read_tokens,
        &mut report.cache_write_tokens,
        &mut report.cache_write_5m_tokens,
        &mut report.cache_write_1h_tokens,
        &mut report.output_tokens,
        &mut report.reasoning_tokens,
    ]
}
