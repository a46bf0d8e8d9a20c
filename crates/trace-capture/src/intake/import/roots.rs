//! Where agents keep their sessions.

use std::{
    fs,
    path::{Path, PathBuf},
};

use trace_model::words::Provider;

/// The folders that agents keep their files in, by provider. Which ones they are is the caller's word: capture reads no
/// environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roots {
    /// Folders of Claude Code: those that hold `projects`.
    pub claude: Vec<PathBuf>,
    /// Folders of Codex: those that hold `sessions` and `archived_sessions`.
    pub codex: Vec<PathBuf>,
    /// Folders of Gemini CLI: those that hold `tmp`.
    pub gemini: Vec<PathBuf>,
    /// Folders of OpenCode, those that hold `opencode.db` or `storage`; or databases.
    pub opencode: Vec<PathBuf>,
}

/// A place that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The folder or file.
    pub path: PathBuf,
    /// Whose place it is; nothing where the caller named it.
    pub provider: Option<Provider>,
    /// How many files that may be sessions are there; nothing if there is no such place.
    pub files: Option<u64>,
}

/// What is to be looked through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Found {
    pub(super) looks: Vec<Look>,
    /// Sorted, each once.
    pub(super) files: Vec<PathBuf>,
    /// Databases and trees of OpenCode.
    pub(super) stores: Vec<PathBuf>,
    /// What could not be looked at, and why.
    pub(super) unreadable: Vec<(PathBuf, String)>,
    /// Links to folders, sorted.
    pub(super) links: Vec<PathBuf>,
}

/// What is said of a link to a folder.
pub(super) const NOT_FOLLOWED: &str = "a link to a folder is not followed; name it to import what is there";

/// The endings of names that a session may have.
const ENDINGS: [&str; 3] = ["jsonl", "json", "zst"];

impl Roots {
    /// Returns the roots of one provider alone.
    pub(crate) fn only(&self, provider: &Provider) -> Self {
        let of = |whose: &Provider, roots: &[PathBuf]| if whose == provider { roots.to_vec() } else { Vec::new() };
        Self {
            claude: of(&Provider::Claude, &self.claude),
            codex: of(&Provider::Codex, &self.codex),
            gemini: of(&Provider::Gemini, &self.gemini),
            opencode: of(&Provider::OpenCode, &self.opencode),
        }
    }

    /// Tells whether any of the folders is there.
    pub fn is_anything_there(&self) -> bool {
        let roots = [&self.claude, &self.codex, &self.gemini, &self.opencode];
        roots.into_iter().flatten().any(|root| root.exists())
    }

    /// Looks through the folders, without reading any file.
    pub fn looks(&self) -> Vec<Look> {
        self.find().looks
    }

    pub(super) fn find(&self) -> Found {
        let mut found = Found::default();
        for root in &self.claude {
            found.look(&root.join("projects"), Some(&Provider::Claude));
        }
        for root in &self.codex {
            found.look(&root.join("sessions"), Some(&Provider::Codex));
            found.look(&root.join("archived_sessions"), Some(&Provider::Codex));
        }
        for root in &self.gemini {
            found.look(&root.join("tmp"), Some(&Provider::Gemini));
        }
        for root in &self.opencode {
            found.look(root, Some(&Provider::OpenCode));
        }
        found.sort();
        found
    }
}

impl Found {
    /// Looks through what the caller named.
    pub(super) fn of_paths(paths: &[PathBuf]) -> Self {
        let mut found = Self::default();
        for path in paths {
            found.look(path, None);
        }
        found.sort();
        found
    }

    fn look(&mut self, path: &Path, provider: Option<&Provider>) {
        let before = self.files.len() + self.stores.len();
        let files = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                self.walk(path, provider);
                Some(self.files.len() + self.stores.len() - before)
            }
            Ok(_) => {
                self.add(path, true);
                let subagents = path.with_extension("").join("subagents");
                if path.extension().is_some() && subagents.is_dir() {
                    self.walk(&subagents, provider);
                }
                Some(self.files.len() + self.stores.len() - before)
            }
            Err(error) => {
                if error.kind() != std::io::ErrorKind::NotFound || provider.is_none() {
                    self.unreadable.push((path.to_path_buf(), error.to_string()));
                }
                None
            }
        };
        let files = files.map(|files| u64::try_from(files).unwrap_or(u64::MAX));
        self.looks.push(Look { path: path.to_path_buf(), provider: provider.cloned(), files });
    }

    /// Walks a folder. Links to folders are not followed, so that no walk is without end.
    fn walk(&mut self, folder: &Path, provider: Option<&Provider>) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.unreadable.push((folder.to_path_buf(), error.to_string())),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.unreadable.push((folder.to_path_buf(), error.to_string()));
                    continue;
                }
            };
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() && path.is_dir() => self.links.push(path),
                Ok(kind) if kind.is_dir() => {
                    // The old tree of OpenCode is read as one store.
                    if path.ends_with("storage") && path.join("session").is_dir() && path.join("message").is_dir() {
                        self.stores.push(path);
                    } else if provider != Some(&Provider::OpenCode) {
                        self.walk(&path, provider);
                    }
                }
                Ok(_) if provider == Some(&Provider::OpenCode) => {
                    if is_store(&path) {
                        self.stores.push(path);
                    }
                }
                Ok(_) => self.add(&path, false),
                Err(error) => self.unreadable.push((path, error.to_string())),
            }
        }
    }

    fn add(&mut self, path: &Path, is_named: bool) {
        if is_store(path) {
            self.stores.push(path.to_path_buf());
        } else if is_named || path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
            self.files.push(path.to_path_buf());
        }
    }

    fn sort(&mut self) {
        self.files.sort();
        self.files.dedup();
        self.stores.sort();
        self.stores.dedup();
        self.links.sort();
        self.links.dedup();
    }
}

pub(super) fn is_store(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "db")
}

/// Returns what files are to be read together, because they may tell of one session: those of a group have one name.
///
/// Claude Code keeps the subagents of the session `S.jsonl` in folders below `S/subagents`.
pub(super) fn group_of(path: &Path) -> PathBuf {
    let mut above = path.ancestors().skip(1);
    let folder = above.find(|folder| folder.ends_with("subagents")).and_then(Path::parent);
    folder.map_or_else(|| path.to_path_buf(), |session| session.with_added_extension("jsonl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_subagents_stand_with_their_session() {
        let group = |path: &str| group_of(Path::new(path)).display().to_string();
        assert_eq!(group("/p/a/S.jsonl"), "/p/a/S.jsonl");
        assert_eq!(group("/p/a/S/subagents/agent-1.jsonl"), "/p/a/S.jsonl");
        assert_eq!(group("/p/a/S.v1/subagents/workflows/x/agent-1.jsonl"), "/p/a/S.v1.jsonl");
        assert_eq!(group("/p/a/agent-1.jsonl"), "/p/a/agent-1.jsonl");
    }
}
