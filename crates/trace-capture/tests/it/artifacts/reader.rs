//! Reading events, whatever the file holds.

use std::{
    io::{self, Read},
    path::PathBuf,
};

use proptest::prelude::*;
use trace_capture::artifacts::{ConversationReader, SkipReason};
use trace_model::codec::Line;

use super::support::line;

/// Bytes that are read in pieces of a few sizes, over and over.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    sizes: Vec<usize>,
    turn: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes[self.turn % self.sizes.len()];
        self.turn += 1;
        if size == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let read = self.bytes[self.at..].len().min(size).min(buffer.len());
        buffer[..read].copy_from_slice(&self.bytes[self.at..self.at + read]);
        self.at += read;
        Ok(read)
    }
}

/// What a reader tells about one line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Event(u64),
    Unknown,
    Blank,
    Skipped(SkipReason),
}

#[derive(Debug, PartialEq, Eq, Default)]
struct Reading {
    lines: Vec<(u64, Told)>,
    tail: Option<(u64, Vec<u8>)>,
}

const LIMIT: usize = 400;

fn read(bytes: &[u8], sizes: &[usize]) -> Reading {
    let pieces = Pieces { bytes: bytes.to_vec(), at: 0, sizes: sizes.to_vec(), turn: 0 };
    let mut reader = ConversationReader::with_line_limit(PathBuf::from("events"), Box::new(pieces), LIMIT);
    let mut reading = Reading::default();
    let mut seen = Vec::new();
    while let Some(stretch) = reader.next().unwrap() {
        assert_eq!(stretch.offset, u64::try_from(seen.len()).unwrap(), "stretches follow each other");
        seen.extend_from_slice(stretch.bytes);
        let told = match (stretch.line, stretch.skipped) {
            (Some(Line::Event(event)), None) => Told::Event(event.seq),
            (Some(Line::Unknown(_)), None) => Told::Unknown,
            (None, Some(reason)) => Told::Skipped(reason),
            (None, None) => Told::Blank,
            both => panic!("{both:?}"),
        };
        reading.lines.push((stretch.offset, told));
    }
    if let Some(tail) = reader.tail() {
        assert_eq!(tail.offset, u64::try_from(seen.len()).unwrap());
        seen.extend_from_slice(tail.bytes);
        reading.tail = Some((tail.offset, tail.bytes.to_vec()));
    }
    assert_eq!(seen, bytes, "the stretches and the tail are the file");
    assert!(reader.next().unwrap().is_none(), "the end is the end");
    reading
}

fn check(bytes: &[u8], expected: &[Told], tail: &[u8]) {
    let reading = read(bytes, &[64 << 10]);
    let lines: Vec<Told> = reading.lines.iter().map(|(_, told)| told.clone()).collect();
    let is_same = |told: &Told, expected: &Told| match (told, expected) {
        (Told::Skipped(SkipReason::Malformed { .. }), Told::Skipped(SkipReason::Malformed { .. })) => true,
        _ => told == expected,
    };
    let same = lines.len() == expected.len() && lines.iter().zip(expected).all(|(told, line)| is_same(told, line));
    assert!(same, "{lines:?} is not {expected:?}");
    assert_eq!(reading.tail.map(|(_, bytes)| bytes).unwrap_or_default(), tail);
}

fn malformed() -> Told {
    Told::Skipped(SkipReason::Malformed { message: String::new() })
}

fn too_long() -> Told {
    Told::Skipped(SkipReason::TooLong { limit: LIMIT })
}

#[test]
fn an_empty_file_has_no_events() {
    check(b"", &[], b"");
}

#[test]
fn blank_lines_are_neither_events_nor_trouble() {
    let bytes = [&line(0)[..], b"\n  \t\r\n", &line(1), b"   "].concat();
    check(&bytes, &[Told::Event(0), Told::Blank, Told::Blank, Told::Event(1), Told::Blank], b"");
}

#[test]
fn a_torn_multi_byte_character_makes_no_file_unreadable() {
    let torn = line(1);
    let inside = torn.iter().position(|byte| *byte == "ö".as_bytes()[0]).unwrap() + 1;
    check(&[&line(0)[..], &torn[..inside]].concat(), &[Told::Event(0)], &torn[..inside]);
    let glued = [&line(0)[..], &torn[..inside], b"\n", &line(2)].concat();
    check(&glued, &[Told::Event(0), malformed(), Told::Event(2)], b"");
}

