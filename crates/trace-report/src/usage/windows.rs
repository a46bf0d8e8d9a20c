//! Windows of five hours, as providers limit the use of their subscriptions by.
//!
//! A window begins at the hour (in UTC) of the first request after the one before it was over, and lasts five hours.
//! Each provider has windows of its own. Where the usage between two windows is nothing, there is none.

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use core::time::Duration;

use serde::Serialize;
use trace_model::{
    money::NanoUsd,
    timestamp::Timestamp,
    usage_query::{PERIOD_MICROS, UsageCell},
    words::Provider,
};

use super::{Group, Subject, UsageParts, totals::UsageTotals};

const HOUR: i64 = 60 * 60 * 1_000_000;

/// How long a window is.
const WINDOW: i64 = 5 * HOUR;

/// One window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Window {
    /// When it begins.
    pub starts_at: Timestamp,
    /// When it is over.
    pub ends_at: Timestamp,
    /// Whether it is not over yet.
    pub is_running: bool,
    /// The time until it is over, of one that is running; it follows from the others.
    #[serde(skip)]
    pub left: Option<Duration>,
    /// The tokens of an hour, from its first quarter of an hour with requests to the last one, or to this moment.
    pub tokens_per_hour: Option<u64>,
    /// The computed cost of an hour.
    pub cost_usd_per_hour: Option<NanoUsd>,
    /// The tokens at its end, if it goes on like that; for a running one.
    pub projected_total_tokens: Option<u64>,
    /// The computed cost at its end.
    pub projected_cost_usd: Option<NanoUsd>,
}

/// The cells of each quarter of an hour.
type Periods<'a> = Vec<(Timestamp, Vec<&'a UsageCell>)>;

/// Returns the wanted cells of each window that has any. Cells without a time are in none.
///
/// A window is a matter of all usage of its provider, whatever is wanted of it.
pub(super) fn groups<'a>(parts: &UsageParts<'a>) -> Vec<(Option<String>, Group<'a>)> {
    let mut providers: BTreeMap<&Provider, BTreeMap<Timestamp, Vec<&'a UsageCell>>> = BTreeMap::new();
    for cell in parts.cells.iter().filter(|cell| cell.sum.records > 0) {
        if let (Some(launch), Some(period)) = (parts.launches.get(&cell.launch_id), cell.period) {
            let periods = providers.entry(&launch.header.provider).or_default();
            periods.entry(period).or_default().push(cell);
        }
    }
    let mut groups = Vec::new();
    for (provider, periods) in providers {
        let mut windows: Vec<(Timestamp, Periods<'_>)> = Vec::new();
        for (period, cells) in periods {
            match windows.last_mut() {
                Some((start, periods)) if period.as_micros() < start.as_micros() + WINDOW => {
                    periods.push((period, cells));
                }
                _ => windows.push((hour_of(period), Vec::from([(period, cells)]))),
            }
        }
        groups.extend(windows.into_iter().filter_map(|(start, periods)| group(parts, provider, start, periods)));
    }
    groups
}

fn group<'a>(
    parts: &UsageParts<'a>,
    provider: &Provider,
    starts_at: Timestamp,
    mut periods: Periods<'a>,
) -> Option<(Option<String>, Group<'a>)> {
    for (_, cells) in &mut periods {
        cells.retain(|cell| parts.wants(cell));
    }
    periods.retain(|(_, cells)| !cells.is_empty());
    let used = (periods.first()?.0, periods.last()?.0);
    let cells: Vec<&UsageCell> = periods.into_iter().flat_map(|(_, cells)| cells).collect();
    let totals = UsageTotals::of(parts.launches, &cells);
    let window = Window::new(starts_at, used, parts.now, &totals);
    Some((None, (Subject { provider: Some(provider.clone()), window: Some(window), ..Subject::default() }, cells)))
}

impl Window {
    fn new(starts_at: Timestamp, used: (Timestamp, Timestamp), now: Timestamp, totals: &UsageTotals) -> Self {
        let end = starts_at.as_micros() + WINDOW;
        let is_running = (starts_at.as_micros()..end).contains(&now.as_micros());
        let until = if is_running { now.as_micros() } else { used.1.as_micros() + PERIOD_MICROS };
        // Less than a quarter of an hour is too little to tell a rate from.
        let taken = (until - used.0.as_micros()).max(PERIOD_MICROS);
        let left = if is_running { end - now.as_micros() } else { 0 };
        let per_hour = |amount: u64| scaled(amount, HOUR, taken);
        let projected = |amount: u64| is_running.then(|| amount.saturating_add(scaled(amount, left, taken)));
        let money = |amount: Option<u64>| amount.map(NanoUsd::from_nanos);
        let cost = totals.cost_usd.map(NanoUsd::as_nanos);
        Self {
            starts_at,
            ends_at: Timestamp::from_micros(end).unwrap_or(starts_at),
            is_running,
            left: u64::try_from(left).ok().filter(|_| is_running).map(Duration::from_micros),
            tokens_per_hour: totals.total_tokens.map(per_hour),
            cost_usd_per_hour: money(cost.map(per_hour)),
            projected_total_tokens: totals.total_tokens.and_then(projected),
            projected_cost_usd: money(cost.and_then(projected)),
        }
    }
}

/// Returns the amount of `taken` as one of `other`.
fn scaled(amount: u64, other: i64, taken: i64) -> u64 {
    let part = |micros: i64| u128::from(micros.unsigned_abs());
    u64::try_from(u128::from(amount) * part(other) / part(taken).max(1)).unwrap_or(u64::MAX)
}

fn hour_of(at: Timestamp) -> Timestamp {
    let micros = at.as_micros();
    Timestamp::from_micros(micros - micros.rem_euclid(HOUR)).unwrap_or(at)
}

#[cfg(test)]
mod tests;
