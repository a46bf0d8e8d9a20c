//! The database.
//!
//! * It is opened read-only, with `query_only` besides, and each reading is one transaction: a state of the store that
//!   was there. OpenCode logs ahead, so that its writer neither waits for that nor is waited for.
//! * A database that logs ahead and has no log beside it is open nowhere. SQLite would make files beside it to read it;
//!   as one that does not change it is read without. Whether it did change meanwhile is looked at afterwards.
//! * Tables and columns that a version does not have are read as empty. Version 2 keeps what is new in `session_v2` and
//!   `session_message` and leaves the older tables as they were; what it copied from them has the same ids, and is read
//!   from the older ones, whose parts tell more (getagentseal/codeburn#1293, JingbiaoMei/Tokdash#99).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs::{self, File},
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, config::DbConfig, types::ValueRef};

use super::{
    OpenCodeStoreError, SessionState, StoredSession,
    rows::{Data, Forest, MessageRow, PartRow, SessionRow, on_one_line, tell},
};

/// How long a database that is locked is waited for. A writer holds one that logs ahead for moments only.
const PATIENCE: Duration = Duration::from_millis(500);

/// How a file of SQLite begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Where in the file it says how it is written, and the word for a log that is written ahead.
const WRITE_VERSION: usize = 18;
const AHEAD: u8 = 2;

/// OpenCode's database, open for reading.
#[derive(Debug)]
pub(crate) struct OpenCodeDatabase {
    path: PathBuf,
    connection: Connection,
    /// How the file was when it was opened as one that does not change.
    unchanging: Option<Stamp>,
    /// The sessions as they are in the version of the data that the number names.
    sessions: Option<(i64, Forest)>,
}

/// When a file was changed, and its size.
type Stamp = (Option<SystemTime>, u64);

impl OpenCodeDatabase {
    /// Opens the database, whoever else has it open.
    ///
    /// # Errors
    ///
    /// It is locked, damaged, no database of OpenCode, or cannot be read.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenCodeStoreError> {
        let logs_ahead = logs_ahead(path)?;
        let is_closed = logs_ahead && !beside(path, "-wal").exists();
        let unchanging = if is_closed { Some(stamp(path)?) } else { None };
        let opened = connect(path, is_closed);
        let mut database = match opened {
            Ok(connection) => Self { path: path.to_path_buf(), connection, unchanging, sessions: None },
            Err(error) => return Err(failed(path, error)),
        };
        let is_store = database.read(|schema, _, _| Ok(schema.is_store()))?;
        if is_store { Ok(database) } else { Err(OpenCodeStoreError::NotAStore { path: path.to_path_buf() }) }
    }

    /// Returns the sessions that are no other's child, oldest first.
    ///
    /// # Errors
    ///
    /// As of [`open`](Self::open).
    pub(crate) fn sessions(&mut self) -> Result<Vec<StoredSession>, OpenCodeStoreError> {
        self.read(|schema, sessions, transaction| {
            let mut stored: Vec<StoredSession> = Vec::new();
            let mut places: BTreeMap<&str, usize> = BTreeMap::new();
            for tree in sessions.trees() {
                let Some(root) = tree.first() else { continue };
                let updated = tree.iter().filter_map(|row| row.time_updated.or(row.time_created)).max();
                let rows = u64::try_from(tree.len()).unwrap_or(u64::MAX);
                let state = SessionState { updated_ms: updated.unwrap_or(i64::MIN), rows };
                places.extend(tree.iter().map(|row| (row.id.as_str(), stored.len())));
                stored.push(StoredSession { id: root.id.clone(), state });
            }
            for table in [&schema.message, &schema.session_message].into_iter().flatten() {
                let updated = table.column("time_updated");
                let text = format!("SELECT session_id, count(*), max({updated}) FROM {} GROUP BY 1", table.name);
                let mut statement = transaction.prepare(&text)?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let session = text_of(row.get_ref(0)?).unwrap_or_default();
                    let place = places.get(session.as_str()).and_then(|place| stored.get_mut(*place));
                    let Some(StoredSession { state, .. }) = place else { continue };
                    state.rows = state.rows.saturating_add(u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0));
                    state.updated_ms = state.updated_ms.max(number_of(row.get_ref(2)?).unwrap_or(i64::MIN));
                }
            }
            Ok(stored)
        })
    }

    /// Returns the ids of all sessions, children too.
    ///
    /// # Errors
    ///
    /// As of [`open`](Self::open).
    pub(crate) fn session_ids(&mut self) -> Result<BTreeSet<String>, OpenCodeStoreError> {
        self.read(|_, sessions, _| Ok(sessions.trees().iter().flatten().map(|row| row.id.clone()).collect()))
    }

    /// Hands on the lines of a session and of those below it; none for an id that is not there.
    ///
    /// # Errors
    ///
    /// As of [`open`](Self::open), after some of the lines.
    pub(crate) fn lines(&mut self, root: &str, each: &mut dyn FnMut(&[u8])) -> Result<(), OpenCodeStoreError> {
        self.read(|schema, sessions, transaction| {
            let tree = sessions.tree(root);
            for row in tree {
                tell("session", row, each);
            }
            let mut messages: Vec<MessagePlace> = Vec::new();
            for session in tree {
                schema.places(transaction, &session.id, &mut messages)?;
            }
            messages.sort();
            for place in &messages {
                schema.message(transaction, place, each)?;
            }
            Ok(())
        })
    }

    /// Reads in one transaction.
    fn read<T>(
        &mut self,
        reading: impl FnOnce(&Schema, &Forest, &Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, OpenCodeStoreError> {
        let result = (|| {
            let transaction = self.connection.transaction()?;
            let schema = Schema::of(&transaction)?;
            let version = transaction.pragma_query_value(None, "data_version", |row| row.get(0))?;
            let known = self.sessions.take().filter(|(of, _)| *of == version);
            let (_, sessions) = self.sessions.insert(match known {
                Some(known) => known,
                None => (version, schema.sessions(&transaction)?),
            });
            reading(&schema, sessions, &transaction)
        })();
        let has_changed = self.unchanging.is_some_and(|before| {
            beside(&self.path, "-wal").exists() || stamp(&self.path).map_or(true, |now| now != before)
        });
        if has_changed {
            return Err(OpenCodeStoreError::Changed { path: self.path.clone() });
        }
        result.map_err(|error| failed(&self.path, error))
    }
}

fn connect(path: &Path, is_closed: bool) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri(path, is_closed), flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Returns the address by which SQLite opens the file.
fn uri(path: &Path, is_closed: bool) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            write!(uri, "%{byte:02X}").expect("a string takes all that is written");
        }
    }
    uri.push_str(if is_closed { "?mode=ro&immutable=1" } else { "?mode=ro" });
    uri
}

