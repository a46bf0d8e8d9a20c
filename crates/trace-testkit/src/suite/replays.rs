//! Which record of a request counts in what usage adds up to.

use trace_model::{rows::LaunchRows, usage::UsageRecord};

use super::{
    Handle, apply_all,
    cells::{OPUS, assert_are, cells, deletion, spent},
};
use crate::samples::{self, usage_boundary};

/// How many seconds a period has.
const PERIOD: u32 = 900;

/// Returns the record as one of a request that other launches may have, too.
fn of_request(request: &str, mut record: UsageRecord) -> UsageRecord {
    record.report.request_key = Some(String::from(request));
    record
}

/// A replay counts nothing, and is counted as one; it counts as soon as the record that counted is gone, and no more
/// when an earlier one comes.
pub async fn replays_come_and_go_in_the_cells(ledger: Handle) {
    apply_all(&ledger, [1, 2, 3].map(samples::beginning)).await;
    let shared = |n, at| of_request("request", spent(n, "a", Some(at), 10 + u64::from(n)));
    let own = |n| of_request(&format!("own {n}"), spent(n, "b", Some(0), 100));
    let counted = async |expected: [(Option<u64>, u64); 3]| {
        let found: Vec<_> =
            cells(&ledger).await.iter().map(|cell| (cell.sum.output_tokens, cell.sum.replays)).collect();
        assert_eq!(found, expected);
    };
    for n in [1, 2, 3] {
        ledger.apply(&usage_boundary(n, [shared(n, n), own(n)])).await.unwrap();
    }
    counted([(Some(111), 0), (Some(100), 1), (Some(100), 1)]).await;
    // The one that counts becomes one of another request, …
    ledger.apply(&usage_boundary(1, [of_request("another", spent(1, "a", Some(1), 11))])).await.unwrap();
    counted([(Some(111), 0), (Some(112), 0), (Some(100), 1)]).await;
    // … comes back, but later than the others, …
    ledger.apply(&usage_boundary(1, [shared(1, 9)])).await.unwrap();
    counted([(Some(100), 1), (Some(112), 0), (Some(100), 1)]).await;
    // … is put before them with all its launch, …
    let mut whole = LaunchRows { launch: samples::launch(1), ..samples::whole_launch(1) };
    whole.usage = [shared(1, 0), own(1)].map(|record| (record.report.key.clone(), record)).into();
    ledger.replace_launch(&whole).await.unwrap();
    counted([(Some(111), 0), (Some(100), 1), (Some(100), 1)]).await;
    // … has no request any more, …
    ledger.apply(&usage_boundary(1, [spent(1, "a", Some(0), 11)])).await.unwrap();
    counted([(Some(111), 0), (Some(112), 0), (Some(100), 1)]).await;
    ledger.apply(&usage_boundary(1, [shared(1, 0)])).await.unwrap();
    counted([(Some(111), 0), (Some(100), 1), (Some(100), 1)]).await;
    // … and is gone, alone and with its launch's other records.
    ledger.apply(&deletion(1, "a")).await.unwrap();
    counted([(Some(100), 0), (Some(112), 0), (Some(100), 1)]).await;
    ledger.apply(&usage_boundary(1, [shared(1, 0)])).await.unwrap();
    counted([(Some(111), 0), (Some(100), 1), (Some(100), 1)]).await;
    whole.usage = [(String::from("b"), own(1))].into();
    ledger.replace_launch(&whole).await.unwrap();
    counted([(Some(100), 0), (Some(112), 0), (Some(100), 1)]).await;
}

/// Of records of one request in one launch, one counts.
pub async fn a_request_counts_once_within_a_launch_too(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let shared = |key, at, output| of_request("request", spent(1, key, Some(at), output));
    ledger.apply(&usage_boundary(1, [shared("b", 1, 5), shared("a", PERIOD, 7)])).await.unwrap();
    assert_are(&cells(&ledger).await, &[(1, Some(0), OPUS, "main", Some(5)), (1, Some(1), OPUS, "main", None)]);
    ledger.apply(&deletion(1, "b")).await.unwrap();
    assert_are(&cells(&ledger).await, &[(1, Some(1), OPUS, "main", Some(7))]);
}

/// Records of one request may part in one write, and meet in one.
pub async fn records_of_a_request_part_and_meet_in_one_write(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let of = |a: &str, b: &str| {
        usage_boundary(1, [of_request(a, spent(1, "a", Some(1), 1)), of_request(b, spent(1, "b", Some(2), 20))])
    };
    let counted = async |output, replays| {
        let sum = cells(&ledger).await[0].sum;
        assert_eq!((sum.output_tokens, sum.replays), (Some(output), replays));
    };
    ledger.apply(&of("one", "one")).await.unwrap();
    counted(1, 1).await;
    ledger.apply(&of("two", "three")).await.unwrap();
    counted(21, 0).await;
    // They change places, which is nothing to anybody else, …
    ledger.apply(&of("three", "two")).await.unwrap();
    counted(21, 0).await;
    // … and meet.
    ledger.apply(&of("four", "four")).await.unwrap();
    counted(1, 1).await;
    ledger.apply(&of("four", "five")).await.unwrap();
    counted(21, 0).await;
}
