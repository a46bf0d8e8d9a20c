//! Every mess that was seen in real files, on a fresh machine: the only command that is run tells the true total.

use serde_json::json;

use super::{Bench, lines, print, transcript, usage};

fn write_torture(bench: &Bench) {
    let line = |minute, id: &str, output| lines::reply("s1", minute, id, output);
    let open = |line: String| line.replace(r#""stop_reason":"end_turn""#, r#""stop_reason":null"#);
    let torn = |line: &str| line[..200].to_owned();
    let (first, plain) = ("msg_the_reply_on_three_lines", line(2, "msg_the_plain_one", 100));
    let synthetic = lines::reply_of("<synthetic>", "s1", 4, "msg_made_up_by_the_client", 0);
    transcript(
        bench,
        "s1",
        &[
            lines::prompt("s1", 0, "go"),
            open(line(1, first, 1)),
            open(line(1, first, 8)),
            line(1, first, 310),
            torn(&plain) + &line(2, "msg_glued_to_a_stub", 100),
            "\0".repeat(300) + "\n",
            line(2, "msg_with_a_surrogate", 100).replace(r#""text":"ok""#, r#""text":"a \ud83d b""#),
            lines::reply_of("claude-unknown-9", "s1", 3, "msg_of_an_unknown_model", 100),
            plain.clone(),
            synthetic.replace(r#""input_tokens":10"#, r#""input_tokens":0"#),
            torn(&plain),
        ],
    );
    let again = lines::reply("s2", 1, first, 310);
    transcript(bench, "s2", &[again, lines::reply("s2", 5, "msg_of_the_second_file", 100)]);
}

#[test]
fn a_torture_file_is_counted_to_the_token() {
    let bench = Bench::new();
    write_torture(&bench);
    let models = usage(&bench, &["model"]);
    let totals = &models["totals"];
    assert_eq!((&totals["output_tokens"], &totals["quality"]), (&json!(810), &json!("exact")));
    assert_eq!((&totals["requests"], &totals["replays"], &totals["sessions"]), (&json!(6), &json!(1), &json!(2)));
    let unpriced = json!([{"provider": "claude", "model": "claude-unknown-9", "records": 1, "total_tokens": 110}]);
    assert_eq!(models["unpriced"], unpriced);
    let shown = print(&bench, 0, &["usage", "model"]);
    assert!(shown.contains("unpriced  claude-unknown-9 of claude · 1 record · 110 tokens"), "{shown}");
}
