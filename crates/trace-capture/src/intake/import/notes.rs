//! What was noted about sources, for whoever asks later.

use trace_model::{
    id::LaunchId,
    ledger::{Ledger, LedgerError},
};

use super::{
    ImportError, ImportNote,
    known::{Known, Position},
};
use crate::artifacts::{ArtifactError, Home};

/// Returns the notes about all sources that are known, from the last time that each was read.
///
/// # Errors
///
/// [`ArtifactError::Io`] if the catalog cannot be read.
pub fn known_notes(home: &Home) -> Result<Vec<ImportNote>, ArtifactError> {
    let mut notes = Vec::new();
    for known in home.read_catalog::<Known>()?.into_iter().filter(|known| known.notes > 0) {
        let Some(position) = home.read_position::<Position>(&known.path) else { continue };
        notes.extend(position.notes.into_iter().map(|note| ImportNote {
            path: known.path.clone(),
            offset: Some(note.offset),
            kind: note.kind,
            detail: note.detail,
        }));
    }
    Ok(notes)
}

/// Returns a note for each session of which requests are counted in another one.
///
/// # Errors
///
/// [`ImportError`] if the catalog or the ledger cannot be read.
pub async fn known_replays(home: &Home, ledger: &dyn Ledger) -> Result<Vec<ImportNote>, ImportError> {
    let known = home.read_catalog::<Known>()?;
    Ok(replays(ledger, &known, |_| true).await?)
}

/// Returns how many requests of the launches that are asked for are copies of ones that other sessions count.
pub(super) async fn replays<'a>(
    ledger: &dyn Ledger,
    known: impl IntoIterator<Item = &'a Known>,
    is_asked: impl Fn(&LaunchId) -> bool,
) -> Result<Vec<ImportNote>, LedgerError> {
    let of_launches: Vec<(&str, LaunchId)> = known
        .into_iter()
        .flat_map(|known| known.launches.iter().map(|launch| (known.path.as_str(), *launch)))
        .filter(|(_, launch)| is_asked(launch))
        .collect();
    if of_launches.is_empty() {
        return Ok(Vec::new());
    }
    let mut counts = ledger.replays().await?;
    let note = |path: &str, count: u64| ImportNote {
        path: path.to_owned(),
        offset: None,
        kind: "replayed".to_owned(),
        detail: match count {
            1 => "1 request is counted in another session".to_owned(),
            count => format!("{count} requests are counted in another session"),
        },
    };
    // A session of more than one file is told of once.
    let of_sources = of_launches.into_iter().filter_map(|(path, launch)| Some(note(path, counts.remove(&launch)?)));
    Ok(of_sources.collect())
}
