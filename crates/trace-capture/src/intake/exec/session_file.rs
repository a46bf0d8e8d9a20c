//! The session file that an agent wrote while it ran.
//!
//! An agent on a terminal, or one that prints plain text, tells no usage in its output; what it wrote itself does. The
//! file is found by where the agent keeps its sessions, by the folder that it worked in and by the time. Where two
//! could be meant, none is taken.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use trace_model::{timestamp::Timestamp, words::Provider};
use trace_providers::{Detail, reader_for, recognise::recognise_source};

use crate::{
    intake::import::{ImportFrom, Roots},
    sources::{facts::Facts, gemini_place::GeminiPlace, reading},
};

/// How much of a file is read to find whose session it is, in bytes.
const LOOKED_AT: u64 = 4 << 20;

/// How much earlier than its process a session may have begun, by clocks that are read at different moments.
const TOLERANCE_MICROS: i64 = 1_000_000;

/// Where an agent's session file is looked for.
#[derive(Debug, Clone)]
pub struct SessionLookup {
    /// Where agents keep their files.
    pub roots: Roots,
    /// The folder that the agent works in.
    pub folder: PathBuf,
}

/// What was found of a session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionFile {
    /// None was looked for: the output told what there is to know, or nothing tells whose agent it is.
    NotLooked,
    /// This one.
    Found {
        /// The file, or the database.
        path: PathBuf,
        /// The provider's id of the session.
        session: String,
        /// Whether it is a database, which holds other sessions as well.
        is_store: bool,
    },
    /// None of the folder was begun or went on while the agent ran.
    None {
        /// How many were.
        looked_at: u64,
    },
    /// More than one could be meant.
    Ambiguous {
        /// They are these.
        paths: Vec<PathBuf>,
    },
}

/// A session that may be the agent's.
struct Candidate {
    path: PathBuf,
    session: String,
    /// The session that started it.
    parent: Option<String>,
    /// Whether it began while the agent ran, and did not only go on.
    is_new: bool,
    is_store: bool,
}

impl SessionLookup {
    /// Looks for the session that the provider's agent wrote since that time.
    pub(super) fn find(&self, provider: &Provider, since: Timestamp) -> SessionFile {
        let mut looked_at = 0;
        let mut candidates = Vec::new();
        let from = ImportFrom::Roots(self.roots.only(provider));
        for path in from.session_files() {
            if changed_at(&path).is_none_or(|changed| changed < since.as_micros() - TOLERANCE_MICROS) {
                continue;
            }
            looked_at += 1;
            candidates.extend(self.candidate(&path, since));
        }
        #[cfg(feature = "sqlite")]
        for path in from.databases() {
            candidates.extend(self.stored(&path, since, &mut looked_at));
        }
        if candidates.iter().any(|candidate| candidate.is_new) {
            candidates.retain(|candidate| candidate.is_new);
        }
        // What a session starts is of that session, and none that it could be mistaken for.
        let sessions: BTreeSet<String> = candidates.iter().map(|candidate| candidate.session.clone()).collect();
        let is_started =
            |candidate: &Candidate| candidate.parent.as_ref().is_some_and(|parent| sessions.contains(parent));
        candidates.retain(|candidate| !is_started(candidate));
        match candidates.len() {
            0 => SessionFile::None { looked_at },
            1 => candidates.pop().map_or(SessionFile::None { looked_at }, |only| SessionFile::Found {
                is_store: only.is_store,
                path: only.path,
                session: only.session,
            }),
            _ => SessionFile::Ambiguous { paths: candidates.into_iter().map(|candidate| candidate.path).collect() },
        }
    }

    fn candidate(&self, path: &Path, since: Timestamp) -> Option<Candidate> {
        let mut head = Vec::new();
        File::open(path).ok()?.take(LOOKED_AT).read_to_end(&mut head).ok()?;
        let mut facts = Facts::default();
        let mut reader = reader_for(recognise_source(&head)?, Detail::Usage)?;
        reading::read(&mut head.as_slice(), &mut *reader, &mut facts).ok()?;
        if let Some(place) = GeminiPlace::of(path) {
            place.complete(&mut facts, Some(&self.folder));
        }
        self.of_facts(path, &facts, since)
    }

    #[cfg(feature = "sqlite")]
    fn stored(&self, path: &Path, since: Timestamp, looked_at: &mut u64) -> Vec<Candidate> {
        use crate::intake::opencode_store::OpenCodeDatabase;
        let Ok(mut database) = OpenCodeDatabase::open(path) else { return Vec::new() };
        let sessions = database.sessions().unwrap_or_default();
        let recent = |updated_ms: i64| updated_ms.saturating_mul(1_000) >= since.as_micros() - TOLERANCE_MICROS;
        let mut candidates = Vec::new();
        for session in sessions.into_iter().filter(|session| recent(session.state.updated_ms)) {
            *looked_at += 1;
            let mut facts = Facts::default();
            let Some(mut reader) = reader_for(trace_providers::SourceFormat::OpenCodeStore, Detail::Usage) else {
                continue;
            };
            let mut seen = Vec::new();
            if database.lines(&session.id, &mut |line| reader.push(line, &mut seen)).is_ok() {
                for observation in seen {
                    facts.take(observation);
                }
                let found = self.of_facts(path, &facts, since);
                candidates.extend(found.map(|found| Candidate { is_store: true, ..found }));
            }
        }
        candidates
    }

    fn of_facts(&self, path: &Path, facts: &Facts, since: Timestamp) -> Option<Candidate> {
        let session = facts.sessions().first()?;
        let folder = Path::new(session.seen.cwd.as_deref()?);
        let is_ours = folder == self.folder || fs::canonicalize(folder).ok()? == fs::canonicalize(&self.folder).ok()?;
        let is_new = session.first_at.is_some_and(|at| at.as_micros() >= since.as_micros() - TOLERANCE_MICROS);
        let id = session.seen.id.clone();
        let parent = session.seen.parent.clone().filter(|parent| *parent != id);
        (is_ours && !id.is_empty()).then(|| Candidate {
            path: path.to_path_buf(),
            session: id,
            parent,
            is_new,
            is_store: false,
        })
    }
}

fn changed_at(path: &Path) -> Option<i64> {
    let changed = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.modified().ok()?;
    let since_1970 = changed.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since_1970.as_micros()).ok()
}
