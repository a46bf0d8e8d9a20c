//! The tree of JSON files.
//!
//! ```text
//! storage/session/<project>/<session>.json
//! storage/message/<session>/<message>.json
//! storage/part/<message>/<part>.json
//! ```
//!
//! It stays where it was when OpenCode moves to a database, and what it holds is then in both. So what the database has
//! is left out.

use std::{
    cell::OnceCell,
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde::Deserialize;

use super::{
    OpenCodeStoreError, SessionState, StoredSession,
    rows::{Data, Forest, MessageRow, PartRow, SessionRow, on_one_line, tell},
};

/// The `storage` folder of OpenCode.
#[derive(Debug)]
pub(crate) struct OpenCodeTree {
    storage: PathBuf,
    /// The sessions as they were when they were asked for first.
    sessions: OnceCell<Forest>,
}

/// What a session's file holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SessionFile {
    #[serde(rename = "parentID")]
    parent_id: Option<String>,
    title: Option<String>,
    directory: Option<String>,
    version: Option<String>,
    time: Times,
}

/// When something was made and changed, in milliseconds since 1970.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Times {
    created: Option<i64>,
    updated: Option<i64>,
}

/// What of a message's file tells where it belongs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessageFile {
    time: Times,
}

impl OpenCodeTree {
    pub(crate) fn open(storage: &Path) -> Self {
        Self { storage: storage.to_path_buf(), sessions: OnceCell::new() }
    }

    /// Returns the sessions that are no other's child, oldest first, without those that are stored `elsewhere`, be it
    /// only a part of them.
    ///
    /// # Errors
    ///
    /// A folder or a session's file cannot be read.
    pub(crate) fn sessions(&self, elsewhere: &BTreeSet<String>) -> Result<Vec<StoredSession>, OpenCodeStoreError> {
        let mut stored = Vec::new();
        for tree in self.forest()?.trees() {
            let Some(root) = tree.first().filter(|_| !tree.iter().any(|row| elsewhere.contains(&row.id))) else {
                continue;
            };
            let mut state = SessionState { updated_ms: i64::MIN, rows: 0 };
            for row in tree {
                state.rows += 1;
                state.updated_ms = state.updated_ms.max(row.time_updated.or(row.time_created).unwrap_or(i64::MIN));
                for file in self.messages(&row.id)? {
                    state.rows += 1;
                    state.updated_ms = state.updated_ms.max(changed_ms(&file).map_err(OpenCodeStoreError::read(file))?);
                }
            }
            stored.push(StoredSession { id: root.id.clone(), state });
        }
        Ok(stored)
    }

    /// Hands on the lines of a session and of those below it; none for an id that is not there.
    ///
    /// # Errors
    ///
    /// A folder or a file cannot be read; some of the lines were handed on.
    pub(crate) fn lines(&self, root: &str, each: &mut dyn FnMut(&[u8])) -> Result<(), OpenCodeStoreError> {
        let tree = self.forest()?.tree(root);
        for row in tree {
            tell("session", row, each);
        }
        let mut messages: Vec<(Option<i64>, PathBuf, &str)> = Vec::new();
        for row in tree {
            for file in self.messages(&row.id)? {
                let head: MessageFile = serde_json::from_str(&text(&file)?).unwrap_or_default();
                messages.push((head.time.created, file, &row.id));
            }
        }
        messages.sort();
        for (time_created, file, session_id) in messages {
            let (id, data) = (stem(&file), text(&file)?);
            let row = MessageRow { id: &id, session_id, kind: None, time_created, data: Data::of(&data) };
            tell("message", row, each);
            for file in json_files(&self.storage.join("part").join(&id))? {
                let data = text(&file)?;
                let row = PartRow { id: &stem(&file), message_id: &id, session_id, data: Data::of(&data) };
                tell("part", row, each);
            }
        }
        Ok(())
    }

    fn messages(&self, session: &str) -> Result<Vec<PathBuf>, OpenCodeStoreError> {
        json_files(&self.storage.join("message").join(session))
    }

    fn forest(&self) -> Result<&Forest, OpenCodeStoreError> {
        if let Some(forest) = self.sessions.get() {
            return Ok(forest);
        }
        let mut sessions = Vec::new();
        for project in entries(&self.storage.join("session"))? {
            for file in json_files(&project)? {
                // Of a file that makes no sense, its name tells the session.
                let read: SessionFile = serde_json::from_str(&text(&file)?).unwrap_or_default();
                sessions.push(SessionRow {
                    id: stem(&file),
                    parent_id: read.parent_id,
                    title: read.title,
                    directory: read.directory,
                    version: read.version,
                    time_created: read.time.created,
                    time_updated: read.time.updated,
                });
            }
        }
        Ok(self.sessions.get_or_init(|| Forest::of(sessions)))
    }
}

/// Returns what is in a folder, by name; nothing if there is none.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, OpenCodeStoreError> {
    let listed = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<PathBuf>>>());
    match listed {
        Ok(mut paths) => {
            paths.sort();
            Ok(paths)
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(OpenCodeStoreError::read(folder)(error)),
    }
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>, OpenCodeStoreError> {
    let mut files = entries(folder)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    Ok(files)
}

/// Returns the id that a file is named after.
fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn text(file: &Path) -> Result<String, OpenCodeStoreError> {
    let bytes = fs::read(file).map_err(OpenCodeStoreError::read(file))?;
    Ok(on_one_line(String::from_utf8_lossy(&bytes).into_owned()))
}

fn changed_ms(file: &Path) -> io::Result<i64> {
    let changed = fs::metadata(file)?.modified()?;
    Ok(changed.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}
