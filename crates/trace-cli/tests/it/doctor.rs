//! `trace doctor`.

use std::{
    fs::{self, File},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use super::{
    exec::bench::{Bench, stderr},
    import::{document, lines::session, print, run, without_paths, write},
};

const FILE: &str = "person/.claude/projects/p/s1.jsonl";

/// Returns the findings that ask for something, and what is to be done about each.
fn findings(bench: &Bench) -> Vec<(String, String)> {
    let output = run(bench, &["doctor", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| without_paths(bench, value.as_str().unwrap());
    let findings = document["findings"].as_array().unwrap().iter().filter(|finding| finding["level"] == "finding");
    let findings: Vec<_> = findings.map(|finding| (text(&finding["what"]), text(&finding["next"]))).collect();
    let code = i32::from(!findings.is_empty());
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(code), ""), "{document}");
    findings
}

/// Returns all that is said of the agents' retention.
fn retention(bench: &Bench) -> Vec<String> {
    let text = String::from_utf8(run(bench, &["doctor"]).stdout).unwrap();
    let lines = text.lines().filter(|line| line.contains("delete") || line.contains("settings.json"));
    lines.map(|line| without_paths(bench, line)).collect()
}

/// Lets a file be as old as that.
fn age(bench: &Bench, name: &str, days: u64) {
    let at = SystemTime::now() - Duration::from_secs(days * 86_400);
    File::options().write(true).open(bench.path(name)).unwrap().set_modified(at).unwrap();
}

#[test]
fn a_home_without_agents_is_well() {
    let bench = Bench::new();
    insta::assert_snapshot!("doctor_nothing", print(&bench, 0, &["doctor"]));
}

#[cfg(any(feature = "sled", feature = "sqlite"))]
#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let bench = Bench::new();
    write(&bench, FILE, session("s1", 30) + "no json\n");
    write(&bench, "person/.claude/projects/p/s2.jsonl", session("s2", 4));
    document(&bench, 0, &["import", "--json", "--index-only"]);
    fs::remove_file(bench.path("person/.claude/projects/p/s2.jsonl")).unwrap();
    document(&bench, 0, &["import", "--json", "--index-only"]);
    write(&bench, "home/config.toml", "keep = maybe\n");
    insta::assert_snapshot!("doctor", print(&bench, 1, &["doctor"]));
    let document = document(&bench, 1, &["doctor", "--json"]);
    insta::assert_snapshot!("doctor.json", without_paths(&bench, &serde_json::to_string_pretty(&document).unwrap()));
}

#[test]
fn what_could_not_be_read_is_told_until_it_can_be() {
    let bench = Bench::new();
    let file = "person/.codex/sessions/rollout-1.jsonl.zst";
    write(&bench, file, "no zstd");
    assert_eq!(findings(&bench), [], "nobody read it");
    for _time in 0..2 {
        assert!(stderr(&run(&bench, &["ls"])).contains("1 file could not be read"));
        let [(what, next)] = &findings(&bench)[..] else { panic!("{:?}", findings(&bench)) };
        assert!(what.starts_with(&format!("FOLDER/{file} is not read: ")), "{what}");
        assert!(next.contains("`trace import` tries again"), "{next}");
    }
    let rollout = fs::read(super::import::fixture("codex-hello/rollout.jsonl")).unwrap();
    write(&bench, file, zstd::encode_all(&rollout[..], 3).unwrap());
    document(&bench, 0, &["import", "--json"]);
    assert_eq!(findings(&bench), []);
}

