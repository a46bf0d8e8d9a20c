//! Transcripts that trip up readers, with the right numbers for each.

use std::collections::BTreeMap;

use trace_providers::{
    Detail, MAX_LINE,
    NoteKind::{self, BadLine, IncompleteTail, InvalidUtf8, LineTooLong, LoneSurrogate, Salvaged, SyntheticReply},
    Observation, SourceFormat, reader_for,
};

use crate::support::{notes, prompts, read, record, usage};

const SESSION: &str = "5a5a0001-0000-4000-8000-000000000001";

/// A line of a reply, of `output` tokens so far.
fn reply(id: &str, output: u64, text: &str) -> String {
    reply_of(SESSION, "claude-sonnet-4-5-20250929", id, output, text)
}

fn reply_of(session: &str, model: &str, id: &str, output: u64, text: &str) -> String {
    format!(
        r#"{{"parentUuid":"u","isSidechain":false,"sessionId":"{session}","type":"assistant","message":{{"id":"{id}","type":"message","role":"assistant","model":"{model}","content":[{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn","usage":{{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":{output}}}}},"uuid":"{id}-{output}","timestamp":"2026-03-02T09:00:01.000Z"}}"#
    )
}

fn usage_of(source: &[u8]) -> Vec<Observation> {
    read(SourceFormat::ClaudeTranscript, Detail::Usage, source)
}

/// Returns the output tokens, the requests, and what is noted.
fn totals(source: &[u8]) -> (Option<u64>, Option<u64>, Vec<NoteKind>) {
    let observations = usage_of(source);
    let totals = record(&observations).totals();
    (totals.output_tokens, totals.requests, notes(&observations).into_iter().map(|(_, kind)| kind).collect())
}

