use std::{format, string::ToString};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Any JSON value, so that every field has every kind of value at some time.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(
            &["", "text", "tool_use", "tool_result", "image", "Task", "a\n\"b\"", "é\u{2028}"][..]
        )
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        let key = proptest::sample::select(KEYS.to_vec());
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key.prop_map(str::to_string), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

const KEYS: [&str; 18] = [
    "type",
    "message",
    "content",
    "usage",
    "toolUseResult",
    "data",
    "attachment",
    "agentId",
    "id",
    "name",
    "input",
    "text",
    "prompt",
    "tool_use_id",
    "input_tokens",
    "cache_creation",
    "stop_reason",
    "isMeta",
];

proptest! {
    #[test]
    fn the_one_pass_and_the_slow_way_find_the_same(value in any_value()) {
        let line = json!({"type": "assistant", "message": value, "toolUseResult": value, "data": value}).to_string();
        let quick: LineFacts<'_> = typed::read(&line).unwrap();
        let slow = LineFacts::of(Json::object(&line).ok());
        prop_assert_eq!(format!("{quick:?}"), format!("{slow:?}"));
    }
}

#[test]
fn a_message_is_its_texts_its_calls_and_its_answers() {
    let line = json!({"message": {"content": [
        {"type": "text", "text": "<system-reminder>x</system-reminder>"},
        {"type": "text", "text": "one"},
        {"type": "tool_use", "id": "call", "name": "Agent", "input": {"prompt": "go", "subagent_type": "Explore"}},
        {"type": "tool_use", "id": "other", "name": "Bash", "input": {"prompt": "go"}},
        {"type": "tool_result", "tool_use_id": "first"},
        {"type": "tool_result", "tool_use_id": "second"},
        {"type": "hologram"},
        {"type": "text", "text": "two"},
    ]}})
    .to_string();
    let content = typed::read::<LineFacts<'_>>(&line).unwrap().message.content;
    assert!(content.has_calls && content.has_results && content.has_text() && !content.has_media);
    assert_eq!(content.answered_call.and_then(Json::name).as_deref(), Some("first"));
    let [call] = content.agent_calls[..] else { panic!("{content:?}") };
    assert_eq!(
        [Some(call.id), Some(call.prompt), call.kind].map(|json| json.and_then(Json::name).unwrap_or_default()),
        ["call", "go", "Explore"]
    );
    assert_eq!(content.unknown.iter().map(|kind| kind.source()).collect::<Vec<_>>(), ["\"hologram\""]);
    assert_eq!(content.to_text(), "one\ntwo");
}
