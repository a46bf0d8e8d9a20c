//! What a ledger owes that outlives its handles.

use std::sync::Arc;

use trace_model::{
    Entity,
    ledger::LedgerError,
    money::NanoUsd,
    rows::{BoundaryRows, LaunchChange},
    turn::Outcome,
    usage_query::{CostEntry, PriceVersion, UsageQuery},
};

use super::{Handle, Rows, assert_refused};
use crate::samples;

/// Everything that was written, and nothing that was refused, is there for the next one who opens the ledger.
pub async fn what_was_written_is_there_after_reopening(open: Box<dyn Fn() -> Handle>) {
    let whole = samples::whole_launch(2);
    {
        let ledger = open();
        ledger.apply(&samples::beginning(1)).await.unwrap();
        ledger.replace_launch(&whole).await.unwrap();
        ledger.apply(&samples::usage_boundary(1, [samples::usage_record(1, Some(9), "a")])).await.unwrap_err();
    }
    let ledger = open();
    Rows::of(&ledger, samples::launch_id(2)).await.assert_are(&whole);
    assert_eq!(ledger.turns(samples::launch_id(1)).await.unwrap()[0].turn, samples::turn(1, 1));
    assert_eq!(ledger.usage(samples::launch_id(1)).await.unwrap(), []);
    let taken = LedgerError::already_exists(Entity::Launch, samples::launch_id(1));
    assert_refused(ledger.apply(&samples::beginning(1)).await, &taken);
}

/// Two handles that were opened apart share one state, in both directions.
pub async fn two_handles_see_what_each_other_wrote(open: Box<dyn Fn() -> Handle>) {
    let (one, other) = (open(), open());
    one.apply(&samples::beginning(1)).await.unwrap();
    assert_eq!(other.launch(samples::launch_id(1)).await.unwrap(), samples::launch(1));
    let end = samples::ended(samples::launch(1), Outcome::Completed);
    other.apply(&BoundaryRows::of_launch(LaunchChange::Updated(end.clone()))).await.unwrap();
    assert_eq!(one.launch(samples::launch_id(1)).await.unwrap(), end);
    let again = BoundaryRows::of_launch(LaunchChange::Updated(samples::launch(1)));
    let ended = LedgerError::Conflict { entity: Entity::Launch, id: end.header.id.to_string(), reason: "it has ended" };
    assert_refused(one.apply(&again).await, &ended);
}

/// Costs are as durable as rows, and what was added up before, or was not, adds up to the same.
pub async fn costs_and_cells_are_there_after_reopening(open: Box<dyn Fn() -> Handle>) {
    let version = PriceVersion(String::from("prices 1"));
    let query = UsageQuery { price_version: Some(version.clone()), ..UsageQuery::default() };
    let first = {
        let ledger = open();
        ledger.replace_launch(&samples::whole_launch(1)).await.unwrap();
        ledger.replace_launch(&samples::whole_launch(2)).await.unwrap();
        let record = samples::usage_record(1, Some(1), "msg-1-1");
        let cost = Some(NanoUsd::from_nanos(5));
        ledger.save_costs(&version, &[CostEntry { record, cost }]).await.unwrap();
        ledger.usage_cells(&query).await.unwrap()
    };
    assert_eq!(first.iter().map(|cell| cell.sum.priced).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(open().usage_cells(&query).await.unwrap(), first);
    // This is not asked for before the ledger is closed.
    open().apply(&samples::beginning(3)).await.unwrap();
    open().apply(&samples::usage_boundary(3, [samples::usage_record(3, None, "a")])).await.unwrap();
    let second = open().usage_cells(&query).await.unwrap();
    assert_eq!(second[..2], first);
    assert_eq!((second.len(), second[2].sum.output_tokens), (3, Some(40)));
    assert_eq!(open().uncosted(&version, 9).await.unwrap().len(), 4);
}

/// What one handle added up is no longer true once the other one wrote, and both know.
pub async fn two_handles_add_up_what_each_other_wrote(open: Box<dyn Fn() -> Handle>) {
    let handles = [open(), open()];
    let version = PriceVersion(String::from("prices 1"));
    let query = UsageQuery { price_version: Some(version.clone()), ..UsageQuery::default() };
    handles[0].apply(&samples::beginning(1)).await.unwrap();
    for (round, n) in (0..6).zip([0, 1].into_iter().cycle()) {
        let (writer, reader) = (&handles[n], &handles[1 - n]);
        let record = samples::usage_record(1, None, &format!("{round}"));
        writer.apply(&samples::usage_boundary(1, [record.clone()])).await.unwrap();
        let before = reader.usage_cells(&query).await.unwrap();
        assert_eq!((before[0].sum.records, before[0].sum.priced), (round + 1, round));
        assert_eq!(writer.usage_cells(&query).await.unwrap(), before);
        let cost = Some(NanoUsd::from_nanos(1));
        reader.save_costs(&version, &[CostEntry { record, cost }]).await.unwrap();
        assert_eq!(writer.usage_cells(&query).await.unwrap()[0].sum.priced, round + 1);
    }
}

/// While a ledger that only one may have is open, another opening is told who stands in its way; it succeeds as soon as
/// the last handle is gone.
pub async fn a_ledger_that_is_open_is_busy(open: Box<dyn Fn() -> Result<Handle, LedgerError>>) {
    let first = open().unwrap();
    let last = Arc::clone(&first);
    drop(first);
    let error = open().expect_err("the ledger is open");
    assert!(matches!(&error, LedgerError::Busy { place } if !place.is_empty()), "{error:?}");
    last.apply(&samples::beginning(1)).await.unwrap();
    drop(last);
    let again = open().unwrap();
    assert_eq!(again.launch(samples::launch_id(1)).await.unwrap(), samples::launch(1));
}