#[test]
fn each_mess_is_read_past_and_the_numbers_are_right() {
    let (one, two) = (reply("msg_1", 100, "one"), reply("msg_2", 7, "two"));
    let cut = &one[..one.len() - 20];
    let spaced = one.replace("\":", "\": ").replace(",\"", ", \"");
    let deep = one.replacen('{', &format!(r#"{{"x":{}1{},"#, "[".repeat(200), "]".repeat(200)), 1);
    let lone = reply("msg_1", 100, r"\ud83d and \uDCB2");
    let pair = reply("msg_1", 100, r"\ud83d\ude00 \\ud83d");
    let odd_figure = one.replacen("\"input_tokens\":3", r#""input_tokens":"three""#, 1);
    let odd_message = one.replacen(r#""isSidechain":false"#, r#""isSidechain":false,"toolUseResult":1e999,"data":"#, 1);
    let odd_message = odd_message.replacen("\"data\":,", r#""data":[{"agentId":"x"}],"#, 1);
    for (name, source, notes) in [
        ("plain", format!("{one}\n{two}\n"), &[][..]),
        ("empty lines", format!("\n\n{one}\n \t\n\r\n{two}\n\n"), &[]),
        ("carriage returns and a byte order mark", format!("\u{feff}{one}\r\n{two}\r\n"), &[]),
        ("a space after each colon", format!("{spaced}\n{two}\n"), &[]),
        ("200 levels of nesting", format!("{deep}\n{two}\n"), &[]),
        ("a line separator in a text", format!("{}\n{two}\n", reply("msg_1", 100, "\u{2028}\u{2029}\u{85}")), &[]),
        ("no line feed at the end", format!("{one}\n{two}"), &[]),
        ("half a surrogate pair", format!("{lone}\n{two}\n"), &[LoneSurrogate]),
        ("a whole surrogate pair, and what only looks like one", format!("{pair}\n{two}\n"), &[]),
        ("a torn line", format!("{one}\n{cut}\n{two}\n"), &[BadLine]),
        ("a torn line glued to a whole one", format!("{cut}{one}\n{two}\n"), &[Salvaged]),
        ("two lines glued together", format!("{one}{two}\n"), &[Salvaged]),
        ("a torn last line", format!("{one}\n{two}\n{cut}"), &[IncompleteTail]),
        ("zero bytes", format!("{one}\n{}\n{two}\n", "\0".repeat(300)), &[BadLine]),
        ("zero bytes before a line", format!("\0\0\0{one}\n{two}\n"), &[Salvaged]),
        ("a list", format!("{one}\n[\"not\",\"an\",\"object\"]\n{two}\n"), &[BadLine]),
        ("a figure that is a word", format!("{odd_figure}\n{two}\n"), &[]),
        ("objects where none are, and a number that no float holds", format!("{odd_message}\n{two}\n"), &[]),
    ] {
        assert_eq!(totals(source.as_bytes()), (Some(107), Some(2), notes.to_vec()), "{name}");
    }
    let invalid = [reply("msg_1", 100, "a").as_bytes(), b"\n"].concat();
    let at = invalid.windows(3).position(|bytes| bytes == b"\"a\"").unwrap() + 1;
    let invalid = [&invalid[..at], b"\xFF\xC3", &invalid[at..], two.as_bytes()].concat();
    assert_eq!(totals(&invalid), (Some(107), Some(2), vec![InvalidUtf8]));
    assert_eq!(totals(b""), (None, None, vec![]));
}

#[test]
fn damage_is_noted_at_its_place_in_the_file() {
    let one = reply("msg_1", 100, "one");
    let lone = reply("msg_2", 100, r"abc\ud83d");
    let source = format!("{one}\n{lone}\n\0\0\n{one}{one}\n{{\"type\":");
    let behind = |number: usize| source.split_inclusive('\n').take(number).map(str::len).sum::<usize>();
    let expected = [
        (behind(1) + lone.find("\\ud83d").unwrap(), LoneSurrogate),
        (behind(2), BadLine),
        (behind(3), Salvaged),
        (behind(4), IncompleteTail),
    ];
    let found: Vec<_> = notes(&usage_of(source.as_bytes()))
        .into_iter()
        .map(|(offset, kind)| (usize::try_from(offset).unwrap(), kind))
        .collect();
    assert_eq!(found, expected);
}

/// A file with everything that counters of tokens stumble over, and the same reply again in a second session.
fn torture() -> [String; 2] {
    let torn = reply("msg_torn", 100, "torn");
    let lines = [
        reply("msg_first", 1, "a"),
        reply("msg_first", 8, "b"),
        reply("msg_first", 310, "c"),
        format!("{}{}", &torn[..150], reply("msg_glued", 100, "glued")),
        "\0".repeat(300),
        reply("msg_lone", 100, r"\ud83d"),
        reply_of(SESSION, "claude-of-next-year-9", "msg_unknown", 100, "a model that no table knows"),
        reply("msg_plain", 100, "plain"),
        reply_of(SESSION, "<synthetic>", "0f0f0f0f-0000-4000-8000-000000000003", 0, "No response requested."),
        torn[..200].to_owned(),
    ];
    let other = "5a5a0002-0000-4000-8000-000000000002";
    let again = [1, 8, 310].map(|output| reply_of(other, "claude-sonnet-4-5-20250929", "msg_first", output, "a"));
    let own = reply_of(other, "claude-sonnet-4-5-20250929", "msg_own", 100, "own");
    [lines.join("\n"), format!("{}\n{own}\n", again.join("\n"))]
}

#[test]
fn the_torture_files_add_up_and_every_trap_is_noted_once() {
    let files = torture().map(|file| usage_of(file.as_bytes()));
    let kinds: Vec<NoteKind> = files.iter().flat_map(|file| notes(file)).map(|(_, kind)| kind).collect();
    assert_eq!(kinds, [Salvaged, BadLine, LoneSurrogate, SyntheticReply, IncompleteTail]);
    // Copies in other sessions have the same request key: they count once.
    let mut outputs = BTreeMap::new();
    for report in files.iter().flat_map(|file| usage(file)) {
        outputs.insert(report.request_key.clone().unwrap(), report.output_tokens.unwrap());
    }
    assert_eq!((outputs.values().sum::<u64>(), outputs.len()), (810, 6));
    let of_first: Vec<_> = files.iter().map(|file| record(file).totals().output_tokens).collect();
    assert_eq!(of_first, [Some(710), Some(410)]);
}

#[test]
fn a_short_id_in_another_session_is_another_reply_if_its_prompt_is_another() {
    let [first, second] = ["\"input_tokens\":3", "\"input_tokens\":4"]
        .map(|input| usage_of(reply("msg_1", 5, "x").replacen("\"input_tokens\":3", input, 1).as_bytes()));
    let key = |observations: &[Observation]| usage(observations)[0].request_key.clone().unwrap();
    assert_ne!(key(&first), key(&second));
    assert_eq!(usage(&first)[0].key, usage(&second)[0].key);
}

#[test]
fn of_a_line_above_the_limit_all_but_its_long_text_is_read() {
    // Cheaply: the line is made while it is read.
    let line = reply("msg_long", 100, "LONG");
    let [before, behind] = line.split("LONG").collect::<Vec<_>>()[..] else { unreachable!() };
    let pieces = [&b"\\n\\\"{\\ud83d"[..], &vec![b'x'; 1 << 20]].concat();
    let mut reader = reader_for(SourceFormat::ClaudeTranscript, Detail::Everything).unwrap();
    let mut observations = Vec::new();
    reader.push(before.as_bytes(), &mut observations);
    for _ in 0..100 {
        reader.push(&pieces, &mut observations);
    }
    reader.push(behind.as_bytes(), &mut observations);
    reader.push(b"\n", &mut observations);
    reader.push(reply("msg_next", 7, "next").as_bytes(), &mut observations);
    reader.finish(&mut observations);
    let totals = record(&observations).totals();
    assert_eq!((totals.output_tokens, totals.requests, totals.cache_read_tokens), (Some(107), Some(2), Some(200)));
    assert_eq!(notes(&observations), [(0, LineTooLong)]);
    let report = usage(&observations)[0];
    assert_eq!(report.model.as_deref(), Some("claude-sonnet-4-5-20250929"));
    assert!(report.observed_at.is_some());
    assert!(observations.iter().any(|seen| matches!(seen, Observation::Session(session) if session.id == SESSION)));
}

#[test]
fn an_answer_of_a_tool_above_the_limit_is_no_prompt() {
    let long = "x".repeat(MAX_LINE);
    let source = format!(
        r#"{{"type":"user","sessionId":"s","isSidechain":false,"message":{{"role":"user","content":[{{"tool_use_id":"t","type":"tool_result","content":"{long}"}}]}},"toolUseResult":{{"stdout":"y"}},"uuid":"u"}}"#
    );
    let observations = usage_of(source.as_bytes());
    assert_eq!((prompts(&observations), notes(&observations)), (vec![], vec![(0, LineTooLong)]));
}
