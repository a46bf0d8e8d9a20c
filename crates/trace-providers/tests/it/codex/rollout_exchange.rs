//! The exchange in rollouts of all ages.

use trace_model::event::{ConversationEvent, Item, ItemStatus};
use trace_providers::Observation;

use super::read_rollout;
use crate::support::{events, lines, notes, prompts};

const META: &str = r#"{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"id":"t"}}"#;

/// Returns the event that an item makes.
fn item(fields: &str) -> Option<ConversationEvent> {
    let line = format!(r#"{{"timestamp":"2026-03-01T10:00:01Z","type":"response_item","payload":{{{fields}}}}}"#);
    let observations = read_rollout(lines(&[META, &line]));
    assert_eq!(notes(&observations), []);
    events(&observations).pop().map(|(_, event)| event)
}

fn tool(name: &str, status: ItemStatus, input: Option<&str>, output: Option<&str>) -> Item {
    Item::Tool {
        id: String::from("call_1"),
        name: String::from(name),
        status,
        input: input.map(String::from),
        output: output.map(String::from),
    }
}

#[test]
fn a_call_is_a_tool_that_runs_until_its_result() {
    for (fields, expected) in [
        (
            r#""type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"call_1","id":"fc""#,
            tool("shell", ItemStatus::Running, Some(r#"{"command":["ls"]}"#), None),
        ),
        (
            r#""type":"function_call","name":"find","namespace":"docs","arguments":"{}","call_id":"call_1""#,
            tool("docs.find", ItemStatus::Running, Some("{}"), None),
        ),
        (
            r#""type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"call_1""#,
            tool("apply_patch", ItemStatus::Running, Some("*** Begin"), None),
        ),
        (
            r#""type":"local_shell_call","call_id":"call_1","action":{"type":"exec","command":["ls"]}"#,
            tool("local_shell", ItemStatus::Running, Some(r#"{"type":"exec","command":["ls"]}"#), None),
        ),
    ] {
        assert_eq!(item(fields), Some(ConversationEvent::ItemStarted { turn_id: None, item: expected }), "{fields}");
    }
    for (fields, expected) in [
        (
            r#""type":"function_call_output","call_id":"call_1","output":"a\nb""#,
            tool("", ItemStatus::Completed, None, Some("a\nb")),
        ),
        (
            r#""type":"function_call_output","call_id":"call_1","output":{"content":"no","success":false}"#,
            tool("", ItemStatus::Failed, None, Some("no")),
        ),
        (
            r#""type":"custom_tool_call_output","call_id":"call_1","output":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:,xy"}]"#,
            tool("", ItemStatus::Completed, None, Some("a\n[image, 8 bytes]")),
        ),
        (
            r#""type":"web_search_call","id":"call_1","action":{"type":"search","query":"q"}"#,
            tool("web_search", ItemStatus::Completed, Some(r#"{"type":"search","query":"q"}"#), None),
        ),
        (r#""type":"hologram","id":"call_1""#, tool("hologram", ItemStatus::Completed, None, None)),
    ] {
        assert_eq!(item(fields), Some(ConversationEvent::ItemCompleted { turn_id: None, item: expected }), "{fields}");
    }
}

#[test]
fn a_result_bears_the_name_of_its_call() {
    let line = |fields: &str| {
        format!(
            r#"{{"timestamp":"2026-03-01T10:00:01Z","type":"response_item","payload":{{{fields},"call_id":"call_1"}}}}"#
        )
    };
    let call = line(r#""type":"function_call","name":"shell","arguments":"{}""#);
    let result = line(r#""type":"function_call_output","output":"a""#);
    let (_, last) = events(&read_rollout(lines(&[META, &call, &result]))).pop().unwrap();
    let expected = tool("shell", ItemStatus::Completed, None, Some("a"));
    assert_eq!(last, ConversationEvent::ItemCompleted { turn_id: None, item: expected });
}

#[test]
fn only_the_assistants_messages_and_what_is_legible_of_its_thoughts_are_told() {
    let done = |item| Some(ConversationEvent::ItemCompleted { turn_id: None, item });
    let message = |role: &str| {
        item(&format!(r#""type":"message","id":"m","role":"{role}","content":[{{"type":"output_text","text":"é"}}]"#))
    };
    assert_eq!(
        message("assistant"),
        done(Item::Message { id: String::from("m"), text: String::from("é"), phase: None })
    );
    assert_eq!((message("user"), message("developer")), (None, None));
    let thought = |fields: &str| item(&format!(r#""type":"reasoning","id":"r",{fields}"#));
    let summary = r#""summary":[{"type":"summary_text","text":"**Look**"}],"encrypted_content":"gAAA""#;
    assert_eq!(thought(summary), done(Item::Thought { id: String::from("r"), text: String::from("**Look**") }));
    assert_eq!(thought(r#""summary":[],"encrypted_content":"gAAA""#), None);
}

#[test]
fn steps_name_the_providers_turn() {
    let rollout = lines(&[
        META,
        r#"{"timestamp":"2026-03-01T10:00:01Z","type":"event_msg","payload":{"type":"task_started","turn_id":"a"}}"#,
        r#"{"timestamp":"2026-03-01T10:00:01Z","type":"event_msg","payload":{"type":"user_message","message":"x"}}"#,
        r#"{"timestamp":"2026-03-01T10:00:02Z","type":"response_item","payload":{"type":"message","role":"assistant","content":"y"}}"#,
        r#"{"timestamp":"2026-03-01T10:00:03Z","type":"event_msg","payload":{"type":"error","message":"m"}}"#,
        r#"{"timestamp":"2026-03-01T10:00:04Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"a","error":{"message":"m"}}}"#,
    ]);
    let observations = read_rollout(rollout);
    let input = observations.iter().position(|seen| matches!(seen, Observation::Input { .. })).unwrap();
    let first = observations.iter().position(|seen| matches!(seen, Observation::Event(_))).unwrap();
    assert!(input < first, "a turn of the provider is told after the prompt that begins it");
    let events: Vec<ConversationEvent> = events(&observations).into_iter().map(|(_, event)| event).collect();
    let turns: Vec<Option<&str>> = events.iter().map(ConversationEvent::provider_turn_id).collect();
    // The error is told once, and names no turn.
    assert_eq!(turns, [Some("a"), Some("a"), None, Some("a")]);
}

#[test]
fn a_rollout_of_bare_items_has_prompts_and_an_exchange_and_no_usage() {
    let user = |text: &str| {
        format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}"#)
    };
    let observations = read_rollout(lines(&[
        r#"{"id":"5973b6c0-94b8-487b-a530-2aeb6098ae0e","timestamp":"2025-06-01T10:00:00.000Z","instructions":null}"#,
        r#"{"record_type":"state"}"#,
        &user("<environment_context>\\n</environment_context>"),
        &user("list the files"),
        r#"{"type":"function_call","name":"shell","arguments":"{}","call_id":"call_1"}"#,
        r#"{"type":"function_call_output","call_id":"call_1","output":"a.txt"}"#,
        r#"{"record_type":"state"}"#,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"One."}]}"#,
    ]));
    assert_eq!(notes(&observations), []);
    assert_eq!(prompts(&observations), [Some("list the files")]);
    assert_eq!(events(&observations).len(), 3);
    assert!(observations.iter().any(|seen| matches!(seen, Observation::Session(session) if session.id.starts_with("5973b6c0") && session.at.is_some())));
    assert!(!observations.iter().any(|seen| matches!(seen, Observation::Usage(_))));
}

#[test]
fn that_the_context_was_replaced_is_told_once() {
    let compacted = r#"{"timestamp":"2026-03-01T10:00:01Z","type":"compacted","payload":{"message":"short","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}}"#;
    let event = r#"{"timestamp":"2026-03-01T10:00:01Z","type":"event_msg","payload":{"type":"context_compacted"}}"#;
    let observations = read_rollout(lines(&[META, compacted, event]));
    assert_eq!((events(&observations).len(), prompts(&observations).len()), (1, 0));
}
