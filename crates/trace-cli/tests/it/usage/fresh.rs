//! A machine on which nobody ran Trace before.

use super::{Bench, lines, said, transcript, usage};

#[test]
fn it_is_the_only_command_that_a_newcomer_needs() {
    let bench = Bench::new();
    transcript(&bench, "s1", &[lines::reply("s1", 1, "msg_of_a_known_model", 1_000)]);
    let document = usage(&bench, &[]);
    assert_eq!(document["totals"]["output_tokens"], 1_000);
    assert_eq!(document["totals"]["cost_usd"], serde_json::json!(0.01503));
}

#[test]
fn where_nothing_is_it_says_where_it_looked_and_makes_no_folder() {
    let bench = Bench::new();
    let (code, text) = said(&bench, &[]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!("usage_of_nothing", text);
    assert!(!bench.home().exists());
    // An agent that was never used has a folder without sessions.
    std::fs::create_dir_all(bench.path("person/.claude/projects")).unwrap();
    let (_, text) = said(&bench, &[]);
    assert!(text.contains("claude    FOLDER/person/.claude/projects  0 files\n"), "{text}");
}

#[test]
fn without_a_refresh_nothing_new_is_looked_for() {
    let bench = Bench::new();
    transcript(&bench, "s1", &[lines::reply("s1", 1, "msg_of_the_first_session", 1)]);
    let output = |arguments: &[&str]| {
        let output = super::run(&bench, &[&["usage", "--json"], arguments].concat());
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        document["totals"]["output_tokens"].as_u64()
    };
    assert_eq!(output(&["--no-refresh"]), None);
    assert!(!bench.home().exists());
    assert_eq!(output(&[]), Some(1));
    transcript(&bench, "s2", &[lines::reply("s2", 2, "msg_of_the_second_session", 2)]);
    assert_eq!(output(&["--no-refresh"]), Some(1));
    assert_eq!(output(&[]), Some(3));
}

#[test]
fn a_look_past_the_ledger_brings_nothing_in_that_it_would_lack() {
    let bench = Bench::new();
    for number in 0..20 {
        let session = format!("s{number}");
        transcript(&bench, &session, &[lines::reply(&session, 1, &format!("msg_of_the_session_{session}"), 1)]);
    }
    assert_eq!(usage(&bench, &[])["totals"]["output_tokens"], 20);
    transcript(&bench, "t1", &[lines::reply("t1", 1, "msg_of_another_session", 100)]);
    assert_eq!(usage(&bench, &["--ledger", "memory"])["totals"]["output_tokens"], 20);
    assert_eq!(usage(&bench, &[])["totals"]["output_tokens"], 120);
}