#[test]
fn an_unknown_event_hides_nothing() {
    for unknown in [
        &br#"{"schema_version":1,"seq":1,"ts":"2026-10-01T09:00:00Z","payload":{"type":"from_the_future","x":[1]}}"#[..],
        br#"{"schema_version":9,"seq":1,"payload":"anything"}"#,
    ] {
        let bytes = [&line(0)[..], unknown, b"\n", &line(2)].concat();
        check(&bytes, &[Told::Event(0), Told::Unknown, Told::Event(2)], b"");
    }
}

#[test]
fn a_line_of_nonsense_in_the_middle_hides_nothing() {
    for nonsense in [&b"{"[..], b"\0\0\0\0", b"[[[[", b"\xff\xfe", b"null", &line(1)[..20], &b"[".repeat(300)] {
        let bytes = [&line(0)[..], nonsense, b"\n", &line(2)].concat();
        check(&bytes, &[Told::Event(0), malformed(), Told::Event(2)], b"");
    }
}

#[test]
fn a_last_line_without_a_line_feed_is_an_event_if_it_is_whole() {
    let last = line(1);
    for cut in 1..last.len() {
        let bytes = [&line(0)[..], &last[..cut]].concat();
        if cut == last.len() - 1 {
            check(&bytes, &[Told::Event(0), Told::Event(1)], b"");
        } else {
            check(&bytes, &[Told::Event(0)], &last[..cut]);
        }
    }
}

#[test]
fn a_line_that_is_too_long_is_skipped_in_pieces() {
    for len in [LIMIT, LIMIT + 1, 2 * LIMIT - 1, 2 * LIMIT, 5 * LIMIT + 3] {
        let long = b"x".repeat(len);
        let whole = [&line(0)[..], &long, b"\n", &line(2)].concat();
        let pieces = (len + 1).div_ceil(LIMIT);
        let blanks = std::iter::repeat_n(Told::Blank, pieces - 1);
        let told: Vec<Told> = [Told::Event(0), too_long()].into_iter().chain(blanks).chain([Told::Event(2)]).collect();
        check(&whole, &told, b"");
        let at_the_end = [&line(0)[..], &long].concat();
        let blanks = std::iter::repeat_n(Told::Blank, len.div_ceil(LIMIT) - 1);
        check(&at_the_end, &[Told::Event(0), too_long()].into_iter().chain(blanks).collect::<Vec<_>>(), b"");
    }
    let longest = b"x".repeat(LIMIT - 1);
    check(&[&longest[..], b"\n", &line(1)].concat(), &[malformed(), Told::Event(1)], b"");
}

#[test]
fn a_failed_read_is_told_and_names_the_file() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    let mut reader = ConversationReader::new(PathBuf::from("a/conversation.jsonl"), Box::new(Broken));
    assert_eq!(reader.next().unwrap_err().to_string(), "could not read a/conversation.jsonl");
}

/// A piece of a file, and the seq of the event in it if it is one.
fn piece() -> impl Strategy<Value = (Vec<u8>, Option<u64>)> {
    let garbage = proptest::collection::vec(any::<u8>().prop_filter("a line feed", |byte| *byte != b'\n'), 0..600);
    prop_oneof![
        3 => (0_u64..1_000).prop_map(|seq| (line(seq), Some(seq))),
        1 => garbage.prop_map(|bytes| ([&bytes[..], b"\n"].concat(), None)),
        1 => (0_u64..1_000, any::<proptest::sample::Index>()).prop_map(|(seq, cut)| {
            let whole = line(seq);
            // Cut before its end brace, it is no event any more.
            ([&whole[..cut.index(whole.len() - 2)], b"\n"].concat(), None)
        }),
    ]
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    // A size of 0 is an interrupted read; it must not be the only one.
    (proptest::collection::vec(0_usize..900, 0..5), 1_usize..900).prop_map(|(mut sizes, last)| {
        sizes.push(last);
        sizes
    })
}

proptest! {
    #[test]
    fn every_whole_event_is_found_in_its_place(pieces in proptest::collection::vec(piece(), 0..20), sizes in sizes()) {
        let mut expected = Vec::new();
        let mut bytes = Vec::new();
        for (piece, seq) in pieces {
            if let Some(seq) = seq {
                expected.push((u64::try_from(bytes.len()).unwrap(), seq));
            }
            bytes.extend_from_slice(&piece);
        }
        let reading = read(&bytes, &sizes);
        let found: Vec<(u64, u64)> = reading.lines.iter().filter_map(|(offset, told)| match told {
            Told::Event(seq) => Some((*offset, *seq)),
            _ => None,
        }).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_bytes_are_read_the_same_in_any_pieces(
        bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b' '), any::<u8>()], 0..3_000),
        sizes in sizes(),
    ) {
        prop_assert_eq!(read(&bytes, &sizes), read(&bytes, &[usize::MAX]));
    }
}
