//! The files of a launch that is being written.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};
use trace_model::{
    context::Sha256Hex, event::FileHash, launch::LaunchHeader, path::ArtifactPath, timestamp::Timestamp,
    words::OutputStream,
};

use super::{
    append::{AppendFile, SyncHandle, len_of},
    error::{AppendError, ArtifactError},
    home::{Home, document},
    layout,
    staging::StagedFolder,
    turn_files::{TurnWriter, WrittenTurn},
};

/// The open files of a launch that is being written: staged first, then published.
///
/// Dropped before it is published, it leaves nothing behind.
#[derive(Debug)]
pub struct LaunchFiles {
    home: Home,
    /// Where rows say that the launch is.
    dir: ArtifactPath,
    folder: StagedFolder,
    conversation: AppendFile,
    raw: Option<RawFiles>,
    /// The files that were written once, by name.
    written: BTreeMap<String, FileHash>,
}

/// The provider's own output.
#[derive(Debug)]
struct RawFiles {
    stdout: AppendFile,
    stderr: AppendFile,
    index: AppendFile,
    chunks: u64,
    line: Vec<u8>,
}

/// One line of `raw/index.jsonl`: one chunk of the provider's output, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawChunk {
    /// Its place among the chunks of both streams, from 0.
    pub chunk: u64,
    /// When it was read.
    pub ts: Timestamp,
    /// The stream that it was read from.
    pub stream: OutputStream,
    /// The offset of its first byte in the stream's file.
    pub offset: u64,
    /// The number of its bytes.
    pub len: u64,
}

impl LaunchFiles {
    /// Makes the files of a launch in a staging folder, the lease first.
    ///
    /// A stale staging folder of the same launch goes to quarantine.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::AlreadyExists`] if the launch is published, or another writer stages it;
    /// [`ArtifactError::Io`] if something cannot be made. Nothing is left behind then.
    pub fn stage(home: &Home, header: &LaunchHeader) -> Result<Self, ArtifactError> {
        let folder = StagedFolder::claim(home, header)?;
        let path = |name: &str| folder.path().join(name);
        home.create_dir(&path(layout::TURNS))?;
        let text = document(header);
        home.write_new(&path(layout::HEADER), &text)?;
        let written = BTreeMap::from([(String::from(layout::HEADER), hash_of(layout::HEADER, &text))]);
        let dir = header.artifact_dir();
        let conversation = AppendFile::create(home, &path(layout::CONVERSATION), &dir.join(layout::CONVERSATION)?)?;
        let raw = if header.raw { Some(RawFiles::create(home, folder.path(), &dir)?) } else { None };
        Ok(Self { home: home.clone(), dir, folder, conversation, raw, written })
    }

    /// Syncs everything and gives the folder its name. When this returns, all that was written survives a power cut.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::AlreadyExists`] if the launch was published meanwhile; [`ArtifactError::Io`] if something
    /// cannot be synced or renamed. [`discard`](Self::discard) the files then.
    pub fn publish(&mut self) -> Result<(), ArtifactError> {
        for file in self.append_files() {
            file.sync_new()?;
        }
        if self.raw.is_some() {
            self.home.sync_dir(&self.folder.path().join(layout::RAW))?;
        }
        self.folder.publish()
    }

    /// Removes the launch. What cannot be removed stays as a stale staging folder, and not as a launch.
    pub fn discard(mut self) {
        self.folder.remove();
    }

    /// Returns the writer of the files of turns, for the folder as it is called now.
    pub fn turn_writer(&self) -> TurnWriter {
        TurnWriter::new(self.home.clone(), self.folder.path().to_path_buf(), self.dir.clone())
    }

    /// Takes in a turn that was opened: its files are files of the launch from now on.
    pub fn add_turn(&mut self, turn: &WrittenTurn) {
        self.written.extend(turn.hashes().iter().map(|hash| (hash.path.clone(), hash.clone())));
    }

    /// Appends an event, a whole line with its line feed, to the conversation: it survives the end of this process as
    /// soon as this returns.
    ///
    /// # Errors
    ///
    /// [`AppendError`] if the event is not in the file. The next one may be appended all the same: it never stands
    /// behind a piece of this one.
    pub fn append(&mut self, line: &[u8]) -> Result<(), AppendError> {
        debug_assert!(line.ends_with(b"\n"), "an event is a whole line");
        self.conversation.append(line)
    }

