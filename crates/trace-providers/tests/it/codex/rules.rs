//! The rules of Codex's stream, one small stream each; those of its totals stand in `spending`.

use trace_model::{
    event::{ConversationEvent, FileChange, Item, ItemData, ItemStatus, Receipt},
    turn::Outcome,
    words::Provider,
};
use trace_providers::{NoteKind, Observation};

use super::observe;
use crate::support::{events, lines, notes, prompts, record, usage};

const TURN: &str = r#"{"type":"turn.started"}"#;
const FAILED: &str = r#"{"type":"turn.failed","error":{"message":"disconnected"}}"#;
const COMPLETED: &str =
    r#"{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":7}}"#;

fn item(stage: &str, fields: &str) -> String {
    format!(r#"{{"type":"item.{stage}","item":{{"id":"item_0",{fields}}}}}"#)
}

/// Returns the one step that a line of an item is.
fn only_event(stage: &str, fields: &str) -> ConversationEvent {
    let events = events(&observe(item(stage, fields)));
    let [(agent, event)] = &events[..] else { panic!("one event: {events:?}") };
    assert!(agent.is_main());
    event.clone()
}

/// Returns the item of the one step that a line of an item is.
fn only_item(stage: &str, fields: &str) -> Item {
    match only_event(stage, fields) {
        ConversationEvent::ItemStarted { item, .. } if stage == "started" => item,
        ConversationEvent::ItemCompleted { item, .. } if stage == "completed" => item,
        other => panic!("{stage}: {other:?}"),
    }
}

fn id() -> String {
    String::from("item_0")
}

#[test]
fn each_turn_shows_that_there_was_a_prompt() {
    let answer = item("completed", r#""type":"agent_message","text":"hm""#);
    for (stream, prompts_seen, outcomes) in [
        (&[TURN, &answer, COMPLETED][..], 1, &[Outcome::Completed][..]),
        (&[TURN, COMPLETED, TURN, FAILED], 2, &[Outcome::Completed, Outcome::Failed]),
        // Interrupted, and the next one.
        (&[TURN, &answer, TURN, COMPLETED], 2, &[Outcome::Completed]),
        // A line that started a turn is missing.
        (&[&answer, COMPLETED], 1, &[Outcome::Completed]),
        (&[TURN, COMPLETED, &answer, FAILED], 2, &[Outcome::Completed, Outcome::Failed]),
        // Items before a turn, such as warnings, and after one show none.
        (&[&answer], 0, &[]),
        (&[TURN, COMPLETED, &answer], 1, &[Outcome::Completed]),
    ] {
        let observations = observe(lines(stream));
        assert_eq!(prompts(&observations), vec![None; prompts_seen], "{stream:#?}");
        assert_eq!(record(&observations).outcomes, outcomes, "{stream:#?}");
    }
}

#[test]
fn a_receipt_comes_once_per_thread() {
    let thread = |id: &str| format!(r#"{{"type":"thread.started","thread_id":"{id}"}}"#);
    let (one, other) = (thread("a"), thread("b"));
    let receipts: Vec<_> = observe(lines(&[&one, TURN, COMPLETED, &one, TURN, COMPLETED, &other]))
        .into_iter()
        .filter_map(|seen| match seen {
            Observation::Receipt(receipt) => Some(receipt),
            _ => None,
        })
        .collect();
    let of = |id: &str| Receipt {
        provider: Some(Provider::Codex),
        provider_session_id: Some(String::from(id)),
        ..Receipt::default()
    };
    assert_eq!(receipts, [of("a"), of("b")]);
}

#[test]
fn only_a_failed_turn_is_a_failure() {
    let retry = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
    let warning = item("completed", r#""type":"error","message":"no such model""#);
    let command = item("completed", r#""type":"command_execution","command":"false","exit_code":1,"status":"failed""#);
    let observations = observe(lines(&[&warning, TURN, retry, &warning, &command, COMPLETED]));
    assert_eq!(record(&observations).outcomes, [Outcome::Completed]);
    let codes: Vec<String> = events(&observations)
        .into_iter()
        .filter_map(|(_, event)| match event {
            ConversationEvent::Error { code, .. } => Some(code),
            _ => None,
        })
        .collect();
    assert_eq!(codes, ["warning", "error", "warning"]);
}

#[test]
fn a_failure_is_told_with_its_words_once() {
    let error = r#"{"type":"error","message":"disconnected"}"#;
    let other = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
    for (stream, expected) in [
        (&[TURN, FAILED][..], &[("turn_failed", "disconnected")][..]),
        (&[TURN, error, FAILED], &[("error", "disconnected")]),
        (&[TURN, other, FAILED], &[("error", "Reconnecting... 1/5"), ("turn_failed", "disconnected")]),
        (&[TURN, error, FAILED, TURN, FAILED], &[("error", "disconnected"), ("turn_failed", "disconnected")]),
    ] {
        let errors: Vec<_> = events(&observe(lines(stream)))
            .into_iter()
            .map(|(_, event)| match event {
                ConversationEvent::Error { code, message } => (code, message),
                other => panic!("no error: {other:?}"),
            })
            .collect();
        let errors: Vec<_> = errors.iter().map(|(code, message)| (code.as_str(), message.as_str())).collect();
        assert_eq!(errors, expected);
    }
}

#[test]
fn what_is_said_and_thought_is_a_whole_item() {
    for (fields, expected) in [
        (r#""type":"agent_message","text":"so""#, Item::Message { id: id(), text: String::from("so"), phase: None }),
        (r#""type":"reasoning","text":"hm""#, Item::Thought { id: id(), text: String::from("hm") }),
        (
            r#""type":"plan","text":"1. do""#,
            Item::Message { id: id(), text: String::from("1. do"), phase: Some(String::from("plan")) },
        ),
    ] {
        assert_eq!(only_item("completed", fields), expected);
    }
}

#[test]
fn a_command_is_as_far_as_its_status_and_its_line_say() {
    let command = |status, output: Option<&str>, exit_code| Item::Command {
        id: id(),
        command: vec![String::from("bash -lc ls")],
        cwd: None,
        status,
        output: output.map(String::from),
        exit_code,
        duration_ms: None,
    };
    for (stage, fields, expected) in [
        (
            "started",
            r#""aggregated_output":"","exit_code":null,"status":"in_progress""#,
            command(ItemStatus::Running, None, None),
        ),
        (
            "completed",
            r#""aggregated_output":"a\n","exit_code":0,"status":"completed""#,
            command(ItemStatus::Completed, Some("a\n"), Some(0)),
        ),
        (
            "completed",
            r#""aggregated_output":"","exit_code":-1,"status":"failed""#,
            command(ItemStatus::Failed, Some(""), Some(-1)),
        ),
        (
            "completed",
            r#""aggregated_output":"","exit_code":null,"status":"declined""#,
            command(ItemStatus::Failed, Some(""), None),
        ),
        // What the end of its turn stopped.
        (
            "completed",
            r#""aggregated_output":"a","status":"in_progress""#,
            command(ItemStatus::Interrupted, Some("a"), None),
        ),
        ("completed", r#""status":"of a new kind""#, command(ItemStatus::Completed, None, None)),
    ] {
        let fields = format!(r#""type":"command_execution","command":"bash -lc ls",{fields}"#);
        assert_eq!(only_item(stage, &fields), expected, "{fields}");
    }
}

#[test]
fn a_running_command_tells_each_piece_of_its_output_once() {
    let output = |stage: &str, output: &str| {
        item(stage, &format!(r#""type":"command_execution","command":"x","aggregated_output":"{output}""#))
    };
    let stream = [output("started", ""), output("updated", "a"), output("updated", "a"), output("updated", "aé")];
    let stream: Vec<&str> = stream.iter().map(String::as_str).collect();
    let pieces: Vec<String> = events(&observe(lines(&stream)))
        .into_iter()
        .filter_map(|(_, event)| match event {
            ConversationEvent::ItemUpdated { data: ItemData::Output { content }, .. } => Some(content),
            _ => None,
        })
        .collect();
    assert_eq!(pieces, ["a", "é"]);
}

#[test]
fn changed_files_are_told_with_what_was_done_to_them() {
    let fields = r#""type":"file_change","changes":[{"path":"a.rs","kind":"add"},{"path":"b.rs","kind":"update","diff":"+x"}],"status":"completed""#;
    let change = |path: &str, kind: &str, diff: Option<&str>| FileChange {
        path: String::from(path),
        kind: Some(String::from(kind)),
        diff: diff.map(String::from),
    };
    let changes = vec![change("a.rs", "add", None), change("b.rs", "update", Some("+x"))];
    assert_eq!(only_item("completed", fields), Item::File { id: id(), changes, status: ItemStatus::Completed });
    // What an update adds is on the completed item, too.
    assert_eq!(events(&observe(item("updated", fields))), []);
}

#[test]
fn a_tool_is_told_with_what_it_was_given_and_what_it_answered() {
    let tool = |name: &str, status, input: Option<&str>, output: Option<&str>| Item::Tool {
        id: id(),
        name: String::from(name),
        status,
        input: input.map(String::from),
        output: output.map(String::from),
    };
    for (stage, fields, expected) in [
        (
            "started",
            r#""type":"mcp_tool_call","server":"docs","tool":"find","arguments":{"q":"é"},"result":null,"error":null,"status":"in_progress""#,
            tool("docs.find", ItemStatus::Running, Some(r#"{"q":"é"}"#), None),
        ),
        (
            "completed",
            r#""type":"mcp_tool_call","server":"docs","tool":"find","result":{"content":[{"type":"text","text":"see"},{"type":"image","data":"AAECAwQ=","mimeType":"image/png"}],"structured_content":null},"status":"completed""#,
            tool("docs.find", ItemStatus::Completed, None, Some("see\n[image image/png, 5 bytes]")),
        ),
        (
            "completed",
            r#""type":"mcp_tool_call","server":"docs","tool":"find","result":{"content":[],"structured_content":{"a":1}},"status":"completed""#,
            tool("docs.find", ItemStatus::Completed, None, Some(r#"{"a":1}"#)),
        ),
        (
            "completed",
            r#""type":"mcp_tool_call","server":"docs","tool":"find","error":{"message":"no such page"},"status":"failed""#,
            tool("docs.find", ItemStatus::Failed, None, Some("no such page")),
        ),
        (
            "completed",
            r#""type":"collab_tool_call","tool":"spawn_agent","sender_thread_id":"a","receiver_thread_ids":["b"],"prompt":"look","agents_states":{"b":{"status":"running"}},"status":"completed""#,
            tool(
                "spawn_agent",
                ItemStatus::Completed,
                Some(r#"{"receiver_thread_ids":["b"],"prompt":"look"}"#),
                Some(r#"{"b":{"status":"running"}}"#),
            ),
        ),
        (
            "completed",
            r#""type":"web_search","query":"rust","action":{"type":"search"}"#,
            tool("web_search", ItemStatus::Completed, Some(r#"{"query":"rust","action":{"type":"search"}}"#), None),
        ),
        (
            "started",
            r#""type":"todo_list","items":[{"text":"a","completed":false}]"#,
            tool("todo_list", ItemStatus::Running, Some(r#"[{"text":"a","completed":false}]"#), None),
        ),
    ] {
        assert_eq!(only_item(stage, fields), expected, "{fields}");
    }
}

#[test]
fn a_plan_is_told_as_it_changes() {
    let plan_text = |id: &str, content: &str| ConversationEvent::ItemUpdated {
        turn_id: None,
        item_id: String::from(id),
        data: ItemData::PlanText { content: String::from(content) },
    };
    let fields = r#""type":"todo_list","items":[{"text":"a","completed":true},{"text":"b","completed":false}]"#;
    assert_eq!(only_event("updated", fields), plan_text("item_0", "- [x] a\n- [ ] b"));
    let delta = events(&observe(r#"{"type":"item.plan.delta","item_id":"item_3","delta":"1. "}"#));
    assert_eq!(delta[0].1, plan_text("item_3", "1. "));
}

#[test]
fn a_question_to_the_user_is_a_tool_that_waits() {
    let asked = events(&observe(
        r#"{"type":"request_user_input","id":"turn","call_id":"call_1","questions":[{"id":"q","question":"Which?"}]}"#,
    ));
    let item = Item::Tool {
        id: String::from("call_1"),
        name: String::from("request_user_input"),
        status: ItemStatus::Pending,
        input: Some(String::from(r#"[{"id":"q","question":"Which?"}]"#)),
        output: None,
    };
    assert_eq!(asked[0].1, ConversationEvent::ItemStarted { turn_id: None, item });
}

#[test]
fn an_unknown_type_is_noted_once_and_adds_no_usage() {
    let stranger = r#"{"type":"glimmer","usage":{"input_tokens":9}}"#;
    let strange_item = item("completed", r#""type":"hologram""#);
    let old = r#"{"id":"0","msg":{"type":"task_started"}}"#;
    let observations = observe(lines(&[stranger, stranger, &strange_item, &strange_item, old, old]));
    let kinds: Vec<NoteKind> = notes(&observations).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, [NoteKind::UnknownType; 3]);
    assert!(usage(&observations).is_empty() && events(&observations).is_empty());
}
