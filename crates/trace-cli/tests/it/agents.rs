//! The subagents of a launch, as they are shown.

use std::fs;

use serde_json::{Value, json};

use super::{
    exec::bench::{Bench, stderr},
    import::{document, fixture, print, run, write},
    manners::shown_in_terminal,
};

/// Returns a line of a transcript; what is given replaces what every line has.
fn line(agent: Option<&str>, id: &str, more: &Value) -> String {
    let mut line = json!({"sessionId": "s1", "uuid": id, "cwd": "/src/app", "version": "2.1.0",
        "isSidechain": agent.is_some(), "timestamp": "2026-03-02T09:00:00.000Z"});
    let fields = line.as_object_mut().unwrap();
    fields.extend(agent.map(|agent| ("agentId".to_owned(), json!(agent))));
    fields.extend(more.as_object().unwrap().clone());
    format!("{line}\n")
}

/// Returns what an agent was asked, and its reply, which starts another one or none.
fn asked(agent: Option<&str>, prompt: &str, output: u64, starts: Option<(&str, &str)>) -> String {
    let name = agent.unwrap_or("main");
    let usage = json!({"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "output_tokens": output});
    let content = match starts {
        Some((_, prompt)) => json!([{"type": "tool_use", "id": format!("toolu_{name}"), "name": "Task",
            "input": {"description": "d", "prompt": prompt, "subagent_type": "explorer"}}]),
        None => json!([{"type": "text", "text": format!("{name} is done")}]),
    };
    let message = json!({"id": format!("msg_{name}"), "type": "message", "role": "assistant",
        "model": "claude-sonnet-4-5-20250929", "content": content, "stop_reason": "end_turn", "usage": usage});
    let mut text = line(
        agent,
        &format!("u{name}"),
        &json!({"type": "user", "parentUuid": null, "message": {"role": "user", "content": prompt}}),
    );
    text += &line(agent, &format!("a{name}"), &json!({"type": "assistant", "message": message}));
    if let Some((child, _)) = starts {
        let answer = json!([{"type": "tool_result", "tool_use_id": format!("toolu_{name}"), "content": "ok"}]);
        let result = json!({"type": "user", "message": {"role": "user", "content": answer},
            "toolUseResult": {"agentId": child, "status": "completed"}});
        text += &line(agent, &format!("r{name}"), &result);
    }
    text
}

/// Brings in a session whose agents start each other: three below the main one.
fn nested(bench: &Bench, options: &[&str]) {
    let below = "projects/p/s1/subagents";
    let main = asked(None, "do it", 1, Some(("aaaa1111", "look into it")));
    let main = write(bench, "projects/p/s1.jsonl", main);
    let first = asked(Some("aaaa1111"), "look into it", 2, Some(("bbbb2222", "look deeper\nand deeper")));
    write(bench, &format!("{below}/agent-aaaa1111.jsonl"), first);
    let second = asked(Some("bbbb2222"), "look deeper\nand deeper", 4, Some(("aaaa3333", "look deepest")));
    write(bench, &format!("{below}/agent-bbbb2222.jsonl"), second);
    write(bench, &format!("{below}/agent-aaaa3333.jsonl"), asked(Some("aaaa3333"), "look deepest", 8, None));
    let arguments = [&["import", "--json"], options, &["projects"]].concat();
    document(bench, 0, &arguments);
    assert!(main.exists());
}

/// Returns agents with their parents and calls.
fn tree(report: &Value) -> Vec<[Value; 4]> {
    let agents = report["agents"].as_array().unwrap().iter();
    agents.map(|row| ["agent", "depth", "parent", "tool_call"].map(|key| row[key].clone())).collect()
}

/// Returns what a terminal of that many columns shows.
fn shown_at(bench: &Bench, columns: u16, arguments: &[&str]) -> String {
    let mut command = bench.trace();
    command.args(["--color", "never"]).args(arguments);
    let shown = shown_in_terminal(&command, columns).replace("\r\n", "\n");
    // The path of a folder may be of any length.
    let is_of_it = |line: &&str| !line.contains(bench.path("").to_str().unwrap().trim_end_matches('/'));
    let lines: Vec<&str> = shown.lines().filter(is_of_it).collect();
    for line in &lines {
        assert!(unicode_width::UnicodeWidthStr::width(*line) <= usize::from(columns), "{arguments:?}: {line}");
    }
    format!("{columns} columns\n{}\n", lines.join("\n"))
}

#[test]
fn agents_stand_beneath_those_that_started_them_at_any_depth() {
    let bench = Bench::new();
    nested(&bench, &[]);
    let shown = bench.show();
    let expected = [
        [json!("main"), json!(0), json!(null), json!(null)],
        [json!("aaaa1111"), json!(1), json!("main"), json!("toolu_main")],
        [json!("bbbb2222"), json!(2), json!("aaaa1111"), json!("toolu_aaaa1111")],
        [json!("aaaa3333"), json!(3), json!("bbbb2222"), json!("toolu_bbbb2222")],
    ];
    assert_eq!(tree(&shown), expected);
    let sum: u64 =
        shown["agents"].as_array().unwrap().iter().map(|row| row["totals"]["total_tokens"].as_u64().unwrap()).sum();
    assert_eq!(shown["totals"]["total_tokens"], sum);
    assert_eq!(shown["agents"][2]["prompt"], "look deeper\nand deeper");
}

// A ledger that is made anew by each command does not know how the session ended.
#[cfg(any(feature = "sled", feature = "sqlite"))]
#[test]
fn the_tree_of_agents_fits_the_terminal() {
    let bench = Bench::new();
    nested(&bench, &[]);
    let both = [80, 120].map(|columns| shown_at(&bench, columns, &["show", "latest"]));
    insta::assert_snapshot!("show_agents", both.join("\n"));
}

#[test]
fn one_subagent_is_shown_with_its_prompt_steps_usage_and_children() {
    let bench = Bench::new();
    nested(&bench, &[]);
    let one = document(&bench, 0, &["show", "latest", "--agent", "bbbb", "--json"]);
    assert_eq!((&one["agent"], &one["tool_calls"]), (&json!("bbbb2222"), &json!(1)));
    assert_eq!(one["models"][0]["totals"]["output_tokens"], 4);
    assert_eq!(one["children"][0]["agent"], "aaaa3333");
    assert!(one["events"].as_array().unwrap().iter().all(|event| event["agent"] == "bbbb2222"));
    let both = [80, 120].map(|columns| shown_at(&bench, columns, &["show", "latest", "--agent", "2222"]));
    insta::assert_snapshot!("show_agent", both.join("\n"));
    let lines = print(&bench, 0, &["show", "latest", "--agent", "3333", "--jsonl"]);
    assert!(lines.contains("aaaa3333 is done") && !lines.contains("bbbb2222"), "{lines}");
}

#[test]
fn a_name_of_no_or_several_subagents_lists_them() {
    let bench = Bench::new();
    nested(&bench, &[]);
    for (name, said) in [
        ("aaaa", "names several subagents"),
        ("cccc", "begins or ends so"),
        ("bbb", "begins or ends so"),
        ("main", "begins or ends so"),
    ] {
        let output = run(&bench, &["show", "latest", "--agent", name]);
        let told = stderr(&output);
        assert_ne!(output.status.code(), Some(0), "{name}");
        assert!(told.contains(said) && told.contains("aaaa1111") && told.contains("aaaa3333"), "{name}: {told}");
    }
}

// What is only indexed is in the ledger alone.
#[cfg(any(feature = "sled", feature = "sqlite"))]
#[test]
fn what_is_only_indexed_is_read_where_the_agent_keeps_it_and_outlived_by_its_usage() {
    let bench = Bench::new();
    nested(&bench, &["--index-only"]);
    let one = document(&bench, 0, &["show", "latest", "--agent", "bbbb2222", "--json"]);
    assert_eq!((&one["prompt"], &one["parent"]), (&json!("look deeper\nand deeper"), &json!("aaaa1111")));
    fs::remove_dir_all(bench.path("projects")).unwrap();
    let output = run(&bench, &["show", "latest", "--agent", "bbbb2222", "--json"]);
    assert!(output.status.success() && stderr(&output).contains("what the ledger knows"), "{}", stderr(&output));
    let one: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&one["prompt"], &one["parent"], &one["tool_calls"]), (&json!(null), &json!(null), &json!(null)));
    assert_eq!(one["totals"]["output_tokens"], 4);
}

