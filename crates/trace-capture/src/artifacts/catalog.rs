//! What is known of the files that agents write, beside the launches that come of them: the folder `sources`.
//!
//! All of it is a cache: without it every file is read once more. `catalog.jsonl` has a line for each file that was
//! seen, and `<hash of the path>.json.zst` is what is needed to go on with a file that grew.

use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};
use trace_model::context::Sha256Hex;

use super::{effects::FileHandle, error::ArtifactError, home::Home, launch_files::write_line, lease};

const SOURCES: &str = "sources";
const CATALOG: &str = "sources/catalog.jsonl";
const LOCK: &str = "sources/lock";

/// How hard positions are packed: they hold the last requests of each source, in words that repeat.
const POSITION_LEVEL: i32 = 1;

/// The right to import into a home. It is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Importing {
    _file: Box<dyn FileHandle>,
}

impl Home {
    /// Takes the right to import; `None` if another process has it.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if the lock cannot be made.
    pub(crate) fn start_import(&self) -> Result<Option<Importing>, ArtifactError> {
        self.ensure_dir(Path::new(SOURCES))?;
        let path = Path::new(LOCK);
        let file = match self.create_file(path) {
            Err(ArtifactError::AlreadyExists { .. }) => self.open_file(path)?,
            file => file?,
        };
        Ok(lease::lock(self, file, path)?.map(|file| Importing { _file: file }))
    }

    /// Returns the lines of the catalog. Those that make no sense, such as ones of another version, are left out: their
    /// files are read anew.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if it cannot be read.
    pub(crate) fn read_catalog<T: DeserializeOwned>(&self) -> Result<Vec<T>, ArtifactError> {
        let text = match self.read(Path::new(CATALOG)) {
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            text => text?,
        };
        Ok(text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// Puts these lines in place of the catalog's.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if it cannot be written; then it is as it was.
    pub(crate) fn write_catalog<T: Serialize>(&self, lines: &[T]) -> Result<(), ArtifactError> {
        let mut text = Vec::new();
        for line in lines {
            write_line(line, &mut text);
        }
        self.replace_file(Path::new(CATALOG), &text)
    }

    /// Returns what is needed to go on with a source; nothing if that is not known.
    pub(crate) fn read_position<T: DeserializeOwned>(&self, source: &str) -> Option<T> {
        let packed = self.read(&position_path(source)).ok()?;
        serde_json::from_slice(&zstd::decode_all(&*packed).ok()?).ok()
    }

    /// Notes what is needed to go on with a source.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if it cannot be written; then it is as it was. It is not synced: what is lost with the
    /// power is read once more.
    pub(crate) fn write_position<T: Serialize>(&self, source: &str, position: &T) -> Result<(), ArtifactError> {
        let mut text = Vec::new();
        write_line(position, &mut text);
        let path = position_path(source);
        let packed = self.at("pack", &path, zstd::encode_all(&*text, POSITION_LEVEL))?;
        self.replace_cache(&path, &packed)
    }
}

/// Returns where a copy of a source is while it is written.
pub(super) fn draft_path(source: &str) -> PathBuf {
    hashed(source, "draft")
}

fn position_path(source: &str) -> PathBuf {
    hashed(source, "json.zst")
}

fn hashed(source: &str, ending: &str) -> PathBuf {
    let hash = Sha256Hex::of(source.as_bytes()).to_string();
    Path::new(SOURCES).join(format!("{}.{ending}", hash.get(..32).unwrap_or(&hash)))
}
