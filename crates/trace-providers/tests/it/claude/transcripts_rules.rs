//! The rules of transcripts, one by one.

use serde_json::json;
use trace_model::{
    event::{ConversationEvent, Item},
    turn::Outcome,
    usage::Agent,
    words::Quality,
};
use trace_providers::{
    AgentSeen, Detail, NoteKind, Observation, SourceFormat, reader_for, recognise::recognise_source,
};

use crate::support::{events, lines, notes, prompts, read, usage};

fn observe(of: &[&str]) -> Vec<Observation> {
    read(SourceFormat::ClaudeTranscript, Detail::Everything, lines(of).as_bytes())
}

/// A line of the main agent with these fields.
fn line(own: serde_json::Value) -> String {
    let serde_json::Value::Object(own) = own else { panic!("an object") };
    let mut line = json!({"sessionId": "s", "isSidechain": false, "parentUuid": "p", "version": "2.1.0"});
    line.as_object_mut().unwrap().extend(own);
    line.to_string()
}

fn asked(content: &serde_json::Value) -> String {
    line(json!({"type": "user", "message": {"content": content}}))
}

fn answered(id: &str, stop_reason: Option<&str>, content: &serde_json::Value) -> String {
    let message = json!({"id": id, "model": "m", "content": content, "stop_reason": stop_reason,
        "usage": {"input_tokens": 1, "output_tokens": 2}});
    line(json!({"type": "assistant", "message": message}))
}

/// Returns the prompts and results, in their order.
fn turns(observations: &[Observation]) -> Vec<String> {
    observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Input { text, .. } => Some(text.clone().unwrap_or_else(|| String::from("?"))),
            Observation::Result { status, .. } => Some(format!("{status:?}")),
            _ => None,
        })
        .collect()
}

#[test]
fn only_what_a_person_asked_is_a_prompt() {
    let flagged = |flag: &str| line(json!({"type": "user", "message": {"content": "flagged"}, flag: true}));
    let of_subagent = r#"{"type":"user","sessionId":"s","isSidechain":true,"agentId":"a","message":{"content":"go"}}"#;
    let queued = |mode| {
        line(
            json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": mode, "commandMode": mode}}),
        )
    };
    let by = |kind: &str| line(json!({"type": "user", "message": {"content": "by"}, "origin": {"kind": kind}}));
    let of_agent = line(json!({"type": "attachment",
        "attachment": {"type": "queued_command", "prompt": "x", "commandMode": "prompt", "isMeta": true}}));
    let observations = observe(&[
        &by("task-notification"),
        &of_agent,
        &asked(&json!("one")),
        &asked(&json!([{"type": "tool_result", "tool_use_id": "t", "content": "x"}])),
        &flagged("isMeta"),
        &flagged("isCompactSummary"),
        &flagged("isVisibleInTranscriptOnly"),
        &asked(&json!("<local-command-stdout>x</local-command-stdout>")),
        &asked(&json!("<bash-stdout>x</bash-stdout>")),
        &asked(&json!("")),
        of_subagent,
        &asked(
            &json!([{"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text", "text": "two"}]),
        ),
        &asked(&json!([{"type": "image", "source": {}}])),
        &queued("prompt"),
        &queued("task-notification"),
        &by("human"),
    ]);
    assert_eq!(prompts(&observations), [Some("one"), Some("two"), None, Some("prompt"), Some("by")]);
}

#[test]
fn a_slash_command_is_a_prompt_if_the_agent_is_given_one_for_it() {
    let command = |name: &str| asked(&json!(format!("<command-name>/{name}</command-name>")));
    let output = asked(&json!("<local-command-stdout></local-command-stdout>"));
    let text = line(json!({"type": "user", "isMeta": true, "message": {"content": "Please look at all files"}}));
    let done = answered("msg_1", Some("end_turn"), &json!([{"type": "text", "text": "done"}]));
    let caveat = line(json!({"type": "user", "isMeta": true, "message": {"content": "Caveat: The messages below"}}));
    let observations =
        observe(&[&caveat, &command("clear"), &output, &command("init"), &text, &done, &command("exit"), &output]);
    assert_eq!(turns(&observations), ["<command-name>/init</command-name>", "Completed"]);
    let observations = observe(&[&command("skill"), &done]);
    assert_eq!(turns(&observations), ["<command-name>/skill</command-name>", "Completed"]);
}