/// Returns the file beside the database whose name has that ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn stamp(path: &Path) -> Result<Stamp, OpenCodeStoreError> {
    let metadata = fs::metadata(path).map_err(OpenCodeStoreError::read(path))?;
    Ok((metadata.modified().ok(), metadata.len()))
}

/// Tells whether the database logs ahead.
fn logs_ahead(path: &Path) -> Result<bool, OpenCodeStoreError> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(100).read_to_end(&mut head));
    read.map_err(OpenCodeStoreError::read(path))?;
    if !head.starts_with(MAGIC) {
        return Err(OpenCodeStoreError::NotAStore { path: path.to_path_buf() });
    }
    Ok(head.get(WRITE_VERSION) == Some(&AHEAD))
}

fn failed(path: &Path, error: rusqlite::Error) -> OpenCodeStoreError {
    let path = path.to_path_buf();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            OpenCodeStoreError::Locked { path }
        }
        Some(ErrorCode::DatabaseCorrupt) => OpenCodeStoreError::Damaged { path, source: error.into() },
        Some(ErrorCode::NotADatabase) => OpenCodeStoreError::NotAStore { path },
        _ => OpenCodeStoreError::Read { path, source: io::Error::other(error).into() },
    }
}

/// A table that is there, with the names of its columns.
#[derive(Debug)]
struct Table {
    name: &'static str,
    columns: BTreeSet<String>,
}

impl Table {
    /// Returns the table if it is there and has those columns.
    fn of(transaction: &Transaction<'_>, name: &'static str, needed: &[&str]) -> rusqlite::Result<Option<Self>> {
        let mut statement = transaction.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let columns = statement.query_map([name], |row| row.get(0))?.collect::<rusqlite::Result<BTreeSet<String>>>()?;
        let is_usable = needed.iter().all(|column| columns.contains(*column));
        Ok(is_usable.then_some(Self { name, columns }))
    }

    /// Returns the column, or what stands for one that is not there.
    fn column<'a>(&self, name: &'a str) -> &'a str {
        if self.columns.contains(name) { name } else { "NULL" }
    }

    fn columns<const N: usize>(&self, names: [&str; N]) -> String {
        names.map(|name| self.column(name)).join(", ")
    }
}

/// The tables that are there.
#[derive(Debug)]
struct Schema {
    session: Option<Table>,
    session_v2: Option<Table>,
    message: Option<Table>,
    session_message: Option<Table>,
    part: Option<Table>,
}

/// Where a message stands, in the order of the lines.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MessagePlace {
    time_created: Option<i64>,
    id: String,
    session_id: String,
    is_second: bool,
}

