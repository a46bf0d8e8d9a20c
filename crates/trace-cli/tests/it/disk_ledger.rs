//! A home whose ledger is a file.

use std::fs;

use trace_capture::LedgerKind;

use super::{
    scripted::{ANSWERED, FAILED, ScriptedHome},
    views::conversation,
};

#[test]
fn every_ledger_and_a_ledger_made_anew_give_the_same_documents() {
    let documents = |home: &ScriptedHome, ledger: &str| {
        let print = |arguments: &[&str]| home.print(&[arguments, &["--json", "--ledger", ledger]].concat());
        [print(&["ls"]), print(&["show", ANSWERED]), print(&["show", FAILED]), print(&["context", ANSWERED])]
    };
    let home = ScriptedHome::new();
    let recorded = documents(&home, "sqlite");
    assert_eq!(documents(&home, "memory"), recorded);
    assert_eq!(documents(&ScriptedHome::with_ledger(LedgerKind::Memory), "memory"), recorded);

    for entry in fs::read_dir(home.home()).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("ledger.db") {
            fs::remove_file(path).unwrap();
        }
    }
    assert_eq!(home.print(&["reindex"]), "2 launches indexed · 16 events\n");
    assert_eq!(documents(&home, "sqlite"), recorded);
}

#[test]
fn an_empty_ledger_of_a_home_with_recordings_says_what_to_do() {
    let home = ScriptedHome::new();
    fs::remove_file(home.home().join("ledger.db")).unwrap();
    let advice = "there are recordings, and the ledger holds none of them: run `trace reindex`\n";
    assert_eq!(home.complain(&["ls"]), (0, format!("note: {advice}")));
    assert_eq!(home.complain(&["show"]), (1, format!("error: {advice}")));
}

#[test]
fn a_launch_whose_recording_is_gone_stays_in_the_ledger_and_is_told() {
    let home = ScriptedHome::new();
    fs::remove_dir_all(conversation(&home).parent().unwrap()).unwrap();
    let text = home.print(&["reindex"]);
    assert!(
        text.starts_with("1 launch indexed · 4 events · 1 launch without a recording\n  nightly/proc_1/"),
        "{text}"
    );
    assert!(text.ends_with(": its recording is not there; the ledger keeps its rows\n"), "{text}");
    assert!(home.print(&["ls"]).contains(ANSWERED));
}
