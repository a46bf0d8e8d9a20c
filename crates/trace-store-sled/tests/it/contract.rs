//! The contract, by one handle at a time.

use std::{path::Path, sync::Arc};

use pollster::block_on;
use trace_model::ledger::{Ledger, LedgerError};
use trace_store_sled::SledLedger;
use trace_testkit::samples;

fn open(folder: &Path) -> Result<Arc<dyn Ledger>, LedgerError> {
    Ok(Arc::new(SledLedger::open(&folder.join("ledger.sled"))?))
}
trace_testkit::ledger_conformance!(open, exclusive);

#[test]
fn a_clone_shares_its_state() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SledLedger::open(&folder.path().join("ledger.sled")).unwrap();
    let clone = ledger.clone();
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
    drop(ledger);
    assert_eq!(block_on(clone.launch(samples::launch_id(1))).unwrap(), samples::launch(1));
}
