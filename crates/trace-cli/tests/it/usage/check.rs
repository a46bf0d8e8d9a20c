//! Usage held against limits.

use super::{Bench, lines, said, transcript, usage};

/// 10 tokens of a prompt and 100,000 of output at $15 for a million: $1.50003.
fn dear() -> Bench {
    let bench = Bench::new();
    transcript(&bench, "s1", &[lines::reply("s1", 1, "msg_that_costs_a_lot", 100_000)]);
    bench
}

#[test]
fn what_keeps_its_limits_is_a_success() {
    let bench = dear();
    assert_eq!(said(&bench, &["--check", "--max-cost", "1.50003", "--max-tokens", "100010"]), (Some(0), String::new()));
    let document = usage(&bench, &["--check", "--max-cost", "2"]);
    assert_eq!(document["check"], serde_json::json!({"passed": true, "findings": []}));
}

#[test]
fn what_is_over_a_limit_fails_and_is_named() {
    let bench = dear();
    let (code, text) = said(&bench, &["--check", "--max-cost", "1.50002", "--max-tokens", "100009"]);
    let over = "over: it cost $1.50003, and $1.50002 is the most that it may: 2026-03-02 $1.50003
\
                over: 100,010 tokens, and 100,009 are the most: 2026-03-02 100,010
";
    assert_eq!(text, over);
    assert_eq!(code, Some(1));
    let output = super::run(&bench, &["usage", "--check", "--max-cost", "1", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let finding = serde_json::json!({"type": "cost", "cost_usd": 1.50003, "cost_quality": "exact",
        "max_cost_usd": 1, "most": [{"key": "2026-03-02", "amount": 1.50003}]});
    assert_eq!(document["check"], serde_json::json!({"passed": false, "findings": [finding]}));
}

#[test]
fn an_unknown_cost_fails_unless_it_is_passed_over() {
    let bench = Bench::new();
    let unknown = lines::reply_of("claude-unknown-9", "s1", 1, "msg_of_an_unknown_model", 5);
    transcript(&bench, "s1", &[unknown]);
    let text = "unknown: the cost of 1 record is unknown: claude-unknown-9; `--allow-unpriced` passes over it\n";
    assert_eq!(said(&bench, &["--check", "--max-cost", "100"]), (Some(1), text.to_owned()));
    assert_eq!(said(&bench, &["--check", "--max-cost", "100", "--allow-unpriced"]), (Some(0), String::new()));
    assert_eq!(said(&bench, &["--check", "--max-tokens", "15"]), (Some(0), String::new()));
}

#[test]
fn a_lower_bound_that_keeps_its_limit_says_that_it_may_be_more() {
    let bench = Bench::new();
    super::put(&bench, "gemini-rounds/session.jsonl", ".gemini/tmp/demo/chats/session-rounds.jsonl");
    let note = "note: within the limits as far as it is known: some of it is a lower bound\n";
    assert_eq!(said(&bench, &["--check", "--max-cost", "100"]), (Some(0), note.to_owned()));
    assert_eq!(said(&bench, &["--check", "--max-tokens", "1000000"]), (Some(0), note.to_owned()));
}

#[test]
fn the_help_tells_the_exit_codes() {
    let help = super::print(&Bench::new(), 0, &["usage", "--help"]);
    let words: Vec<&str> = help.split_whitespace().collect();
    let help = words.join(" ");
    assert!(help.contains("exit code is 0; with --check it is 1 if a limit is not kept"), "{help}");
}
