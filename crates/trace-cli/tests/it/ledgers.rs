//! Homes whose ledger has files: what they say is the same whatever keeps it.

use std::fs;

use serde_json::Value;
use trace_capture::{CaptureEnv, LedgerKind};

use super::{
    runs::{FAMILY, family},
    scripted::{ANSWERED, CONTROL, FAILED, ScriptedClock, ScriptedHome, answered, disk_kinds, failed, own},
    views::conversation,
};

/// Two launches of a harness, and a run of launches that start each other, one of which is tried again.
fn all(env: &CaptureEnv, clock: &ScriptedClock) {
    answered(env, clock);
    clock.wait(60_000);
    failed(env, clock);
    family(env, clock);
    let control = |run: &str| serde_json::from_str(&CONTROL.replace("order-7", run)).unwrap();
    for run in ["order-8", "order-9"] {
        env.blocking_reserve(control(run), "my-agent".parse().unwrap(), None, "worker").unwrap();
        clock.wait(1_000);
    }
    env.blocking_release(&"order-8".parse().unwrap()).unwrap();
}

/// Returns every document about launches.
fn documents(home: &ScriptedHome, options: &[&str]) -> Vec<String> {
    let print = |arguments: &[&str]| home.print(&[arguments, &["--json"], options].concat());
    let listed = print(&["ls"]);
    let launches: Value = serde_json::from_str(&listed).unwrap();
    let ids = launches["launches"].as_array().unwrap().iter().map(|launch| launch["id"].as_str().unwrap());
    let mut all: Vec<String> =
        ids.flat_map(|id| [print(&["show", id]), print(&["context", id])]).chain([print(&["show", FAMILY])]).collect();
    all.push(listed);
    all
}

fn delete_ledger(home: &ScriptedHome) {
    for entry in fs::read_dir(home.home()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("ledger.") {
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.unwrap();
        }
    }
}

#[test]
fn every_ledger_gives_the_same_documents_also_after_a_reindex_and_after_each_move() {
    let home = ScriptedHome::recorded(own(), all);
    let recorded = documents(&home, &[]);
    let reservations = |home: &ScriptedHome| home.print(&["reservations", "--json"]);
    let reserved = reservations(&home);
    assert_eq!(reserved.matches("\"state\"").count(), 2);
    for kind in disk_kinds() {
        let home = ScriptedHome::recorded(kind, all);
        assert_eq!((documents(&home, &[]), reservations(&home)), (recorded.clone(), reserved.clone()), "{kind}");
        assert_eq!(documents(&home, &["--ledger", "memory"]), recorded, "{kind}, through memory");
        for to in disk_kinds().filter(|to| *to != kind).chain([kind]) {
            let moved = home.print(&["reindex", "--ledger", to.as_str()]);
            assert!(moved.ends_with("8 launches indexed · 40 events\n"), "{moved}");
            let now = (documents(&home, &["--ledger", to.as_str()]), reservations(&home));
            assert_eq!(now, (recorded.clone(), reserved.clone()), "{kind} moved to {to}");
        }
        delete_ledger(&home);
        home.print(&["reindex"]);
        assert_eq!(documents(&home, &[]), recorded, "{kind}, made anew");
    }
    let home = ScriptedHome::recorded(LedgerKind::Memory, all);
    assert_eq!(documents(&home, &["--ledger", "memory"]), recorded);
}

#[cfg(all(feature = "sled", feature = "sqlite"))]
#[test]
fn a_move_says_what_was_moved_and_what_was_lost() {
    for (from, to) in disk_kinds().flat_map(|from| disk_kinds().map(move |to| (from, to))) {
        if from == to {
            continue;
        }
        let home = ScriptedHome::recorded(from, all);
        let refused = format!(
            "error: the ledger of HOME is {from}, not {to}; `trace reindex --ledger {to}` moves it\n\
             next: `--ledger memory` reads the recordings without the ledger\n"
        );
        assert_eq!(home.complain(&["ls", "--ledger", to.as_str()]), (1, refused));
        let text = home.print(&["reindex", "--ledger", to.as_str()]);
        let expected = format!("moved from {from} to {to} · 2 reservations\n8 launches indexed · 40 events\n");
        assert_eq!(text, expected);

        delete_ledger(&home);
        let output = home.run(&["reindex", "--ledger", from.as_str(), "--json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let moved = serde_json::json!({
            "from": to.as_str(), "to": from.as_str(), "reservations": null, "copied": 0,
        });
        assert_eq!(document["moved"], moved);
        let said = String::from_utf8(output.stderr).unwrap();
        let warning = format!("warning: the {to} ledger was gone: reservations, which no recording holds, are lost\n");
        assert_eq!((output.status.success(), said), (true, warning));
    }
}

#[test]
fn nothing_is_brought_in_line_in_a_ledger_that_keeps_nothing() {
    let home = ScriptedHome::new();
    let (code, text) = home.complain(&["reindex", "--ledger", "memory"]);
    assert_eq!((code, text.starts_with("error: a memory ledger keeps nothing")), (2, true), "{text}");
}

#[test]
fn an_empty_ledger_of_a_home_with_recordings_says_what_to_do() {
    let home = ScriptedHome::new();
    delete_ledger(&home);
    let advice = "there are recordings, and the ledger holds none of them: run `trace reindex`\n";
    assert_eq!(home.complain(&["ls"]), (0, format!("note: {advice}")));
    assert_eq!(home.complain(&["show"]), (1, format!("error: {advice}")));
    assert_eq!(home.print(&["reindex"]), "2 launches indexed · 16 events\n");
    assert!(home.print(&["ls"]).contains(ANSWERED) && home.print(&["show", FAILED]).contains(FAILED));
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
