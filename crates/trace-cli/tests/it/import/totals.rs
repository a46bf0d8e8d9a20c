//! Sessions whose true totals are known: what an import makes of their files, and of the streams of the same runs, is
//! what the files beside them say.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use super::{Bench, document, fixture, stderr, write};

/// A session, the files that it was written to, and what is true of it.
struct Session {
    /// The folder of the fixture.
    name: &'static str,
    /// Its files, each with the place where its agent keeps it.
    files: &'static [(&'static str, &'static str)],
    /// The file that tells what is true, and the place in it.
    truth: (&'static str, &'static str),
    /// The quality of the totals.
    quality: &'static str,
}

const TRANSCRIPT: &[(&str, &str)] = &[("transcript.jsonl", "projects/p/s.jsonl")];
const ROLLOUT: &[(&str, &str)] = &[("rollout.jsonl", "sessions/2026/11/30/rollout-1.jsonl")];
const APPENDED: &[(&str, &str)] = &[("session.jsonl", "tmp/p/chats/session-1.jsonl")];
const ALL: (&str, &str) = ("truth.json", "/all");
const USAGE: (&str, &str) = ("expected.json", "");

const fn session(
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    truth: (&'static str, &'static str),
    quality: &'static str,
) -> Session {
    Session { name, files, truth, quality }
}

/// All sessions that were written to files.
const SESSIONS: &[Session] = &[
    session("claude-hello", TRANSCRIPT, ALL, "exact"),
    session("claude-rounds", TRANSCRIPT, ALL, "exact"),
    session("claude-partial", TRANSCRIPT, ALL, "exact"),
    session("claude-fail", TRANSCRIPT, ALL, "unknown"),
    session(
        "claude-subagent",
        &[
            ("transcript.jsonl", "projects/p/s.jsonl"),
            ("agent-af99eb439b6d285ee.jsonl", "projects/p/s/subagents/agent-af99eb439b6d285ee.jsonl"),
        ],
        ALL,
        "exact",
    ),
    session("claude-repeated-blocks", TRANSCRIPT, USAGE, "exact"),
    session(
        "claude-subagent-files",
        &[
            ("transcript.jsonl", "projects/p/s.jsonl"),
            ("agent-ab12cd3.jsonl", "projects/p/s/subagents/agent-ab12cd3.jsonl"),
        ],
        USAGE,
        "exact",
    ),
    session("claude-broken-lines", TRANSCRIPT, USAGE, "exact"),
    session("claude-synthetic-replies", TRANSCRIPT, USAGE, "exact"),
    // These versions of the client leave placeholders of the output on lines.
    session("claude-inline-sidechain", TRANSCRIPT, USAGE, "lower_bound"),
    session("claude-two-session-ids", TRANSCRIPT, USAGE, "lower_bound"),
    session(
        "claude-subagent-dir",
        &[
            ("transcript.jsonl", "projects/p/s.jsonl"),
            ("agent-a21e2f5.jsonl", "projects/p/s/subagents/agent-a21e2f5.jsonl"),
        ],
        USAGE,
        "lower_bound",
    ),
    session("codex-hello", ROLLOUT, ALL, "exact"),
    session("codex-rounds", ROLLOUT, ALL, "exact"),
    session("codex-fail", ROLLOUT, ALL, "lower_bound"),
    session("codex-repeated-counts", ROLLOUT, USAGE, "exact"),
    session("codex-counter-restart", ROLLOUT, USAGE, "exact"),
    session("codex-fork", &[("parent.jsonl", "sessions/parent.jsonl")], ("expected.json", "/parent"), "exact"),
    session(
        "codex-fork",
        &[("parent.jsonl", "sessions/parent.jsonl"), ("child.jsonl", "sessions/child.jsonl")],
        ("expected.json", "/both"),
        "exact",
    ),
    session("gemini-hello", APPENDED, ALL, "exact"),
    // The client broke requests off, which are nowhere.
    session("gemini-rounds", APPENDED, ("truth.json", "/visible"), "lower_bound"),
    session("gemini-fail", APPENDED, ALL, "lower_bound"),
    session("gemini-append", APPENDED, USAGE, "exact"),
    session("gemini-document", &[("session.json", "tmp/p/chats/session-1.json")], USAGE, "exact"),
    session("gemini-rewritten", APPENDED, USAGE, "exact"),
];

