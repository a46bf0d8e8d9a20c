//! Which usage is counted.

use std::time::Duration;

use trace_capture::{Clock, SystemClock};
use trace_model::timestamp::Timestamp;

use super::{Bench, lines, output_by_key, put, reply_at, run, said, transcript, usage};

/// Two models of Claude Code in one project, and a session of Codex in another one.
fn two_agents() -> Bench {
    let bench = Bench::new();
    let of_window = lines::reply_of("claude-opus-4-8[1m]", "s1", 3, "msg_with_a_large_window", 1_000);
    transcript(&bench, "s1", &[lines::reply("s1", 2, "msg_with_a_small_window", 7), of_window]);
    put(&bench, "codex-rounds/rollout.jsonl", ".codex/sessions/2026/11/30/rollout-rounds.jsonl");
    bench
}

#[test]
fn only_what_is_asked_for_is_counted() {
    let bench = two_agents();
    let output = |arguments: &[&str]| {
        let output = run(&bench, &[&["usage", "--json"], arguments].concat());
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        document["totals"]["output_tokens"].as_u64()
    };
    assert_eq!(output(&[]), Some(7 + 1_000 + 321));
    assert_eq!(output(&["--provider", "claude"]), Some(7 + 1_000));
    assert_eq!(output(&["--provider", "claude", "--provider", "codex"]), Some(7 + 1_000 + 321));
    assert_eq!(output(&["--model", "claude-opus-4-8"]), Some(1_000));
    assert_eq!(output(&["--model", "claude-opus-4-8[1m]"]), Some(1_000));
    assert_eq!(output(&["--model", "claude-opus"]), None);
    for project in ["/src/app", "/src/app/", "app"] {
        assert_eq!(output(&["--project", project]), Some(7 + 1_000), "{project}");
    }
    assert_eq!(output(&["--project", "src"]), None);
    assert_eq!(output(&["--project", "project", "--project", "app", "--model", lines::MODEL]), Some(7));
}

#[test]
fn what_is_filtered_away_is_told_from_what_is_not_there() {
    let bench = two_agents();
    let note = "note: no such usage is on record\n";
    assert_eq!(said(&bench, &["--model", "claude-opus"]), (Some(0), note.to_owned()));
}

#[test]
fn the_last_days_count_from_today() {
    let bench = Bench::new();
    let now = SystemClock.now();
    let before = |days: u64| {
        let ago = Duration::from_secs(days * 24 * 60 * 60);
        Timestamp::from_micros(now.as_micros() - i64::try_from(ago.as_micros()).unwrap()).unwrap().to_string()
    };
    let replies = [(0, 1), (3, 2), (40, 4)]
        .map(|(days, output)| reply_at("s1", &before(days), &format!("msg_of_{days}_days_ago_or_so"), output));
    transcript(&bench, "s1", &replies);
    let output = |arguments: &[&str]| usage(&bench, arguments)["totals"]["output_tokens"].as_u64();
    assert_eq!(output(&["--last", "2d"]), Some(1));
    assert_eq!(output(&["--last", "1w"]), Some(1 + 2));
    assert_eq!(output(&["--last", "12h"]), Some(1));
    assert_eq!(output(&["--since", "5d"]), Some(1 + 2));
    assert_eq!(output(&["--until", "2d"]), Some(2 + 4));

    // The window that runs is projected to its end.
    let windows = usage(&bench, &["blocks", "--last", "2d"]);
    let window = &windows["rows"][0]["window"];
    assert_eq!((windows["rows"].as_array().unwrap().len(), &window["is_running"]), (1, &true.into()));
    assert!(window["projected_total_tokens"].as_u64() > window["tokens_per_hour"].as_u64(), "{window}");
    assert!(window["projected_cost_usd"].is_number(), "{window}");
    assert!(usage(&bench, &["blocks", "--until", "2d"])["rows"][0]["window"]["projected_cost_usd"].is_null());
}

#[test]
fn a_window_begins_with_its_first_request_though_that_is_not_asked_for() {
    let bench = Bench::new();
    let replies = ["2026-03-02T09:10:00.000Z", "2026-03-02T13:10:00.000Z"]
        .map(|at| reply_at("s1", at, &format!("msg_of_the_time_{at}"), 5));
    transcript(&bench, "s1", &replies);
    let windows = usage(&bench, &["blocks", "--since", "2026-03-02T12:00:00Z"]);
    assert_eq!(output_by_key(&windows), [("2026-03-02 09:00", Some(5))]);
}

#[test]
fn a_launch_that_tells_no_usage_is_told_and_counts_nothing() {
    let bench = two_agents();
    assert!(bench.exec(&["--quiet"], &["true"]).output().unwrap().status.success());
    let note = "1 launch tells no usage, and is in no row";
    assert_eq!(usage(&bench, &[])["notes"], serde_json::json!([note]));
    assert_eq!(usage(&bench, &["--last", "2d"])["notes"], serde_json::json!([note]));
    assert_eq!(usage(&bench, &["--until", "2d"])["notes"], serde_json::json!([]));
    assert_eq!(usage(&bench, &["--provider", "claude"])["notes"], serde_json::json!([]));
}
