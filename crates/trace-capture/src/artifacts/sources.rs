//! What an agent wrote itself and a launch draws on: the list `sources.jsonl`, and the copies under `raw/`.
//!
//! A source that is kept is copied in pieces: each import adds what was written since the last one. A piece is in
//! zstd's seekable format, so that any part of it is read without unpacking what comes before, and the `zstd` program
//! reads it too. A source that is only indexed is named, and read where the agent keeps it.

use std::{
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use trace_model::{context::Sha256Hex, event::SCHEMA_VERSION, launch::LaunchHeader, path::ArtifactPath};
use trace_providers::SourceFormat;
use zeekstd::{EncodeOptions, Encoder, FrameSizePolicy};

use super::{
    catalog::draft_path,
    effects::{Existing, FileHandle},
    error::ArtifactError,
    home::{Home, TRACES, document, in_traces},
    launch_dir::LaunchDir,
    launch_files::write_line,
    layout,
};

/// How much of a source is compressed on its own, in bytes: what has to be unpacked to read one line of it.
///
/// Frames of a quarter of the size make a copy that is a twentieth larger; this one unpacks in a few milliseconds.
const FRAME: u32 = 4 << 20;

/// How hard it is tried, of 1 to 22.
const LEVEL: i32 = 3;

/// One line of `sources.jsonl`: a source that is indexed, or a piece of one that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceEntry {
    /// The schema of the line; 1 today.
    pub schema_version: u32,
    /// Its number in the launch, from 1.
    pub source: u32,
    /// Where the agent keeps it. For a session in a database, the database and the session behind a `#`.
    pub path: String,
    /// How it is written.
    pub format: SourceFormat,
    /// The provider's session that the launch takes from it; one source may tell of several.
    pub session: String,
    /// The place in the source of the first byte of the piece. At 0 the source begins, or begins anew.
    pub offset: u64,
    /// The size of the piece; nothing for a source that is only indexed.
    pub bytes: Option<u64>,
    /// The hash of the piece.
    pub sha256: Option<Sha256Hex>,
    /// The copy, which may lie in the folder of another launch that the same source tells of.
    pub kept: Option<ArtifactPath>,
    /// The folders of launches that were recorded while the session ran. What they have on record is theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<ArtifactPath>,
}

/// A copy that is being written. One that is dropped before it is finished is removed.
pub(crate) struct KeptPiece {
    home: Home,
    draft: PathBuf,
    encoder: Option<Encoder<'static, Box<dyn FileHandle>>>,
    file: Box<dyn FileHandle>,
    hash: Sha256,
    bytes: u64,
}

impl LaunchDir {
    /// Returns what the launch draws on, in the order in which it was added; nothing for a launch that was recorded
    /// only.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Malformed`] if a line makes no sense, [`ArtifactError::Io`] if the list cannot be read.
    pub fn sources(&self) -> Result<Vec<SourceEntry>, ArtifactError> {
        self.home().sources_of(self.path())
    }
}

impl Home {
    /// Returns the sources of the launch in that folder.
    pub(crate) fn sources_of(&self, launch: &ArtifactPath) -> Result<Vec<SourceEntry>, ArtifactError> {
        let path = in_traces(launch).join(layout::SOURCES);
        let text = match self.read(&path) {
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            text => text?,
        };
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        lines
            .map(|line| {
                let malformed = |source| ArtifactError::Malformed { path: self.full(&path), source };
                let entry: SourceEntry = serde_json::from_slice(line).map_err(malformed)?;
                self.check_version(&path, entry.schema_version, SCHEMA_VERSION)?;
                Ok(entry)
            })
            .collect()
    }

    /// Makes the folder of a launch that is imported, unless it is there. Its header is written last and whole.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if it cannot be made.
    pub(crate) fn ensure_imported(&self, header: &LaunchHeader) -> Result<(), ArtifactError> {
        let folder = in_traces(&header.artifact_dir());
        let path = folder.join(layout::HEADER);
        if self.at("look for", &path, self.files().kind(&path))?.is_some() {
            return Ok(());
        }
        let run = Path::new(TRACES).join(header.run_id.as_str());
        for parent in [&run, &run.join(header.process_id.as_str()), &folder] {
            self.ensure_dir(parent)?;
        }
        self.replace_file(&path, &document(header))
    }

    /// Puts a list of sources in place of the one that the launch has.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if it cannot be written; then it is as it was.
    pub(crate) fn write_sources(&self, launch: &ArtifactPath, sources: &[SourceEntry]) -> Result<(), ArtifactError> {
        let mut text = Vec::new();
        for entry in sources {
            write_line(entry, &mut text);
        }
        self.replace_file(&in_traces(launch).join(layout::SOURCES), &text)
    }

