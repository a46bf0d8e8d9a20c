//! What is known of all sources, for whoever wants to know how they fare.

use std::path::Path;

use super::{
    ImportFrom, Look, Roots,
    known::{Known, Stamp},
};
use crate::artifacts::{ArtifactError, Home};

/// What is known of the sources of a home.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// The places where agents keep their files.
    pub looks: Vec<Look>,
    /// The sources that are known.
    pub sources: Vec<SurveyedSource>,
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
    /// Whether copies of all of it are kept.
    pub is_kept: bool,
    /// Whether it was gone when it was last looked for.
    pub is_missing: bool,
    /// Whether it was changed since it was read.
    pub is_stale: bool,
    /// How many things in it could not be taken as they are.
    pub notes: u64,
}

/// Looks at the sources without reading them.
///
/// # Errors
///
/// [`ArtifactError::Io`] if the home's catalog cannot be read.
pub fn survey(home: &Home, roots: &Roots) -> Result<Survey, ArtifactError> {
    let found = ImportFrom::Roots(roots.clone()).find();
    let source = |known: Known| {
        let now = std::fs::metadata(Path::new(&known.path)).ok().map(|metadata| Stamp::of(&metadata));
        SurveyedSource {
            bytes: known.stamp.bytes,
            changed_micros: known.stamp.changed_micros(),
            is_kept: known.is_kept,
            is_missing: known.is_missing,
            is_stale: now.is_some_and(|now| now != known.stamp),
            notes: known.notes,
            path: known.path,
        }
    };
    let known = home.read_catalog::<Known>()?.into_iter().filter(|known| known.format.is_some());
    Ok(Survey { looks: found.looks, sources: known.map(source).collect() })
}
