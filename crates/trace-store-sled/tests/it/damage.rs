//! Stored values that make no sense are errors that name the ledger; nothing panics, whatever its files hold.

use std::{fs, path::Path};

use pollster::block_on;
use proptest::prelude::*;
use trace_model::{
    ledger::{Ledger, LedgerError},
    query::{LaunchCursor, LaunchQuery, Order},
};
use trace_store_sled::SledLedger;
use trace_testkit::samples;

use crate::{copy_fixture, everything, with_sled};

/// Copies the committed ledger, spoils a tree of it, and asks the spoilt one for everything.
fn read_spoilt(tree: &str, spoil: impl Fn(&sled::Tree)) -> Result<serde_json::Value, LedgerError> {
    let folder = tempfile::tempdir().unwrap();
    let path = copy_fixture(folder.path());
    with_sled(&path, |database| spoil(&database.open_tree(tree).unwrap()));
    let result = everything(&SledLedger::open(&path).unwrap());
    if let Err(LedgerError::Corrupt { place, .. }) = &result {
        assert_eq!(place, path.to_str().unwrap());
    }
    result
}

/// Checks that reading fails with an error that says all of what it should.
#[track_caller]
fn assert_names(tree: &str, spoil: impl Fn(&sled::Tree), names: &[&str]) {
    let error = read_spoilt(tree, spoil).expect_err(tree);
    let LedgerError::Corrupt { detail, .. } = &error else { panic!("{tree}: {error:?}") };
    for name in names {
        assert!(detail.contains(name), "{tree}: {detail}");
    }
}

/// Puts one text in place of another one in every row that holds it.
fn replace(from: &str, to: &str) -> impl Fn(&sled::Tree) {
    move |tree| {
        let mut replaced = 0;
        for entry in tree {
            let (key, value) = entry.unwrap();
            let text = std::str::from_utf8(&value).unwrap();
            if text.contains(from) {
                tree.insert(key, text.replace(from, to).as_bytes()).unwrap();
                replaced += 1;
            }
        }
        assert!(replaced > 0, "no row holds {from}");
    }
}

#[test]
fn a_value_that_is_no_value_is_named_with_its_row() {
    for (tree, from, to, entity) in [
        ("launches", "\"outcome\":\"running\"", "\"outcome\":\"No Word\"", "launch"),
        ("launches", "\"outcome\":\"running\"", "\"outcome\":\"failed\"", "launch"),
        ("launches", "\"id\":\"launch_", "\"id\":\"l_", "launch"),
        ("launches", "\"surface\"", "\"surfeit\"", "launch"),
        ("turns", "\"input_op\":\"initial\"", "\"input_op\":\"No Word\"", "turn"),
        ("turns", "\"ordinal\":1", "\"ordinal\":-1", "turn"),
        ("assets", "\"kind\":\"document\"", "\"kind\":\"No Word\"", "asset"),
        ("assets", "\"byte_end\":", "\"byte_end\":1", "asset"),
        ("decisions", "\"decision\":\"included\"", "\"decision\":\"No Word\"", "decision"),
        ("usage", "\"grain\":\"request\"", "\"grain\":\"No Word\"", "usage record"),
        ("usage", "{", "[", "usage record"),
        ("reservations", "\"state\":\"waiting\"", "\"state\":\"No Word\"", "reservation"),
    ] {
        assert_names(tree, replace(from, to), &[entity]);
    }
    assert_names("turns", replace("\"initial\"", "\"No Word\""), &["turn", "input op", "\"No Word\""]);
}

#[test]
fn an_index_that_leads_nowhere_is_damage() {
    for tree in ["launches", "requests"] {
        assert_names(tree, |tree| tree.clear().unwrap(), &["index"]);
    }
}

#[test]
fn a_piece_that_is_spoilt_or_missing_is_damage() {
    let first = |tree: &sled::Tree, byte: u8| {
        let (key, value) = tree.first().unwrap().unwrap();
        let mut value = value.to_vec();
        value[0] = byte;
        tree.insert(key, value).unwrap();
    };
    for tree in ["launches", "turns", "assets", "decisions", "usage", "reservations"] {
        assert_names(tree, |tree| first(tree, 7), &["a piece of a row"]);
    }
    assert_names("launches", |tree| first(tree, 1), &["the last piece of a row is missing"]);
    for empty in ["launches", "assets"] {
        let cut = |tree: &sled::Tree| {
            let (key, _) = tree.first().unwrap().unwrap();
            tree.insert(key, "").unwrap();
        };
        assert_names(empty, cut, &["a piece of a row is empty"]);
    }
}

