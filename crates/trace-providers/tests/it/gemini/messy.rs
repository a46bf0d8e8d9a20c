//! Damage to session files.

use trace_model::words::Quality;
use trace_providers::NoteKind;

use super::{read_document, read_session};
use crate::support::{classes, fixture, notes, record};

#[test]
fn a_torn_line_before_a_whole_one_costs_nothing_that_is_whole() {
    let file = fixture("gemini-rewritten/session.jsonl");
    let text = String::from_utf8(file).unwrap();
    let last = text.trim_end().rsplit('\n').next().unwrap();
    let torn = text.replace(last, &format!("{}{last}", &last[..60]));
    let observations = read_session(torn);
    assert_eq!(notes(&observations).iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), [NoteKind::Salvaged]);
    let whole = record(&read_session(&text)).totals();
    assert_eq!(record(&observations).totals(), whole);
}

#[test]
fn a_document_that_was_cut_is_read_as_far_as_it_is_whole() {
    let file = fixture("gemini-document/session.json");
    let observations = read_document(&file[..file.len() / 2]);
    assert_eq!(notes(&observations).iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), [NoteKind::IncompleteTail]);
    let totals = record(&observations).totals();
    assert!(totals.requests.is_some_and(|requests| requests > 1), "{totals:?}");
}

#[test]
fn a_document_that_is_none_is_told() {
    for (bytes, expected) in [
        (&b"not json"[..], Some(NoteKind::BadLine)),
        (b"{\"sessionId\":}", Some(NoteKind::BadLine)),
        (b"[]", Some(NoteKind::BadLine)),
        (b"", None),
        (b"\xEF\xBB\xBF \n", None),
    ] {
        let observations = read_document(bytes);
        assert_eq!(notes(&observations).first().map(|(_, kind)| *kind), expected, "{}", String::from_utf8_lossy(bytes));
        assert_eq!(observations.len(), usize::from(expected.is_some()));
    }
}

#[test]
fn odd_bytes_in_a_document_spoil_nothing_else() {
    let mut file = fixture("gemini-document/session.json");
    let whole = record(&read_document(&file)).totals();
    let at = memchr::memmem::find(&file, b"Can you").unwrap();
    file[at] = 0xFF;
    let observations = read_document(&file);
    assert_eq!(notes(&observations)[0], (u64::try_from(at).unwrap(), NoteKind::InvalidUtf8));
    assert_eq!(record(&observations).totals(), whole);
    let mut file = fixture("gemini-document/session.json");
    file.splice(at..at + 7, *b"\\ud83d!");
    let observations = read_document(&file);
    assert_eq!(notes(&observations)[0], (u64::try_from(at).unwrap(), NoteKind::LoneSurrogate));
    assert_eq!(record(&observations).totals(), whole);
}

#[test]
fn a_document_above_the_limit_is_told_and_not_held() {
    let mut reader =
        trace_providers::reader_for(trace_providers::SourceFormat::GeminiDocument, trace_providers::Detail::Usage)
            .unwrap();
    let mut out = Vec::new();
    for _ in 0..65 {
        reader.push(&vec![b' '; 1 << 20], &mut out);
    }
    reader.finish(&mut out);
    assert_eq!(notes(&out), [(0, NoteKind::LineTooLong)]);
}

#[test]
fn fields_of_unexpected_types_spoil_no_other() {
    let odd = r#"{"id":"m1","timestamp":5,"type":"gemini","content":{"a":1},"tokens":[1],"model":{},"toolCalls":"x","thoughts":7}"#;
    let good = fixture("gemini-rewritten/session.jsonl");
    let totals = record(&read_session([good.as_slice(), odd.as_bytes(), b"\n"].concat())).totals();
    assert_eq!(classes(&totals), [Some(2700), Some(11500), Some(0), Some(61)]);
    assert_ne!(totals.quality, Quality::Exact);
}
