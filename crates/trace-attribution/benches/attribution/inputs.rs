//! Prompts as harnesses assemble them, and specs of many shapes, all from a seed.

use trace_attribution::{AssetSpec, Prompts};
use trace_model::words::{AssetKind, Channel, Scope};

/// A task prompt and the specs to find in it.
pub(crate) struct Input {
    pub(crate) text: String,
    pub(crate) specs: Vec<AssetSpec>,
}

impl Input {
    pub(crate) fn prompts(&self) -> Prompts {
        Prompts { system: None, task: Some(self.text.clone()) }
    }

    /// Says how long segments are on average.
    pub(crate) fn note(&self) -> String {
        let segments = crate::attribute(self.prompts(), self).assets().count();
        format!("{segments} segments of {} bytes", self.text.len() / segments)
    }

    /// Overlapping pieces of the text that come to nine tenths of it, or 20 KB each; one in twenty is not in the text
    /// after all, and one in twenty is the one before it again.
    pub(crate) fn pieces(text: String, count: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let longest = (text.len() * 18 / 10 / count).clamp(16, 40_000);
        let mut contents: Vec<String> = Vec::with_capacity(count);
        for number in 0..count {
            let start = text.floor_char_boundary(random.below(text.len() - longest));
            let end = text.ceil_char_boundary(start + 8 + random.below(longest - 8));
            let mut content = text[start..end].to_owned();
            match number % 20 {
                7 => content.push('\u{1}'),
                13 => content.clone_from(&contents[number - 1]),
                _ => {}
            }
            contents.push(content);
        }
        Self { text, specs: specs(contents) }
    }

    /// Short lines, and one spec for what they all begin with.
    pub(crate) fn every_line(lines: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let mut text = String::new();
        for _ in 0..lines {
            text.push_str("\n* ");
            text.push_str(random.word());
            text.push_str(random.word());
        }
        let mut specs = specs(vec!["\n* ".to_owned()]);
        specs[0].match_all_occurrences = true;
        Self { text, specs }
    }

    /// Specs that share their first 200 bytes, all in the text.
    pub(crate) fn common_beginning(count: usize, seed: u64) -> Self {
        let beginning = mixed(200, seed);
        let contents: Vec<String> = (0..count).map(|number| format!("{beginning} {number:06}")).collect();
        Self { text: contents.concat(), specs: specs(contents) }
    }

    /// Specs of which each is the one before it without its last characters, the longest first.
    pub(crate) fn nested(text: String, count: usize) -> Self {
        let contents = (1..=count).rev().map(|length| text[..text.ceil_char_boundary(length)].to_owned()).collect();
        Self { text, specs: specs(contents) }
    }
}

fn specs(contents: Vec<String>) -> Vec<AssetSpec> {
    let spec = |(number, content)| AssetSpec {
        channel: Channel::Task,
        kind: AssetKind::Document,
        scope: Scope::Repo,
        label: format!("document {number}"),
        source_path: Some(format!("docs/{number}.md")),
        included_by: "benchmark".to_owned(),
        content,
        match_all_occurrences: false,
    };
    contents.into_iter().enumerate().map(spec).collect()
}

/// A text of that many bytes: two fifths code, one fifth Markdown, and English, JSON, CJK, white space and base64.
pub(crate) fn mixed(bytes: usize, seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = String::with_capacity(bytes + 4_096);
    while text.len() < bytes {
        match random.below(10) {
            0..4 => code(&mut text, &mut random),
            4 | 5 => markdown(&mut text, &mut random),
            6 => sentences(&mut text, &mut random, 6),
            7 => json(&mut text, &mut random),
            8 => cjk(&mut text, &mut random),
            _ if random.below(2) == 0 => white_space(&mut text, &mut random),
            _ => base64(&mut text, &mut random),
        }
        text.push('\n');
    }
    text.truncate(text.floor_char_boundary(bytes));
    text
}

fn code(text: &mut String, random: &mut Random) {
    *text += &format!("/// {} the {}.\n", random.word(), random.word());
    *text += &format!("pub fn {}(&self, {}: &{}) -> Option<usize> {{\n", random.name(), random.name(), random.word());
    for _ in 0..random.below(12) {
        let line = match random.below(3) {
            0 => format!(
                "    let {} = self.{}({}, {});\n",
                random.name(),
                random.name(),
                random.name(),
                random.below(512)
            ),
            1 => format!("    if {}.is_empty() {{\n        return None;\n    }}\n", random.name()),
            _ => format!("    // {} {} {}.\n", random.word(), random.word(), random.word()),
        };
        *text += &line;
    }
    text.push_str("}\n");
}

fn markdown(text: &mut String, random: &mut Random) {
    *text += &format!("## {} {}\n\n", random.word(), random.word());
    for _ in 0..random.below(6) {
        *text += &format!("* **{}**: `{}` ", random.word(), random.name());
        sentences(text, random, 1);
    }
    *text += &format!("\n[{}](https://example.org/{}/{})\n", random.word(), random.name(), random.below(9_999));
}

