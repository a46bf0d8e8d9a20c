//! How fast session files are read, beside a typed scan of the same bytes that reads the usage alone.
//!
//! Prints one JSON object a line, as `cargo xtask bench` reads them. Both sides take turns, in the time that the thread
//! has a processor, and the best round of each counts: what else the machine does makes a round slower, never faster.

#![expect(clippy::disallowed_macros, reason = "a benchmark prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to say")]

use std::{fmt::Write as _, hint::black_box, time::Duration};

use serde::Deserialize;
use serde_json::json;
use trace_providers::{Detail, Observation, SourceFormat, reader_for};

/// The size of the file.
const BYTES: usize = 64 << 20;

/// How much of a file is read at a time.
const CHUNK: usize = 1 << 20;

const ROUNDS: usize = 9;

/// The scan is no slower than this part of the typed one's speed.
const GATE: f64 = 0.5;

fn main() {
    // The long lines are as long as those of perf's corpus; short ones show what a line costs whatever is on it.
    measure("a transcript", 10, true);
    measure("a transcript of short lines", 1, false);
}

/// Measures a transcript whose texts are `tenths` of a common length.
fn measure(name: &str, tenths: usize, is_gated: bool) {
    let file = transcript(tenths);
    let lines = file.split(|byte| *byte == b'\n').count() - 1;
    let mut best = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        let (typed, expected) = timed(|| typed_scan(&file));
        let (usage, output) = timed(|| read(&file, Detail::Usage));
        let (everything, _) = timed(|| read(&file, Detail::Everything));
        assert_eq!(output, expected, "both read the same usage");
        for (best, time) in best.iter_mut().zip([typed, usage, everything]) {
            *best = time.min(*best);
        }
    }
    let [typed, usage, everything] = best;
    let mean = format!("{lines} lines, {} bytes each; the typed scan: {:.0} MB/s", BYTES / lines, speed(typed));
    let gate = if is_gated { json!({ "min": GATE }) } else { json!(null) };
    let ratio = typed.as_secs_f64() / usage.as_secs_f64();
    report(&format!("usage of {name}"), ratio, "x typed scan", &gate, &mean);
    report(&format!("usage of {name}"), speed(usage), "MB/s", &json!(null), "");
    report(&format!("everything in {name}"), speed(everything), "MB/s", &json!(null), "");
}

fn report(name: &str, value: f64, unit: &str, gate: &serde_json::Value, note: &str) {
    let note = (!note.is_empty()).then_some(note);
    println!("{}", json!({ "name": name, "value": value, "unit": unit, "gate": gate, "note": note }));
}

fn speed(time: Duration) -> f64 {
    f64::from(u32::try_from(BYTES).unwrap()) / 1e6 / time.as_secs_f64()
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = thread_time();
    let done = black_box(work());
    (thread_time().saturating_sub(start), done)
}

fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap()
}

/// Reads the file as an import does, and returns what the replies add up to: the last report of each counts.
fn read(file: &[u8], detail: Detail) -> u64 {
    let mut reader = reader_for(SourceFormat::ClaudeTranscript, detail).unwrap();
    let mut observations = Vec::new();
    let mut output = 0;
    let mut last = (String::new(), 0);
    let mut take = |observations: &mut Vec<Observation>| {
        for seen in observations.drain(..) {
            if let Observation::Usage(report) = seen {
                output += report.output_tokens.unwrap_or(0);
                if report.key == last.0 {
                    output -= last.1;
                }
                last = (report.key, report.output_tokens.unwrap_or(0));
            }
        }
    };
    for chunk in file.chunks(CHUNK) {
        reader.push(chunk, &mut observations);
        take(&mut observations);
    }
    reader.finish(&mut observations);
    take(&mut observations);
    output
}

#[derive(Deserialize)]
struct TypedLine<'a> {
    #[serde(borrow)]
    message: Option<TypedMessage<'a>>,
}

#[derive(Deserialize)]
struct TypedMessage<'a> {
    id: Option<&'a str>,
    usage: Option<TypedUsage>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a scan for usage reads all of it; the check adds up the output alone")]
struct TypedUsage {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    cache_write: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
}

