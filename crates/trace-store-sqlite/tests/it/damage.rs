//! Stored values that make no sense are errors that name them; nothing panics, whatever the file holds.

use std::{fs, path::Path};

use proptest::prelude::*;
use rusqlite::Connection;
use trace_model::ledger::LedgerError;
use trace_store_sqlite::SqliteLedger;

use crate::everything_costed;

/// Copies the committed ledger, spoils it, and asks the spoilt one for everything.
fn read_spoilt(spoil: &str) -> Result<serde_json::Value, LedgerError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ledger-v3.db"), &path).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {spoil}")).unwrap();
    everything_costed(&SqliteLedger::open(&path).unwrap())
}

/// Checks that reading fails with an error that names the file, and all of what it should.
fn assert_names(spoil: &str, names: &[&str]) {
    let error = read_spoilt(spoil).expect_err(spoil);
    let LedgerError::Corrupt { place, detail } = &error else { panic!("{spoil}: {error:?}") };
    assert!(Path::new(place).ends_with("ledger.db"), "{spoil}: {place}");
    for name in names {
        assert!(detail.contains(name), "{spoil}: {detail}");
    }
}

#[test]
fn a_word_that_is_in_no_list_is_named_with_its_column() {
    let words = [
        ("launches", ["outcome", "capture_status", "provider"].as_slice()),
        ("turns", &["status", "partial_reason", "input_op", "context_coverage", "tokenizer"]),
        ("assets", &["channel", "kind", "scope"]),
        ("decisions", &["kind", "scope", "decision"]),
        ("usage_records", &["grain", "quality"]),
        ("reservations", &["provider", "state"]),
    ];
    for (table, columns) in words {
        for column in columns {
            assert_names(&format!("UPDATE {table} SET {column} = 'No Word'"), &[column, table, "\"No Word\""]);
        }
    }
}

#[test]
fn ids_paths_hashes_and_tags_are_checked_when_they_are_read() {
    for (table, column, value) in [
        ("launches", "id", "launch_12"),
        ("launches", "run_id", "../run"),
        ("launches", "process_id", ""),
        ("launches", "parent_launch_id", "turn_1"),
        ("launches", "conversation_path", "/etc/passwd"),
        ("launches", "tags", "[1]"),
        ("launches", "control", "{}"),
        ("reservations", "launch_id", "launch_12"),
        ("reservations", "control", "7"),
        ("launches", "launch_ended_sha256", "12"),
        ("turns", "task_prompt_path", "a/../../b"),
        ("assets", "content_sha256", "no hash"),
        ("usage_records", "turn_id", "turn"),
    ] {
        assert_names(&format!("UPDATE OR IGNORE {table} SET {column} = '{value}'"), &[column, table]);
    }
}

#[test]
fn numbers_out_of_range_are_named() {
    for (table, column, number) in [
        ("launches", "started_at", i64::MAX),
        ("launches", "ended_at", i64::MIN),
        ("turns", "ordinal", -1),
        ("turns", "started_at", i64::MIN),
        ("assets", "position", 1 << 32),
        ("decisions", "asset_position", -1),
        ("usage_records", "observed_at", i64::MAX),
        ("reservations", "reserved_at", i64::MIN),
    ] {
        // One row only: in all rows the value would break a key.
        let key = match table {
            "assets" | "decisions" => "turn_id, position",
            "usage_records" => "launch_id, key",
            "reservations" => "launch_id",
            _ => "id",
        };
        let spoil =
            format!("UPDATE {table} SET {column} = {number} WHERE ({key}) = (SELECT {key} FROM {table} LIMIT 1)");
        assert_names(&spoil, &[column, table, &number.to_string()]);
    }
}

#[test]
fn columns_that_contradict_each_other_are_named() {
    for (spoil, said) in [
        ("UPDATE launches SET ended_at = NULL", "outcome and ended_at disagree"),
        ("UPDATE launches SET incomplete_reason = 'why'", "incomplete_reason"),
        ("UPDATE launches SET capture_status = 'partial'", "incomplete"),
        ("UPDATE turns SET ended_at = NULL", "status and ended_at disagree"),
        ("UPDATE turns SET partial_reason = 'abandoned'", "partial_reason"),
        ("UPDATE turns SET basis_revision = NULL", "basis_epoch_id and basis_revision disagree"),
        ("UPDATE assets SET byte_end = byte_start - 1", "byte_end lies before byte_start"),
    ] {
        assert_names(spoil, &[said]);
    }
}

#[test]
fn text_that_is_no_utf_8_is_named() {
    for (table, column) in [
        ("launches", "repo"),
        ("turns", "root_output"),
        ("assets", "label"),
        ("decisions", "reason"),
        ("usage_records", "model"),
    ] {
        assert_names(&format!("UPDATE {table} SET {column} = CAST(x'ff41' AS TEXT)"), &[column, table]);
    }
}

#[test]
fn a_missing_table_is_an_error_of_the_backend() {
    for table in ["launches", "turns", "assets", "decisions", "usage_records"] {
        let error = read_spoilt(&format!("DROP TABLE {table}")).expect_err(table);
        assert!(matches!(error, LedgerError::Backend { .. }), "{error:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn bytes_that_were_overwritten_anywhere_never_panic(
        spots in proptest::collection::vec((any::<prop::sample::Index>(), any::<[u8; 4]>()), 1..8),
        cut in proptest::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.db");
        let mut bytes = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ledger-v3.db")).unwrap();
        for (spot, with) in spots {
            let start = spot.index(bytes.len() - with.len());
            bytes[start..start + with.len()].copy_from_slice(&with);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(&path, bytes).unwrap();
        let result = SqliteLedger::open(&path).and_then(|ledger| everything_costed(&ledger));
        // A panic of the worker would close the ledger.
        let panicked = matches!(result, Err(LedgerError::Closed { .. }));
        prop_assert!(!panicked);
    }
}