#[test]
fn a_turn_ends_as_its_last_line_shows_and_once() {
    let text = json!([{"type": "text", "text": "done"}]);
    let call = json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]);
    let result = asked(&json!([{"type": "tool_result", "tool_use_id": "t", "content": "x"}]));
    let prompt = asked(&json!("go"));
    let interrupted = asked(&json!([{"type": "text", "text": "[Request interrupted by user for tool use]"}]));
    let failed = line(json!({"type": "assistant", "isApiErrorMessage": true,
        "message": {"id": "e", "model": "<synthetic>", "content": text}}));
    let no_reply = line(json!({"type": "assistant", "message": {"id": "e", "model": "<synthetic>", "content": text}}));
    for (name, work, expected) in [
        ("a reply that is the last", vec![answered("1", Some("end_turn"), &text)], Some("Completed")),
        ("a reply that was too long", vec![answered("1", Some("max_tokens"), &text)], Some("Completed")),
        ("a call", vec![answered("1", Some("tool_use"), &text), answered("1", Some("tool_use"), &call)], None),
        ("an answer", vec![answered("1", Some("tool_use"), &call), result.clone()], None),
        ("text of an old version", vec![answered("1", None, &text)], Some("Completed")),
        ("a call of an old version", vec![answered("1", None, &text), answered("1", None, &call)], None),
        (
            "an interruption",
            vec![answered("1", Some("tool_use"), &call), result.clone(), interrupted],
            Some("Interrupted"),
        ),
        ("an error", vec![answered("1", Some("tool_use"), &call), result, failed.clone()], Some("Failed")),
        ("an error that was got over", vec![failed, answered("1", Some("end_turn"), &text)], Some("Completed")),
        ("a made-up reply", vec![answered("1", Some("end_turn"), &text), no_reply], Some("Completed")),
        ("a hook that makes it go on", vec![answered("1", Some("end_turn"), &text); 2], Some("Completed")),
        ("nothing", vec![], None),
    ] {
        let turn: Vec<&str> = [&*prompt].into_iter().chain(work.iter().map(String::as_str)).collect();
        let expected: Vec<&str> = ["go"].into_iter().chain(expected).collect();
        assert_eq!(turns(&observe(&turn)), expected, "{name}");
        assert_eq!(turns(&observe(&[&*turn, &*turn].concat())), [&*expected, &*expected].concat(), "{name}, twice");
    }
}

#[test]
fn how_long_a_turn_took_is_told_with_its_end() {
    let done = answered("1", Some("end_turn"), &json!([{"type": "text", "text": "done"}]));
    let took = line(json!({"type": "system", "subtype": "turn_duration", "durationMs": 59_902}));
    let durations = observe(&[&took, &done, &took]).into_iter().filter_map(|seen| match seen {
        Observation::Result { duration_secs, .. } => Some(duration_secs),
        _ => None,
    });
    assert_eq!(durations.collect::<Vec<_>>(), [Some(59.902)]);
}

