//! The sources that a launch's list names, read again.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use trace_providers::{Detail, SourceFormat, reader_for};

use super::{
    facts::{Facts, SessionFacts},
    reading,
};
use crate::artifacts::{ArtifactError, Home, SourceEntry};

/// What the list of a launch tells, read again.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// The facts of the launch's session.
    pub(crate) facts: Option<SessionFacts>,
    /// The sources that are not there any more.
    pub(crate) missing: Vec<String>,
}

/// Reads the sources, but those that `skip` names, and returns what they tell of a session.
///
/// # Errors
///
/// [`ArtifactError::Io`] if a copy cannot be read. A source that the agent keeps and that is not there is told.
pub(crate) fn read_session(
    home: &Home,
    entries: &[SourceEntry],
    session: &str,
    skip: &dyn Fn(&SourceEntry) -> bool,
) -> Result<Listed, ArtifactError> {
    let mut listed = Listed::default();
    let mut rest = entries;
    while let Some(first) = rest.first() {
        let pieces = first_source(rest);
        rest = rest.get(pieces.len()..).unwrap_or_default();
        if skip(first) {
            continue;
        }
        let mut input = match open(home, pieces) {
            Ok(input) => input,
            Err(error) if error.is_not_found() => {
                listed.missing.push(first.path.clone());
                continue;
            }
            Err(error) => return Err(error),
        };
        let facts = facts_of(&mut *input, first.format).map_err(|source| ArtifactError::Io {
            verb: "read",
            path: PathBuf::from(&first.path),
            source,
        })?;
        for found in facts.into_sessions().into_iter().filter(|found| found.is_called(session, &first.path)) {
            match &mut listed.facts {
                Some(facts) => facts.merge(found),
                None => listed.facts = Some(found),
            }
        }
    }
    Ok(listed)
}

fn facts_of(input: &mut dyn Read, format: SourceFormat) -> io::Result<Facts> {
    let mut facts = Facts::default();
    let Some(mut reader) = reader_for(format, Detail::Usage) else { return Ok(facts) };
    reading::read(input, &mut *reader, &mut facts)?;
    Ok(facts)
}

/// Returns the entries of the list that are pieces of its first source.
pub(super) fn first_source(entries: &[SourceEntry]) -> &[SourceEntry] {
    let Some((first, behind)) = entries.split_first() else { return entries };
    let more = behind.iter().take_while(|entry| entry.path == first.path && entry.offset > 0).count();
    entries.get(..=more).unwrap_or(entries)
}

/// Opens the pieces of one source, one behind the other; of one that is only indexed, what the agent keeps.
pub(super) fn open(home: &Home, pieces: &[SourceEntry]) -> Result<Box<dyn Read + Send>, ArtifactError> {
    let mut input: Box<dyn Read + Send> = Box::new(io::empty());
    for (place, piece) in pieces.iter().enumerate() {
        let next: Box<dyn Read + Send> = match &piece.kept {
            Some(kept) => Box::new(home.open_kept(kept, 0)?),
            None => open_outside(Path::new(&piece.path))?,
        };
        // A piece may end in a torn line, which the next piece has whole.
        let len = pieces.get(place + 1).map_or(u64::MAX, |next| next.offset.saturating_sub(piece.offset));
        input = Box::new(input.chain(next.take(len)));
    }
    Ok(input)
}

/// Opens a file that an agent keeps; one that is compressed is unpacked.
fn open_outside(path: &Path) -> Result<Box<dyn Read + Send>, ArtifactError> {
    let error = |source| ArtifactError::Io { verb: "read", path: path.to_path_buf(), source };
    let file = File::open(path).map_err(error)?;
    if path.extension().is_some_and(|extension| extension == "zst") {
        return Ok(Box::new(zstd::Decoder::new(file).map_err(error)?));
    }
    Ok(Box::new(file))
}
