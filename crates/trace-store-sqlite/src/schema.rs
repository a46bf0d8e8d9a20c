//! Opening: the settings of a connection, and the format of the file.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, TransactionBehavior, functions::FunctionFlags};

use crate::{WriteAhead, error::Cause, file, rows};

/// The steps from an empty file to today's format; a file's `user_version` is the number of steps that it has seen.
///
/// A step that was released is never changed: a new format is a new step.
const MIGRATIONS: [&str; 3] =
    [include_str!("schema/format-1.sql"), include_str!("schema/format-2.sql"), include_str!("schema/format-3.sql")];

/// The newest format that this code reads and writes.
pub(crate) const FORMAT: u32 = 3;

/// `Trac`, by which `file(1)` and others can tell the ledger from other databases.
const APPLICATION_ID: u32 = 0x5472_6163;

/// The oldest SQLite without the known fault that two connections could damage a write-ahead log.
const OLDEST_LIBRARY: (i32, &str) = (3_051_003, "3.51.3");

/// How much of the file is held in memory, in kibibytes. The index of requests is written to all over; where it does
/// not fit in, each launch that is put in writes much of it again.
const CACHE_KIB: i64 = 24 * 1024;

/// How large the write-ahead log stays after it was large once, in bytes.
const LOG_BYTES: i64 = 4 * 1024 * 1024;

/// How many prepared statements a connection keeps: all that are always the same, and a few kinds of queries.
const STATEMENTS: usize = 64;

/// Returns a connection to the file. Nothing is changed.
pub(crate) fn connect(path: &Path) -> Result<Connection, Cause> {
    check_library(rusqlite::version_number(), rusqlite::version())?;
    // SQLite opens no link here, and creates nothing.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    rusqlite::vtab::array::load_module(&connection)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Makes the connection safe and brings the file to today's format. Doing it again changes nothing.
pub(crate) fn prepare(connection: &mut Connection, path: &Path, write_ahead: WriteAhead) -> Result<(), Cause> {
    // Before anything is changed: the file may be of a newer Trace, or of something else.
    read_format(connection)?;
    let write_ahead = match write_ahead {
        WriteAhead::WhereItWorks => !file::is_on_network(path)?,
        WriteAhead::Never => false,
    };
    let logs_ahead = write_ahead && set_journal(connection, "wal")?;
    if !logs_ahead && !set_journal(connection, "delete")? {
        return Err(Cause::Damaged(String::from("its journal can be neither a write-ahead log nor a file")));
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    // On macOS, only this reaches the disk itself; elsewhere it changes nothing.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // A negative number is one of kibibytes.
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    // Nothing in the file may call functions with effects.
    connection.pragma_update(None, "trusted_schema", false)?;
    migrate(connection)
}

/// Checks that the file still has the format of this code: another process may have brought it to a newer one.
pub(crate) fn check_format(connection: &Connection) -> Result<(), Cause> {
    let found: u32 = connection.prepare_cached("PRAGMA user_version")?.query_row((), |row| row.get(0))?;
    match found {
        FORMAT => Ok(()),
        found if found > FORMAT => Err(Cause::Future { found, supported: FORMAT }),
        found => Err(Cause::Damaged(format!("it went back to format {found} while it was open"))),
    }
}

fn migrate(connection: &mut Connection) -> Result<(), Cause> {
    if read_format(connection)? == FORMAT {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let found = read_format(&transaction)?;
    let done = usize::try_from(found).unwrap_or(usize::MAX);
    // For the step to format 3; nothing that stays in the file calls it.
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    transaction.create_scalar_function("request_hash", 1, flags, |context| {
        Ok(context.get::<Option<String>>(0)?.as_deref().map(rows::request_hash))
    })?;
    for step in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()?;
    Ok(())
}

/// Returns the format of the file: 0 if it is empty.
fn read_format(connection: &Connection) -> Result<u32, Cause> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let objects: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    let found = number("user_version")?;
    match (number("application_id")?, u32::try_from(found)) {
        (0, Ok(0)) if objects == 0 => Ok(0),
        (id, Ok(format @ 1..)) if id == i64::from(APPLICATION_ID) && format <= FORMAT => Ok(format),
        (id, Ok(found @ 1..)) if id == i64::from(APPLICATION_ID) => Err(Cause::Future { found, supported: FORMAT }),
        _ => Err(Cause::Damaged(String::from("it is a database of something else than Trace"))),
    }
}

/// Asks for a journal and tells whether the answer is that one.
fn set_journal(connection: &Connection, journal: &str) -> Result<bool, Cause> {
    let answer = connection.pragma_update_and_check(None, "journal_mode", journal, |row| row.get::<_, String>(0))?;
    Ok(answer == journal)
}

fn check_library(number: i32, found: &'static str) -> Result<(), Cause> {
    let (oldest, wanted) = OLDEST_LIBRARY;
    if number >= oldest { Ok(()) } else { Err(Cause::OldLibrary { found, wanted }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_library_is_new_enough_and_an_older_one_would_be_refused() {
        assert!(check_library(rusqlite::version_number(), rusqlite::version()).is_ok());
        assert!(check_library(3_051_003, "3.51.3").is_ok());
        let error = check_library(3_051_002, "3.51.2").unwrap_err();
        assert_eq!(error.to_string(), "SQLite 3.51.2 is older than 3.51.3, the oldest that is known to be sound here");
    }

    #[test]
    fn where_the_write_ahead_log_is_refused_the_journal_is_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        file::create_private(&path).unwrap();
        // This way of locking files has no shared memory, as on some file systems.
        let mut connection = Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), "unix-dotfile").unwrap();
        prepare(&mut connection, &path, WriteAhead::WhereItWorks).unwrap();
        let journal: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(journal, "delete");
        assert!(check_format(&connection).is_ok());
    }

    #[test]
    fn what_makes_writes_durable_is_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        file::create_private(&path).unwrap();
        let mut connection = connect(&path).unwrap();
        prepare(&mut connection, &path, WriteAhead::WhereItWorks).unwrap();
        let setting = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        let full = 2;
        assert_eq!((setting("synchronous"), setting("fullfsync"), setting("foreign_keys")), (full, 1, 1));
    }

    #[test]
    fn the_format_counts_the_migrations() {
        assert_eq!(usize::try_from(FORMAT), Ok(MIGRATIONS.len()));
    }
}
