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
    /// The keys of each turn that a finer record can replace or be replaced by, and of the remainders; requests are
    /// too many to be listed.
    coarse: BTreeMap<Option<TurnId>, BTreeSet<String>>,
    /// The turns that hold a record of a request or a remainder.
    keyed_turns: BTreeSet<Option<TurnId>>,
}

impl UsageFold {
    pub(super) fn get(&self, key: &str) -> Option<&UsageRecord> {
        self.records.get(key)
    }

    pub(super) fn into_records(self) -> BTreeMap<String, UsageRecord> {
        self.records
    }

    /// Adds a record and returns the keys of all records that are new, changed or gone because of it.
    pub(super) fn add(&mut self, mut record: UsageRecord) -> BTreeSet<String> {
        let key = record.report.key.clone();
        let origin = record.report.origin();
        let old = self.records.get(&key);
        if let Some(old) = old {
            // A record stays with the turn that it was first seen in.
            record.turn_id = old.turn_id.or(record.turn_id);
        }
        let turn = record.turn_id;
        if self.is_superseded(turn, origin) {
            return BTreeSet::new();
        }
        let mut changed = self.remove_superseded(turn, origin);
        let before = self.records.remove(&key);
        let before_report = before.as_ref().map(|before| before.report.clone());
        // The provider's figure of a turn is replaced by its next figure; any other record is completed.
        let record = match before {
            Some(before) if origin != UsageOrigin::Turn => UsageRecord::merge(&before, &record),
            _ => record,
        };
        if origin == UsageOrigin::Request {
            self.keyed_turns.insert(turn);
            changed.extend(self.lessen_remainders(&record, before_report.as_ref()));
        } else {
            self.coarse.entry(turn).or_default().insert(key.clone());
            if origin == UsageOrigin::Remainder {
                self.keyed_turns.insert(turn);
            }
        }
        self.records.insert(key.clone(), record);
        changed.insert(key);
        changed
    }

    fn is_superseded(&self, turn: Option<TurnId>, origin: UsageOrigin) -> bool {
        let by_key = self.keyed_turns.contains(&turn) && UsageOrigin::Request.supersedes(origin);
        by_key || self.coarse_keys(turn).any(|key| UsageOrigin::of_key(key).supersedes(origin))
    }

    fn remove_superseded(&mut self, turn: Option<TurnId>, origin: UsageOrigin) -> BTreeSet<String> {
        let replaced: BTreeSet<String> =
            self.coarse_keys(turn).filter(|key| origin.supersedes(UsageOrigin::of_key(key))).cloned().collect();
        for key in &replaced {
            self.records.remove(key);
        }
        if let Some(keys) = self.coarse.get_mut(&turn) {
            keys.retain(|key| !replaced.contains(key));
        }
        replaced
    }

    fn coarse_keys(&self, turn: Option<TurnId>) -> impl Iterator<Item = &String> {
        self.coarse.get(&turn).into_iter().flatten()
    }

    /// Takes what a record adds from the remainders that held it, and returns their keys.
    ///
    /// A running total covers the turn that it ended and all before it. A finer record that comes after the total was
    /// stated is part of it: the total stays what the provider said, so the remainder becomes less, never negative. What
    /// the first total did not hold, the next one does. Where no remainder is of the record's model, all are looked at.
    fn lessen_remainders(&mut self, record: &UsageRecord, before: Option<&UsageReport>) -> Vec<String> {
        let model = record.report.model.as_deref().map(base_model);
        let mut holders: Vec<(bool, String)> = self
            .coarse
            .range(record.turn_id..)
            .flat_map(|(_, keys)| keys)
            .filter(|key| UsageOrigin::of_key(key) == UsageOrigin::Remainder)
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
