//! Texts as prompts hold them, from a seed.

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
    fill(text, random, "/// %w the %w.\npub fn %n(&self, %n: &%w) -> Option<usize> {\n");
    for _ in 0..random.below(12) {
        let line = match random.below(3) {
            0 => "    let %n = self.%n(%n, %d);\n",
            1 => "    if %n.is_empty() {\n        return None;\n    }\n",
            _ => "    // %w %w %w.\n",
        };
        fill(text, random, line);
    }
    text.push_str("}\n");
}

fn markdown(text: &mut String, random: &mut Random) {
    fill(text, random, "## %w %w\n\n");
    for _ in 0..random.below(6) {
        fill(text, random, "* **%w**: `%n` ");
        sentences(text, random, 1);
    }
    fill(text, random, "\n[%w](https://example.org/%n/%d)\n");
}

pub(crate) fn sentences(text: &mut String, random: &mut Random, count: usize) {
    for _ in 0..count {
        for _ in 0..4 + random.below(14) {
            fill(text, random, "%w ");
        }
        fill(text, random, "%w. ");
    }
    text.push('\n');
}

fn json(text: &mut String, random: &mut Random) {
    text.push('{');
    for _ in 0..8 {
        fill(text, random, "\"%n\":{\"id\":%d%d,\"%w\":\"%w\"},");
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

/// Appends the template with a word for each `%w`, a name for each `%n`, and a number for each `%d`.
fn fill(text: &mut String, random: &mut Random, template: &str) {
    let mut parts = template.split('%');
    text.extend(parts.next());
    for part in parts {
        match part.as_bytes()[0] {
            b'w' => text.push_str(random.word()),
            b'n' => text.extend([random.word(), "_", random.word()]),
            _ => text.push_str(&random.below(10_000).to_string()),
        }
        text.push_str(&part[1..]);
    }
}

/// The splitmix64 generator: the same numbers on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    pub(crate) fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
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