/// All streams that were recorded.
const STREAMS: &[Session] = &[
    session("claude-hello", &[], ALL, "exact"),
    session("claude-rounds", &[], ALL, "exact"),
    session("claude-partial", &[], ALL, "exact"),
    session("claude-fail", &[], ALL, "exact"),
    session("claude-subagent", &[], ALL, "exact"),
    session("codex-hello", &[], ALL, "exact"),
    session("codex-rounds", &[], ALL, "exact"),
    session("codex-fail", &[], ALL, "lower_bound"),
    // The usage of its last turn is nowhere.
    session("codex-turns", &[], ("truth.json", ""), "lower_bound"),
    session("gemini-hello", &[], ALL, "exact"),
    session("gemini-rounds", &[], ("truth.json", "/visible"), "lower_bound"),
    session("gemini-fail", &[], ALL, "lower_bound"),
    session("opencode-hello", &[], ALL, "exact"),
    session("opencode-rounds", &[], ALL, "exact"),
    session("opencode-fail", &[], ALL, "lower_bound"),
    session("opencode-steps", &[], USAGE, "exact"),
    session("opencode-success", &[], USAGE, "exact"),
];

fn json_of(name: &str) -> Value {
    serde_json::from_slice(&fs::read(fixture(name)).unwrap()).unwrap()
}

impl Session {
    fn truth(&self) -> Value {
        let (file, place) = self.truth;
        json_of(&format!("{}/{file}", self.name)).pointer(place).unwrap().clone()
    }

    /// Asserts that the totals are the true ones. A class of which nothing is told is none of it.
    fn assert_totals(&self, totals: &Value) {
        let truth = self.truth();
        for (ours, theirs) in classes(&truth) {
            let found = totals[ours].as_u64().unwrap_or(0);
            assert_eq!(found, theirs, "{}: {ours} in {totals}", self.name);
        }
        assert_eq!(totals["quality"], self.quality, "{}: {totals}", self.name);
        let requests = ["model_requests", "model_requests_with_usage", "growth_steps"];
        let requests = requests.iter().find_map(|name| truth[name].as_u64());
        let told = totals["requests"].as_u64();
        assert!(told.is_none() || requests.is_none() || told == requests, "{}: {totals}", self.name);
        let are_shown = !self.files.is_empty() && self.quality == "exact" && requests.is_some();
        assert!(!are_shown || told.is_some(), "{}: each request of a file is known: {totals}", self.name);
    }
}

/// Returns what is true of each class.
fn classes(truth: &Value) -> Vec<(&'static str, u64)> {
    let raw = &truth["raw_totals"];
    let usage = if truth["usage"].is_null() { truth } else { &truth["usage"] };
    let mut classes = Vec::new();
    if let (true, Some(input), Some(cached)) =
        (usage["output_total"].is_null(), raw["input_tokens"].as_u64(), raw["cached_input_tokens"].as_u64())
    {
        classes.push(("input_tokens", input - cached));
        classes.push(("cache_read_tokens", cached));
        classes.push(("output_tokens", raw["output_tokens"].as_u64().unwrap()));
        classes.push(("reasoning_tokens", raw["reasoning_output_tokens"].as_u64().unwrap()));
        classes.push(("total_tokens", raw["total_tokens"].as_u64().unwrap()));
        return classes;
    }
    for (ours, theirs) in [
        ("input_tokens", "input_uncached"),
        ("cache_read_tokens", "cache_read"),
        ("cache_write_tokens", "cache_write"),
        ("output_tokens", "output_total"),
    ] {
        classes.push((ours, usage[theirs].as_u64().unwrap()));
    }
    classes.push(("total_tokens", classes.iter().map(|(_, count)| count).sum()));
    classes.extend(usage["reasoning_in_output"].as_u64().map(|count| ("reasoning_tokens", count)));
    classes
}

fn assert_same_classes(one: &Value, other: &Value, name: &str) {
    for class in ["input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "total_tokens"] {
        assert_eq!(one[class], other[class], "{name}: {class}");
    }
}

