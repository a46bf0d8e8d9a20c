//! One call of a ledger, and its answer.

use std::collections::BTreeMap;

use trace_model::{
    context::{Asset, Decision},
    control::Reservation,
    id::{ControlRunId, IdSuffix, LaunchId, TurnId},
    launch::Launch,
    ledger::LedgerError,
    query::LaunchQuery,
    rows::{BoundaryRows, LaunchRows},
    turn::TurnRow,
    usage::{UsageRecord, UsageRow},
    usage_query::{CostEntry, PriceVersion, UsageCell, UsageQuery},
};

use super::step::price_versions;
use crate::suite::Handle;

/// A call of one of the methods of a ledger.
#[derive(Debug, Clone)]
pub(super) enum Call {
    Apply(BoundaryRows),
    Replace(LaunchRows),
    Reserve(Box<Reservation>),
    Release(ControlRunId),
    Reservation(ControlRunId),
    Reservations,
    Launch(LaunchId),
    Find(IdSuffix),
    Launches(LaunchQuery),
    Turns(LaunchId),
    Assets(TurnId),
    Decisions(TurnId),
    Usage(LaunchId),
    UsageCells(UsageQuery),
    Uncosted(PriceVersion, u32),
    SaveCosts(PriceVersion, Vec<CostEntry>),
}

/// What a ledger answered.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    Done,
    Reservations(Vec<Reservation>),
    Launches(Vec<Launch>),
    Turns(Vec<TurnRow>),
    Assets(Vec<Asset>),
    Decisions(Vec<Decision>),
    Usage(Vec<UsageRow>),
    /// What usage adds up to, and how many replays each launch has.
    UsageCells(Vec<UsageCell>, BTreeMap<LaunchId, u64>),
    Uncosted(Vec<UsageRecord>),
    /// How many records have a cost by the version that had none.
    Costed(usize),
    /// The error, with all that it says.
    Refused(String),
}

impl Call {
    /// Makes the call.
    pub(super) async fn make(&self, ledger: &Handle) -> Answer {
        match self {
            Self::Apply(rows) => answer(ledger.apply(rows).await, |()| Answer::Done),
            Self::Replace(rows) => answer(ledger.replace_launch(rows).await, |()| Answer::Done),
            Self::Reserve(reservation) => answer(ledger.reserve(reservation).await, |()| Answer::Done),
            Self::Release(run) => answer(ledger.release(run).await, |()| Answer::Done),
            Self::Reservation(run) => answer(ledger.reservation(run).await, |found| Answer::Reservations(vec![found])),
            Self::Reservations => answer(ledger.reservations().await, Answer::Reservations),
            Self::Launch(id) => answer(ledger.launch(*id).await, |launch| Answer::Launches(vec![launch])),
            Self::Find(suffix) => answer(ledger.find_launch(suffix).await, |launch| Answer::Launches(vec![launch])),
            Self::Launches(query) => answer(ledger.launches(query).await, Answer::Launches),
            Self::Turns(launch) => answer(ledger.turns(*launch).await, Answer::Turns),
            Self::Assets(turn) => answer(ledger.assets(*turn).await, Answer::Assets),
            Self::Decisions(turn) => answer(ledger.decisions(*turn).await, Answer::Decisions),
            Self::Usage(launch) => answer(ledger.usage(*launch).await, Answer::Usage),
            Self::UsageCells(query) => {
                let cells = ledger.usage_cells(query).await.unwrap();
                answer(ledger.replays().await, |replays| Answer::UsageCells(cells, replays))
            }
            Self::Uncosted(version, limit) => answer(ledger.uncosted(version, *limit).await, Answer::Uncosted),
            Self::SaveCosts(version, costs) => {
                let before = ledger.uncosted(version, u32::MAX).await.unwrap().len();
                let saved = ledger.save_costs(version, costs).await;
                let after = ledger.uncosted(version, u32::MAX).await.unwrap().len();
                answer(saved, |()| Answer::Costed(before - after))
            }
        }
    }
}

impl Answer {
    /// Tells whether a write was granted, or a read found something.
    pub(super) fn is_useful(&self) -> bool {
        match self {
            Self::Done => true,
            Self::Reservations(rows) => !rows.is_empty(),
            Self::Launches(rows) => !rows.is_empty(),
            Self::Turns(rows) => !rows.is_empty(),
            Self::Assets(rows) => !rows.is_empty(),
            Self::Decisions(rows) => !rows.is_empty(),
            Self::Usage(rows) => !rows.is_empty(),
            Self::UsageCells(cells, _) => !cells.is_empty(),
            Self::Uncosted(records) => !records.is_empty(),
            Self::Costed(records) => *records > 0,
            Self::Refused(_) => false,
        }
    }
}

fn answer<T>(result: Result<T, LedgerError>, good: impl FnOnce(T) -> Answer) -> Answer {
    result.map_or_else(|error| Answer::Refused(format!("{error:?}")), good)
}

/// Asks for everything that a ledger holds.
pub(super) async fn everything(ledger: &Handle) -> Vec<Answer> {
    let launches = ledger.launches(&LaunchQuery::default()).await.unwrap();
    let mut answers = Vec::new();
    for launch in &launches {
        let id = launch.header.id;
        for TurnRow { turn, .. } in ledger.turns(id).await.unwrap() {
            answers.push(Call::Assets(turn.id).make(ledger).await);
            answers.push(Call::Decisions(turn.id).make(ledger).await);
        }
        answers.push(Call::Turns(id).make(ledger).await);
        answers.push(Call::Usage(id).make(ledger).await);
    }
    answers.push(Answer::Launches(launches));
    answers.push(Call::Reservations.make(ledger).await);
    for version in price_versions() {
        answers.push(Call::Uncosted(version.clone(), u32::MAX).make(ledger).await);
        let query = UsageQuery { price_version: Some(version), ..UsageQuery::default() };
        answers.push(Call::UsageCells(query).make(ledger).await);
    }
    answers
}
