//! Launches to measure with, in a real folder.

use std::path::Path;

use tempfile::TempDir;
use trace_capture::{
    Capture, CaptureEnv, EnvParts, Home, Labels, PreparedTurnContext, Start, StreamEvent, open_home_ledger,
};
use trace_model::words::Provider;

/// The length of an event's line, in bytes.
pub(crate) const LINE: usize = 300;

/// Returns a new folder on the disk that the build writes to; the system's own for such things may be in memory.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Opens a home with the ledger that homes have.
pub(crate) fn env(root: &Path) -> CaptureEnv {
    let home = Home::open_real(root).unwrap();
    let ledger = open_home_ledger(&home, None).unwrap();
    CaptureEnv::new(EnvParts::new(home, ledger))
}

/// Begins a launch whose turn has no context, so that no tokenizer is in the picture.
pub(crate) fn begin(env: &CaptureEnv) -> Capture {
    let labels = Labels::new("run_1".parse().unwrap(), "process_1".parse().unwrap(), "/repo", "/repo");
    let start = Start::new(Provider::Unknown, "headless");
    Capture::blocking_begin(env, labels, PreparedTurnContext::unknown(), start).unwrap()
}

/// Returns an event whose line is about [`LINE`] bytes long.
pub(crate) fn event() -> StreamEvent {
    StreamEvent::Text { text: "x".repeat(LINE - 190) }
}