#[test]
fn sessions_that_claude_code_deletes_soon_are_told() {
    let bench = Bench::new();
    write(&bench, FILE, session("s1", 30));
    write(&bench, "person/.claude/projects/p/s2.jsonl", session("s2", 4));
    age(&bench, FILE, 24);
    document(&bench, 0, &["import", "--json", "--index-only"]);
    // Without a word of its owner it keeps them for 30 days.
    let [(what, next)] = &findings(&bench)[..] else { panic!("{:?}", findings(&bench)) };
    assert_eq!(what, "Claude Code deletes sessions after 30 days: 1 file without a copy will be gone within 7 days");
    assert!(next.contains("cleanupPeriodDays in FOLDER/person/.claude/settings.json"), "{next}");
    // The owner may say how long.
    write(&bench, "person/.claude/settings.json", r#"{"cleanupPeriodDays": 90}"#);
    assert_eq!(findings(&bench), []);
    assert_eq!(
        retention(&bench),
        ["✓ Claude Code deletes sessions after 90 days; none without a copy goes within 7 days"]
    );
    write(&bench, "person/.claude/settings.json", r#"{"cleanupPeriodDays": 7}"#);
    assert!(findings(&bench)[0].0.contains("after 7 days: 2 files"), "{:?}", findings(&bench));
    // A copy outlives them.
    document(&bench, 0, &["import", "--json"]);
    assert_eq!(findings(&bench), []);
}

#[test]
fn sessions_that_were_never_looked_at_go_as_well() {
    let bench = Bench::new();
    write(&bench, FILE, session("s1", 30));
    age(&bench, FILE, 29);
    let [(what, _)] = &findings(&bench)[..] else { panic!("{:?}", findings(&bench)) };
    assert!(what.contains("1 file without a copy"), "{what}");
}

#[test]
fn a_period_of_no_days_and_settings_that_make_no_sense_are_told() {
    let bench = Bench::new();
    write(&bench, FILE, session("s1", 30));
    document(&bench, 0, &["import", "--json", "--index-only"]);
    write(&bench, "person/.claude/settings.json", r#"{"cleanupPeriodDays": 0}"#);
    let [(what, _)] = &findings(&bench)[..] else { panic!("{:?}", findings(&bench)) };
    assert!(what.starts_with("Claude Code keeps no sessions (cleanupPeriodDays is 0)"), "{what}");
    for nonsense in ["{", r#"{"cleanupPeriodDays": "long"}"#, r#"{"cleanupPeriodDays": -1}"#] {
        write(&bench, "person/.claude/settings.json", nonsense);
        let [(what, next)] = &findings(&bench)[..] else { panic!("{nonsense}: {:?}", findings(&bench)) };
        assert!(what.contains("FOLDER/person/.claude/settings.json"), "{nonsense}: {what}");
        assert!(what.contains("30 days"), "{nonsense}: what holds then: {what}");
        assert!(!next.is_empty());
    }
}

#[test]
fn what_gemini_is_told_to_delete_is_told() {
    let bench = Bench::new();
    let gemini = fs::read(super::import::fixture("gemini-hello/session.jsonl")).unwrap();
    let file = "person/.gemini/tmp/demo/chats/session-1.jsonl";
    write(&bench, file, gemini);
    age(&bench, file, 25);
    document(&bench, 0, &["import", "--json", "--index-only"]);
    let set = |text: &str| write(&bench, "person/.gemini/settings.json", text);
    set(r#"{"general": {"sessionRetention": {"enabled": true, "maxAge": "30d"}}}"#);
    let [(what, next)] = &findings(&bench)[..] else { panic!("{:?}", findings(&bench)) };
    assert_eq!(what, "Gemini CLI deletes sessions after 30 days: 1 file without a copy will be gone within 7 days");
    assert!(next.contains("maxAge in FOLDER/person/.gemini/settings.json"), "{next}");
    set(r#"{"general": {"sessionRetention": {"enabled": true, "maxAge": "48w"}}}"#);
    assert_eq!(
        retention(&bench),
        ["✓ Gemini CLI deletes sessions after 336 days; none without a copy goes within 7 days"]
    );
    set(r#"{"general": {"sessionRetention": {"enabled": false, "maxAge": "30d"}}}"#);
    assert_eq!(retention(&bench), Vec::<String>::new());
}

#[cfg(feature = "sqlite")]
mod ledger {
    //! A ledger of SQLite that is not as it should be.

    use rusqlite::Connection;

    use super::*;

    /// Returns a home whose ledger holds a session, and the ledger.
    fn filled() -> (Bench, std::path::PathBuf) {
        let bench = Bench::new();
        write(&bench, FILE, session("s1", 30));
        document(&bench, 0, &["import", "--json"]);
        let ledger = bench.home().join("ledger.db");
        (bench, ledger)
    }

    /// Returns the only finding, and what to do about it.
    fn only_finding(bench: &Bench) -> (String, String) {
        let mut findings = findings(bench);
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings.pop().unwrap()
    }

    #[test]
    fn one_that_is_damaged_is_told() {
        let (bench, ledger) = filled();
        for beside in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{beside}", ledger.display()));
        }
        fs::write(&ledger, "no database ".repeat(1_000)).unwrap();
        let (what, next) = only_finding(&bench);
        assert!(what.contains("FOLDER/home/ledger.db is damaged"), "{what}");
        assert_eq!(next, "`trace reindex` makes it anew from the recordings once it is moved away");
        // So it does.
        fs::rename(&ledger, bench.path("away.db")).unwrap();
        let (what, next) = only_finding(&bench);
        assert_eq!(what, "there are recordings, and the ledger holds none of them");
        assert_eq!(next, "`trace reindex` brings them in");
        assert!(run(&bench, &["reindex"]).status.success());
        assert_eq!(findings(&bench), []);
    }

    #[test]
    fn one_of_a_newer_version_is_told() {
        let (bench, ledger) = filled();
        let writer = Connection::open(ledger).unwrap();
        writer.pragma_update(None, "user_version", 99).unwrap();
        drop(writer);
        let (what, next) = only_finding(&bench);
        assert!(what.contains("schema version 99"), "{what}");
        assert!(next.starts_with("use a newer trace"), "{next}");
    }
}
