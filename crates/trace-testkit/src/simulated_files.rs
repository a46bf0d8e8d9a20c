//! Files in memory that fail, tear and forget on demand.
//!
//! [`SimulatedFiles`] keeps the contract of [`FileEffects`], and promises as little as that allows: what was not synced
//! is gone after a power cut, a failed write may leave a piece behind, and data whose sync failed never reaches the
//! disk.

mod disk;
mod handle;

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use trace_capture::artifacts::{Entry, EntryKind, Existing, FileEffects, FileHandle, Lock};

use disk::{Disk, NodeId};
use handle::SimulatedFile;

/// Files in memory beneath one root. A clone shares them.
#[derive(Clone, Default)]
pub struct SimulatedFiles {
    state: Arc<Mutex<State>>,
}

/// One call of a method of [`FileEffects`] or [`FileHandle`], whether or not it succeeded.
///
/// A file goes by the path that it was made or opened at, even after its folder was renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the methods")]
pub enum Effect {
    CreateDir(PathBuf),
    CreateFile(PathBuf),
    OpenFile(PathBuf),
    Kind(PathBuf),
    Entries(PathBuf),
    Rename { from: PathBuf, to: PathBuf },
    RemoveFile(PathBuf),
    RemoveDir(PathBuf),
    SyncDir(PathBuf),
    Read(PathBuf),
    Write { path: PathBuf, bytes: usize },
    Sync(PathBuf),
    SetLen { path: PathBuf, len: u64 },
    TryLock(PathBuf),
    Id(PathBuf),
    Duplicate(PathBuf),
}

/// What becomes, in a power cut, of what was not synced. The system may do either, and anything between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    /// All of it is lost.
    Lost,
    /// All entries of folders survive, and of each file that many bytes behind the synced ones.
    Kept {
        /// The number of bytes of each file.
        bytes: usize,
    },
}

#[derive(Default)]
struct State {
    disk: Disk,
    open: BTreeMap<u64, Open>,
    next_open: u64,
    effects: Vec<Effect>,
    faults: Faults,
    interruption: Option<Interruption>,
}

/// What happens between two effects.
struct Interruption {
    /// The number of effects that come before it.
    left: u64,
    action: Box<dyn FnOnce() + Send>,
}

/// An open file.
#[derive(Debug)]
struct Open {
    node: NodeId,
    position: usize,
    lock: Option<Lock>,
}

#[derive(Debug, Default)]
struct Faults {
    /// The number of effects that still succeed, and what comes then.
    next: Option<(u64, Lasting)>,
    fired: bool,
    /// The bytes that a failing write leaves behind.
    torn_bytes: usize,
    /// The bytes that still fit on the disk.
    space: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lasting {
    Once,
    Forever,
}

impl SimulatedFiles {
    /// Returns an empty root.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the n-th effect from now fail, counted from 1, and those behind it succeed.
    pub fn fail_once_at(&self, nth: u64) {
        self.state().faults.arm(nth, Lasting::Once);
    }

    /// Lets the n-th effect from now fail, counted from 1, and all behind it, as if the power were cut.
    pub fn fail_forever_at(&self, nth: u64) {
        self.state().faults.arm(nth, Lasting::Forever);
    }

    /// Lets a write that fails leave that many of its bytes in the file.
    pub fn tear_failing_writes(&self, bytes: usize) {
        self.state().faults.torn_bytes = bytes;
    }

    /// Lets the disk take that many more bytes: the write that exceeds them is short, and later ones fail.
    pub fn limit_space(&self, bytes: usize) {
        self.state().faults.space = Some(bytes);
    }

    /// Runs the action before the n-th effect from now, counted from 1, as another process might between any two.
    pub fn interrupt_at(&self, nth: u64, action: impl FnOnce() + Send + 'static) {
        self.state().interruption = Some(Interruption { left: nth.saturating_sub(1), action: Box::new(action) });
    }

    /// Tells whether an interruption is still to come.
    pub fn awaits_interruption(&self) -> bool {
        self.state().interruption.is_some()
    }

    /// Lets every effect succeed from now on.
    pub fn heal(&self) {
        let faults = &mut self.state().faults;
        *faults = Faults { fired: faults.fired, ..Faults::default() };
    }

    /// Tells whether any effect was made to fail, or a write made short.
    pub fn has_failed(&self) -> bool {
        self.state().faults.fired
    }

    /// Returns all effects so far, in order.
    pub fn effects(&self) -> Vec<Effect> {
        self.state().effects.clone()
    }

