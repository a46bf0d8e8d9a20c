//! The cost that the ledger keeps of a session. Nothing is priced here.

use std::collections::{BTreeMap, BTreeSet};

use pollster::FutureExt;
use trace_model::{
    id::{LaunchId, TurnId},
    launch::Launch,
    ledger::LedgerError,
    money::NanoUsd,
    query::LaunchQuery,
    usage::{UsageOrigin, UsageReport, UsageRow},
    usage_query::{PriceVersion, UsageCell, UsageQuery},
    words::Quality,
};
use trace_report::usage::totals::UsageTotals;

use super::parts::Stored;
use crate::{pricing::Pricing, store::Store};

/// Returns what is kept of the cost of a session of a provider.
pub(super) fn of_session(store: &Store, session: &str) -> Option<Stored> {
    let sessions = BTreeSet::from([session.to_owned()]);
    let launches = LaunchQuery { sessions, ..LaunchQuery::default() };
    let found = store.ledger.launches(&launches).block_on().ok()?;
    of_launches(store, found, launches)
}

/// Returns what is kept of the cost of a launch.
pub(super) fn of_launch(store: &Store, launch: &Launch) -> Option<Stored> {
    if let Some(session) = &launch.provider_session_id {
        return of_session(store, session);
    }
    let of_run = LaunchQuery { runs: [launch.header.run_id.clone()].into(), ..LaunchQuery::default() };
    of_launches(store, vec![launch.clone()], of_run)
}

/// Returns what is kept of the cost of the launches, which are among those of the query: the computed cost, else what
/// the providers said.
fn of_launches(store: &Store, launches: Vec<Launch>, query: LaunchQuery) -> Option<Stored> {
    let price_version = Pricing::read(Some(&store.home), None).ok().map(|pricing| pricing.version);
    let launches: BTreeMap<LaunchId, Launch> = launches.into_iter().map(|launch| (launch.header.id, launch)).collect();
    computed(store, &launches, query, price_version).or_else(|| said(store, &launches).ok().flatten())
}

fn computed(
    store: &Store,
    launches: &BTreeMap<LaunchId, Launch>,
    query: LaunchQuery,
    price_version: Option<PriceVersion>,
) -> Option<Stored> {
    let query = UsageQuery { launches: query, price_version, ..UsageQuery::default() };
    let cells = store.ledger.usage_cells(&query).block_on().ok()?;
    let cells: Vec<&UsageCell> = cells.iter().filter(|cell| launches.contains_key(&cell.launch_id)).collect();
    let totals = UsageTotals::of(launches, &cells);
    Some(Stored { cost: totals.cost_usd?, quality: totals.cost_quality, said_by: None })
}

fn said(store: &Store, launches: &BTreeMap<LaunchId, Launch>) -> Result<Option<Stored>, LedgerError> {
    let mut rows = Vec::new();
    for id in launches.keys() {
        rows.extend(store.ledger.usage(*id).block_on()?);
    }
    let who = launches.values().next().map(|launch| launch.header.provider.to_string());
    Ok(said_of(&rows).map(|(cost, quality)| Stored { cost, quality, said_by: who }))
}

/// Returns what providers said that the rows cost; a lower bound where they said it of some of them only.
fn said_of(rows: &[UsageRow]) -> Option<(NanoUsd, Quality)> {
    let counted = || rows.iter().filter(|row| row.replay_of.is_none()).map(|row| &row.record);
    let cost = counted().filter_map(|record| record.report.reported_cost_usd).reduce(NanoUsd::saturating_add)?;
    // What a result says in money is of all that its turn used.
    let is_of_result = |report: &UsageReport| {
        matches!(report.origin(), UsageOrigin::Cost | UsageOrigin::Remainder) && report.reported_cost_usd.is_some()
    };
    let turns: BTreeSet<Option<TurnId>> =
        counted().filter(|record| is_of_result(&record.report)).map(|record| record.turn_id).collect();
    let has_cost = |turn: Option<TurnId>, report: &UsageReport| {
        report.reported_cost_usd.is_some() || turns.contains(&turn) || is_nothing(report)
    };
    let is_whole = counted().all(|record| has_cost(record.turn_id, &record.report));
    Some((cost, if is_whole { Quality::Exact } else { Quality::LowerBound }))
}

fn is_nothing(report: &UsageReport) -> bool {
    !report.has_tokens() && report.quality == Quality::Exact
}

#[cfg(test)]
mod tests {
    use trace_model::{usage::UsageRecord, words::Grain};
    use uuid::Uuid;

    use super::*;

    fn row(key: &str, turn: u128, said: Option<u64>) -> UsageRow {
        let report = UsageReport {
            output_tokens: Some(5),
            reported_cost_usd: said.map(NanoUsd::from_nanos),
            ..UsageReport::new(key, Grain::Request, Quality::Exact)
        };
        let turn_id = Some(TurnId::from_uuid(Uuid::from_u128(turn)));
        let launch_id = LaunchId::from_uuid(Uuid::from_u128(1));
        UsageRow { record: UsageRecord { launch_id, turn_id, report }, replay_of: None }
    }

    #[test]
    fn what_a_provider_said_of_a_part_is_a_lower_bound() {
        let check = |rows: &[UsageRow], expected: Option<(u64, Quality)>| {
            assert_eq!(said_of(rows), expected.map(|(nanos, quality)| (NanoUsd::from_nanos(nanos), quality)));
        };
        check(&[], None);
        check(&[row("a", 1, None)], None);
        check(&[row("a", 1, Some(3)), row("b", 1, Some(4))], Some((7, Quality::Exact)));
        check(&[row("a", 1, Some(3)), row("b", 1, None)], Some((3, Quality::LowerBound)));
        // A result says it of its turn, and not of the next one.
        let result = row("cost:turn_1", 1, Some(9));
        check(&[row("a", 1, None), result.clone()], Some((9, Quality::Exact)));
        check(&[row("a", 1, None), row("remainder:1:opus", 1, Some(9))], Some((9, Quality::Exact)));
        check(
            &[row("a", 1, None), row("remainder:1:opus", 1, None), row("b", 1, Some(9))],
            Some((9, Quality::LowerBound)),
        );
        check(&[row("a", 1, None), result.clone(), row("b", 2, None)], Some((9, Quality::LowerBound)));
        let replay = UsageRow { replay_of: Some(LaunchId::from_uuid(Uuid::from_u128(2))), ..row("b", 2, None) };
        check(&[row("a", 1, None), result, replay], Some((9, Quality::Exact)));
    }
}
