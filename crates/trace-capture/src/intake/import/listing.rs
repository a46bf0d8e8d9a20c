//! The list of the sources that a launch draws on, and the copies of them.

use trace_model::{
    context::Sha256Hex, event::SCHEMA_VERSION, launch::CaptureState, path::ArtifactPath, timestamp::Timestamp,
};
use trace_providers::SourceFormat;

use super::{apply::Applier, source::From};
use crate::{
    artifacts::{ArtifactError, KeptPiece, SourceEntry},
    sources::rows,
};

/// A reading without its facts.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) format: SourceFormat,
    pub(super) from: From,
    pub(super) default_at: Timestamp,
    pub(super) copy: Copy,
}

/// The copy of what was read.
pub(super) enum Copy {
    None,
    Draft(Box<KeptPiece>),
    Placed { kept: ArtifactPath, bytes: u64, sha256: Sha256Hex },
}

impl Applier<'_> {
    /// Adds a source to the list of a launch, puts its copy into place, and returns how complete the launch is then.
    pub(super) fn list(
        &self,
        dir: &ArtifactPath,
        reading: usize,
        session: &str,
        sources: &mut [Source],
        beside: &[ArtifactPath],
    ) -> Result<CaptureState, ArtifactError> {
        let source = &mut sources[reading];
        let before = self.home.sources_of(dir)?;
        let mut entries = before.clone();
        if matches!(source.copy, Copy::Draft(_)) {
            entries.retain(|old| old.path != source.name || old.kept.is_some());
        }
        let mut number = entries.iter().map(|entry| entry.source).max().unwrap_or(0).saturating_add(1);
        let offset = match source.from {
            From::Offset(offset) => offset,
            From::Start | From::Anew => 0,
        };
        source.copy = match std::mem::replace(&mut source.copy, Copy::None) {
            Copy::Draft(piece) => {
                let (bytes, sha256) = piece.content();
                let is_same = |old: &&SourceEntry| {
                    let is_whole = old.bytes == Some(bytes) && old.sha256 == Some(sha256);
                    old.path == source.name && old.offset == offset && is_whole
                };
                let same = before.iter().find(is_same).and_then(|old| Some((old.source, old.kept.clone()?)));
                match same.filter(|(_, kept)| self.home.open_kept(kept, 0).is_ok()) {
                    // It is kept already: what is known of the source was lost, or is of another ledger.
                    Some((old, kept)) => {
                        number = old;
                        Copy::Placed { kept, bytes, sha256 }
                    }
                    None => Copy::Placed { kept: piece.finish(dir, number)?, bytes, sha256 },
                }
            }
            copy => copy,
        };
        let mut entry = SourceEntry {
            schema_version: SCHEMA_VERSION,
            source: number,
            path: source.name.clone(),
            format: source.format,
            session: session.to_owned(),
            offset: 0,
            bytes: None,
            sha256: None,
            kept: None,
            beside: beside.to_vec(),
        };
        if let Copy::Placed { kept, bytes, sha256 } = &source.copy {
            entry.offset = offset;
            entry.bytes = Some(*bytes);
            entry.sha256 = Some(*sha256);
            entry.kept = Some(kept.clone());
            // A copy of the whole stands instead of what was only indexed, or copied before it was known to grow.
            let stands_instead =
                |old: &SourceEntry| old.path == entry.path && (old.kept.is_none() || source.from == From::Start);
            entries.retain(|old| !stands_instead(old));
            entries.push(entry);
        } else if !entries.iter().any(|old| old.path == entry.path) {
            entries.push(entry);
        }
        for entry in &mut entries {
            entry.beside = beside.to_vec();
        }
        if entries != before {
            self.home.write_sources(dir, &entries)?;
        }
        Ok(rows::capture_of(entries.iter().all(|entry| entry.kept.is_some())))
    }
}