    /// Appends a chunk of the provider's output, and a line about it to the index; returns where the stream's file
    /// ends with it.
    ///
    /// # Errors
    ///
    /// [`AppendError`] if the chunk is not on record; then neither file holds anything of it.
    pub fn append_raw(&mut self, stream: OutputStream, ts: Timestamp, bytes: &[u8]) -> Result<u64, AppendError> {
        self.raw.as_mut().ok_or(AppendError::RawIsOff)?.append(stream, ts, bytes)
    }

    /// Returns duplicates of the open files, for another thread to sync.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if a file cannot be duplicated.
    pub fn sync_handles(&self) -> Result<SyncHandles, ArtifactError> {
        let handles = self.append_files().map(AppendFile::sync_handle).collect::<Result<_, _>>()?;
        Ok(SyncHandles { handles })
    }

    /// Returns size and hash of every file but the lease, sorted by path; nothing is read for it.
    ///
    /// # Errors
    ///
    /// [`AppendError::Torn`] if a file ends in a piece of a record that cannot be cut off: it is not what its hash
    /// says.
    pub fn file_hashes(&mut self) -> Result<Vec<FileHash>, AppendError> {
        let raw = self.raw.iter_mut().flat_map(|raw| [&mut raw.stdout, &mut raw.stderr, &mut raw.index]);
        raw.chain([&mut self.conversation]).try_for_each(AppendFile::cut_if_torn)?;
        let mut hashes: Vec<FileHash> = self.written.values().cloned().collect();
        hashes.push(self.conversation.file_hash(layout::CONVERSATION));
        if let Some(raw) = &self.raw {
            hashes.push(raw.stdout.file_hash(layout::RAW_STDOUT));
            hashes.push(raw.stderr.file_hash(layout::RAW_STDERR));
            hashes.push(raw.index.file_hash(layout::RAW_INDEX));
        }
        hashes.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(hashes)
    }

    /// Returns the open files, what others refer to first: after a power cut an event never names bytes that are gone.
    fn append_files(&self) -> impl Iterator<Item = &AppendFile> {
        let raw = self.raw.iter().flat_map(|raw| [&raw.stdout, &raw.stderr, &raw.index]);
        raw.chain([&self.conversation])
    }
}

impl RawFiles {
    fn create(home: &Home, folder: &Path, dir: &ArtifactPath) -> Result<Self, ArtifactError> {
        home.create_dir(&folder.join(layout::RAW))?;
        let create = |name: &str| AppendFile::create(home, &folder.join(name), &dir.join(name)?);
        Ok(Self {
            stdout: create(layout::RAW_STDOUT)?,
            stderr: create(layout::RAW_STDERR)?,
            index: create(layout::RAW_INDEX)?,
            chunks: 0,
            line: Vec::new(),
        })
    }

    fn append(&mut self, stream: OutputStream, ts: Timestamp, bytes: &[u8]) -> Result<u64, AppendError> {
        let file = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        if bytes.is_empty() {
            return Ok(file.len());
        }
        let chunk = RawChunk { chunk: self.chunks, ts, stream, offset: file.len(), len: len_of(bytes) };
        self.line.clear();
        write_line(&chunk, &mut self.line);
        file.write(bytes)?;
        if let Err(error) = self.index.append(&self.line) {
            // If this cut fails too, the file is cut before its next chunk.
            let _ = file.cut();
            return Err(error);
        }
        file.commit(bytes);
        self.chunks += 1;
        Ok(file.len())
    }
}

/// Syncs the files of one launch from another thread. What was not written to is not synced.
#[derive(Debug)]
pub struct SyncHandles {
    handles: Vec<SyncHandle>,
}

impl SyncHandles {
    /// Waits until all that was appended before this call is on disk.
    ///
    /// # Errors
    ///
    /// The first error; the other files are synced all the same. A file whose sync failed once is never synced again:
    /// it is [`ArtifactError::SyncFailed`] from then on, in every handle.
    pub fn sync(&self) -> Result<(), ArtifactError> {
        self.handles.iter().map(SyncHandle::sync).fold(Ok(()), Result::and)
    }
}

pub(super) fn hash_of(name: &str, bytes: &[u8]) -> FileHash {
    FileHash { path: String::from(name), bytes: len_of(bytes), sha256: Sha256Hex::of(bytes) }
}

pub(super) fn write_line(value: &impl Serialize, buffer: &mut Vec<u8>) {
    serde_json::to_writer(&mut *buffer, value).expect("contexts and chunks have no map whose keys are not text");
    buffer.push(b'\n');
}