#[test]
fn after_damage_is_found_by_reading_the_rest_can_still_be_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy_fixture(folder.path());
    let spoil = replace("\"input_op\":\"initial\"", "\"input_op\":\"x\"");
    with_sled(&path, |database| spoil(&database.open_tree("turns").unwrap()));
    let ledger = SledLedger::open(&path).unwrap();
    assert!(everything(&ledger).is_err());
    block_on(ledger.apply(&samples::beginning(77))).unwrap();
    assert_eq!(block_on(ledger.launch(samples::launch_id(77))).unwrap(), samples::launch(77));
}

#[test]
fn launches_that_a_query_cannot_want_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy_fixture(folder.path());
    // The first two launches of three can no longer be read.
    with_sled(&path, |database| {
        let launches = database.open_tree("launches").unwrap();
        for n in [1, 2] {
            launches.insert(samples::launch_id(n).as_uuid().as_bytes(), "\0spoilt").unwrap();
        }
    });
    let ledger = SledLedger::open(&path).unwrap();
    let all = LaunchQuery::default();
    let found = |query: &LaunchQuery| {
        let found = block_on(ledger.launches(query))?;
        Ok::<_, LedgerError>(found.into_iter().map(|launch| launch.header.id).collect::<Vec<_>>())
    };
    let after = LaunchCursor { started_at: samples::time(2), id: samples::launch_id(2) };
    let newest = LaunchQuery { order: Order::NewestFirst, limit: Some(1), ..all.clone() };
    let later = LaunchQuery { started_from: Some(samples::time(3)), ..all.clone() };
    let next = LaunchQuery { after: Some(after), ..all.clone() };
    for query in [newest, later, LaunchQuery { started_from: Some(samples::time(2)), ..next.clone() }] {
        assert_eq!(found(&query).unwrap(), [samples::launch_id(3)], "{query:?}");
    }
    let before = LaunchQuery { started_before: Some(samples::time(1)), ..all.clone() };
    let between = LaunchQuery { started_before: Some(samples::time(1)), ..next };
    let session = LaunchQuery { sessions: [String::from("session-3")].into(), ..all.clone() };
    let run = LaunchQuery { runs: ["another-run".parse().unwrap()].into(), ..all.clone() };
    let parent = LaunchQuery { parents: [samples::launch_id(4)].into(), ..all.clone() };
    for query in [before, between, session, run, parent] {
        assert_eq!(found(&query).unwrap(), [], "{query:?}");
    }
    assert!(found(&all).is_err());
}

/// Opens the ledger, asks for everything, and writes. Checks that nothing panics beyond the ledger.
fn use_spoilt(path: &Path) -> Result<(), TestCaseError> {
    let result = SledLedger::open(path).and_then(|ledger| {
        everything(&ledger)?;
        block_on(ledger.apply(&samples::beginning(77)))
    });
    match result {
        Ok(()) | Err(LedgerError::Backend { .. }) => {}
        Err(LedgerError::Corrupt { place, .. }) => prop_assert_eq!(place, path.display().to_string()),
        // The thread would be gone, and nobody would have said why.
        Err(error) => prop_assert!(false, "{error:?}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn files_that_were_overwritten_or_cut_anywhere_never_panic(
        spots in proptest::collection::vec((any::<prop::sample::Index>(), any::<[u8; 4]>()), 1..8),
        cut in proptest::option::weighted(0.3, any::<prop::sample::Index>()),
        file in any::<prop::sample::Index>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = copy_fixture(folder.path());
        // A second opening leaves a snapshot, which can be spoilt too.
        drop(SledLedger::open(&path).unwrap());
        let mut files: Vec<_> = fs::read_dir(&path).unwrap().map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.is_file() && file.metadata().unwrap().len() > 4);
        files.sort();
        let file = file.get(&files);
        let mut bytes = fs::read(file).unwrap();
        for (spot, with) in spots {
            let start = spot.index(bytes.len() - with.len());
            bytes[start..start + with.len()].copy_from_slice(&with);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(file, bytes).unwrap();
        use_spoilt(&path)?;
    }
}
