//! What was read and is not in the ledger yet: many launches are put there at once, since each boundary is dear.

use trace_model::{
    id::LaunchId,
    ledger::{Ledger, LedgerError},
    rows::LaunchRows,
};

use super::known::{Known, Position};

/// How many launches wait at the most.
const LAUNCHES: usize = 256;

/// Launches that wait for the ledger, and sources that are done once those are there.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    launches: Vec<LaunchRows>,
    records: usize,
    done: Vec<(Known, Position)>,
}

impl Waiting {
    /// Lets the rows of a launch wait.
    pub(super) fn put(&mut self, rows: LaunchRows) {
        self.records = self.records.saturating_add(rows.usage.len());
        self.launches.push(rows);
    }

    /// Lets a source wait of which all was put here, or is in the ledger.
    pub(super) fn put_done(&mut self, known: Known, position: Position) {
        self.done.push((known, position));
    }

    /// Tells whether the launch waits.
    pub(super) fn holds(&self, launch: LaunchId) -> bool {
        self.launches.iter().any(|rows| rows.launch.header.id == launch)
    }

    /// Tells whether no more should wait, where so many usage records may.
    pub(super) fn is_full(&self, records: usize) -> bool {
        self.records >= records || self.launches.len() >= LAUNCHES
    }

    /// Puts the launches into the ledger. The sources wait on.
    ///
    /// # Errors
    ///
    /// Those of the ledger; no source is done then.
    pub(super) async fn write(&mut self, ledger: &dyn Ledger) -> Result<(), LedgerError> {
        self.records = 0;
        match std::mem::take(&mut self.launches) {
            launches if launches.is_empty() => Ok(()),
            launches => ledger.replace_launches(launches).await,
        }
    }

    /// Returns the sources that are done now: no launch waits any more.
    pub(super) fn take_done(&mut self) -> Vec<(Known, Position)> {
        std::mem::take(&mut self.done)
    }
}
