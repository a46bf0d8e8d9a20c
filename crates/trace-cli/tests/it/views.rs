//! What each view prints of a scripted session, as text and as JSON.

use std::fs;

use serde_json::Value;
use trace_capture::{Capture, Labels, PreparedTurnContext, Recorded, Start};
use trace_model::{event::ConversationEvent, turn::Outcome, words::Provider};

use super::scripted::{ANSWERED, FAILED, RAW, ScriptedHome, own};

#[test]
fn launches_are_listed_with_what_they_cost() {
    insta::assert_snapshot!(ScriptedHome::new().print(&["ls"]));
}

#[test]
fn a_launch_is_shown_as_a_tree() {
    let home = ScriptedHome::new();
    insta::assert_snapshot!("show_answered", home.print(&["show", ANSWERED]));
    insta::assert_snapshot!("show_failed", home.print(&["show", FAILED]));
}

#[test]
fn a_failed_launch_tells_its_last_error_on_one_line() {
    let shown = |outcome| {
        let home = ScriptedHome::recorded(own(), |env, _clock| {
            let labels = Labels::new("run_1".parse().unwrap(), "proc_1".parse().unwrap(), "/src", "/src");
            let start = Start::new(Provider::Claude, "headless");
            let capture = Capture::blocking_begin(env, labels, PreparedTurnContext::unknown(), start).unwrap();
            let error = |code: &str, message: String| ConversationEvent::Error { code: code.to_owned(), message };
            capture.record_conversation(error("first", "It passed.".to_owned()));
            capture.record_conversation(error("limit", format!("You hit\u{1b}[2J {}\nTry later.", "x".repeat(300))));
            capture.blocking_finish(outcome, Recorded::Conversation);
        });
        let text = home.print(&["show"]);
        text.lines().find(|line| line.starts_with("  error ")).map(str::to_owned)
    };
    let line = shown(Outcome::Failed).unwrap();
    assert!(line.starts_with("  error     You hit\\u{1b}[2J xxx") && line.ends_with("x…"), "{line}");
    assert_eq!(line.chars().count(), "  error     ".len() + 200);
    assert_eq!(shown(Outcome::Completed), None);
}

#[test]
fn a_context_is_profiled_by_kind_and_by_source() {
    let home = ScriptedHome::new();
    insta::assert_snapshot!("context_launch", home.print(&["context", ANSWERED]));
    insta::assert_snapshot!("context_turn", home.print(&["context", ANSWERED, "--turn", "2"]));
}

#[test]
fn events_are_decoded_one_a_line() {
    insta::assert_snapshot!(ScriptedHome::new().print(&["show", ANSWERED, "--events"]));
}

#[test]
fn prompts_are_shown_with_the_bounds_of_their_assets() {
    insta::assert_snapshot!(ScriptedHome::new().print(&["show", ANSWERED, "--content"]));
}

#[test]
fn a_prompt_that_is_not_what_was_sent_is_a_finding() {
    let home = ScriptedHome::new();
    let prompt = conversation(&home).with_file_name("turns").join("0001-task.md");
    let sent = fs::read(&prompt).unwrap();
    for (file, detail) in [
        ([b"X", &sent[1..]].concat(), "bytes 0 to 8"),
        ([&sent[..], b"\xff"].concat(), "the byte at "),
        (Vec::new(), "it has 0 bytes"),
    ] {
        fs::write(&prompt, &file).unwrap();
        let output = home.run(&["show", ANSWERED, "--content"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.windows(file.len().max(1)).any(|part| part == file || file.is_empty()));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("note: turn 1, task prompt: its file was changed: "), "{text}");
        assert!(text.contains(detail), "{text}");

        let output = home.run(&["show", ANSWERED, "--content", "--json"]);
        assert_eq!((output.status.code(), output.stderr), (Some(1), Vec::new()));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["turns"][0]["channels"][1]["text"], *String::from_utf8_lossy(&file));
        let notes = document["notes"].as_array().unwrap().iter().map(|note| note["detail"].as_str().unwrap());
        assert!(notes.collect::<String>().contains(detail), "{document}");
    }
}

#[test]
fn every_document_is_as_it_was() {
    let home = ScriptedHome::new();
    insta::assert_snapshot!("ls.json", home.print(&["ls", "--json"]));
    insta::assert_snapshot!("show.json", home.print(&["show", ANSWERED, "--json"]));
    insta::assert_snapshot!("context.json", home.print(&["context", ANSWERED, "--json"]));
    insta::assert_snapshot!("content.json", home.print(&["show", ANSWERED, "--content", "--json"]));
    insta::assert_snapshot!("reindex.json", home.print(&["reindex", "--json"]));
}

