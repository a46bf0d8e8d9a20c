//! Folders and files, each as it is and as it would be after a power cut.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io::{self, ErrorKind},
    ops::Range,
    path::{Component, Path, PathBuf},
};

use trace_capture::artifacts::{Entry, EntryKind, Existing};

use super::Unsynced;

/// The place of a file or folder among all that were ever made.
pub(super) type NodeId = usize;

const ROOT: NodeId = 0;

#[derive(Debug, Clone)]
pub(super) struct Disk {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone)]
enum Node {
    Folder(Folder),
    File(File),
}

#[derive(Debug, Clone, Default)]
struct Folder {
    entries: BTreeMap<OsString, NodeId>,
    synced: BTreeMap<OsString, NodeId>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    synced: Vec<u8>,
    /// What a failed sync dropped: it reads well until the power is cut, and no later sync brings it to the disk.
    dropped: Vec<Range<usize>>,
}

impl Default for Disk {
    fn default() -> Self {
        Self { nodes: vec![Node::Folder(Folder::default())] }
    }
}

impl Disk {
    pub(super) fn find(&self, path: &Path) -> io::Result<NodeId> {
        path.components().try_fold(ROOT, |node, part| {
            let Component::Normal(name) = part else { return Err(ErrorKind::InvalidInput.into()) };
            self.folder(node)?.entries.get(name).copied().ok_or_else(|| ErrorKind::NotFound.into())
        })
    }

    pub(super) fn kind(&self, node: NodeId) -> EntryKind {
        match self.nodes[node] {
            Node::Folder(_) => EntryKind::Folder,
            Node::File(_) => EntryKind::File,
        }
    }

    pub(super) fn file(&self, node: NodeId) -> io::Result<&File> {
        match &self.nodes[node] {
            Node::File(file) => Ok(file),
            Node::Folder(_) => Err(ErrorKind::IsADirectory.into()),
        }
    }

    pub(super) fn file_mut(&mut self, node: NodeId) -> io::Result<&mut File> {
        match &mut self.nodes[node] {
            Node::File(file) => Ok(file),
            Node::Folder(_) => Err(ErrorKind::IsADirectory.into()),
        }
    }

    fn folder(&self, node: NodeId) -> io::Result<&Folder> {
        match &self.nodes[node] {
            Node::Folder(folder) => Ok(folder),
            Node::File(_) => Err(ErrorKind::NotADirectory.into()),
        }
    }

    fn folder_mut(&mut self, node: NodeId) -> io::Result<&mut Folder> {
        match &mut self.nodes[node] {
            Node::Folder(folder) => Ok(folder),
            Node::File(_) => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// Returns the folder that holds the entry, and the entry's name.
    fn holder<'p>(&self, path: &'p Path) -> io::Result<(NodeId, &'p OsStr)> {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
        let folder = self.find(path.parent().unwrap_or(Path::new("")))?;
        self.folder(folder)?;
        Ok((folder, name))
    }

    fn add(&mut self, path: &Path, node: Node) -> io::Result<NodeId> {
        let (folder, name) = self.holder(path)?;
        let id = self.nodes.len();
        let entries = &mut self.folder_mut(folder)?.entries;
        if entries.contains_key(name) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        entries.insert(name.to_os_string(), id);
        self.nodes.push(node);
        Ok(id)
    }

    pub(super) fn create_dir(&mut self, path: &Path) -> io::Result<()> {
        self.add(path, Node::Folder(Folder::default())).map(drop)
    }

    pub(super) fn create_file(&mut self, path: &Path) -> io::Result<NodeId> {
        self.add(path, Node::File(File::default()))
    }

    pub(super) fn entries(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let folder = self.folder(self.find(path)?)?;
        let entry = |(name, node): (&OsString, &NodeId)| Entry { name: name.clone(), kind: self.kind(*node) };
        Ok(folder.entries.iter().map(entry).collect())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path, existing: Existing) -> io::Result<()> {
        let node = self.find(from)?;
        let (from_folder, from_name) = self.holder(from)?;
        let (to_folder, to_name) = self.holder(to)?;
        if let Some(target) = self.folder(to_folder)?.entries.get(to_name) {
            if existing == Existing::Refuse {
                return Err(ErrorKind::AlreadyExists.into());
            }
            if self.folder(*target).is_ok_and(|folder| !folder.entries.is_empty()) {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
        }
        self.folder_mut(from_folder)?.entries.remove(from_name);
        self.folder_mut(to_folder)?.entries.insert(to_name.to_os_string(), node);
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        self.file(self.find(path)?)?;
        self.unlink(path)
    }

    pub(super) fn remove_dir(&mut self, path: &Path) -> io::Result<()> {
        if !self.folder(self.find(path)?)?.entries.is_empty() {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        self.unlink(path)
    }

    fn unlink(&mut self, path: &Path) -> io::Result<()> {
        let (folder, name) = self.holder(path)?;
        self.folder_mut(folder)?.entries.remove(name);
        Ok(())
    }

    pub(super) fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        let node = self.find(path)?;
        let folder = self.folder_mut(node)?;
        folder.synced = folder.entries.clone();
        Ok(())
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        self.collect(ROOT, Path::new(""), &mut paths);
        paths.sort();
        paths
    }

    fn collect(&self, node: NodeId, path: &Path, paths: &mut Vec<PathBuf>) {
        let Node::Folder(folder) = &self.nodes[node] else { return };
        for (name, node) in &folder.entries {
            let path = path.join(name);
            self.collect(*node, &path, paths);
            paths.push(path);
        }
    }

    pub(super) fn after_power_cut(&self, unsynced: Unsynced) -> Self {
        let nodes = self.nodes.iter().map(|node| match node {
            Node::Folder(folder) => {
                let entries = match unsynced {
                    Unsynced::Lost => folder.synced.clone(),
                    Unsynced::Kept { .. } => folder.entries.clone(),
                };
                Node::Folder(Folder { synced: entries.clone(), entries })
            }
            Node::File(file) => {
                let bytes = file.after_power_cut(unsynced);
                Node::File(File { synced: bytes.clone(), bytes, dropped: Vec::new() })
            }
        });
        Self { nodes: nodes.collect() }
    }
}

impl File {
    pub(super) fn sync(&mut self) {
        self.synced = self.on_disk();
    }

    /// Takes in that a sync failed: the system forgets that the data is not on disk.
    pub(super) fn fail_sync(&mut self) {
        if self.synced.len() < self.bytes.len() {
            self.dropped.push(self.synced.len()..self.bytes.len());
        }
    }

    fn on_disk(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for place in self.dropped.iter().cloned().flatten() {
            if let Some(byte) = bytes.get_mut(place) {
                *byte = 0;
            }
        }
        bytes
    }

    fn after_power_cut(&self, unsynced: Unsynced) -> Vec<u8> {
        match unsynced {
            Unsynced::Lost => self.synced.clone(),
            Unsynced::Kept { bytes } => {
                let mut kept = self.on_disk();
                kept.truncate(self.synced.len().saturating_add(bytes));
                kept
            }
        }
    }
}