/// The floor: reads the usage of the replies, and nothing else, of lines that are as they should be.
fn typed_scan(file: &[u8]) -> u64 {
    let mut output = 0;
    let mut last = (String::new(), 0);
    let mut rest = file;
    while let Some(end) = memchr::memchr(b'\n', rest) {
        let (line, behind) = rest.split_at(end);
        rest = &behind[1..];
        let line: TypedLine<'_> = serde_json::from_slice(line).unwrap();
        let Some(TypedMessage { id: Some(id), usage: Some(usage) }) = line.message else { continue };
        let tokens = usage.output.unwrap_or(0);
        if last.0 == id {
            output += tokens.max(last.1) - last.1;
        } else {
            output += tokens;
        }
        last = (String::from(id), tokens);
    }
    output
}

/// Writes a transcript as Claude Code does: replies on three lines each, and the answers of tools, with code in them.
fn transcript(tenths: usize) -> Vec<u8> {
    let mut file = String::with_capacity(BYTES + CHUNK);
    let mut seed = 1_u64;
    for reply in 0.. {
        let blocks = [
            json!({"type": "thinking", "thinking": code(&mut seed, 90 * tenths), "signature": "c2ln".repeat(200)}),
            json!({"type": "text", "text": code(&mut seed, 70 * tenths)}),
            json!({"type": "tool_use", "id": format!("toolu_{reply:024}"), "name": "Edit",
                "input": {"file_path": "/home/dev/project/src/lib.rs", "old_string": code(&mut seed, 90 * tenths), "new_string": code(&mut seed, 150 * tenths)}}),
        ];
        for (block, output) in blocks.into_iter().zip([1, 8, 310]) {
            let stop_reason = (output == 310).then_some("tool_use");
            let usage = json!({"input_tokens": 4, "cache_creation_input_tokens": 1200, "cache_read_input_tokens": 48_000,
                "cache_creation": {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 200},
                "output_tokens": output, "service_tier": "standard"});
            let message = json!({"id": format!("msg_{reply:024}"), "type": "message", "role": "assistant",
                "model": "claude-sonnet-4-5-20250929", "content": [block], "stop_reason": stop_reason,
                "stop_sequence": null, "usage": usage});
            line(
                &mut file,
                reply,
                &json!({"message": message, "requestId": format!("req_{reply:024}"), "type": "assistant"}),
            );
        }
        let answer = code(&mut seed, 700 * tenths);
        let message = json!({"role": "user", "content": [
            {"tool_use_id": format!("toolu_{reply:024}"), "type": "tool_result", "content": answer}]});
        line(
            &mut file,
            reply,
            &json!({"type": "user", "message": message,
            "toolUseResult": {"filePath": "/home/dev/project/src/lib.rs", "originalFile": answer, "interrupted": false}}),
        );
        if file.len() >= BYTES {
            break;
        }
    }
    file.into_bytes()
}

/// Adds a line with the fields that all lines have.
fn line(file: &mut String, reply: u32, own: &serde_json::Value) {
    let own = own.to_string();
    let own = own.strip_prefix('{').and_then(|own| own.strip_suffix('}')).unwrap();
    writeln!(
        file,
        r#"{{"parentUuid":"5a5a0001-0000-4000-8000-{reply:012}","isSidechain":false,{own},"uuid":"5a5a0002-0000-4000-8000-{reply:012}","timestamp":"2026-03-02T09:00:{:02}.{:03}Z","userType":"external","cwd":"/home/dev/project","sessionId":"5a5a0001-0000-4000-8000-000000000001","version":"2.1.0","gitBranch":"main"}}"#,
        reply % 60,
        reply % 1000,
    )
    .unwrap();
}

/// Returns text like a program's: words, line breaks, quotes, and now and then a character that is not ASCII.
fn code(seed: &mut u64, len: usize) -> String {
    const WORDS: [&str; 12] = [
        "let ",
        "value",
        " = ",
        "\"text\"",
        ";\n    ",
        "if ",
        "self.",
        "field",
        " {\n",
        "}\n",
        "// naïve — ",
        "return ",
    ];
    let mut text = String::with_capacity(len + 16);
    while text.len() < len {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = usize::try_from(*seed >> 33).unwrap() % 12;
        // One comment in eight words of that kind: most lines of code are ASCII.
        if word == 10 && (*seed >> 60) > 1 {
            continue;
        }
        text.push_str(WORDS[word]);
    }
    text
}
