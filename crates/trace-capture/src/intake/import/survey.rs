//! What is known of all sources, for whoever wants to know how they fare.

use std::{
    collections::BTreeSet,
    fs::{self, Metadata},
    path::Path,
};

use super::{
    ImportFrom, Look, Roots,
    known::{Known, Stamp},
    roots,
};
use crate::artifacts::{ArtifactError, Home};

/// What is known of the sources of a home.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// The places where agents keep their files.
    pub looks: Vec<Look>,
    /// The sources that are known, and the files that may be sources and were never read.
    pub sources: Vec<SurveyedSource>,
    /// What cannot be read, sorted by path.
    pub troubles: Vec<Trouble>,
}

/// What is known of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedSource {
    /// Where it is.
    pub path: String,
    /// Its size in bytes; of a session in a database, the number of its rows.
    pub bytes: u64,
    /// When it was last changed, in microseconds since 1970.
    pub changed_micros: i64,
    /// How it compares with what is known of it.
    pub state: SourceState,
    /// Whether copies of all of it are kept.
    pub is_kept: bool,
    /// How many things in it could not be taken as they are.
    pub notes: u64,
}

/// How a source compares with what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceState {
    /// It was never read.
    New,
    /// It is as it was when it was read.
    Unchanged,
    /// It was changed since it was read.
    Changed,
    /// It was gone when it was last looked for.
    Missing,
}

/// Something that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trouble {
    /// The file or folder.
    pub path: String,
    /// Why, in words.
    pub reason: String,
}

/// Looks at the sources without reading them.
///
/// # Errors
///
/// [`ArtifactError::Io`] if the home's catalog cannot be read.
pub fn survey(home: &Home, roots: &Roots) -> Result<Survey, ArtifactError> {
    let found = ImportFrom::Roots(roots.clone()).find();
    let trouble = |path: &Path, reason: String| Trouble { path: path.display().to_string(), reason };
    let mut troubles: Vec<Trouble> =
        found.unreadable.into_iter().map(|(path, reason)| trouble(&path, reason)).collect();
    troubles.extend(found.links.iter().map(|path| trouble(path, roots::NOT_FOLLOWED.to_owned())));
    let mut known = home.read_catalog::<Known>()?;
    let read: BTreeSet<&str> = known.iter().map(|known| known.path.as_str()).collect();
    let mut sources = Vec::new();
    for path in found.files {
        let name = path.display().to_string();
        match regular(&path) {
            Ok(_) if read.contains(name.as_str()) => {}
            Ok(metadata) => sources.push(SurveyedSource {
                path: name,
                bytes: metadata.len(),
                changed_micros: Stamp::of(&metadata).changed_micros(),
                state: SourceState::New,
                is_kept: false,
                notes: 0,
            }),
            Err(reason) => troubles.push(Trouble { path: name, reason }),
        }
    }
    for known in &mut known {
        let failure = known.failure.take().map(|reason| Trouble { path: known.path.clone(), reason });
        troubles.extend(failure.filter(|failure| !troubles.iter().any(|told| told.path == failure.path)));
    }
    sources.extend(known.into_iter().filter(|known| known.format.is_some()).map(surveyed));
    troubles.sort();
    Ok(Survey { looks: found.looks, sources, troubles })
}

fn surveyed(known: Known) -> SurveyedSource {
    let now = fs::metadata(Path::new(&known.path)).ok().map(|metadata| Stamp::of(&metadata));
    let state = match now {
        _ if known.is_missing => SourceState::Missing,
        Some(now) if now != known.stamp => SourceState::Changed,
        _ => SourceState::Unchanged,
    };
    SurveyedSource {
        bytes: known.stamp.bytes,
        changed_micros: known.stamp.changed_micros(),
        state,
        is_kept: known.is_kept,
        notes: known.notes,
        path: known.path,
    }
}

/// Returns what the file system tells of a file; of anything else, in words, why it is not read. Whoever opened a pipe
/// might wait without end.
pub(super) fn regular(path: &Path) -> Result<Metadata, String> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(metadata),
        Ok(_) => Err("it is no regular file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