#[test]
fn the_agents_output_is_byte_for_byte() {
    let home = ScriptedHome::new();
    assert_eq!(home.run(&["show", ANSWERED, "--raw"]).stdout, RAW);
    assert_eq!(home.run(&["show", ANSWERED, "--raw=stdout"]).stdout, RAW);
    assert!(home.run(&["show", ANSWERED, "--raw=stderr"]).stdout.is_empty());
}

#[test]
fn events_as_lines_are_the_recorded_lines() {
    let home = ScriptedHome::new();
    let recorded = fs::read(conversation(&home)).unwrap();
    for arguments in [&["show", ANSWERED, "--events", "--jsonl"][..], &["show", ANSWERED, "--jsonl"]] {
        assert_eq!(home.run(arguments).stdout, recorded);
    }

    let document: Value = serde_json::from_str(&home.print(&["show", ANSWERED, "--events", "--json"])).unwrap();
    let lines = recorded.split_inclusive(|byte| *byte == b'\n');
    let lines: Vec<Value> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    assert_eq!(document["events"], Value::Array(lines));
}

#[test]
fn a_line_that_is_no_event_is_told_and_hides_nothing() {
    let home = ScriptedHome::new();
    let path = conversation(&home);
    let recorded = fs::read_to_string(&path).unwrap();
    let (first, rest) = recorded.split_once('\n').unwrap();
    let newer = r#"{"schema_version":2,"seq":99,"payload":{"type":"dream"}}"#;
    fs::write(&path, format!("{first}\nnonsense \u{1b}[2J\n{newer}\n{rest}{{\"torn")).unwrap();

    let output = home.run(&["show", ANSWERED, "--events"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), recorded.lines().count() + 1);
    assert!(text.contains("dream") && text.contains("of a newer writer, schema version 2"), "{text}");
    let notes = String::from_utf8(output.stderr).unwrap();
    let [skipped, torn] = notes.lines().collect::<Vec<_>>().try_into().unwrap();
    assert!(skipped.starts_with("note: the line at byte 957 was skipped: no event"), "{skipped}");
    assert!(torn.ends_with("is torn after 6 bytes"), "{torn}");
}

#[test]
fn a_launch_that_cannot_be_read_is_a_finding_of_reindex() {
    let home = ScriptedHome::new();
    fs::write(conversation(&home).with_file_name("launch.json"), "{").unwrap();
    let output = home.run(&["reindex"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("1 launch indexed · 4 events · 1 launch failed\n  nightly/proc_1/launch_"), "{text}");
}

#[test]
fn lists_are_filtered() {
    let home = ScriptedHome::new();
    let ids = |arguments: &[&str]| {
        let text = home.print(&[&["ls", "--json"], arguments].concat());
        let document: Value = serde_json::from_str(&text).unwrap();
        let ids = document["launches"].as_array().unwrap().iter().map(|launch| {
            let id = launch["id"].as_str().unwrap();
            id[id.len() - 8..].to_owned()
        });
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]), [FAILED, ANSWERED]);
    assert_eq!(ids(&["--limit", "1"]), [FAILED]);
    assert_eq!(ids(&["--provider", "claude"]), [ANSWERED]);
    assert_eq!(ids(&["--outcome", "failed", "--outcome", "completed"]), [FAILED, ANSWERED]);
    assert_eq!(ids(&["--since", "2026-11-30T17:19:00Z"]), [FAILED]);
    assert_eq!(ids(&["--since", "2026-11-30", "--before", "2026-11-30T17:19:00Z"]), [ANSWERED]);
    assert_eq!(ids(&["--repo", "/src/parser", "--run", "nightly", "--project", "parser", "-n", "0"]).len(), 2);
}

/// Returns the file of the first launch's events.
pub(super) fn conversation(home: &ScriptedHome) -> std::path::PathBuf {
    let process = home.home().join("traces/nightly/proc_1");
    let launches = fs::read_dir(process).unwrap().map(|entry| entry.unwrap().path());
    let is_first = |path: &std::path::PathBuf| path.to_string_lossy().ends_with(ANSWERED);
    launches.into_iter().find(is_first).unwrap().join("conversation.jsonl")
}
