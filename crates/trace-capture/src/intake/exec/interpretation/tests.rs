use std::{
    sync::{Arc, Mutex},
    thread,
};

use trace_model::turn::Outcome;

use super::*;
use crate::intake::exec::{ProcessEnd, growth::growth};

const RESULT: &str = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s1"}"#;

/// A record that grows: a read finds what is there now.
#[derive(Clone, Default)]
struct Record(Arc<Mutex<Vec<u8>>>, usize);

impl Record {
    fn append(&self, bytes: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(bytes);
    }

    fn len(&self) -> u64 {
        u64::try_from(self.0.lock().unwrap().len()).unwrap()
    }
}

impl Read for Record {
    fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        let read = (&self.0.lock().unwrap()[self.1..]).read(chunk)?;
        self.1 += read;
        Ok(read)
    }
}

/// Follows a record to which the pieces are appended one by one.
fn follow(provider: Option<&Provider>, pieces: &[&[u8]]) -> Interpreted {
    let record = Record::default();
    let (ring, bell) = growth();
    let interpretation = Interpretation::new(Capture::disabled(), OutputStream::Stdout, provider, SessionStart::New);
    let [probe, reader] = [record.clone(), record.clone()].map(RecordReader::new);
    let thread = thread::spawn(move || interpretation.follow(probe, reader, &bell));
    for piece in pieces {
        record.append(piece);
        ring.ring(record.len());
    }
    drop(ring);
    thread.join().unwrap()
}

fn claude() -> Interpretation {
    Interpretation::new(Capture::disabled(), OutputStream::Stdout, Some(&Provider::Claude), SessionStart::New)
}

fn failed(interpreted: &Interpreted) -> bool {
    interpreted.turns.outcome(ProcessEnd::Exited(0)) == Outcome::Failed
}

#[test]
fn a_stream_is_understood_however_it_is_cut() {
    let text = format!("a banner\n{RESULT}\n");
    for at in 0..=text.len() {
        let (one, other) = text.as_bytes().split_at(at);
        let interpreted = follow(None, &[one, other]);
        assert!(interpreted.conversation && failed(&interpreted), "cut at {at}");
    }
}

#[test]
fn a_last_line_without_an_end_is_understood() {
    assert!(failed(&follow(None, &[RESULT.as_bytes()])));
}

#[test]
fn a_stream_is_understood_behind_a_line_that_is_too_long_to_recognise_it_by() {
    let text = format!("{}\n{RESULT}\n", "x".repeat(3 << 20));
    let interpreted = follow(None, &[text.as_bytes()]);
    assert!(interpreted.conversation && failed(&interpreted));
    assert_eq!(interpreted.first_note.map(|note| note.offset), Some(0));
}

#[test]
fn what_is_no_record_of_the_provider_is_noted_where_it_stands() {
    let text = format!("{RESULT}\nnot json\n{{\"type\":\"result\"\n");
    let interpreted = follow(Some(&Provider::Claude), &[text.as_bytes()]);
    assert_eq!(interpreted.notes, 2);
    let first = interpreted.first_note.unwrap();
    assert_eq!(first.offset, u64::try_from(RESULT.len()).unwrap() + 1);
}

#[test]
fn a_stream_of_a_named_provider_without_rules_is_not_understood() {
    let provider: Provider = "my-agent".parse().unwrap();
    let interpreted = follow(Some(&provider), &[RESULT.as_bytes(), b"\n"]);
    assert!(!interpreted.conversation && !failed(&interpreted));
}

#[test]
fn a_stream_without_a_record_of_anyone_is_not_understood() {
    let interpreted = follow(None, &[b"{\"a\":1}\n", b"hello\n"]);
    assert!(!interpreted.conversation && interpreted.notes == 0);
}

#[test]
fn a_record_that_cannot_be_read_ends_the_interpretation_and_says_so() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    let (ring, bell) = growth();
    ring.ring(1);
    let interpretation = Interpretation::new(Capture::disabled(), OutputStream::Stdout, None, SessionStart::New);
    let interpreted = interpretation.follow(RecordReader::new(Broken), RecordReader::new(Broken), &bell);
    assert_eq!(interpreted.failure.unwrap().to_string(), "broken");
}

#[test]
fn what_is_cut_off_the_record_again_was_never_read() {
    let record = Record::default();
    let mut reader = RecordReader::new(record.clone());
    let mut interpretation = claude();
    let mut read_on = |end: u64| interpretation.interpret(&mut reader, end).unwrap();
    record.append(b"{\"type\":\"system\"}\n");
    let whole = record.len();
    // A chunk that could not be written whole is there until it is cut off.
    record.append(b"half a li");
    read_on(whole);
    record.0.lock().unwrap().truncate(usize::try_from(whole).unwrap());
    record.append(RESULT.as_bytes());
    read_on(record.len());
    interpretation.finish();
    assert!(failed(&interpretation.interpreted));
    assert_eq!(interpretation.interpreted.notes, 0, "{:?}", interpretation.interpreted.first_note);
}

#[test]
fn a_record_that_ends_before_its_end_was_not_read() {
    let record = Record::default();
    let mut interpretation = claude();
    record.append(b"{}");
    let error = interpretation.interpret(&mut RecordReader::new(record), 3).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}
