//! `trace attribute` on prompts that are hard, and on random ones.

use std::fs;

use proptest::{prelude::*, test_runner::Config};
use serde_json::{Value, json};

use super::{laws::check, scripted::ScriptedHome};

/// Attributes the prompts through the command, and returns its document.
fn attribute(home: &ScriptedHome, system: Option<&str>, task: Option<&str>, specs: &Value, tokenizer: &str) -> Value {
    let mut arguments = vec!["attribute", "--json", "--tokenizer", tokenizer, "--spec-file", "specs.json"];
    fs::write(home.path("specs.json"), specs.to_string()).unwrap();
    for (text, file, option) in [(system, "system.md", "--system-file"), (task, "task.md", "--task-file")] {
        if let Some(text) = text {
            fs::write(home.path(file), text).unwrap();
            arguments.extend([option, file]);
        }
    }
    serde_json::from_str(&home.print(&arguments)).unwrap()
}

fn spec(label: &str, content: &str, match_all_occurrences: bool) -> Value {
    json!({
        "channel": "task", "kind": "document", "scope": "task", "label": label, "included_by": "test",
        "content": content, "match_all_occurrences": match_all_occurrences,
    })
}

#[test]
fn the_laws_hold_for_prompts_that_are_hard() {
    let home = ScriptedHome::missing();
    let base64: String = (0..400_000_u32)
        .map(|index| {
            let mixed = index.wrapping_mul(2_654_435_761) >> 26;
            char::from(
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[usize::try_from(mixed).unwrap()],
            )
        })
        .collect();
    let prompts = [
        ("spaces and a letter", format!("{}x", " ".repeat(1_200_000))),
        ("one letter", "a".repeat(1_000_000)),
        ("CJK", "日本語の文章と漢字。".repeat(20_000)),
        ("base64", base64),
        ("nothing", String::new()),
    ];
    for (name, prompt) in &prompts {
        let piece: String = prompt.chars().skip(1_000).take(5_000).collect();
        let short: String = prompt.chars().take(3).collect();
        let specs = json!([
            spec("piece", &piece, false),
            spec("piece again", &piece, false),
            spec("short", &short, prompt.len() < 500_000),
            spec("absent", "not in any of the prompts", true),
            spec("empty", "", false),
        ]);
        for tokenizer in ["cl100k_base", "o200k_base"] {
            let document = attribute(&home, None, Some(prompt), &specs, tokenizer);
            assert_eq!(document["tokenizer"], tokenizer, "{name}");
            check(&document, None, Some(prompt));
        }
    }
}

#[test]
fn text_and_json_tell_of_a_shipped_prompt() {
    let home = ScriptedHome::missing();
    let prompt = "# Guide\nWrite small commits.\n\nFix the parser.\n";
    fs::write(home.path("task.md"), prompt).unwrap();
    fs::write(home.path("GUIDE.md"), "Write small commits.").unwrap();
    fs::write(home.path("NOTES.md"), "Not in it.").unwrap();
    let arguments =
        ["attribute", "--task-file", "task.md", "--asset", "repo_instructions=GUIDE.md", "--asset", "memory=NOTES.md"];
    insta::assert_snapshot!("attribute", home.print(&arguments));
    insta::assert_snapshot!("attribute.json", home.print(&[&arguments[..], &["--json"]].concat()));
}

#[test]
fn a_prompt_without_sources_is_one_asset() {
    let home = ScriptedHome::missing();
    fs::write(home.path("task.md"), "Fix it.").unwrap();
    let document: Value =
        serde_json::from_str(&home.print(&["attribute", "--task-file", "task.md", "--json"])).unwrap();
    check(&document, None, Some("Fix it."));
    assert_eq!(document["channels"][0]["assets"][0]["label"], "task prompt");
    assert_eq!(document["decisions"], json!([]));
}

#[test]
fn standard_input_is_a_prompt_where_it_is_asked_for() {
    let home = ScriptedHome::missing();
    fs::write(home.path("task.md"), "Fix it.").unwrap();
    let file = fs::File::open(home.path("task.md")).unwrap();
    let output = home.command(&["attribute", "--task-file", "-", "--json"]).stdin(file).output().unwrap();
    check(&serde_json::from_slice(&output.stdout).unwrap(), None, Some("Fix it."));
}

#[test]
fn a_file_that_is_no_prompt_is_told_by_its_name() {
    let home = ScriptedHome::missing();
    fs::write(home.path("binary"), b"text\xff").unwrap();
    fs::write(home.path("specs.json"), "[{}]").unwrap();
    fs::write(home.path("task.md"), "Fix it.").unwrap();
    let complain = |arguments: &[&str]| {
        let (code, text) = home.complain(&[&["attribute"], arguments].concat());
        assert_eq!(code, 2, "{text}");
        text
    };
    let text = complain(&["--task-file", "binary"]);
    assert_eq!(text, "error: binary is not UTF-8 text: the byte at 4 is part of no character\n");
    let text = complain(&["--task-file", "nowhere"]);
    assert!(text.starts_with("error: cannot read nowhere\ncause: No such file"), "{text}");
    let text = complain(&["--task-file", "task.md", "--spec-file", "specs.json"]);
    let expected =
        "error: specs.json makes no sense in asset spec 1\ncause: missing field `channel` at line 1 column 3\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("\nnext: each spec is an object with channel,"), "{text}");
}

/// A prompt, and specs of which most are pieces of it.
fn prompt_and_specs() -> impl Strategy<Value = (String, Value)> {
    let prompt =
        prop::collection::vec("[a-c ]{0,8}|[日本語]{0,3}|\\PC{0,6}|\n", 0..12).prop_map(|parts| parts.concat());
    let cuts = prop::collection::vec((any::<prop::sample::Index>(), 0..20_usize, any::<bool>(), any::<bool>()), 0..6);
    (prompt, cuts).prop_map(|(prompt, cuts)| {
        let characters: Vec<char> = prompt.chars().collect();
        let specs = cuts.into_iter().enumerate().map(|(number, (start, len, all, absent))| {
            let start = start.index(characters.len() + 1);
            let piece: String = characters[start..].iter().take(len).collect();
            let content = if absent && number % 2 == 1 { format!("{piece}?") } else { piece };
            spec(&format!("spec {number}"), &content, all)
        });
        let specs = Value::Array(specs.collect());
        (prompt, specs)
    })
}

proptest! {
    // Each case is a process; the library and the document behind it have a thousand cases of their own.
    #![proptest_config(Config { cases: 24, ..Config::default() })]

    #[test]
    fn the_laws_hold_for_random_prompts_through_the_command(
        (task, specs) in prompt_and_specs(), system in proptest::option::of("\\PC{0,20}"),
    ) {
        let home = ScriptedHome::missing();
        let document = attribute(&home, system.as_deref(), Some(&task), &specs, "cl100k_base");
        check(&document, system.as_deref(), Some(&task));
    }
}
