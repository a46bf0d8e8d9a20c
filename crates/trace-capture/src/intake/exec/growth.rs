//! How a pump tells the interpretation that the record has grown, and how far.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
    mpsc::{self, Receiver, SyncSender},
};

/// Returns the two ends of the way by which an interpretation learns of a record's growth.
///
/// Only what the pump names is on record for good. The file may hold more for a moment: a piece of a chunk that could
/// not be written whole, and is cut off again.
pub(super) fn growth() -> (Ring, Bell) {
    // The bell holds one message, which means that there is more: ringing it never waits.
    let (sender, receiver) = mpsc::sync_channel(1);
    let end = Arc::new(AtomicU64::new(0));
    (Ring { end: Arc::clone(&end), sender }, Bell { end, receiver })
}

/// The pump's end.
#[derive(Debug)]
pub(super) struct Ring {
    end: Arc<AtomicU64>,
    sender: SyncSender<()>,
}

impl Ring {
    /// Tells that the record reaches up to `end` now.
    pub(super) fn ring(&self, end: u64) {
        self.end.store(end, Ordering::SeqCst);
        // It may have been rung already, or nobody may listen.
        let _ = self.sender.try_send(());
    }
}

/// The interpretation's end.
#[derive(Debug)]
pub(super) struct Bell {
    end: Arc<AtomicU64>,
    receiver: Receiver<()>,
}

impl Bell {
    /// Waits for the record to grow, and tells whether it may grow again: nobody can ring a bell whose ring is gone.
    pub(super) fn wait(&self) -> bool {
        self.receiver.recv().is_ok()
    }

    /// Returns where the record ends now.
    pub(super) fn end(&self) -> u64 {
        self.end.load(Ordering::SeqCst)
    }
}