fn sentences(text: &mut String, random: &mut Random, count: usize) {
    for _ in 0..count {
        for _ in 0..4 + random.below(14) {
            text.push_str(random.word());
            text.push(' ');
        }
        *text += &format!("{}. ", random.word());
    }
    text.push('\n');
}

fn json(text: &mut String, random: &mut Random) {
    text.push('{');
    for _ in 0..8 {
        *text +=
            &format!("\"{}\":{{\"id\":{},\"{}\":\"{}\"}},", random.name(), random.next(), random.word(), random.word());
    }
    text.push_str("\"end\":null}");
}

fn cjk(text: &mut String, random: &mut Random) {
    for _ in 0..40 + random.below(120) {
        let code = match random.below(12) {
            0..6 => 0x4E00 + random.below(0x5000),
            6..10 => 0x3041 + random.below(0x50),
            10 => 0x1F600 + random.below(0x40),
            _ => 0x3001 + random.below(2),
        };
        text.extend(u32::try_from(code).ok().and_then(char::from_u32));
    }
}

fn white_space(text: &mut String, random: &mut Random) {
    for _ in 0..random.below(12) {
        text.extend(std::iter::repeat_n(if random.below(4) == 0 { '\t' } else { ' ' }, random.below(60)));
        text.push('\n');
    }
}

fn base64(text: &mut String, random: &mut Random) {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for _ in 0..random.below(600) {
        text.push(char::from(ALPHABET[random.below(ALPHABET.len())]));
    }
}

/// The splitmix64 generator: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    fn name(&mut self) -> String {
        format!("{}_{}", self.word(), self.word())
    }
}

const WORDS: &[&str] = &[
    "about",
    "account",
    "after",
    "agent",
    "all",
    "amount",
    "answer",
    "archive",
    "array",
    "artifact",
    "asset",
    "async",
    "balance",
    "because",
    "before",
    "begin",
    "benchmark",
    "between",
    "boundary",
    "branch",
    "buffer",
    "build",
    "cache",
    "capture",
    "change",
    "channel",
    "check",
    "claim",
    "client",
    "cluster",
    "code",
    "collect",
    "command",
    "commit",
    "compile",
    "config",
    "context",
    "conversation",
    "count",
    "create",
    "cursor",
    "data",
    "database",
    "decision",
    "default",
    "delete",
    "derive",
    "design",
    "detail",
    "directory",
    "document",
    "domain",
    "during",
    "each",
    "editor",
    "element",
    "encode",
    "engine",
    "entry",
    "environment",
    "error",
    "event",
    "every",
    "example",
    "expect",
    "export",
    "failure",
    "feature",
    "field",
    "file",
    "filter",
    "first",
    "follow",
    "format",
    "function",
    "gateway",
    "generate",
    "global",
    "handle",
    "harness",
    "header",
    "history",
    "however",
    "identity",
    "implement",
    "import",
    "include",
    "index",
    "input",
    "insert",
    "instance",
    "integration",
    "internal",
    "iterator",
    "journal",
    "kernel",
    "language",
    "launch",
    "ledger",
    "length",
    "library",
    "license",
    "limit",
    "listen",
    "local",
    "machine",
    "manager",
    "measure",
    "memory",
    "merge",
    "message",
    "method",
    "migrate",
    "model",
    "module",
    "namespace",
    "network",
    "normal",
    "notice",
    "number",
    "object",
    "observe",
    "offset",
    "operation",
    "option",
    "order",
    "origin",
    "output",
    "package",
    "parent",
    "parse",
    "partition",
    "pattern",
    "performance",
    "pipeline",
    "pointer",
    "position",
    "prepare",
    "priority",
    "process",
    "profile",
    "project",
    "prompt",
    "protocol",
    "provider",
    "publish",
    "query",
    "queue",
    "range",
    "reader",
    "reason",
    "record",
    "recover",
    "reference",
    "region",
    "release",
    "remote",
    "replace",
    "report",
    "repository",
    "request",
    "resolve",
    "response",
    "result",
    "return",
    "review",
    "router",
    "runtime",
    "sample",
    "scheduler",
    "schema",
    "scope",
    "search",
    "section",
    "segment",
    "sequence",
    "server",
    "service",
    "session",
    "should",
    "signal",
    "single",
    "snapshot",
    "source",
    "standard",
    "status",
    "storage",
    "stream",
    "string",
    "struct",
    "summary",
    "support",
    "surface",
    "switch",
    "symbol",
    "system",
    "table",
    "target",
    "task",
    "template",
    "terminal",
    "test",
    "thread",
    "through",
    "timestamp",
    "token",
    "trace",
    "transaction",
    "transfer",
    "tree",
    "trigger",
    "turn",
    "type",
    "under",
    "union",
    "unknown",
    "update",
    "usage",
    "user",
    "value",
    "variable",
    "vector",
    "verify",
    "version",
    "virtual",
    "watch",
    "window",
    "without",
    "worker",
    "workspace",
    "worktree",
    "write",
    "written",
    "yield",
    "zone",
];
