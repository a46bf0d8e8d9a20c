//! What the place of a session file of Gemini CLI tells, and its lines do not.
//!
//! ```text
//! tmp/<project>/.project_root             the folder that the agent works in, where the client is new enough
//! tmp/<project>/chats/<file>              a session
//! tmp/<project>/chats/<session>/<file>    a session of a subagent of that session
//! ```
//!
//! `<project>` is a name; older clients have the SHA-256 of the folder there.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use trace_model::context::Sha256Hex;

use super::facts::Facts;

/// The longest path that is read, in bytes.
const LONGEST_PATH: u64 = 64 << 10;

/// The place of a session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GeminiPlace {
    project: PathBuf,
    /// The session whose subagent it is.
    parent: Option<String>,
}

impl GeminiPlace {
    /// Returns the place of a file that lies where Gemini CLI keeps its sessions.
    pub(crate) fn of(file: &Path) -> Option<Self> {
        let folder = file.parent()?;
        let (chats, parent) = if folder.ends_with("chats") {
            (folder, None)
        } else {
            (folder.parent()?, Some(folder.file_name()?.to_string_lossy().into_owned()))
        };
        let project = chats.parent().filter(|_| chats.ends_with("chats"))?;
        Some(Self { project: project.to_path_buf(), parent })
    }

    /// Adds what the place tells to what its file told. `expected` is a folder that the agent may have worked in.
    pub(crate) fn complete(&self, facts: &mut Facts, expected: Option<&Path>) {
        let by_hash =
            || expected.filter(|folder| self.is_named_after(folder)).map(|folder| folder.display().to_string());
        let folder = self.project_root().or_else(by_hash);
        facts.complete(self.parent.as_deref(), folder.as_deref());
    }

    fn project_root(&self) -> Option<String> {
        let mut text = String::new();
        File::open(self.project.join(".project_root")).ok()?.take(LONGEST_PATH).read_to_string(&mut text).ok()?;
        Some(text.trim().to_owned()).filter(|folder| !folder.is_empty())
    }

    fn is_named_after(&self, folder: &Path) -> bool {
        let hash = Sha256Hex::of(folder.as_os_str().as_encoded_bytes()).to_string();
        self.project.file_name().is_some_and(|name| name == hash.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use trace_providers::{Observation, SessionSeen};

    use super::*;

    fn facts() -> Facts {
        let mut facts = Facts::default();
        facts.take(Observation::Session(SessionSeen { id: "child".to_owned(), ..SessionSeen::default() }));
        facts
    }

    /// Returns the parent and the folder of the session in the file, as the place tells them.
    fn told(file: &Path, expected: Option<&Path>) -> Option<(Option<String>, Option<String>)> {
        let mut facts = facts();
        GeminiPlace::of(file)?.complete(&mut facts, expected);
        let seen = &facts.sessions()[0].seen;
        Some((seen.parent.clone(), seen.cwd.clone()))
    }

    #[test]
    fn a_session_is_of_the_folder_that_stands_beside_it() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("tmp/demo");
        fs::create_dir_all(project.join("chats")).unwrap();
        let session = project.join("chats/session-1.jsonl");
        assert_eq!(told(&session, None), Some((None, None)));
        fs::write(project.join(".project_root"), "/home/dev/work\n").unwrap();
        let folder = Some("/home/dev/work".to_owned());
        assert_eq!(told(&session, None), Some((None, folder.clone())));
        let subagent = project.join("chats/parent/child.jsonl");
        assert_eq!(told(&subagent, None), Some((Some("parent".to_owned()), folder)));
    }

    #[test]
    fn a_folder_is_known_by_its_hash() {
        let hash = Sha256Hex::of(b"/home/dev/work");
        let session = PathBuf::from(format!("/none/tmp/{hash}/chats/session-1.json"));
        let expected = Path::new("/home/dev/work");
        assert_eq!(told(&session, Some(expected)), Some((None, Some("/home/dev/work".to_owned()))));
        assert_eq!(told(&session, Some(Path::new("/home/dev"))), Some((None, None)));
    }

    #[test]
    fn what_the_file_itself_tells_stands() {
        let mut facts = facts();
        let seen = SessionSeen { id: "child".to_owned(), cwd: Some("/own".to_owned()), ..SessionSeen::default() };
        facts.take(Observation::Session(seen));
        facts.complete(Some("child"), Some("/other"));
        let seen = &facts.sessions()[0].seen;
        assert_eq!((seen.cwd.as_deref(), seen.parent.as_deref()), (Some("/own"), None), "none is its own parent");
    }

    #[test]
    fn a_file_elsewhere_has_no_such_place() {
        for file in ["/home/dev/session.jsonl", "/chats", "chats/a/b/c.jsonl"] {
            assert_eq!(GeminiPlace::of(Path::new(file)), None, "{file}");
        }
    }
}
