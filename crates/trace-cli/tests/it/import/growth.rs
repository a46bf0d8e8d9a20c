//! Files that change between imports.

use std::fs::{self, File};

use serde_json::{Value, json};
use trace_capture::LedgerKind;

use super::{
    Bench, document, kinds,
    lines::{prompt, reply, session},
    print, run, stderr, write,
};
use crate::scripted::own;

const FILE: &str = "person/.claude/projects/p/s1.jsonl";

fn append(bench: &Bench, text: &str) {
    use std::io::Write;
    File::options().append(true).open(bench.path(FILE)).unwrap().write_all(text.as_bytes()).unwrap();
}

fn import(bench: &Bench, options: &[&str]) -> Value {
    document(bench, 0, &[&["import", "--json"], options].concat())
}

/// Returns the launches, without a look at what the agents wrote.
fn known(bench: &Bench) -> Vec<Value> {
    let output = run(bench, &["ls", "--json", "--no-refresh"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["launches"].as_array().unwrap().clone()
}

fn output_tokens(bench: &Bench) -> Vec<u64> {
    known(bench).iter().map(|launch| launch["totals"]["output_tokens"].as_u64().unwrap()).collect()
}

/// Tells whether anything below the home is a copy of a source.
fn keeps_copies(bench: &Bench) -> bool {
    let of_launch = |folder: std::path::PathBuf| folder.join("raw/source-1.zst").exists();
    bench.launch_folders().into_iter().any(of_launch)
}

/// Returns the options that keep copies and that do not, with what a launch then is once its file is not what it was.
/// Where the ledger ends with the process, only copies outlive the file.
fn kept_and_indexed() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lasts = own() != LedgerKind::Memory;
    [("--report", "complete"), ("--index-only", "partial")]
        .into_iter()
        .filter(move |(_, status)| lasts || *status == "complete")
}

#[test]
fn a_second_import_reads_nothing_and_changes_nothing() {
    let bench = Bench::new();
    write(&bench, FILE, session("s1", 30));
    assert_eq!(import(&bench, &[])["sessions"], json!({"new": 1, "updated": 0, "unchanged": 0}));
    let before = known(&bench);
    let again = import(&bench, &[]);
    assert_eq!(again["sessions"], json!({"new": 0, "updated": 0, "unchanged": 1}));
    assert_eq!((&again["bytes"], &again["files"]["unchanged"]), (&json!(0), &json!(1)));
    assert_eq!(known(&bench), before);
}

#[test]
fn of_a_file_that_grew_only_the_rest_is_read() {
    let bench = Bench::new();
    write(&bench, FILE, session("s1", 30));
    import(&bench, &[]);
    let rest = prompt("s1", 2, "more") + &reply("s1", 3, "msg_2", 5);
    append(&bench, &rest);
    let grown = import(&bench, &[]);
    assert_eq!((&grown["bytes"], &grown["sessions"]["updated"]), (&json!(rest.len()), &json!(1)));
    assert_eq!(output_tokens(&bench), [35]);
    assert_eq!(bench.show()["turns"].as_array().unwrap().len(), 2);
}

#[test]
fn a_list_shows_what_was_written_a_moment_ago() {
    let bench = Bench::new();
    assert!(known(&bench).is_empty());
    write(&bench, FILE, session("s1", 30));
    assert!(known(&bench).is_empty(), "it was told not to look");
    assert_eq!(document(&bench, 0, &["ls", "--json"])["launches"][0]["totals"]["output_tokens"], 30);
    assert!(!keeps_copies(&bench), "a look keeps no copies");
    append(&bench, &reply("s1", 3, "msg_2", 5));
    assert_eq!(document(&bench, 0, &["ls", "--json"])["launches"][0]["totals"]["output_tokens"], 35);
}

#[test]
fn copies_are_kept_by_an_import_or_if_the_home_says_so() {
    let bench = Bench::new();
    write(&bench, FILE, session("s1", 30));
    import(&bench, &["--index-only"]);
    assert!(!keeps_copies(&bench));
    let launch = known(&bench)[0].clone();
    assert_eq!(launch["capture_status"], "partial");
    assert!(launch["incomplete_reason"].as_str().unwrap().contains("indexed only"), "{launch}");
    import(&bench, &[]);
    assert!(keeps_copies(&bench));
    assert_eq!(known(&bench)[0]["capture_status"], "complete");

    let bench = Bench::new();
    write(&bench, FILE, session("s1", 30));
    write(&bench, "home/config.toml", "keep = true\n");
    document(&bench, 0, &["ls", "--json"]);
    assert!(keeps_copies(&bench));
    // What makes no sense is said, and keeps nobody from looking.
    write(&bench, "home/config.toml", "keep = maybe\n");
    let output = run(&bench, &["ls", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("config.toml"), "{}", stderr(&output));
}

#[test]
fn a_session_whose_file_is_gone_stays_and_says_so() {
    for (option, status) in kept_and_indexed() {
        let bench = Bench::new();
        write(&bench, FILE, session("s1", 30));
        write(&bench, "person/.claude/projects/p/s2.jsonl", session("s2", 4));
        import(&bench, &[option]);
        fs::remove_file(bench.path(FILE)).unwrap();
        let told = import(&bench, &[option]);
        assert_eq!((&told["files"]["missing"], kinds(&told)), (&json!(1), vec!["source_missing".to_owned()]));
        let launches = known(&bench);
        let launch = launches.iter().find(|launch| launch["provider_session_id"] == "s1").unwrap();
        assert_eq!((&launch["totals"]["output_tokens"], &launch["capture_status"]), (&json!(30), &json!(status)));
        if status == "partial" {
            assert!(launch["incomplete_reason"].as_str().unwrap().contains("source_missing"), "{launch}");
            let name = launch["id"].as_str().unwrap();
            let shown = print(&bench, 0, &["show", &name[name.len() - 8..]]);
            assert!(shown.contains("source_missing"), "{shown}");
        }
        // It is told once.
        assert_eq!(import(&bench, &["--index-only"])["files"]["missing"], 0);
    }
}

#[test]
fn a_folder_that_is_gone_takes_no_session_with_it() {
    let bench = Bench::new();
    write(&bench, FILE, session("s1", 30));
    import(&bench, &[]);
    fs::remove_dir_all(bench.path("person/.claude")).unwrap();
    let told = import(&bench, &[]);
    assert_eq!((&told["files"]["missing"], kinds(&told)), (&json!(1), vec!["source_missing".to_owned()]));
    assert_eq!(output_tokens(&bench), [30]);
}

#[test]
fn a_rewritten_file_is_read_anew_and_what_it_told_is_kept() {
    for (option, status) in kept_and_indexed() {
        let bench = Bench::new();
        write(&bench, FILE, session("s1", 30) + &reply("s1", 2, "msg_2", 7));
        import(&bench, &[option]);
        write(&bench, FILE, prompt("s1", 5, "compacted") + &reply("s1", 6, "msg_3", 5));
        import(&bench, &[option]);
        assert_eq!(output_tokens(&bench), [42]);
        let launch = known(&bench)[0].clone();
        assert_eq!(launch["capture_status"], status);
        if status == "partial" {
            assert!(launch["incomplete_reason"].as_str().unwrap().contains("source_rewritten"), "{launch}");
        }
    }
}

#[test]
fn a_file_that_shrank_loses_nothing() {
    let bench = Bench::new();
    let first = session("s1", 30);
    write(&bench, FILE, first.clone() + &reply("s1", 2, "msg_2", 7));
    import(&bench, &[]);
    File::options().write(true).open(bench.path(FILE)).unwrap().set_len(u64::try_from(first.len()).unwrap()).unwrap();
    import(&bench, &[]);
    assert_eq!(output_tokens(&bench), [37]);
}

#[test]
fn a_torn_end_is_noted_until_it_is_whole() {
    let bench = Bench::new();
    let last = reply("s1", 3, "msg_2", 5);
    let (half, rest) = last.split_at(100);
    write(&bench, FILE, session("s1", 30) + half);
    assert_eq!(kinds(&import(&bench, &["--report"])), ["incomplete_tail"]);
    append(&bench, rest);
    assert_eq!(kinds(&import(&bench, &["--report"])), Vec::<String>::new());
    assert_eq!(output_tokens(&bench), [35]);
}
