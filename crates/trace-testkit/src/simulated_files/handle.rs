//! An open simulated file.

use std::{
    fmt,
    io::{self, ErrorKind, Read, Seek, SeekFrom, Write},
    path::PathBuf,
    sync::Arc,
};

use trace_capture::artifacts::{FileHandle, FileId, Lock};

use super::{Effect, SimulatedFiles, State, disk::File};

/// An open file. Its duplicates are the same open file.
#[derive(Clone)]
pub(super) struct SimulatedFile {
    open: Arc<OpenFile>,
}

/// What is closed when the last duplicate is dropped.
struct OpenFile {
    files: SimulatedFiles,
    id: u64,
    path: PathBuf,
}

impl SimulatedFile {
    pub(super) fn new(files: SimulatedFiles, id: u64, path: PathBuf) -> Self {
        Self { open: Arc::new(OpenFile { files, id, path }) }
    }

    fn path(&self) -> PathBuf {
        self.open.path.clone()
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.files.state().open.remove(&self.id);
    }
}

impl State {
    fn open_file(&mut self, id: u64) -> io::Result<&mut File> {
        let node = self.open.get(&id).ok_or(ErrorKind::NotFound)?.node;
        self.disk.file_mut(node)
    }
}

impl Read for SimulatedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.open.files.step(Effect::Read(self.path()))?;
        let state = &mut *state;
        let open = state.open.get_mut(&self.open.id).ok_or(ErrorKind::NotFound)?;
        let bytes = &state.disk.file(open.node)?.bytes;
        let read = bytes.get(open.position..).unwrap_or_default().read(buffer)?;
        open.position += read;
        Ok(read)
    }
}

impl Seek for SimulatedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut state = self.open.files.state();
        let state = &mut *state;
        let open = state.open.get_mut(&self.open.id).ok_or(ErrorKind::NotFound)?;
        let len = state.disk.file(open.node)?.bytes.len();
        let place = match to {
            SeekFrom::Start(offset) => usize::try_from(offset).ok(),
            SeekFrom::End(offset) => isize::try_from(offset).ok().and_then(|offset| len.checked_add_signed(offset)),
            SeekFrom::Current(offset) => {
                isize::try_from(offset).ok().and_then(|offset| open.position.checked_add_signed(offset))
            }
        };
        open.position = place.ok_or(ErrorKind::InvalidInput)?;
        u64::try_from(open.position).map_err(io::Error::other)
    }
}

impl Write for SimulatedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (mut state, step) = self.open.files.try_step(Effect::Write { path: self.path(), bytes: bytes.len() });
        let fits = match &step {
            Ok(()) => state.faults.space.unwrap_or(usize::MAX),
            Err(_) => state.faults.torn_bytes,
        };
        let written = &bytes[..bytes.len().min(fits)];
        state.open_file(self.open.id)?.bytes.extend_from_slice(written);
        step?;
        if let Some(space) = &mut state.faults.space {
            *space -= written.len();
            if written.len() < bytes.len() {
                state.faults.fired = true;
            }
            if written.is_empty() && !bytes.is_empty() {
                return Err(ErrorKind::StorageFull.into());
            }
        }
        Ok(written.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl FileHandle for SimulatedFile {
    fn sync(&self) -> io::Result<()> {
        let (mut state, step) = self.open.files.try_step(Effect::Sync(self.path()));
        let file = state.open_file(self.open.id)?;
        match step {
            Ok(()) => file.sync(),
            Err(_) => file.fail_sync(),
        }
        step
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.open.files.step(Effect::SetLen { path: self.path(), len })?;
        let len = usize::try_from(len).map_err(|_| ErrorKind::InvalidInput)?;
        state.open_file(self.open.id)?.bytes.resize(len, 0);
        Ok(())
    }

    fn try_lock(&self, lock: Lock) -> io::Result<bool> {
        let mut state = self.open.files.step(Effect::TryLock(self.path()))?;
        let node = state.open.get(&self.open.id).ok_or(ErrorKind::NotFound)?.node;
        let stands_against = |(id, open): (&u64, &super::Open)| {
            let exclusive = lock == Lock::Exclusive || open.lock == Some(Lock::Exclusive);
            *id != self.open.id && open.node == node && open.lock.is_some() && exclusive
        };
        if state.open.iter().any(stands_against) {
            return Ok(false);
        }
        if let Some(open) = state.open.get_mut(&self.open.id) {
            open.lock = Some(lock);
        }
        Ok(true)
    }

    fn id(&self) -> io::Result<FileId> {
        let state = self.open.files.step(Effect::Id(self.path()))?;
        let node = state.open.get(&self.open.id).ok_or(ErrorKind::NotFound)?.node;
        Ok(FileId { device: 0, number: u64::try_from(node).map_err(io::Error::other)? })
    }

    fn duplicate(&self) -> io::Result<Box<dyn FileHandle>> {
        drop(self.open.files.step(Effect::Duplicate(self.path()))?);
        Ok(Box::new(self.clone()))
    }
}

impl fmt::Debug for SimulatedFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SimulatedFile").field("path", &self.open.path).finish_non_exhaustive()
    }
}
