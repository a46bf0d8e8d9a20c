//! The index brought up to date with what the agents wrote, before it is looked at.

use pollster::FutureExt;
use trace_capture::{
    Clock, SystemClock,
    intake::import::{ImportError, ImportFrom, ImportReport, ImportRequest, Keep, import},
};

use crate::{app::App, progress, render::text::figures, store::Store};

/// Brings in what agents wrote since the last time, as an index unless the home's owner wants copies. What keeps it
/// from being brought in is said, and keeps nobody from looking at the rest.
pub(crate) fn refresh(app: &App, store: &Store) -> Option<ImportReport> {
    let from = ImportFrom::Roots(app.environment.agent_roots());
    let report = bring_in(app, store, from)?;
    if report.files.failed > 0 {
        let files = figures::counted(report.files.failed, "file");
        app.messages.say("warning", &format!("{files} could not be read; `trace doctor` tells which and why"));
    }
    Some(report)
}

/// Brings in what the request names, and says what keeps it from being brought in.
pub(crate) fn bring_in(app: &App, store: &Store, from: ImportFrom) -> Option<ImportReport> {
    let keep = match store.home.settings() {
        Ok(settings) if settings.keep => Keep::Copies,
        Ok(_) => Keep::Index,
        Err(error) => {
            app.messages.say("warning", &format!("{:#}; it is passed over", anyhow::Error::from(error)));
            Keep::Index
        }
    };
    let request = ImportRequest::new(from, keep, SystemClock.now());
    let mut bar = progress::Bytes::new(app.environment.stderr, "reading what the agents wrote");
    let imported =
        import(&store.home, &*store.ledger, &request, &mut |progress| bar.set(progress.done, progress.total))
            .block_on();
    bar.end();
    match imported {
        Ok(report) => Some(report),
        Err(ImportError::Busy { .. }) => {
            app.messages.say("note", "another process brings in what the agents wrote; this is what was known before");
            None
        }
        Err(error) => {
            let text = format!(
                "what the agents wrote since the last time is not brought in: {:#}",
                anyhow::Error::from(error)
            );
            app.messages.say("warning", &text);
            None
        }
    }
}