#[test]
fn a_recorded_stream_tells_of_its_subagent_as_far_as_it_shows_it() {
    let bench = Bench::new();
    fs::copy(fixture("claude-subagent/stream.jsonl"), bench.path("stream.jsonl")).unwrap();
    let options = ["--provider", "claude"];
    let output = bench.exec(&options, &["cat", "stream.jsonl"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let shown = bench.show();
    let agents = tree(&shown);
    assert_eq!(agents[1], [json!("af99eb439b6d285ee"), json!(1), json!("main"), json!("toolu_1")]);
    let truth: Value = serde_json::from_slice(&fs::read(fixture("claude-subagent/truth.json")).unwrap()).unwrap();
    let all: u64 =
        shown["agents"].as_array().unwrap().iter().map(|row| row["totals"]["total_tokens"].as_u64().unwrap()).sum();
    // Which of them used the rest of the process's total, nobody tells.
    let rest = shown["agents_rest"]["total_tokens"].as_u64().unwrap();
    assert_eq!(truth["all"]["total"], all + rest);
    assert_eq!(shown["agents"][0]["totals"]["quality"], "lower_bound");
    // The stream shows one of its two replies, and that with a placeholder.
    assert_eq!(shown["agents"][1]["totals"]["quality"], "lower_bound");
    let one = document(&bench, 0, &["show", "latest", "--agent", "285ee", "--json"]);
    assert_eq!(one["prompt"], "Say hello using the shell and report.");
    assert_eq!((&one["kind"], &one["tool_calls"]), (&json!("general-purpose"), &json!(1)));
}

#[cfg(any(feature = "sled", feature = "sqlite"))]
#[test]
fn what_a_stream_tells_of_the_whole_process_alone_is_used_by_no_agent() {
    let bench = Bench::new();
    fs::copy(fixture("claude-subagent/stream.jsonl"), bench.path("stream.jsonl")).unwrap();
    let output = bench.exec(&["--provider", "claude"], &["cat", "stream.jsonl"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let truth: Value = serde_json::from_slice(&fs::read(fixture("claude-subagent/truth.json")).unwrap()).unwrap();
    let used = document(&bench, 0, &["usage", "agent", "--no-refresh", "--json"]);
    assert_eq!(used["totals"]["total_tokens"], truth["all"]["total"]);
    assert_eq!(used["totals"]["quality"], "exact");
    let rows = used["rows"].as_array().unwrap();
    let total = |row: &Value| row["totals"]["total_tokens"].as_u64().unwrap();
    assert_eq!(truth["all"]["total"], rows.iter().map(total).sum::<u64>());
    let apart: Vec<&Value> = rows.iter().filter(|row| row["key"].is_null()).collect();
    assert_eq!((apart.len(), &apart[0]["agent"]), (1, &json!(null)));
    for row in rows.iter().filter(|row| !row["key"].is_null()) {
        let known = if row["key"] == "main" { "main" } else { "subagents" };
        assert!(total(row) <= truth[known]["total"].as_u64().unwrap(), "{row}");
        assert_eq!(row["totals"]["quality"], "lower_bound", "{row}");
        assert_eq!(row["totals"]["requests"], json!(null), "{row}");
    }
    let table = print(&bench, 0, &["usage", "agent", "--no-refresh"]);
    assert!(table.contains("not told apart"), "{table}");
}

#[test]
fn session_files_tell_each_agent_what_it_truly_used() {
    let bench = Bench::new();
    let of = |name: &str| fs::read(fixture(&format!("claude-subagent/{name}"))).unwrap();
    let session = "f1e0ce7e-c11c-42fe-a18f-dc5f13542c13";
    write(&bench, &format!("p/{session}.jsonl"), of("transcript.jsonl"));
    let agent = "agent-af99eb439b6d285ee.jsonl";
    write(&bench, &format!("p/{session}/subagents/{agent}"), of(agent));
    document(&bench, 0, &["import", "--json", "p"]);
    let truth: Value = serde_json::from_slice(&of("truth.json")).unwrap();
    let shown = bench.show();
    for (row, part) in [(0, "main"), (1, "subagents")] {
        let totals = &shown["agents"][row]["totals"];
        assert_eq!(totals["total_tokens"], truth[part]["total"], "{part}");
        assert_eq!(totals["requests"], truth[part]["model_requests"], "{part}");
    }
}

#[test]
fn a_launch_without_subagents_says_so() {
    let bench = Bench::new();
    write(&bench, "s1.jsonl", super::import::lines::session("s1", 30));
    document(&bench, 0, &["import", "--json", "s1.jsonl"]);
    assert_eq!(bench.show()["agents"], json!([]));
    let output = run(&bench, &["show", "latest", "--agent", "abcd"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("has no subagent"), "{}", stderr(&output));
}

#[test]
fn usage_of_subagent_files_is_that_of_its_agent() {
    let bench = Bench::new();
    let of = |name: &str| fs::read(fixture(&format!("claude-subagent-files/{name}"))).unwrap();
    let session = "5a5a0001-0000-4000-8000-000000000001";
    write(&bench, &format!("p/{session}.jsonl"), of("transcript.jsonl"));
    write(&bench, &format!("p/{session}/subagents/agent-ab12cd3.jsonl"), of("agent-ab12cd3.jsonl"));
    document(&bench, 0, &["import", "--json", "p"]);
    let shown = bench.show();
    let of_rows = shown["agents"].as_array().unwrap().iter().map(|row| row["totals"]["output_tokens"].as_u64());
    assert_eq!(of_rows.collect::<Vec<_>>(), [Some(42), Some(43)]);
    let one = document(&bench, 0, &["show", "latest", "--agent", "2cd3", "--json"]);
    assert_eq!((&one["agent"], &one["totals"]["requests"]), (&json!("ab12cd3"), &json!(2)));
}

#[test]
fn a_gemini_subagent_is_told_by_its_caller_and_by_its_own_session() {
    let bench = Bench::new();
    let at = |second: u32| format!("2026-01-01T00:00:{second:02}.000Z");
    let header = |id: &str, kind: &str| json!({"sessionId": id, "projectHash": "h", "startTime": at(0), "kind": kind});
    let asked = |id: &str, text: &str| json!({"id": id, "timestamp": at(1), "type": "user", "content": text});
    let reply = |id: &str, output: u64, calls: Value| {
        let tokens =
            json!({"input": 10, "output": output, "cached": 0, "thoughts": 0, "tool": 0, "total": 10 + output});
        json!({"id": id, "timestamp": at(2), "type": "gemini", "content": "ok", "model": "gemini-2.5-pro",
            "tokens": tokens, "toolCalls": calls})
    };
    let lines = |lines: &[Value]| lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
    let calls = json!([{"id": "t1", "name": "investigate", "args": {"objective": "x"}, "status": "success",
        "agentId": "child-0001"}]);
    let main = lines(&[header("g1", "main"), asked("u1", "do it"), reply("m1", 3, calls)]);
    let inner = lines(&[header("child-0001", "subagent"), asked("u2", "look around"), reply("m2", 5, json!([]))]);
    let chats = "person/.gemini/tmp/demo/chats";
    write(&bench, &format!("{chats}/session-2026-01-01T00-00-g1.jsonl"), main);
    write(&bench, &format!("{chats}/g1/child-0001.jsonl"), inner);
    document(&bench, 0, &["import", "--json"]);
    let launches = bench.launches();
    let of = |session: &str| {
        let is_it = |launch: &&Value| launch["provider_session_id"] == session;
        let id = launches.iter().find(is_it).unwrap()["id"].as_str().unwrap();
        document(&bench, 0, &["show", id, "--json"])
    };
    // A session of its own is a launch of its own, beneath the one that called it; its usage is counted there only.
    let (caller, child) = (of("g1"), of("child-0001"));
    assert_eq!(child["launch"]["parent_launch_id"], caller["launch"]["id"]);
    let row = |report: &Value| report["agents"][1].clone();
    let (told, own) = (row(&caller), row(&child));
    assert_eq!((&told["agent"], &own["agent"]), (&json!("child-0001"), &json!("child-0001")));
    assert_eq!([&told["parent"], &told["tool_call"], &told["kind"]], ["main", "t1", "investigate"]);
    assert_eq!((&told["totals"]["output_tokens"], &own["totals"]["output_tokens"]), (&json!(null), &json!(5)));
    assert_eq!((&own["prompt"], &own["parent"]), (&json!("look around"), &json!(null)));
}

#[cfg(any(feature = "sled", feature = "sqlite"))]
#[test]
fn usage_by_agent_tells_what_started_each() {
    let bench = Bench::new();
    nested(&bench, &["--index-only"]);
    let used = document(&bench, 0, &["usage", "agent", "--no-refresh", "--json"]);
    let rows = used["rows"].as_array().unwrap();
    let of = |agent: &str| rows.iter().find(|row| row["key"] == agent).unwrap();
    let row = of("bbbb2222");
    assert_eq!([&row["kind"], &row["tool_call"]], ["explorer", "toolu_aaaa1111"]);
    assert_eq!(row["prompt"], "look deeper\nand deeper");
    assert_eq!(of("main")["tool_call"], json!(null));
    let table = print(&bench, 0, &["usage", "agent", "--no-refresh", "--csv"]);
    assert!(table.contains(",explorer,toolu_aaaa1111,"), "{table}");
    // What the sources do not tell any more stays unknown, and its usage stands.
    fs::remove_dir_all(bench.path("projects")).unwrap();
    let used = document(&bench, 0, &["usage", "agent", "--no-refresh", "--json"]);
    let row = used["rows"].as_array().unwrap().iter().find(|row| row["key"] == "bbbb2222").unwrap();
    assert_eq!((&row["tool_call"], &row["totals"]["output_tokens"]), (&json!(null), &json!(4)));
}
