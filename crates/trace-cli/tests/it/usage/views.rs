//! The rows of sessions that are shipped, in all forms.

use super::{super::manners::shown_in_terminal, Bench, lines, print, put, reply_at, transcript};

/// A person's machine: sessions of three agents, a subagent, a session that failed, one that went on in another file,
/// and a model that nobody sells.
fn machine() -> Bench {
    let bench = Bench::new();
    let claude = ".claude/projects/-home-dev";
    put(&bench, "claude-hello/transcript.jsonl", &format!("{claude}-project/hello.jsonl"));
    let session = "5a5a0001-0000-4000-8000-000000000001";
    put(&bench, "claude-subagent-files/transcript.jsonl", &format!("{claude}-demo/{session}.jsonl"));
    let agent = format!("{claude}-demo/{session}/subagents/agent-ab12cd3.jsonl");
    put(&bench, "claude-subagent-files/agent-ab12cd3.jsonl", &agent);
    put(&bench, "codex-rounds/rollout.jsonl", ".codex/sessions/2026/11/30/rollout-rounds.jsonl");
    put(&bench, "codex-fail/rollout.jsonl", ".codex/sessions/2026/11/30/rollout-fail.jsonl");
    put(&bench, "gemini-rounds/session.jsonl", ".gemini/tmp/demo/chats/session-rounds.jsonl");
    let first = reply_at("s1", "2026-11-30T08:00:00.000Z", "msg_of_both_sessions_1", 50);
    let unknown = lines::reply_of("claude-unknown-9", "s2", 0, "msg_of_an_unknown_model", 70);
    transcript(&bench, "s1", std::slice::from_ref(&first));
    transcript(&bench, "s2", &[first.replace(r#""s1""#, r#""s2""#), unknown]);
    bench
}

/// Returns the text with a word for the version of the prices.
fn without_version(text: &str) -> String {
    let Some((before, behind)) = text.split_once("genai-prices ") else { return text.to_owned() };
    let end = behind.find(['\n', '"', '·']).map_or(behind.len(), |at| behind[..at].trim_end().len());
    format!("{before}PRICES{}", &behind[end..])
}

/// Returns what a terminal of that many columns shows.
fn shown(bench: &Bench, columns: u16, arguments: &[&str]) -> String {
    let mut command = bench.trace();
    command.args(["usage", "--color", "never"]).args(arguments);
    let shown = shown_in_terminal(&command, columns).replace("\r\n", "\n");
    for line in shown.lines() {
        let width = unicode_width::UnicodeWidthStr::width(line);
        assert!(width <= usize::from(columns), "{arguments:?} at {columns}: {line}");
    }
    without_version(&shown)
}

#[test]
fn each_grouping_fits_the_terminal() {
    let bench = machine();
    for by in ["daily", "weekly", "monthly", "session", "model", "project", "agent", "blocks"] {
        let both = [80, 120].map(|columns| format!("{columns} columns\n{}", shown(&bench, columns, &[by])));
        insta::assert_snapshot!(format!("usage_{by}"), both.join("\n"));
    }
}

#[test]
fn a_breakdown_shows_the_models_of_each_row() {
    let bench = machine();
    insta::assert_snapshot!("usage_breakdown", shown(&bench, 120, &["daily", "--breakdown"]));
}

#[test]
fn a_document_has_all_that_is_known() {
    let bench = machine();
    for (name, arguments) in [
        ("daily", &["daily", "--breakdown", "--since", "2026-03-02", "--until", "2026-03-02"][..]),
        ("session", &["session", "--provider", "codex"]),
        ("agent", &["agent", "--project", "demo"]),
        ("blocks", &["blocks", "--provider", "gemini"]),
    ] {
        let document = print(&bench, 0, &[&["usage", "--json"], arguments].concat());
        insta::assert_snapshot!(format!("usage_{name}.json"), without_version(&document));
    }
}

#[test]
fn a_spreadsheet_takes_each_grouping() {
    let bench = machine();
    for by in ["daily", "session", "model", "project", "agent", "blocks"] {
        insta::assert_snapshot!(format!("usage_{by}.csv"), print(&bench, 0, &["usage", "--csv", by]));
    }
    let models = print(&bench, 0, &["usage", "--csv", "monthly", "--breakdown"]);
    insta::assert_snapshot!("usage_breakdown.csv", models);
}