#[test]
fn a_fork_knows_the_session_that_its_lines_were_copied_from() {
    let copied = line(json!({"type": "user", "message": {"content": "go"}, "cwd": "/work",
        "forkedFrom": {"sessionId": "origin", "messageUuid": "m"}}));
    let observations = observe(&[&copied, &asked(&json!("on"))]);
    let sessions: Vec<_> = observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Session(session) => {
                Some((session.id.as_str(), session.parent.as_deref(), session.cwd.as_deref()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(sessions, [("s", Some("origin"), Some("/work"))]);
}

#[test]
fn the_turn_of_a_session_ends_before_the_next_session_begins() {
    let done = answered("1", Some("end_turn"), &json!([{"type": "text", "text": "done"}]));
    let other = done.replace(r#""sessionId":"s""#, r#""sessionId":"z""#);
    let observations = observe(&[&done, &other]);
    let order: Vec<&str> = observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Session(session) => Some(session.id.as_str()),
            Observation::Result { .. } => Some("result"),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["s", "result", "z", "result"]);
}

#[test]
fn a_reply_is_what_its_largest_line_says() {
    let reply = |usage: serde_json::Value, stop_reason: Option<&str>| {
        line(
            json!({"type": "assistant", "message": {"id": "msg_1", "model": "m", "stop_reason": stop_reason, "usage": usage}}),
        )
    };
    let observations = observe(&[
        &reply(json!({"input_tokens": 4, "output_tokens": 1}), None),
        &reply(
            json!({"input_tokens": 4, "output_tokens": 310, "cache_creation_input_tokens": 9,
            "cache_creation": {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 2}}),
            Some("tool_use"),
        ),
        &reply(json!({"input_tokens": 4, "output_tokens": 8}), None),
    ]);
    let [first, last] = usage(&observations)[..] else { panic!("{observations:?}") };
    assert_eq!((first.output_tokens, first.quality), (Some(1), Quality::LowerBound));
    assert_eq!((last.output_tokens, last.quality), (Some(310), Quality::Exact));
    assert_eq!((last.cache_write_5m_tokens, last.cache_write_1h_tokens), (Some(7), Some(2)));
    assert_eq!(last.context_tokens, Some(13), "what the request sent: new, written and read");
}

#[test]
fn what_an_old_version_says_that_a_reply_cost_is_kept() {
    let reply = answered("1", None, &json!([])).replacen('{', r#"{"costUSD":0.0213,"#, 1);
    let observations = observe(&[&reply, &reply]);
    let [report] = usage(&observations)[..] else { panic!("{observations:?}") };
    assert_eq!(report.reported_cost_usd, Some("0.0213".parse().unwrap()));
}

#[test]
fn a_checkpoint_stays_small_however_long_the_file_is() {
    let mut reader = reader_for(SourceFormat::ClaudeTranscript, Detail::Usage).unwrap();
    let mut observations = Vec::new();
    for number in 0..2_000 {
        let call = json!({"type": "tool_use", "id": format!("call_{number}"), "name": "Task", "input": {"prompt": "x".repeat(500)}});
        let of_agent = answered(&format!("s{number}"), None, &json!([]))
            .replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
        let of_agent = of_agent.replacen('{', &format!(r#"{{"agentId":"agent_{number}","#), 1);
        let lines = [
            asked(&json!("go")),
            answered(&format!("m{number}"), None, &json!([call])),
            of_agent,
            line(json!({"type": number.to_string()})),
        ];
        for line in lines {
            reader.push(line.as_bytes(), &mut observations);
            reader.push(b"\n", &mut observations);
        }
        observations.clear();
    }
    let state = reader.checkpoint().unwrap().state;
    assert!(state.len() < 256 << 10, "{} bytes", state.len());
}

#[test]
fn a_reply_without_an_id_is_known_by_its_request_and_one_without_figures_is_noted() {
    let usage_of = |own: serde_json::Value| {
        let mut fields = json!({"type": "assistant", "message": {"model": "m", "usage": {"output_tokens": 5}}});
        fields.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        observe(&[&line(fields)])
    };
    assert_eq!(usage(&usage_of(json!({"requestId": "req_1", "uuid": "u"})))[0].key, "req_1");
    assert_eq!(usage(&usage_of(json!({"uuid": "u"})))[0].key, "u");
    let nameless = usage_of(json!({}));
    assert_eq!((usage(&nameless).len(), notes(&nameless)[0].1), (0, NoteKind::UsageWithoutKey));
    let empty = observe(&[&line(json!({"type": "assistant", "message": {"id": "i", "model": "m", "usage": {}}}))]);
    assert_eq!((usage(&empty).len(), notes(&empty)[0].1), (0, NoteKind::ReplyWithoutUsage));
}

#[test]
fn what_the_parent_is_told_about_a_subagent_adds_nothing() {
    let result = line(json!({"type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "call", "content": "done"}]},
        "toolUseResult": {"agentId": "a", "totalTokens": 999, "usage": {"output_tokens": 999}}}));
    let progress = line(json!({"type": "progress", "parentToolUseID": "call", "data": {"type": "agent_progress",
        "agentId": "a", "prompt": "go", "message": {"type": "assistant", "message": {"id": "x", "usage": {"output_tokens": 999}}}}}));
    let observations = observe(&[&progress, &progress, &result, &result]);
    assert!(usage(&observations).is_empty());
    let agents =
        observations.iter().filter_map(|seen| if let Observation::Agent(agent) = seen { Some(agent) } else { None });
    let [agent] = &agents.collect::<Vec<_>>()[..] else { panic!("it is told once: {observations:?}") };
    let expected = AgentSeen {
        agent: Agent::Sub(String::from("a")),
        tool_call: Some(String::from("call")),
        prompt: Some(String::from("go")),
        ..AgentSeen::default()
    };
    assert_eq!(**agent, expected);
}

#[test]
fn a_subagent_of_a_subagent_knows_its_parent() {
    let result = json!({"type": "user", "isSidechain": true, "agentId": "outer",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "call"}]}, "toolUseResult": {"agentId": "inner"}});
    let observations = observe(&[&line(result)]);
    let parents = observations.iter().filter_map(|seen| match seen {
        Observation::Agent(agent) => Some((agent.agent.as_str(), agent.parent.as_str())),
        _ => None,
    });
    assert_eq!(parents.collect::<Vec<_>>(), [("outer", "main"), ("inner", "outer")]);
}

#[test]
fn lines_of_subagents_without_ids_hang_together_by_their_parents() {
    let call =
        |id: &str, prompt: &str| json!({"type": "tool_use", "id": id, "name": "Task", "input": {"prompt": prompt}});
    let side = |uuid: &str, parent: Option<&str>, prompt: Option<&str>| {
        let message = prompt.map_or_else(
            || json!({"id": format!("msg_{uuid}"), "model": "m", "usage": {"output_tokens": 1}}),
            |prompt| json!({"content": prompt}),
        );
        let kind = if prompt.is_some() { "user" } else { "assistant" };
        line(json!({"type": kind, "isSidechain": true, "uuid": uuid, "parentUuid": parent, "message": message}))
    };
    let observations = observe(&[
        &answered("1", Some("tool_use"), &json!([call("call_a", "do a"), call("call_b", "do b")])),
        &side("b1", None, Some("do b")),
        &side("a1", None, Some("do a")),
        &side("b2", Some("b1"), None),
        &side("a2", Some("a1"), None),
        &side("a3", Some("a2"), None),
        &side("c1", None, Some("nobody asked for it")),
        &side("c2", Some("c1"), None),
    ]);
    let spent: Vec<_> =
        usage(&observations).iter().skip(1).map(|report| (report.key.as_str(), report.agent.as_str())).collect();
    assert_eq!(spent, [("msg_b2", "call_b"), ("msg_a2", "call_a"), ("msg_a3", "call_a"), ("msg_c2", "c1")]);
}

#[test]
fn a_compaction_is_an_item_and_an_unknown_type_is_noted_once() {
    let boundary = line(json!({"type": "system", "subtype": "compact_boundary", "uuid": "c",
        "compactMetadata": {"trigger": "auto", "preTokens": 150_000}}));
    let unknown = line(json!({"type": "hologram", "message": {"id": "x", "usage": {"output_tokens": 9}}}));
    let observations = observe(&[&boundary, &unknown, &unknown]);
    let [(_, ConversationEvent::ItemCompleted { item: Item::Tool { name, input, .. }, .. })] =
        &events(&observations)[..]
    else {
        panic!("{observations:?}")
    };
    assert_eq!((name.as_str(), input.as_deref()), ("compaction", Some(r#"{"preTokens":150000,"trigger":"auto"}"#)));
    assert_eq!(notes(&observations).len(), 1);
    assert!(usage(&observations).is_empty(), "an unknown type adds no usage");
}

#[test]
fn a_receipt_tells_version_and_model_when_they_change() {
    let upgraded =
        answered("2", None, &json!([])).replace("2.1.0", "2.2.0").replace(r#""model":"m""#, r#""model":"n""#);
    let of_subagent = answered("3", None, &json!([])).replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    let observations =
        observe(&[&asked(&json!("go")), &answered("1", None, &json!([])), &of_subagent, &upgraded, &upgraded]);
    let receipts: Vec<_> = observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Receipt(receipt) => Some((receipt.agent_version.as_deref(), receipt.model.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(receipts, [(Some("2.1.0"), None), (Some("2.1.0"), Some("m")), (Some("2.2.0"), Some("n"))]);
}

#[test]
fn an_error_is_told_with_its_kind_and_its_words() {
    let error = line(json!({"type": "assistant", "error": "rate_limit", "isApiErrorMessage": true,
        "message": {"id": "e", "model": "<synthetic>", "content": [{"type": "text", "text": "usage limit reached"}]}}));
    let observations = observe(&[&asked(&json!("go")), &error]);
    let expected =
        ConversationEvent::Error { code: String::from("rate_limit"), message: String::from("usage limit reached") };
    assert_eq!(events(&observations), [(Agent::Main, expected)]);
    assert!(observations.iter().any(|seen| matches!(seen, Observation::Result { status: Outcome::Failed, .. })));
}

#[test]
fn a_transcript_is_told_from_a_stream_even_if_it_names_its_session_as_a_stream_does() {
    let both = line(json!({"type": "user", "session_id": "s", "message": {"content": "go"}}));
    let summary = json!({"type": "summary", "summary": "x", "leafUuid": "u"}).to_string();
    let snapshot = json!({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}).to_string();
    let stream = json!({"type": "user", "session_id": "s", "message": {"content": "go"}}).to_string();
    // The first line of a file may be longer than what is looked at, and name its session behind that.
    let long = json!({"isSidechain": false, "a": 1, "message": {"content": "x".repeat(2 << 20)}, "sessionId": "s"})
        .to_string();
    let long = long.replacen('{', r#"{"type":"user","#, 1);
    for (source, expected) in [
        (both, Some(SourceFormat::ClaudeTranscript)),
        (summary, Some(SourceFormat::ClaudeTranscript)),
        (snapshot, Some(SourceFormat::ClaudeTranscript)),
        (long, Some(SourceFormat::ClaudeTranscript)),
        (stream, Some(SourceFormat::ClaudeStream)),
        (json!({"type": "user", "message": {"content": "go"}}).to_string(), None),
    ] {
        assert_eq!(recognise_source(source.as_bytes()), expected, "{}", &source[..source.len().min(200)]);
    }
}
