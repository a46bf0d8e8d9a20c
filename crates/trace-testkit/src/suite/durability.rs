//! What a ledger owes that outlives its handles.

use std::sync::Arc;

use trace_model::{
    Entity,
    ledger::LedgerError,
    rows::{BoundaryRows, LaunchChange},
    turn::Outcome,
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
