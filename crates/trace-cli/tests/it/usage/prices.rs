//! The costs, and whose prices they are computed by.

use serde_json::{Value, json};

use super::{Bench, lines, put, said, transcript, usage, write};

const OWN: &str =
    r#"{"claude-unknown-9": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "mode": "chat"}}"#;

fn unknown_model() -> Bench {
    let bench = Bench::new();
    transcript(
        &bench,
        "s1",
        &[
            lines::reply("s1", 1, "msg_of_a_known_model", 1_000),
            lines::reply_of("claude-unknown-9", "s1", 2, "msg_of_an_unknown_model", 5),
        ],
    );
    bench
}

fn cost_of(document: &Value, model: &str) -> Value {
    let row = document["rows"].as_array().unwrap().iter().find(|row| row["key"] == model).unwrap();
    json!([row["totals"]["cost_usd"], row["totals"]["cost_quality"]])
}

#[test]
fn a_model_without_a_price_costs_null_and_is_listed() {
    let models = usage(&unknown_model(), &["model"]);
    assert_eq!(cost_of(&models, "claude-unknown-9"), json!([null, "unknown"]));
    assert_eq!(cost_of(&models, lines::MODEL), json!([0.01503, "exact"]));
    assert_eq!(
        json!([models["totals"]["cost_usd"], models["totals"]["cost_quality"]]),
        json!([0.01503, "lower_bound"])
    );
    let listed = json!([{"provider": "claude", "model": "claude-unknown-9", "records": 1, "total_tokens": 15}]);
    assert_eq!(models["unpriced"], listed);
}

#[test]
fn prices_of_ones_own_stand_while_they_are_there() {
    let bench = unknown_model();
    let before = usage(&bench, &["model"]);
    let path = write(&bench, "home/prices.json", OWN);
    let own = usage(&bench, &["model"]);
    assert_eq!(cost_of(&own, "claude-unknown-9"), json!([0.00002, "exact"]));
    assert_eq!(own["unpriced"], json!([]));
    assert_ne!(own["price_version"], before["price_version"]);
    std::fs::remove_file(path).unwrap();
    assert_eq!(usage(&bench, &["model"]), before);
}

#[test]
fn prices_of_a_file_stand_instead_of_those_of_the_home() {
    let bench = unknown_model();
    write(&bench, "home/prices.json", OWN);
    write(&bench, "mine.json", OWN.replace("2e-06", "4e-06"));
    let own = usage(&bench, &["model", "--prices", "mine.json"]);
    assert_eq!(cost_of(&own, "claude-unknown-9"), json!([0.00003, "exact"]));
    assert_eq!(cost_of(&usage(&bench, &["model"]), "claude-unknown-9"), json!([0.00002, "exact"]));
}

#[test]
fn prices_that_are_none_are_told_with_what_they_should_be() {
    let bench = unknown_model();
    write(&bench, "bad.json", r#"{"claude-unknown-9": {"input_cost_per_token": "cheap"}}"#);
    let (code, text) = said(&bench, &["--prices", "bad.json"]);
    let bad = "error: bad.json holds no prices
\
               cause: input_cost_per_token of claude-unknown-9 is no price: \"cheap\"
\
               next: prices are in LiteLLM's format: {\"MODEL\": {\"input_cost_per_token\": 3e-06}}
";
    assert_eq!(text, bad);
    assert_eq!(code, Some(2));
    write(&bench, "home/prices.json", "no prices");
    let (code, text) = said(&bench, &[]);
    assert_eq!(code, Some(2));
    assert!(text.starts_with("error: FOLDER/home/prices.json holds no prices\ncause: "), "{text}");
    let (code, text) = said(&bench, &["--prices", "nowhere.json"]);
    assert_eq!(code, Some(2));
    assert!(text.starts_with("error: cannot read nowhere.json\ncause: "), "{text}");
}

#[test]
fn what_a_provider_says_stands_beside_what_is_computed() {
    let bench = Bench::new();
    let stream = super::super::import::fixture("claude-hello/stream.jsonl");
    super::run(&bench, &["import", stream.to_str().unwrap()]);
    let totals = &usage(&bench, &[])["totals"];
    assert_eq!(json!([totals["cost_usd"], totals["cost_quality"]]), json!([0.018_110_25, "exact"]));
    assert_eq!(totals["reported_cost_usd"], json!(0.018_110_25));
}

#[test]
fn a_copy_in_another_session_counts_once() {
    let bench = Bench::new();
    let reply = lines::reply("s1", 1, "msg_that_two_sessions_hold", 1_000);
    transcript(&bench, "s1", std::slice::from_ref(&reply));
    transcript(&bench, "s2", &[reply.replace(r#""s1""#, r#""s2""#)]);
    let sessions = usage(&bench, &["session"]);
    let of = |field: &str| -> Vec<Value> {
        sessions["rows"].as_array().unwrap().iter().map(|row| row["totals"][field].clone()).collect()
    };
    let totals = &sessions["totals"];
    assert_eq!(json!([totals["requests"], totals["replays"], totals["cost_usd"]]), json!([1, 1, 0.01503]));
    let mut replays = of("replays");
    replays.sort_by_key(Value::as_u64);
    assert_eq!(replays, [0, 1]);
    assert!(of("cost_usd").contains(&Value::Null), "a copy costs nothing of its own");
}

#[test]
fn a_lower_bound_says_so_in_every_total_that_holds_it() {
    let bench = Bench::new();
    put(&bench, "gemini-rounds/session.jsonl", ".gemini/tmp/demo/chats/session-rounds.jsonl");
    transcript(&bench, "s1", &[lines::reply("s1", 1, "msg_of_a_known_model", 1_000)]);
    let days = usage(&bench, &[]);
    let quality = |totals: &Value| json!([totals["quality"], totals["cost_quality"]]);
    assert_eq!(quality(&days["rows"][0]["totals"]), json!(["exact", "exact"]));
    assert_eq!(quality(&days["rows"][1]["totals"]), json!(["lower_bound", "lower_bound"]));
    assert_eq!(quality(&days["totals"]), json!(["lower_bound", "lower_bound"]));
    let shown = super::print(&bench, 0, &["usage"]);
    let marks: Vec<usize> = shown.lines().map(|line| line.matches('≥').count()).collect();
    assert_eq!((marks[1], marks[2] > 0, marks[3] > 0), (0, true, true), "{shown}");
}