    /// Returns the files as they are after the process that used them was killed: all is there, no lock is held.
    #[must_use]
    pub fn after_kill(&self) -> Self {
        Self::on(self.state().disk.clone())
    }

    /// Returns the files as they may be after a power cut.
    #[must_use]
    pub fn after_power_cut(&self, unsynced: Unsynced) -> Self {
        Self::on(self.state().disk.after_power_cut(unsynced))
    }

    /// Returns the paths of all files and folders, sorted.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.state().disk.paths()
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    ///
    /// If there is no such file.
    pub fn content(&self, path: &Path) -> io::Result<Vec<u8>> {
        let state = self.state();
        Ok(state.disk.file(state.disk.find(path)?)?.bytes.clone())
    }

    fn on(disk: Disk) -> Self {
        Self { state: Arc::new(Mutex::new(State { disk, ..State::default() })) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one step: records the effect, and lets it fail if it is to.
    fn step(&self, effect: Effect) -> io::Result<MutexGuard<'_, State>> {
        let (state, step) = self.try_step(effect);
        step.map(|()| state)
    }

    /// Takes one step that may do something even if it is to fail.
    fn try_step(&self, effect: Effect) -> (MutexGuard<'_, State>, io::Result<()>) {
        let interruption = {
            let interruption = &mut self.state().interruption;
            match interruption {
                Some(Interruption { left: 0, .. }) => interruption.take(),
                Some(Interruption { left, .. }) => {
                    *left -= 1;
                    None
                }
                None => None,
            }
        };
        // Nothing is locked meanwhile: the action may use these files.
        if let Some(interruption) = interruption {
            (interruption.action)();
        }
        let mut state = self.state();
        state.effects.push(effect);
        let step = state.faults.step();
        (state, step)
    }
}

impl FileEffects for SimulatedFiles {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.step(Effect::CreateDir(path.to_path_buf()))?.disk.create_dir(path)
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn FileHandle>> {
        let mut state = self.step(Effect::CreateFile(path.to_path_buf()))?;
        let node = state.disk.create_file(path)?;
        Ok(self.handle(&mut state, node, path))
    }

    fn open_file(&self, path: &Path) -> io::Result<Box<dyn FileHandle>> {
        let mut state = self.step(Effect::OpenFile(path.to_path_buf()))?;
        let node = state.disk.find(path)?;
        state.disk.file(node)?;
        Ok(self.handle(&mut state, node, path))
    }

    fn kind(&self, path: &Path) -> io::Result<Option<EntryKind>> {
        let state = self.step(Effect::Kind(path.to_path_buf()))?;
        match state.disk.find(path) {
            Ok(node) => Ok(Some(state.disk.kind(node))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<Entry>> {
        self.step(Effect::Entries(path.to_path_buf()))?.disk.entries(path)
    }

    fn rename(&self, from: &Path, to: &Path, existing: Existing) -> io::Result<()> {
        let effect = Effect::Rename { from: from.to_path_buf(), to: to.to_path_buf() };
        self.step(effect)?.disk.rename(from, to, existing)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step(Effect::RemoveFile(path.to_path_buf()))?.disk.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.step(Effect::RemoveDir(path.to_path_buf()))?.disk.remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.step(Effect::SyncDir(path.to_path_buf()))?.disk.sync_dir(path)
    }
}

impl SimulatedFiles {
    fn handle(&self, state: &mut State, node: NodeId, path: &Path) -> Box<dyn FileHandle> {
        let id = state.next_open;
        state.next_open += 1;
        state.open.insert(id, Open { node, position: 0, lock: None });
        Box::new(SimulatedFile::new(self.clone(), id, path.to_path_buf()))
    }
}

impl fmt::Debug for SimulatedFiles {
    /// Tells the faults, and not the files: errors and handles show this in every failed assertion.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let mut debug = formatter.debug_struct("SimulatedFiles");
        debug.field("effects", &state.effects.len()).field("faults", &state.faults).finish_non_exhaustive()
    }
}

impl Faults {
    fn arm(&mut self, nth: u64, lasting: Lasting) {
        self.next = Some((nth.saturating_sub(1), lasting));
    }

    fn step(&mut self) -> io::Result<()> {
        match &mut self.next {
            None => return Ok(()),
            Some((0, Lasting::Once)) => self.next = None,
            Some((0, Lasting::Forever)) => {}
            Some((left, _)) => {
                *left -= 1;
                return Ok(());
            }
        }
        self.fired = true;
        Err(io::Error::other("the simulated disk failed"))
    }
}
