//! Random calls, made on two ledgers: the one under test must answer as the memory ledger does.
//!
//! The calls are drawn from a small world of ids, and most of them are made to fit what is there, so that they succeed
//! often enough to build something up. [`compare`] counts that they do.

mod call;
mod step;

use std::{cell::RefCell, collections::BTreeMap, path::Path, sync::Arc};

use pollster::block_on;
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};
use trace_store_memory::MemoryLedger;

use self::{
    call::{Answer, everything},
    step::{Kind, Step, World, step},
};
use crate::suite::Handle;

/// Whether the ledger under test is closed and opened again between calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reopening {
    /// It forgets what it holds when its last handle is gone.
    Never,
    /// It must not.
    Often,
}

/// Makes the same random calls on the ledger that `open` opens and on the memory ledger.
///
/// A quarter of proptest's number of cases is run. Cases that failed are kept beside `source_file`.
///
/// # Panics
///
/// If an answer differs; or if, over all cases, fewer than 30 % of the calls of one kind did something, for then the
/// test would say little.
pub fn compare(open: fn(&Path) -> Handle, reopening: Reopening, source_file: &'static str) {
    let default = Config::default();
    let config = Config { cases: default.cases.div_ceil(4), source_file: Some(source_file), ..default };
    let counts = RefCell::new(BTreeMap::new());
    let steps = vec(step(reopening), 1..80);
    TestRunner::new(config)
        .run(&steps, |steps| run(open, &steps, &mut counts.borrow_mut()))
        .unwrap_or_else(|failure| panic!("{failure}"));
    let counts = counts.into_inner();
    assert_eq!(counts.len(), Kind::ALL.len(), "every kind of call is made: {counts:?}");
    for (kind, Count { made, useful }) in counts {
        assert!(useful * 10 >= made * 3, "of {made} calls of the kind {kind:?}, only {useful} did something");
        assert!(useful < made, "none of {made} calls of the kind {kind:?} was refused or found nothing");
    }
}

/// How many calls of a kind were made, and how many were granted or found something.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    made: u32,
    useful: u32,
}

fn run(open: fn(&Path) -> Handle, steps: &[Step], counts: &mut BTreeMap<Kind, Count>) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let mut tested = open(folder.path());
    let reference: Handle = Arc::new(MemoryLedger::new());
    for (index, step) in steps.iter().enumerate() {
        let Step::Call(planned) = step else {
            drop(tested);
            tested = open(folder.path());
            continue;
        };
        let call = planned.fit(&block_on(World::of(&reference)));
        let expected = block_on(call.make(&reference));
        prop_assert_eq!(&block_on(call.make(&tested)), &expected, "step {}: {:?}", index, call);
        let count = counts.entry(planned.kind()).or_default();
        count.made += 1;
        count.useful += u32::from(expected.is_useful());
    }
    let dump = |ledger: &Handle| -> Vec<Answer> { block_on(everything(ledger)) };
    prop_assert_eq!(dump(&tested), dump(&reference));
    Ok(())
}
