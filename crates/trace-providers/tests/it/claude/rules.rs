//! The rules of Claude Code's stream, one small stream each.

use trace_model::{
    event::{ConversationEvent, Item, ItemStatus},
    turn::Outcome,
    usage::Agent,
    words::Quality,
};
use trace_providers::{NoteKind, Observation};

use super::observe;
use crate::support::{events, lines, notes, prompts, record, usage};

fn init(session: &str) -> String {
    format!(r#"{{"type":"system","subtype":"init","session_id":"{session}","model":"opus[1m]"}}"#)
}

fn reply(id: &str, output: u64) -> String {
    let usage = format!(
        r#"{{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,"output_tokens":{output}}}"#
    );
    format!(
        r#"{{"type":"assistant","session_id":"s","message":{{"id":"{id}","model":"opus","usage":{usage},"content":[{{"type":"text","text":"hm"}}]}}}}"#
    )
}

fn user(text: &str, extra: &str) -> String {
    format!(r#"{{"type":"user","session_id":"s","message":{{"content":"{text}"}}{extra}}}"#)
}

const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s"}"#;

fn only_item(event: &ConversationEvent) -> &Item {
    match event {
        ConversationEvent::ItemStarted { item, .. } | ConversationEvent::ItemCompleted { item, .. } => item,
        other => panic!("no item: {other:?}"),
    }
}

#[test]
fn each_prompt_is_observed_once_whatever_shows_it() {
    let (first, again, other) = (init("s"), init("s"), init("t"));
    let (say, answer) = (user("say", ""), reply("m", 1));
    let tool = r#"{"type":"user","session_id":"s","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}"#;
    let status = r#"{"type":"system","subtype":"status","session_id":"s"}"#;
    let replay = user("say", r#","isReplay":true"#);
    let steer = user("steer", r#","isReplay":true"#);
    let skill = user("a skill", "");
    for (stream, expected) in [
        (&[first.as_str(), &answer, RESULT][..], &[None][..]),
        (&[&first, status, &say, &answer, tool, RESULT], &[Some("say")]),
        (&[&say, &first, &answer, RESULT], &[Some("say")]),
        (&[&first, &say, &replay, &answer, RESULT], &[Some("say")]),
        (&[&first, &answer, RESULT, &again, &answer, RESULT], &[None, None]),
        (&[&first, &answer, RESULT, &again, status, &say, &answer, RESULT], &[None, Some("say")]),
        (&[&first, &answer, RESULT, &say, &again, &answer, RESULT], &[None, Some("say")]),
        // Another session's prompt, even if the first one was killed; and its own init again, which is none.
        (&[&first, &answer, &other, &answer, RESULT], &[None, None]),
        (&[&first, &other], &[None, None]),
        (&[&first, &answer, &again, &answer, RESULT], &[None]),
        // A prompt that steers the agent while it works, and a line of a skill that only looks like one.
        (&[&first, &say, &answer, &steer, &answer, RESULT], &[Some("say"), Some("steer")]),
        (&[&first, &say, &answer, &replay, &answer, RESULT], &[Some("say"), Some("say")]),
        (&[&first, &say, &answer, &skill, &answer, RESULT], &[Some("say")]),
        // Streams that begin in the middle.
        (&[&answer, RESULT], &[None]),
        (&[RESULT], &[None]),
        (&[tool], &[None]),
        (&[status], &[]),
    ] {
        assert_eq!(prompts(&observe(lines(stream))), expected, "{stream:#?}");
    }
}

#[test]
fn what_claude_code_or_a_subagent_writes_is_no_prompt() {
    for line in [
        user("hidden", r#","isSynthetic":true"#),
        user("hidden", r#","isMeta":true"#),
        user("for the subagent", r#","parent_tool_use_id":"toolu_1""#),
        user("<local-command-stdout>x</local-command-stdout>", ""),
        user("[Request interrupted by user]", ""),
        user("", ""),
    ] {
        let observations = observe(lines(&[&init("s"), &reply("m", 1), RESULT, &line]));
        assert_eq!(prompts(&observations), [None], "{line}");
    }
}

#[test]
fn a_prompt_of_several_blocks_is_one_text() {
    let blocks = r#"[{"type":"text","text":"look"},{"type":"image","source":{}},{"type":"text","text":"here"}]"#;
    let line = format!(r#"{{"type":"user","session_id":"s","message":{{"content":{blocks}}}}}"#);
    assert_eq!(prompts(&observe(line)), [Some("look\nhere")]);
}

#[test]
fn an_error_is_a_failure_whatever_the_subtype_says() {
    for (fields, expected) in [
        (r#""subtype":"success","is_error":false"#, Outcome::Completed),
        (r#""subtype":"success""#, Outcome::Completed),
        (r#""is_error":false"#, Outcome::Completed),
        (r#""subtype":"success","is_error":true"#, Outcome::Failed),
        (r#""subtype":"error_max_turns","is_error":false"#, Outcome::Failed),
        (r#""subtype":"error_during_execution","is_error":true"#, Outcome::Failed),
        (r#""subtype":"error_of_a_new_kind""#, Outcome::Failed),
        (r#""other":1"#, Outcome::Failed),
    ] {
        let recorded = record(&observe(format!(r#"{{"type":"result","session_id":"s",{fields}}}"#)));
        assert_eq!(recorded.outcomes, [expected], "{fields}");
    }
}

#[test]
fn errors_are_told_with_their_kind_and_once() {
    let synthetic = |text: &str| {
        let message = format!(r#"{{"id":"m","model":"<synthetic>","content":[{{"type":"text","text":"{text}"}}]}}"#);
        format!(r#"{{"type":"assistant","session_id":"s","error":"rate_limit","message":{message}}}"#)
    };
    let result = |errors: &str| {
        format!(r#"{{"type":"result","session_id":"s","subtype":"error_max_turns","errors":[{errors}],"result":"x"}}"#)
    };
    for (stream, expected) in [
        (vec![synthetic("limit"), result(r#""limit""#)], &[("rate_limit", "limit")][..]),
        (vec![synthetic("limit"), result(r#""turns""#)], &[("rate_limit", "limit"), ("error_max_turns", "turns")]),
        (vec![result(r#""a","b""#)], &[("error_max_turns", "a"), ("error_max_turns", "b")]),
        (vec![result("")], &[("error_max_turns", "x")]),
    ] {
        let stream: Vec<&str> = stream.iter().map(String::as_str).collect();
        let observations = observe(lines(&stream));
        let errors: Vec<_> = events(&observations)
            .into_iter()
            .map(|(_, event)| match event {
                ConversationEvent::Error { code, message } => (code, message),
                other => panic!("no error: {other:?}"),
            })
            .collect();
        let errors: Vec<_> = errors.iter().map(|(code, message)| (code.as_str(), message.as_str())).collect();
        assert_eq!(errors, expected);
        // What Claude Code made up itself is no request.
        assert!(usage(&observations).iter().all(|report| report.key.starts_with("remainder:")));
    }
}

#[test]
fn one_reply_on_several_lines_is_one_request_with_its_largest_output() {
    let observations =
        observe(lines(&[&reply("m", 1), &reply("m", 1), &reply("m", 57), &reply("m", 4), &reply("n", 2)]));
    let reports = usage(&observations);
    assert_eq!(reports.len(), 3, "a report per change: {reports:?}");
    let totals = record(&observations).totals();
    assert_eq!((totals.requests, totals.input_tokens, totals.output_tokens), (Some(2), Some(20), Some(59)));
    assert_eq!((reports[0].context_tokens, totals.quality), (Some(18), Quality::LowerBound));
}

#[test]
fn message_delta_replaces_what_message_start_said_and_is_exact() {
    let event = |event: &str| format!(r#"{{"type":"stream_event","session_id":"s","event":{event}}}"#);
    let start = event(
        r#"{"type":"message_start","message":{"id":"m","model":"opus","usage":{"input_tokens":7,"output_tokens":90}}}"#,
    );
    let delta = |usage: &str| event(&format!(r#"{{"type":"message_delta","usage":{usage}}}"#));
    let thinking = r#"{"output_tokens":40,"output_tokens_details":{"thinking_tokens":30}}"#;
    let stream =
        [start, delta(r#"{"output_tokens":20}"#), delta(thinking), reply("m", 1), event(r#"{"type":"message_stop"}"#)];
    let stream: Vec<&str> = stream.iter().map(String::as_str).collect();
    let observations = observe(lines(&stream));
    let totals = record(&observations).totals();
    assert_eq!((totals.input_tokens, totals.output_tokens), (Some(7), Some(40)));
    assert_eq!((totals.reasoning_tokens, totals.quality), (Some(30), Quality::Exact));
    let late = lines(&[&stream[4..], &[stream[2]]].concat());
    assert_eq!(notes(&observe(late)), [(73, NoteKind::UsageWithoutKey)]);
}

#[test]
fn an_id_is_unique_over_all_launches_only_if_it_is_long_enough_to_be() {
    let anthropic = "msg_011kU8ifxKu5ujfjX1TgubZn";
    let observations = observe(lines(&[&reply(anthropic, 1), &reply("msg_0001", 1), &reply("turn:1", 1)]));
    let keys: Vec<_> =
        usage(&observations).iter().map(|report| (report.key.as_str(), report.request_key.as_deref())).collect();
    assert_eq!(keys, [(anthropic, Some(anthropic)), ("msg_0001", None), ("message:turn:1", None)]);
}

#[test]
fn a_subagent_has_one_id_for_good() {
    let started =
        r#"{"type":"system","subtype":"task_started","session_id":"s","task_id":"a1","tool_use_id":"toolu_1"}"#;
    let spoke = r#"{"type":"assistant","session_id":"s","parent_tool_use_id":"toolu_1","message":{"id":"m","content":[{"type":"text","text":"x"}]}}"#;
    for (stream, expected) in [
        (&[started, spoke, spoke][..], "a1"),
        // It spoke before its id was told: it keeps the id of its call.
        (&[spoke, started, spoke], "toolu_1"),
        (&[spoke], "toolu_1"),
    ] {
        let observations = observe(lines(stream));
        let agents: Vec<Agent> = events(&observations).into_iter().map(|(agent, _)| agent).collect();
        assert!(agents.iter().all(|agent| *agent == Agent::Sub(String::from(expected))), "{agents:?}");
        // What a subagent does shows no prompt of the main agent.
        assert!(prompts(&observations).is_empty());
    }
}

#[test]
fn a_tool_is_completed_as_the_whole_item() {
    let call =
        |block: &str| format!(r#"{{"type":"assistant","session_id":"s","message":{{"id":"m","content":[{block}]}}}}"#);
    let result = |fields: &str, beside: &str| {
        format!(
            r#"{{"type":"user","session_id":"s","message":{{"content":[{{"type":"tool_result","tool_use_id":"t",{fields}}}]}},"tool_use_result":{beside}}}"#
        )
    };
    let bash = call(r#"{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls -l","timeout":5}}"#);
    let read = call(r#"{"type":"tool_use","id":"t","name":"Read","input":{"path":"é"}}"#);
    let last = |stream: &[&str]| only_item(&events(&observe(lines(stream))).pop().unwrap().1).clone();

    let command = |status, output: Option<&str>, exit_code| Item::Command {
        id: String::from("t"),
        command: ["bash", "-c", "ls -l"].map(String::from).into(),
        cwd: None,
        status,
        output: output.map(String::from),
        exit_code,
        duration_ms: None,
    };
    assert_eq!(last(&[&bash]), command(ItemStatus::Running, None, None));
    let done = result(r#""content":"a\nb""#, r#"{"exit_code":0}"#);
    assert_eq!(last(&[&bash, &done]), command(ItemStatus::Completed, Some("a\nb"), Some(0)));
    let stopped = result(r#""is_error":true"#, r#"{"interrupted":true}"#);
    assert_eq!(last(&[&bash, &stopped]), command(ItemStatus::Interrupted, None, None));

    let tool = |name: &str, status, input: Option<&str>, output: &str| Item::Tool {
        id: String::from("t"),
        name: String::from(name),
        status,
        input: input.map(String::from),
        output: Some(String::from(output)),
    };
    let failed = result(r#""content":"no such file","is_error":true"#, "null");
    let input = Some(r#"{"path":"é"}"#);
    assert_eq!(last(&[&read, &failed]), tool("Read", ItemStatus::Failed, input, "no such file"));
    assert_eq!(last(&[&failed]), tool("unknown", ItemStatus::Failed, None, "no such file"));
    let picture = r#""content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAECAwQ="}},{"type":"tool_reference"}]"#;
    let shown = "see\n[image image/png, 5 bytes]\n[tool_reference]";
    assert_eq!(last(&[&read, &result(picture, "{}")]), tool("Read", ItemStatus::Completed, input, shown));
    let server = call(
        r#"{"type":"server_tool_use","id":"t","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"t","content":{"error_code":"x"}}"#,
    );
    let expected = tool("web_search", ItemStatus::Completed, Some("{}"), r#"{"error_code":"x"}"#);
    assert_eq!(last(&[&server]), expected);
}

#[test]
fn thinking_is_a_thought_and_what_only_the_model_reads_is_nothing() {
    let content = r#"[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"redacted_thinking","data":"y"},{"type":"text","text":"so"}]"#;
    let observations =
        observe(format!(r#"{{"type":"assistant","session_id":"s","message":{{"id":"m","content":{content}}}}}"#));
    let events = events(&observations);
    let items: Vec<_> = events.iter().map(|(_, event)| only_item(event)).collect();
    let thought = Item::Thought { id: String::from("m:0"), text: String::from("hm") };
    let message = Item::Message { id: String::from("m:1"), text: String::from("so"), phase: None };
    assert_eq!(items, [&thought, &message]);
}

#[test]
fn an_unknown_type_is_noted_once_and_adds_no_usage() {
    let stranger = r#"{"type":"glimmer","session_id":"s","message":{"id":"m","usage":{"input_tokens":9}}}"#;
    let block = r#"{"type":"assistant","session_id":"s","message":{"id":"m","content":[{"type":"hologram"}]}}"#;
    let observations = observe(lines(&[stranger, stranger, block, block]));
    assert_eq!(notes(&observations).iter().filter(|(_, kind)| *kind == NoteKind::UnknownType).count(), 2);
    assert!(usage(&observations).iter().all(|report| report.input_tokens.is_none()));
}

#[test]
fn a_receipt_comes_once_per_change() {
    let stream = [init("s"), reply("m", 1), String::from(RESULT), init("s"), init("t")];
    let stream: Vec<&str> = stream.iter().map(String::as_str).collect();
    let sessions: Vec<_> = observe(lines(&stream))
        .into_iter()
        .filter_map(|seen| match seen {
            Observation::Receipt(receipt) => receipt.provider_session_id,
            _ => None,
        })
        .collect();
    assert_eq!(sessions, ["s", "t"]);
}

fn total(input: &str, output: u64) -> String {
    let model = format!(
        r#"{{"inputTokens":{input},"outputTokens":{output},"cacheReadInputTokens":5,"cacheCreationInputTokens":3}}"#
    );
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s","modelUsage":{{"opus":{model}}}}}"#
    )
}

fn quality_of(stream: &[&str]) -> (Quality, Option<u64>) {
    let totals = record(&observe(lines(stream))).totals();
    (totals.quality, totals.output_tokens)
}

#[test]
fn a_total_makes_exact_what_its_own_process_spent_and_nothing_before() {
    let (first, second) = (init("s"), init("t"));
    let (lost, told, whole) = (reply("m1", 1), reply("m2", 1), total("10", 60));
    assert_eq!(quality_of(&[&second, &told, &whole]), (Quality::Exact, Some(60)));
    // The first process was killed before it stated anything.
    assert_eq!(quality_of(&[&first, &lost, &second, &told, &whole]), (Quality::LowerBound, Some(61)));
}

#[test]
fn a_total_that_fell_after_a_turn_without_one_is_a_lower_bound() {
    let start = init("s");
    let (m1, m2, m3) = (reply("m1", 1), reply("m2", 1), reply("m3", 1));
    let (high, low) = (total("10", 60), total("10", 20));
    assert_eq!(quality_of(&[&start, &m1, &high, &start, &m2, &start, &m3, &low]).0, Quality::LowerBound);
}

#[test]
fn a_total_with_a_figure_that_cannot_be_read_is_a_lower_bound_and_noted() {
    let (start, answer) = (init("s"), reply("m", 1));
    for (input, legible) in [("10", true), ("10.0", true), (r#""10""#, false), ("-1", false), ("1.5", false)] {
        let observations = observe(lines(&[&start, &answer, &total(input, 60)]));
        let noted = notes(&observations).iter().any(|(_, kind)| *kind == NoteKind::IllegibleFigure);
        let quality = record(&observations).totals().quality;
        let expected = if legible { Quality::Exact } else { Quality::LowerBound };
        assert_eq!((quality, noted), (expected, !legible), "{input}");
    }
    let without_input = total("10", 60).replace(r#""inputTokens":10,"#, "");
    assert_eq!(quality_of(&[&start, &answer, &without_input]).0, Quality::LowerBound);
}

#[test]
fn an_error_is_told_in_more_than_one_spelling() {
    for (is_error, outcome) in [
        ("true", Outcome::Failed),
        (r#""true""#, Outcome::Failed),
        ("1", Outcome::Failed),
        ("false", Outcome::Completed),
        (r#""false""#, Outcome::Completed),
        ("null", Outcome::Completed),
    ] {
        let result = RESULT.replace("false", is_error);
        assert_eq!(record(&observe(lines(&[&init("s"), &result]))).outcomes, [outcome], "{is_error}");
    }
}
