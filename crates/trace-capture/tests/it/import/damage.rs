use std::{fs, os::unix::fs::PermissionsExt};

use trace_capture::intake::import::Keep;

use super::world::{World, kinds, prompt, reply, reply_of};

/// Every mess that was seen in real files, once. The true output is 810 tokens.
#[test]
fn a_torture_file_loses_nothing_and_says_what_it_met() {
    let world = World::new();
    let first = |session: &str, output: u64| reply(session, 1, "msg_1", output);
    let plain = |id: &str| reply("s1", 2, id, 100);
    let torn = |line: String| line[..200].to_owned();
    let whole = [
        prompt("s1", 0, "go"),
        first("s1", 1).replace(r#""stop_reason":"end_turn""#, r#""stop_reason":null"#),
        first("s1", 8).replace(r#""stop_reason":"end_turn""#, r#""stop_reason":null"#),
        first("s1", 310),
        torn(plain("msg_x")) + &plain("msg_2"),
        "\0".repeat(300) + "\n",
        plain("msg_3").replace(r#""text":"ok""#, r#""text":"a \ud83d b""#),
        reply_of("claude-unknown-9", "s1", 3, "msg_4", 100),
        plain("msg_5"),
        reply_of("<synthetic>", "s1", 4, "msg_6", 0).replace("\"input_tokens\":10", "\"input_tokens\":0"),
        torn(plain("msg_7")),
    ];
    world.write("projects/p/s1.jsonl", whole.concat());
    world.write("projects/p/s2.jsonl", first("s2", 310) + &reply("s2", 5, "msg_8", 100));
    let report = world.import(Keep::Copies);
    assert_eq!(world.totals().output_tokens, Some(810));
    assert_eq!(
        kinds(&report),
        ["bad_line", "incomplete_tail", "lone_surrogate", "replayed", "salvaged", "synthetic_reply"],
        "{:?}",
        report.notes
    );
    assert_eq!(report.note_count, 6);
    assert_eq!(world.reindexed(), world.rows());
}

#[test]
fn what_cannot_be_read_keeps_nothing_else_from_being_imported() {
    let world = World::new();
    world.write("a.jsonl", prompt("s1", 0, "one") + &reply("s1", 1, "msg_1", 5));
    world.write("empty.jsonl", "");
    world.write("noise.jsonl", [0xFF_u8; 100]);
    fs::create_dir(world.files().join("folder.jsonl")).unwrap();
    let closed = world.write("closed.jsonl", prompt("s2", 0, "one"));
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    std::os::unix::fs::symlink("nowhere", world.files().join("dangling.jsonl")).unwrap();
    world.write("bad.jsonl.zst", "no zstd");
    let report = world.import(Keep::Copies);
    let is_root = fs::read(&closed).is_ok();
    assert_eq!(report.files.failed, if is_root { 2 } else { 3 }, "{:?}", report.notes);
    assert!(report.notes.iter().all(|note| note.kind == "unreadable" && !note.detail.is_empty()));
    assert_eq!(world.totals().output_tokens, Some(5));
}

#[test]
fn a_named_file_that_is_no_session_is_a_failure_and_one_of_a_folder_is_not() {
    let world = World::new();
    let path = world.write("package.json", "{\"name\":\"x\"}");
    let report = world.import(Keep::Copies);
    assert_eq!((report.files.foreign, report.files.failed), (1, 0));
    let world = World::new();
    let report = world.import_paths(Keep::Copies, std::slice::from_ref(&path));
    assert_eq!((report.files.failed, kinds(&report)), (1, vec!["not_recognised"]));
    let report = world.import_paths(Keep::Copies, &[world.files().join("nothing")]);
    assert_eq!((report.files.failed, kinds(&report)), (1, vec!["unreadable"]));
}

#[test]
fn a_compressed_rollout_is_read() {
    let world = World::new();
    let text = [
        r#"{"timestamp":"2026-03-02T09:00:00.000Z","type":"session_meta","payload":{"id":"019e0000-0000-7000-8000-000000000001","cwd":"/w","originator":"codex_exec","cli_version":"0.100.0","source":"exec"}}"#,
        r#"{"timestamp":"2026-03-02T09:00:01.000Z","type":"turn_context","payload":{"cwd":"/w","model":"gpt-5.2-codex"}}"#,
        r#"{"timestamp":"2026-03-02T09:00:02.000Z","type":"event_msg","payload":{"type":"user_message","message":"hi"}}"#,
        r#"{"timestamp":"2026-03-02T09:00:03.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1000,"cached_input_tokens":800,"output_tokens":50,"reasoning_output_tokens":20,"total_tokens":1050},"last_token_usage":{"input_tokens":1000,"cached_input_tokens":800,"output_tokens":50,"reasoning_output_tokens":20,"total_tokens":1050},"model_context_window":272000}}}"#,
    ]
    .join("\n");
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    world.write(
        "sessions/2026/03/02/rollout-2026-03-02T09-00-00-019e0000-0000-7000-8000-000000000001.jsonl.zst",
        packed,
    );
    world.import(Keep::Copies);
    let totals = world.totals();
    assert_eq!((totals.input_tokens, totals.cache_read_tokens, totals.output_tokens), (Some(200), Some(800), Some(50)));
    assert_eq!(world.reindexed(), world.rows());
}