impl Schema {
    fn of(transaction: &Transaction<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            session: Table::of(transaction, "session", &["id"])?,
            session_v2: Table::of(transaction, "session_v2", &["id"])?,
            message: Table::of(transaction, "message", &["id", "session_id", "data"])?,
            session_message: Table::of(transaction, "session_message", &["id", "session_id", "type", "data"])?,
            part: Table::of(transaction, "part", &["id", "message_id", "data"])?,
        })
    }

    const fn is_store(&self) -> bool {
        (self.session.is_some() && self.message.is_some())
            || (self.session_v2.is_some() && self.session_message.is_some())
    }

    fn sessions(&self, transaction: &Transaction<'_>) -> rusqlite::Result<Forest> {
        let mut sessions = Vec::new();
        for table in [&self.session, &self.session_v2].into_iter().flatten() {
            let columns =
                table.columns(["id", "parent_id", "title", "directory", "version", "time_created", "time_updated"]);
            let mut statement = transaction.prepare(&format!("SELECT {columns} FROM {}", table.name))?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let Some(id) = text_of(row.get_ref(0)?) else { continue };
                sessions.push(SessionRow {
                    id,
                    parent_id: text_of(row.get_ref(1)?).filter(|parent| !parent.is_empty()),
                    title: text_of(row.get_ref(2)?),
                    directory: text_of(row.get_ref(3)?),
                    version: text_of(row.get_ref(4)?),
                    time_created: number_of(row.get_ref(5)?),
                    time_updated: number_of(row.get_ref(6)?),
                });
            }
        }
        Ok(Forest::of(sessions))
    }

    /// Adds where the messages of a session stand.
    fn places(
        &self,
        transaction: &Transaction<'_>,
        session: &str,
        places: &mut Vec<MessagePlace>,
    ) -> rusqlite::Result<()> {
        let mut of_first = BTreeSet::new();
        for (table, is_second) in [(&self.message, false), (&self.session_message, true)] {
            let Some(table) = table else { continue };
            let columns = table.columns(["id", "time_created"]);
            let text = format!("SELECT {columns} FROM {} WHERE session_id = ?1", table.name);
            let mut statement = transaction.prepare_cached(&text)?;
            let mut rows = statement.query([session])?;
            while let Some(row) = rows.next()? {
                let Some(id) = text_of(row.get_ref(0)?) else { continue };
                if is_second && of_first.contains(&id) {
                    continue;
                }
                if !is_second {
                    of_first.insert(id.clone());
                }
                let time_created = number_of(row.get_ref(1)?);
                places.push(MessagePlace { time_created, id, session_id: session.to_owned(), is_second });
            }
        }
        Ok(())
    }

    /// Hands on a message and its parts.
    fn message(
        &self,
        transaction: &Transaction<'_>,
        place: &MessagePlace,
        each: &mut dyn FnMut(&[u8]),
    ) -> rusqlite::Result<()> {
        let (table, name) =
            if place.is_second { (&self.session_message, "session_message") } else { (&self.message, "message") };
        let Some(table) = table else { return Ok(()) };
        let text = format!("SELECT data, {} FROM {name} WHERE id = ?1", table.column("type"));
        let mut statement = transaction.prepare_cached(&text)?;
        let mut rows = statement.query([&place.id])?;
        let Some(row) = rows.next()? else { return Ok(()) };
        let data = on_one_line(text_of(row.get_ref(0)?).unwrap_or_default());
        let kind = text_of(row.get_ref(1)?).filter(|_| place.is_second);
        let row = MessageRow {
            id: &place.id,
            session_id: &place.session_id,
            kind: kind.as_deref(),
            time_created: place.time_created,
            data: Data::of(&data),
        };
        tell(name, row, each);
        if place.is_second { Ok(()) } else { self.parts(transaction, place, each) }
    }

    fn parts(
        &self,
        transaction: &Transaction<'_>,
        place: &MessagePlace,
        each: &mut dyn FnMut(&[u8]),
    ) -> rusqlite::Result<()> {
        let Some(part) = &self.part else { return Ok(()) };
        let text = format!("SELECT id, data FROM {} WHERE message_id = ?1 ORDER BY id", part.name);
        let mut statement = transaction.prepare_cached(&text)?;
        let mut rows = statement.query([&place.id])?;
        while let Some(row) = rows.next()? {
            let id = text_of(row.get_ref(0)?).unwrap_or_default();
            let data = on_one_line(text_of(row.get_ref(1)?).unwrap_or_default());
            let row = PartRow { id: &id, message_id: &place.id, session_id: &place.session_id, data: Data::of(&data) };
            tell("part", row, each);
        }
        Ok(())
    }
}

/// Returns the text of a value, whatever it is stored as; `None` for null.
fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn number_of(value: ValueRef<'_>) -> Option<i64> {
    value.as_i64().ok().or_else(|| text_of(value)?.parse().ok())
}
