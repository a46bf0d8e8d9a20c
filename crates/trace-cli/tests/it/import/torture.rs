//! Every mess that was seen in real files, once.

use serde_json::json;

use super::{
    Bench, document, kinds,
    lines::{prompt, reply, reply_of},
    notes, print, write,
};

/// Writes two files whose true output is 810 tokens.
pub(super) fn write_torture(bench: &Bench) {
    let first = |session: &str, output: u64| reply(session, 1, "msg_1", output);
    let open = |line: String| line.replace(r#""stop_reason":"end_turn""#, r#""stop_reason":null"#);
    let plain = |id: &str| reply("s1", 2, id, 100);
    let torn = |line: String| line[..200].to_owned();
    let lines = [
        prompt("s1", 0, "go"),
        open(first("s1", 1)),
        open(first("s1", 8)),
        first("s1", 310),
        torn(plain("msg_x")) + &plain("msg_2"),
        "\0".repeat(300) + "\n",
        plain("msg_3").replace(r#""text":"ok""#, r#""text":"a \ud83d b""#),
        reply_of("claude-unknown-9", "s1", 3, "msg_4", 100),
        plain("msg_5"),
        reply_of("<synthetic>", "s1", 4, "msg_6", 0).replace("\"input_tokens\":10", "\"input_tokens\":0"),
        torn(plain("msg_7")),
    ];
    write(bench, "files/projects/p/s1.jsonl", lines.concat());
    write(bench, "files/projects/p/s2.jsonl", first("s2", 310) + &reply("s2", 5, "msg_8", 100));
}

#[test]
fn nothing_of_a_torture_file_is_lost_and_all_of_it_is_told() {
    let bench = Bench::new();
    write_torture(&bench);
    let told = document(&bench, 0, &["import", "--report", "--json", "files"]);
    assert_eq!((&told["totals"]["output_tokens"], &told["note_count"]), (&json!(810), &json!(6)));
    assert_eq!(told["totals"]["requests"], 6);
    let expected = ["bad_line", "incomplete_tail", "lone_surrogate", "replayed", "salvaged", "synthetic_reply"];
    assert_eq!(kinds(&told), expected);
    for (file, offset, kind) in notes(&told) {
        assert_eq!(file, if kind == "replayed" { "s2.jsonl" } else { "s1.jsonl" }, "{kind}");
        assert_eq!(offset.is_some(), kind != "replayed", "{kind}");
    }
    // What was noted is told again when somebody asks, though nothing was read.
    let again = document(&bench, 0, &["import", "--report", "--json", "files"]);
    assert_eq!((&again["bytes"], &again["sessions"]["unchanged"]), (&json!(0), &json!(2)));
    assert_eq!((kinds(&again), &again["note_count"]), (expected.map(str::to_owned).to_vec(), &json!(6)));
    insta::assert_snapshot!("import_report", print(&bench, 0, &["import", "--report", "files"]));
    // Without a wish for them, there is nothing to tell of files that did not change.
    let again = document(&bench, 0, &["import", "--json", "files"]);
    assert_eq!((kinds(&again), &again["note_count"]), (Vec::new(), &json!(0)));
}
