//! What a recorder could not bring into the ledger, brought in by whoever opens the ledger next.

use trace_model::ledger::Ledger;

use super::{ReindexError, Trouble, fold_unless_kept, is_about_the_rows};
use crate::artifacts::{ArtifactError, Home};

/// Indexes the launches that were [marked](Home::defer) as in no ledger, and returns their number.
///
/// A launch that is still being recorded is indexed as it is now and keeps its mark. One that cannot be read, or whose
/// rows contradict those of another, loses it: [`reindex`](super::reindex) tells what is wrong with it.
///
/// Without marks it costs a look into the home's folder. Files are read on the thread that polls the future.
///
/// # Errors
///
/// [`ReindexError`] if the marks cannot be read or the ledger fails; the marks that are left stay.
pub async fn index_deferred(home: &Home, ledger: &dyn Ledger) -> Result<u64, ReindexError> {
    let mut indexed = 0;
    for dir in home.deferred_launches().map_err(ReindexError::List)? {
        let stop = |source| ReindexError::Ledger { dir: dir.clone(), source };
        let is_live = home.open_launch(&dir).and_then(|launch| launch.is_live()).unwrap_or(false);
        match fold_unless_kept(home, &dir, ledger).await {
            Ok(Some(folded)) => match ledger.replace_launch(&folded.rows).await {
                Ok(()) => indexed += 1,
                Err(error) if is_about_the_rows(&error) => {}
                Err(source) => return Err(stop(source)),
            },
            Ok(None) | Err(Trouble::Launch(_)) => {}
            Err(Trouble::Ledger(source)) => return Err(stop(source)),
        }
        if is_live {
            // Its writer may have taken the mark back meanwhile, and what was read is behind that.
            home.defer(&dir).map_err(ReindexError::List)?;
        } else {
            forget(home, &dir)?;
        }
    }
    Ok(indexed)
}

fn forget(home: &Home, dir: &trace_model::path::ArtifactPath) -> Result<(), ReindexError> {
    home.forget_deferred(dir).or_else(|error| match error {
        // A home that can only be read keeps its marks.
        ArtifactError::Io { .. } => Ok(()),
        error => Err(ReindexError::List(error)),
    })
}
