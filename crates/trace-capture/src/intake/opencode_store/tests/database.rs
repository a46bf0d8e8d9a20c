use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use serde_json::Value;
use trace_model::words::Quality;

use super::{
    super::{OpenCodeDatabase, OpenCodeStoreError},
    support::{ids, sums, usage, values},
};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A copy of a recorded database, in a folder of its own.
struct Copy {
    folder: tempfile::TempDir,
}

impl Copy {
    fn of(scenario: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(fixture(&format!("opencode-{scenario}/opencode.db")), folder.path().join("opencode.db")).unwrap();
        Self { folder }
    }

    /// Returns a copy that logs ahead, as OpenCode has it, closed.
    fn ahead(scenario: &str) -> Self {
        let copy = Self::of(scenario);
        copy.writer().pragma_update(None, "journal_mode", "wal").unwrap();
        assert_eq!(copy.files(), ["opencode.db"]);
        copy
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("opencode.db")
    }

    fn writer(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn database(&self) -> OpenCodeDatabase {
        OpenCodeDatabase::open(&self.path()).unwrap()
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }
}

fn lines(database: &mut OpenCodeDatabase, root: &str) -> Vec<u8> {
    let mut lines = Vec::new();
    database.lines(root, &mut |line| lines.extend_from_slice(line)).unwrap();
    lines
}

/// Returns the lines of the only session.
fn all_lines(database: &mut OpenCodeDatabase) -> Vec<u8> {
    let [session] = &database.sessions().unwrap()[..] else { panic!("there is one session") };
    lines(database, &session.id)
}

fn truth(scenario: &str) -> Value {
    serde_json::from_slice(&fs::read(fixture(&format!("opencode-{scenario}/truth.json"))).unwrap()).unwrap()
}

#[test]
fn a_recorded_database_adds_up_to_what_the_server_charged() {
    for scenario in ["hello", "rounds"] {
        let lines = all_lines(&mut Copy::of(scenario).database());
        let truth = &truth(scenario)["all"];
        let expected = ["input_uncached", "cache_read", "output_total"].map(|class| truth[class].as_u64().unwrap());
        assert_eq!(sums(&lines), expected, "{scenario}");
        assert_eq!(u64::try_from(usage(&lines).len()).ok(), truth["model_requests"].as_u64(), "{scenario}");
        assert!(usage(&lines).iter().all(|report| report.quality == Quality::Exact), "{scenario}");
    }
    let reports = usage(&all_lines(&mut Copy::of("fail").database()));
    assert_eq!(reports.iter().map(|report| report.quality).collect::<Vec<_>>(), [Quality::LowerBound]);
}

#[test]
fn rows_come_in_the_order_of_time_with_parts_behind_their_message() {
    let lines = values(&all_lines(&mut Copy::of("hello").database()));
    let tables: Vec<&str> = lines.iter().map(|line| line["table"].as_str().unwrap()).collect();
    assert_eq!(
        tables,
        ["session", "message", "part", "message", "part", "part", "part", "message", "part", "part", "part"]
    );
    for (message, part) in lines.iter().zip(&lines[1..]).filter(|(_, next)| next["table"] == "part") {
        let owner = if message["table"] == "message" { &message["row"]["id"] } else { &message["row"]["message_id"] };
        assert_eq!(&part["row"]["message_id"], owner);
        assert!(part["row"]["data"].is_object());
    }
    let row = &lines[0]["row"];
    assert_eq!((row["directory"].as_str(), row["version"].as_str()), (Some("/home/dev/project"), Some("1.18.33")));
}

#[test]
fn a_database_that_is_open_nowhere_is_read_without_a_trace() {
    let copy = Copy::ahead("hello");
    let before = copy.bytes();
    let mut database = copy.database();
    assert!(!all_lines(&mut database).is_empty());
    drop(database);
    assert_eq!((copy.files(), copy.bytes()), (vec![String::from("opencode.db")], before));
}

const ADD: &str = "INSERT INTO message (id, session_id, time_created, time_updated, data)
    SELECT 'msg_new', id, 1900000000000, 1900000000001, '{\"role\":\"user\"}' FROM session";

#[test]
fn what_a_writer_has_committed_is_read_while_it_writes_on() {
    let copy = Copy::ahead("hello");
    let writer = copy.writer();
    writer.execute(ADD, []).unwrap();
    let before = copy.bytes();
    // A write that is not committed holds the write lock.
    writer.execute_batch("BEGIN IMMEDIATE; UPDATE session SET title = 'not yet'; DELETE FROM part;").unwrap();
    let files = copy.files();
    let mut database = copy.database();
    let lines = all_lines(&mut database);
    assert_eq!(ids(&lines, "message").last().map(String::as_str), Some("msg_new"), "it is in the log alone");
    assert_eq!(sums(&lines), [2005, 6005, 105]);
    assert_ne!(values(&lines)[0]["row"]["title"], "not yet");
    // The writer is held up by nothing, while the reader is open.
    writer.execute_batch("COMMIT; UPDATE session SET title = 'then'").unwrap();
    assert_eq!(values(&all_lines(&mut database))[0]["row"]["title"], "then");
    drop(database);
    assert_eq!((copy.files(), copy.bytes()), (files, before), "the log is the writer's own to bring in");
}

#[test]
fn a_log_that_a_crash_left_is_read_and_not_brought_in() {
    let copy = Copy::ahead("hello");
    let writer = copy.writer();
    writer.execute(ADD, []).unwrap();
    // What the disk held when the writer was killed.
    let crashed = tempfile::tempdir().unwrap();
    for name in ["opencode.db", "opencode.db-wal"] {
        fs::copy(copy.folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    drop(writer);
    let crashed = Copy { folder: crashed };
    let before = crashed.bytes();
    let lines = all_lines(&mut crashed.database());
    assert_eq!(ids(&lines, "message").last().map(String::as_str), Some("msg_new"));
    assert_eq!(crashed.bytes(), before);
    assert!(crashed.files().contains(&String::from("opencode.db-wal")));
}

#[test]
fn a_database_that_someone_begins_to_write_meanwhile_is_told() {
    let copy = Copy::ahead("hello");
    let mut database = copy.database();
    let _writer = {
        let writer = copy.writer();
        writer.execute(ADD, []).unwrap();
        writer
    };
    let error = database.sessions().unwrap_err();
    assert!(matches!(&error, OpenCodeStoreError::Changed { path } if *path == copy.path()), "{error}");
    assert_eq!(copy.database().sessions().unwrap().len(), 1);
}

#[test]
fn a_locked_database_is_an_error_that_names_it() {
    let copy = Copy::of("hello");
    let writer = copy.writer();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let error = OpenCodeDatabase::open(&copy.path()).unwrap_err();
    assert!(matches!(&error, OpenCodeStoreError::Locked { path } if *path == copy.path()), "{error}");
}

#[test]
fn a_damaged_database_is_an_error_that_names_it() {
    let copy = Copy::of("rounds");
    let mut bytes = copy.bytes();
    let len = bytes.len();
    // All but the first page, which holds the schema.
    bytes[4096..len].fill(0xA5);
    fs::write(copy.path(), &bytes).unwrap();
    let result = OpenCodeDatabase::open(&copy.path()).and_then(|mut database| database.sessions());
    let error = result.unwrap_err();
    assert!(matches!(&error, OpenCodeStoreError::Damaged { path, .. } if *path == copy.path()), "{error}");
}

fn of_schema(schema: &str) -> Copy {
    let copy = Copy { folder: tempfile::tempdir().unwrap() };
    copy.writer().execute_batch(schema).unwrap();
    copy
}

#[test]
fn a_file_that_is_no_store_is_told() {
    let copy = of_schema("CREATE TABLE session (id TEXT); CREATE TABLE other (id TEXT)");
    let is_none = |path: &Path| matches!(OpenCodeDatabase::open(path), Err(OpenCodeStoreError::NotAStore { .. }));
    assert!(is_none(&copy.path()));
    for bytes in [&b"not a database"[..], b"", b"SQLite format 3\0 and then nothing"] {
        fs::write(copy.path(), bytes).unwrap();
        assert!(is_none(&copy.path()), "{}", String::from_utf8_lossy(bytes));
    }
    let missing = OpenCodeDatabase::open(&copy.folder.path().join("none.db"));
    assert!(matches!(missing, Err(OpenCodeStoreError::Read { .. })));
    assert!(matches!(OpenCodeDatabase::open(copy.folder.path()), Err(OpenCodeStoreError::Read { .. })));
}

#[test]
fn columns_that_are_not_there_are_unknown_and_values_of_other_kinds_are_read() {
    let copy = of_schema(
        "CREATE TABLE session (id TEXT, parent_id TEXT);
         CREATE TABLE message (id TEXT, session_id TEXT, data BLOB);
         CREATE TABLE part (id TEXT, message_id TEXT, data TEXT);
         INSERT INTO session VALUES ('s', ''), (7, NULL);
         INSERT INTO message VALUES ('m', 's', x'7B22726F6C65223A2275736572227D'), ('n', 's', 'none'), ('o', 's', x'FF');
         INSERT INTO part VALUES ('p', 'm', NULL);",
    );
    let mut database = copy.database();
    let sessions = database.sessions().unwrap();
    assert_eq!(sessions.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), ["7", "s"]);
    assert_eq!(sessions[1].state.rows, 4);
    let lines = values(&lines(&mut database, "s"));
    let data: Vec<&Value> = lines[1..].iter().map(|line| &line["row"]["data"]).collect();
    assert_eq!(data, [&serde_json::json!({"role": "user"}), &"".into(), &"none".into(), &"\u{FFFD}".into()]);
}

#[test]
fn sessions_are_told_as_trees_whatever_their_parents_are() {
    let copy = of_schema(
        "CREATE TABLE session (id TEXT, parent_id TEXT, time_created INTEGER, time_updated INTEGER);
         CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
         INSERT INTO session VALUES ('root', NULL, 10, 11), ('child', 'root', 20, 21), ('grandchild', 'child', 15, 16),
            ('orphan', 'gone', 5, 6), ('a', 'b', 1, 1), ('b', 'a', 2, 2), ('below', 'b', 3, 3);
         INSERT INTO message VALUES ('m3', 'root', 30, 90, '{}'), ('m1', 'root', 12, 12, '{}'), ('m2', 'child', 22, 22, '{}'),
            ('lost', 'nobody', 1, 1, '{}');",
    );
    let mut database = copy.database();
    let sessions = database.sessions().unwrap();
    let told: Vec<(&str, i64, u64)> =
        sessions.iter().map(|session| (session.id.as_str(), session.state.updated_ms, session.state.rows)).collect();
    assert_eq!(told, [("a", 3, 3), ("orphan", 6, 1), ("root", 90, 6)]);
    let of_root = lines(&mut database, "root");
    assert_eq!(ids(&of_root, "session"), ["root", "child", "grandchild"]);
    assert_eq!(ids(&of_root, "message"), ["m1", "m2", "m3"]);
    assert_eq!(ids(&lines(&mut database, "a"), "session"), ["a", "b", "below"]);
    assert_eq!(lines(&mut database, "none"), b"");
    let expected = ["a", "b", "below", "child", "grandchild", "orphan", "root"].map(String::from);
    assert_eq!(database.session_ids().unwrap(), BTreeSet::from(expected));
}

#[test]
fn what_version_two_copied_is_read_once_and_what_it_added_too() {
    let copy = of_schema(
        "CREATE TABLE session (id TEXT, title TEXT, time_created INTEGER);
         CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
         CREATE TABLE part (id TEXT, message_id TEXT, data TEXT);
         CREATE TABLE session_v2 (id TEXT, title TEXT, time_created INTEGER);
         CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER, data TEXT);
         INSERT INTO session VALUES ('s', 'old', 1);
         INSERT INTO session_v2 VALUES ('s', 'new', 1), ('t', 'only here', 2);
         INSERT INTO message VALUES ('m1', 's', 1, '{\"role\":\"user\"}');
         INSERT INTO part VALUES ('p1', 'm1', '{}');
         INSERT INTO session_message VALUES ('m1', 's', 'user', 1, 1, '{}'), ('m2', 's', 'assistant', 2, 2, '{}'),
            ('m3', 't', 'user', 1, 3, '{}');",
    );
    let mut database = copy.database();
    let of_s = lines(&mut database, "s");
    assert_eq!(
        (ids(&of_s, "message"), ids(&of_s, "session_message")),
        (vec![String::from("m1")], vec![String::from("m2")])
    );
    assert_eq!(ids(&of_s, "part"), ["p1"]);
    assert_eq!(values(&of_s)[0]["row"]["title"], "new");
    assert_eq!(values(&of_s)[3]["row"]["type"], "assistant");
    assert_eq!(ids(&lines(&mut database, "t"), "session_message"), ["m3"]);
}

#[test]
fn a_path_of_any_name_is_opened() {
    let copy = Copy::of("hello");
    let odd = copy.folder.path().join("a b?mode=rwc#%41é.db");
    fs::rename(copy.path(), &odd).unwrap();
    assert_eq!(OpenCodeDatabase::open(&odd).unwrap().sessions().unwrap().len(), 1);
}
