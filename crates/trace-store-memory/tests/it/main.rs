//! The memory ledger under the suite of the contract.

use std::{path::Path, sync::Arc};

use pollster::block_on;
use trace_model::ledger::Ledger;
use trace_store_memory::MemoryLedger;
use trace_testkit::samples;

fn open(_: &Path) -> Arc<dyn Ledger> {
    Arc::new(MemoryLedger::new())
}
trace_testkit::ledger_conformance!(open);

#[test]
fn a_clone_shares_its_state() {
    let ledger = MemoryLedger::new();
    let clone = ledger.clone();
    block_on(ledger.apply(&samples::beginning(1))).unwrap();
    drop(ledger);
    assert_eq!(block_on(clone.launch(samples::launch_id(1))).unwrap(), samples::launch(1));
}
