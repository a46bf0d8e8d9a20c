//! Which ledger a home is opened with.

use trace_capture::{Home, LedgerConfig, LedgerKind, OpenError, open_home_ledger, open_ledger};

fn home(folder: &tempfile::TempDir) -> Home {
    Home::open_real(folder.path()).unwrap()
}

/// Returns the kind of a new home.
fn first() -> LedgerKind {
    LedgerKind::ALL.iter().copied().find(|kind| kind.is_compiled()).unwrap()
}

#[test]
fn every_kind_is_read_from_its_word_and_no_other() {
    for kind in LedgerKind::ALL {
        assert_eq!(kind.to_string().parse::<LedgerKind>().unwrap(), *kind);
    }
    let error = "postgres".parse::<LedgerKind>().unwrap_err();
    let words: Vec<&str> = LedgerKind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(error.to_string(), format!("\"postgres\" is no ledger; there are {}", words.join(", ")));
}

#[test]
fn the_first_ledger_with_a_file_becomes_the_homes_own() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let own = || home.config().unwrap().map(|config| config.ledger);
    assert_eq!(own(), None);
    let first_with_a_file = Some(first()).filter(|kind| *kind != LedgerKind::Memory);
    open_home_ledger(&home, None).unwrap();
    assert_eq!(own(), first_with_a_file);
    open_home_ledger(&home, Some(LedgerKind::Memory)).unwrap();
    assert_eq!(own(), first_with_a_file, "a memory ledger opens any home and changes none");
}

#[test]
fn a_memory_ledger_becomes_no_homes_own() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    open_home_ledger(&home, Some(LedgerKind::Memory)).unwrap();
    assert_eq!(home.config().unwrap(), None);
    assert_eq!(LedgerKind::of_home(&home).unwrap(), first());
    open_home_ledger(&home, None).unwrap();
    assert_eq!(folder.path().join("ledger.db").exists(), first() == LedgerKind::Sqlite);
}

#[test]
fn a_wanted_memory_ledger_asks_nothing_of_the_home() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    for config in ["", "{", "[1]", r#"{"format_version":1,"ledger":"paper"}"#, r#"{"format_version":9}"#] {
        std::fs::write(folder.path().join("home.json"), config).unwrap();
        assert!(open_home_ledger(&home, None).is_err(), "{config}");
        open_home_ledger(&home, Some(LedgerKind::Memory)).unwrap();
    }
}

#[cfg(feature = "sqlite")]
#[test]
fn a_wanted_ledger_is_opened_although_the_homes_word_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let path = folder.path().join("home.json");
    for config in ["", "{", r#"{"format_version":1,"ledger":"paper"}"#] {
        std::fs::write(&path, config).unwrap();
        open_home_ledger(&home, Some(LedgerKind::Sqlite)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), config, "it was changed");
    }
    std::fs::write(&path, r#"{"format_version":9,"ledger":"sqlite"}"#).unwrap();
    let OpenError::Home(error) = open_home_ledger(&home, Some(LedgerKind::Sqlite)).unwrap_err() else {
        panic!("it is another error")
    };
    assert!(error.to_string().contains("has version 9, and this trace reads up to 1"), "{error}");
}

#[cfg(feature = "sqlite")]
#[test]
fn a_ledger_that_cannot_be_opened_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no such folder/ledger.db");
    let error = open_ledger(&LedgerConfig::Sqlite { path }).unwrap_err();
    assert!(matches!(error, OpenError::Ledger { kind: LedgerKind::Sqlite, .. }), "{error:?}");
}

#[cfg(not(feature = "sqlite"))]
#[test]
fn a_ledger_that_is_not_compiled_in_names_its_feature() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let opened = open_ledger(&LedgerConfig::Sqlite { path });
    assert!(matches!(opened, Err(OpenError::NotCompiled { feature: "sqlite", .. })), "{opened:?}");
    let error = open_home_ledger(&home(&folder), Some(LedgerKind::Sqlite)).unwrap_err();
    assert_eq!(error.to_string(), "the sqlite ledger is not compiled in; build with the feature `sqlite`");
}
