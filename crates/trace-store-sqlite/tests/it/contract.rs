//! The contract, with the write-ahead log and without.

use std::{path::Path, sync::Arc};

use pollster::block_on;
use trace_model::ledger::Ledger;
use trace_store_sqlite::{SqliteLedger, SqliteOptions, WriteAhead};
use trace_testkit::samples;

fn open(folder: &Path) -> Arc<dyn Ledger> {
    Arc::new(SqliteLedger::open(&folder.join("ledger.db")).unwrap())
}
trace_testkit::ledger_conformance!(open, reopens);

mod without_write_ahead_log {
    use super::*;

    fn open(folder: &Path) -> Arc<dyn Ledger> {
        let options = SqliteOptions { write_ahead: WriteAhead::Never, ..SqliteOptions::default() };
        Arc::new(SqliteLedger::open_with(&folder.join("ledger.db"), options).unwrap())
    }
    trace_testkit::ledger_conformance!(open, reopens);
}

#[test]
fn a_clone_shares_its_state() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SqliteLedger::open(&folder.path().join("ledger.db")).unwrap();
    let clone = ledger.clone();
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
    drop(ledger);
    assert_eq!(block_on(clone.launch(samples::launch_id(1))).unwrap(), samples::launch(1));
}