#[test]
fn the_files_of_each_session_add_up_to_what_is_true() {
    for session in SESSIONS {
        let bench = Bench::new();
        for (file, place) in session.files {
            let path = write(
                &bench,
                &format!("files/{place}"),
                fs::read(fixture(&format!("{}/{file}", session.name))).unwrap(),
            );
            // It rests for so long that nobody goes on with it.
            let then = SystemTime::now() - Duration::from_hours(24);
            fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
        }
        let imported = document(&bench, 0, &["import", "--json", "files"]);
        session.assert_totals(&imported["totals"]);
        // The rows are those that the copies alone tell.
        fs::remove_dir_all(bench.path("files")).unwrap();
        let before = document(&bench, 0, &["ls", "--json", "-n0"]);
        let reindexed = super::run(&bench, &["reindex"]);
        assert!(reindexed.status.success(), "{}: {}", session.name, stderr(&reindexed));
        assert_eq!(document(&bench, 0, &["ls", "--json", "-n0"]), before, "{}", session.name);
    }
}

#[test]
fn the_stream_of_each_session_adds_up_to_what_is_true_imported_or_recorded() {
    for session in STREAMS {
        let stream = fixture(&format!("{}/stream.jsonl", session.name));
        let stream = stream.to_str().unwrap();
        let bench = Bench::new();
        let imported = document(&bench, 0, &["import", "--json", stream]);
        session.assert_totals(&imported["totals"]);

        let bench = Bench::new();
        let output = bench.exec(&["--quiet"], &["cat", stream]).output().unwrap();
        assert!(output.status.success(), "{}: {}", session.name, stderr(&output));
        let shown = bench.show();
        session.assert_totals(&shown["totals"]);
        assert_same_classes(&shown["totals"], &imported["totals"], session.name);
    }
}

#[test]
fn main_agents_and_subagents_are_told_apart() {
    for name in ["claude-subagent-files", "claude-inline-sidechain", "claude-subagent-dir"] {
        let session = SESSIONS.iter().find(|session| session.name == name).unwrap();
        let bench = Bench::new();
        for (file, place) in session.files {
            write(&bench, &format!("files/{place}"), fs::read(fixture(&format!("{name}/{file}"))).unwrap());
        }
        document(&bench, 0, &["import", "--json", "files"]);
        let rows = bench.show()["usage"].as_array().unwrap().clone();
        let of_main = |class: &str| {
            let of_main = rows.iter().filter(|row| row["agent"] == "main");
            of_main.filter_map(|row| row[class].as_u64()).sum::<u64>()
        };
        for (ours, theirs) in classes(&json!({"usage": session.truth()["usage_main_only"]})) {
            if ours != "total_tokens" {
                assert_eq!(of_main(ours), theirs, "{name}: {ours}");
            }
        }
    }
}

#[test]
fn two_sessions_of_one_file_are_two_launches() {
    let bench = Bench::new();
    let imported = document(
        &bench,
        0,
        &["import", "--json", fixture("claude-two-session-ids/transcript.jsonl").to_str().unwrap()],
    );
    assert_eq!(imported["sessions"]["new"], 2);
    assert_eq!(bench.launches().len(), 2);
}

#[test]
fn two_sessions_of_one_stream_are_two_launches_each_with_what_its_result_states() {
    let bench = Bench::new();
    let stream = fixture("stream-json-two-sessions.jsonl");
    document(&bench, 0, &["import", "--json", stream.to_str().unwrap()]);
    let launches = bench.launches();
    let of = |session: &str| launches.iter().find(|launch| launch["provider_session_id"] == session).unwrap();
    let second = of("bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb");
    assert_eq!((&second["totals"]["input_tokens"], &second["totals"]["output_tokens"]), (&json!(40), &json!(12)));
    assert_eq!((&second["outcome"], &second["totals"]["cost_usd"]), (&json!("failed"), &json!(0.001)));
    // The numbers of the first one are made up: its lines add up to more than its result states, and count.
    let first = of("aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa");
    assert_eq!((&first["outcome"], &first["totals"]["quality"]), (&json!("completed"), &json!("lower_bound")));
}

#[test]
fn of_specimens_of_all_records_only_the_count_of_a_request_counts() {
    let bench = Bench::new();
    let file = fixture("codex-record-types/rollout.jsonl");
    let imported = document(&bench, 0, &["import", "--json", file.to_str().unwrap()]);
    assert_eq!(imported["totals"]["total_tokens"], 16_341 + 81);
    assert_eq!((&imported["note_count"], &imported["files"]["read"]), (&json!(0), &json!(1)));
}
