//! What no reader should stumble over: nothing is lost in silence, and nothing keeps the rest from being read.

use std::{fs, os::unix::fs::symlink, process::Command};

use serde_json::{Value, json};

use super::{
    Bench, document,
    lines::{prompt, reply, session},
    notes, run, stderr, write,
};

/// Files with one flaw each, the output tokens that are in them, and what is noted.
fn flawed() -> Vec<(&'static str, Vec<u8>, u64, &'static [&'static str])> {
    let (first, last) = (|id: &str| session(id, 10), |id: &str| reply(id, 9, &format!("last_{id}"), 1));
    let torn = |id: &str| reply(id, 5, "torn", 100)[..200].to_owned();
    let middle = |id: &str, text: &str| (first(id) + text + &last(id)).into_bytes();
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let with_deep = |id: &str| reply(id, 5, "deep", 100).replacen('{', &format!("{{\"toolUseResult\":{deep},"), 1);
    let not_utf8 = |id: &str| {
        let line = reply(id, 5, "utf8", 100);
        let at = line.find("\"ok\"").unwrap() + 1;
        [&line.as_bytes()[..at], b"\xff\xfe", &line.as_bytes()[at..]].concat()
    };
    vec![
        ("torn", middle("torn", &(torn("torn") + "\n")), 11, &["bad_line"]),
        ("glued", middle("glued", &(torn("glued") + &reply("glued", 5, "glue", 100))), 111, &["salvaged"]),
        ("zeros", middle("zeros", &("\0".repeat(300) + "\n")), 11, &["bad_line"]),
        ("zeroed", middle("zeroed", &("\0".repeat(300) + &reply("zeroed", 5, "z", 100))), 111, &["salvaged"]),
        (
            "surrogate",
            middle("surrogate", &reply("surrogate", 5, "s", 100).replace("\"ok\"", r#""a \ud83d b""#)),
            111,
            &["lone_surrogate"],
        ),
        ("spaced", middle("spaced", "").into_iter().flat_map(spaced).collect(), 11, &[]),
        ("returns", String::from_utf8(middle("returns", "")).unwrap().replace('\n', "\r\n").into_bytes(), 11, &[]),
        ("mark", [b"\xef\xbb\xbf", &middle("mark", "")[..]].concat(), 11, &[]),
        (
            "separator",
            middle("separator", &reply("separator", 5, "l", 100).replace("\"ok\"", "\"a\u{2028}b\u{85}c\"")),
            111,
            &[],
        ),
        (
            "utf8",
            [first("utf8").into_bytes(), not_utf8("utf8"), last("utf8").into_bytes()].concat(),
            111,
            &["invalid_utf8"],
        ),
        ("deep", middle("deep", &with_deep("deep")), 111, &[]),
        ("blank", middle("blank", "\n\r\n   \n"), 11, &[]),
        ("array", middle("array", "[1, 2]\n"), 11, &["bad_line"]),
        ("tail", (first("tail") + &last("tail") + &torn("tail")).into_bytes(), 11, &["incomplete_tail"]),
        ("whole", (first("whole") + last("whole").trim_end()).into_bytes(), 11, &[]),
    ]
}

/// Returns the byte, with a space behind a colon that ends a key.
fn spaced(byte: u8) -> Vec<u8> {
    // No other colon stands in front of what a value begins with: times and words have digits and letters there.
    if byte == b':' { b": ".to_vec() } else { vec![byte] }
}

#[test]
fn each_flaw_is_read_over_and_told_with_its_place() {
    let bench = Bench::new();
    for (name, text, _, _) in flawed() {
        write(&bench, &format!("files/{name}.jsonl"), text);
    }
    let told = document(&bench, 0, &["import", "--report", "--json", "files"]);
    assert_eq!(told["files"]["read"], flawed().len());
    let launches = bench.launches();
    for (name, _, output, expected) in flawed() {
        let launch = launches.iter().find(|launch| launch["provider_session_id"] == name);
        let launch = launch.unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(launch["totals"]["output_tokens"], output, "{name}");
        assert_eq!(launch["totals"]["quality"], "exact", "{name}");
        let file = format!("{name}.jsonl");
        let of_file: Vec<_> = notes(&told).into_iter().filter(|(of, _, _)| *of == file).collect();
        let kinds: Vec<&str> = of_file.iter().map(|(_, _, kind)| kind.as_str()).collect();
        assert_eq!(kinds, expected, "{name}");
        assert!(of_file.iter().all(|(_, offset, _)| offset.is_some_and(|offset| offset > 100)), "{name}: {of_file:?}");
    }
    let expected: u64 = flawed().iter().map(|(_, _, output, _)| output).sum();
    assert_eq!(told["totals"]["output_tokens"], expected);
    // Each event of it can be looked at.
    for (name, ..) in flawed() {
        let launch = launches.iter().find(|launch| launch["provider_session_id"] == name).unwrap();
        let id = launch["id"].as_str().unwrap();
        let shown = run(&bench, &["show", id, "--events", "--jsonl"]);
        assert!(shown.status.success(), "{name}: {}", stderr(&shown));
    }
}

#[test]
fn a_line_without_a_limit_loses_no_usage() {
    let bench = Bench::new();
    let mut text = session("s1", 10);
    let long = reply("s1", 5, "long", 100);
    let at = long.find("\"ok\"").unwrap() + 1;
    text += &long[..at];
    text += &"x".repeat(LONG);
    text += &long[at..];
    text += &reply("s1", 9, "last", 1);
    write(&bench, "s1.jsonl", text);
    let told = document(&bench, 0, &["import", "--report", "--json", "s1.jsonl"]);
    assert_eq!(told["totals"]["output_tokens"], 111);
    let place = u64::try_from(session("s1", 10).len()).unwrap();
    assert_eq!(notes(&told), [("s1.jsonl".to_owned(), Some(place), "line_too_long".to_owned())]);
}

/// The length of a long line, in bytes.
const LONG: usize = 100 << 20;

#[test]
fn what_cannot_be_read_is_told_and_keeps_nothing_else_from_being_read() {
    let bench = Bench::new();
    write(&bench, "files/a.jsonl", session("s1", 10));
    write(&bench, "files/z.jsonl", session("s2", 1));
    write(&bench, "files/empty.jsonl", "");
    write(&bench, "files/noise.jsonl", [0xff_u8; 100]);
    write(&bench, "files/folder.jsonl/b.jsonl", session("s3", 100));
    write(&bench, "files/broken.jsonl.zst", "no zstd");
    symlink("nowhere", bench.path("files/dangling.jsonl")).unwrap();
    let pipe = bench.path("files/pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    symlink("pipe.jsonl", bench.path("files/to-pipe.jsonl")).unwrap();
    let told = document(&bench, 1, &["import", "--report", "--json", "files"]);
    assert_eq!(told["totals"]["output_tokens"], 111);
    let mut unreadable = notes(&told);
    unreadable.sort();
    let names: Vec<(&str, &str)> = unreadable.iter().map(|(file, _, kind)| (file.as_str(), kind.as_str())).collect();
    let expected = ["broken.jsonl.zst", "dangling.jsonl", "pipe.jsonl", "to-pipe.jsonl"];
    assert_eq!(names, expected.map(|name| (name, "unreadable")));
    assert_eq!((&told["files"]["failed"], &told["files"]["foreign"]), (&json!(4), &json!(2)));
    let details = |note: &Value| note["detail"].as_str().unwrap().to_owned();
    assert!(told["notes"].as_array().unwrap().iter().all(|note| !details(note).is_empty()), "{told}");
}

#[test]
fn a_look_goes_on_over_what_cannot_be_read_and_says_so() {
    let bench = Bench::new();
    write(&bench, "person/.claude/projects/p/s1.jsonl", session("s1", 10));
    symlink("nowhere", bench.path("person/.claude/projects/p/dangling.jsonl")).unwrap();
    let output = run(&bench, &["ls", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stderr(&output).contains("1 file could not be read; `trace doctor` tells which and why"),
        "{}",
        stderr(&output)
    );
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed["launches"][0]["totals"]["output_tokens"], 10);
    let doctor = run(&bench, &["doctor"]);
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("dangling.jsonl"), "{doctor}");
}

#[test]
fn lines_where_an_agent_keeps_its_sessions_are_told_if_they_are_none() {
    let bench = Bench::new();
    write(&bench, "person/.claude/projects/p/s1.jsonl", session("s1", 10));
    write(&bench, "person/.claude/projects/p/noise.jsonl", "\0".repeat(3 << 20));
    write(&bench, "person/.claude/projects/p/empty.jsonl", "");
    write(&bench, "person/.claude/projects/p/index.json", "{}");
    let told = document(&bench, 0, &["import", "--json"]);
    assert_eq!((&told["files"]["foreign"], &told["files"]["failed"]), (&json!(3), &json!(0)));
    assert_eq!(notes(&told), [("noise.jsonl".to_owned(), None, "not_recognised".to_owned())]);
    assert_eq!(document(&bench, 0, &["import", "--json"])["files"]["foreign"], 3);
}

#[test]
fn a_link_to_a_folder_is_told_and_not_followed() {
    let bench = Bench::new();
    write(&bench, "files/a.jsonl", session("s1", 10));
    write(&bench, "other/b.jsonl", session("s2", 1));
    symlink("../other", bench.path("files/elsewhere")).unwrap();
    symlink("..", bench.path("files/up")).unwrap();
    let told = document(&bench, 0, &["import", "--json", "files"]);
    assert_eq!(told["totals"]["output_tokens"], 10);
    let told = notes(&told);
    let expected = ["elsewhere", "up"].map(|name| (name.to_owned(), None, "not_followed".to_owned()));
    assert_eq!(told, expected);
    // A link that is named is.
    let told = document(&bench, 0, &["import", "--json", "files/elsewhere"]);
    assert_eq!(told["totals"]["output_tokens"], 1);
}

#[test]
fn a_folder_that_is_a_file_and_a_file_that_is_a_folder_are_looked_at_as_what_they_are() {
    let bench = Bench::new();
    write(&bench, "person/.claude/projects", "no folder");
    fs::create_dir_all(bench.path("person/.codex/sessions/rollout-1.jsonl")).unwrap();
    fs::create_dir_all(bench.path("person/.local/share/opencode/opencode.db")).unwrap();
    write(&bench, "person/.gemini/tmp/p/chats/session-1.jsonl", prompt("s1", 0, "of another agent"));
    let told = document(&bench, 0, &["import", "--json"]);
    assert_eq!((&told["files"]["failed"], &told["files"]["foreign"]), (&json!(0), &json!(1)), "{told}");
    assert_eq!(told["sessions"]["new"], 1);
}