    /// Begins a copy of a piece of a source.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if its file cannot be made.
    pub(crate) fn keep_piece(&self, source: &str) -> Result<KeptPiece, ArtifactError> {
        let draft = draft_path(source);
        let file = match self.create_file(&draft) {
            // Whoever wrote it died: two never import at once.
            Err(ArtifactError::AlreadyExists { .. }) => {
                self.at("remove", &draft, self.files().remove_file(&draft))?;
                self.create_file(&draft)?
            }
            file => file?,
        };
        let options = EncodeOptions::new()
            .frame_size_policy(FrameSizePolicy::Uncompressed(FRAME))
            .compression_level(LEVEL)
            .checksum_flag(true);
        let copy = self.at("duplicate", &draft, file.duplicate())?;
        let encoder = options.into_encoder(copy).map_err(std::io::Error::other);
        let encoder = Some(self.at("compress", &draft, encoder)?);
        Ok(KeptPiece { home: self.clone(), draft, encoder, file, hash: Sha256::new(), bytes: 0 })
    }

    /// Opens the copy of a piece, to be read from that place on.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if it is not there, or is no such copy.
    pub(crate) fn open_kept(
        &self,
        piece: &ArtifactPath,
        offset: u64,
    ) -> Result<impl Read + Send + use<>, ArtifactError> {
        let path = in_traces(piece);
        let file = self.open_file(&path)?;
        let opened = zeekstd::Decoder::new(file).map_err(std::io::Error::other).and_then(|mut decoder| {
            decoder.seek(SeekFrom::Start(offset))?;
            Ok(decoder)
        });
        self.at("unpack", &path, opened)
    }

    /// Writes a file whole, in place of the one that is there.
    pub(super) fn replace_file(&self, path: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
        self.replace(path, |file, draft| self.fill(file, draft, bytes))
    }

    /// Writes a file whole that may be lost with the power.
    pub(super) fn replace_cache(&self, path: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
        self.replace(path, |mut file, draft| self.at("write", draft, file.write_all(bytes)))
    }

    fn replace(
        &self,
        path: &Path,
        write: impl FnOnce(Box<dyn FileHandle>, &Path) -> Result<(), ArtifactError>,
    ) -> Result<(), ArtifactError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let draft = path.with_file_name(format!(".{name}.draft"));
        let file = match self.create_file(&draft) {
            // Whoever wrote it died.
            Err(ArtifactError::AlreadyExists { .. }) => {
                self.at("remove", &draft, self.files().remove_file(&draft))?;
                self.create_file(&draft)?
            }
            file => file?,
        };
        let written = write(file, &draft);
        let written =
            written.and_then(|()| self.at("write", path, self.files().rename(&draft, path, Existing::Replace)));
        if written.is_err() {
            let _ = self.files().remove_file(&draft);
        }
        written
    }
}

impl KeptPiece {
    /// Adds the next bytes of the source.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if they cannot be written.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), ArtifactError> {
        self.hash.update(bytes);
        self.bytes += super::append::len_of(bytes);
        let Some(encoder) = &mut self.encoder else { return Ok(()) };
        let written = encoder.write_all(bytes);
        self.home.at("write", &self.draft, written)
    }

    /// Returns the size and the hash of what was copied so far.
    pub(crate) fn content(&self) -> (u64, Sha256Hex) {
        let digest: [u8; 32] = self.hash.clone().finalize().into();
        (self.bytes, Sha256Hex::from_digest(digest))
    }

    /// Puts the copy into the folder of a launch, for good, and returns its name.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if it cannot be written or synced.
    pub(crate) fn finish(mut self, launch: &ArtifactPath, number: u32) -> Result<ArtifactPath, ArtifactError> {
        if let Some(encoder) = self.encoder.take() {
            let finished = encoder.finish().map_err(std::io::Error::other);
            self.home.at("write", &self.draft, finished)?;
        }
        self.home.at("sync", &self.draft, self.file.sync())?;
        let name = launch.join(&layout::source_file(number))?;
        self.home.ensure_dir(&in_traces(launch).join(layout::RAW))?;
        let path = in_traces(&name);
        let renamed = self.home.files().rename(&self.draft, &path, Existing::Replace);
        self.home.at("write", &path, renamed)?;
        self.home.sync_dir(path.parent().unwrap_or(Path::new("")))?;
        Ok(name)
    }
}

impl Drop for KeptPiece {
    fn drop(&mut self) {
        // It is gone already if it has its name.
        let _ = self.home.files().remove_file(&self.draft);
    }
}
