//! JSON documents.
//!
//! They are the same on a terminal and in a pipe, so what could steer a terminal is written as an escape: JSON itself
//! asks for that below U+0020 only.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use super::text::escape::is_unsafe;

/// Writes the value as one document, and a line feed.
pub(crate) fn write(writer: &mut impl io::Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *writer, SafeFormatter::default()))?;
    writer.write_all(b"\n")
}

/// Writes the value as one document on one line.
pub(crate) fn write_line(writer: &mut impl io::Write, value: &impl Serialize) -> io::Result<()> {
    write_escaped(writer, &serde_json::to_string(value)?)?;
    writer.write_all(b"\n")
}

/// Writes a text that is JSON already, with what could steer a terminal escaped. Such a character can only be part of a
/// string, so the result is JSON of the same meaning.
pub(crate) fn write_escaped(writer: &mut (impl io::Write + ?Sized), json: &str) -> io::Result<()> {
    let mut rest = json;
    while let Some(at) = rest.find(is_unsafe) {
        let (plain, tail) = rest.split_at(at);
        writer.write_all(plain.as_bytes())?;
        let mut characters = tail.chars();
        if let Some(character) = characters.next() {
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        rest = characters.as_str();
    }
    writer.write_all(rest.as_bytes())
}

/// The pretty formatter, which also escapes what could steer a terminal.
#[derive(Default)]
struct SafeFormatter {
    pretty: PrettyFormatter<'static>,
}

impl Formatter for SafeFormatter {
    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        write_escaped(writer, fragment)
    }

    fn begin_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_array(writer)
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_array(writer)
    }

    fn begin_array_value<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.pretty.begin_array_value(writer, first)
    }

    fn end_array_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_array_value(writer)
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object(writer)
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_object(writer)
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.pretty.begin_object_key(writer, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(writer)
    }

    fn end_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_document_means_what_was_written_and_cannot_steer_a_terminal(
            texts in prop::collection::vec(any::<String>(), 0..6),
        ) {
            let mut bytes = Vec::new();
            write(&mut bytes, &texts).unwrap();
            let document = String::from_utf8(bytes).unwrap();
            prop_assert!(!document.contains(|character| is_unsafe(character) && character != '\n'));
            prop_assert_eq!(&serde_json::from_str::<Vec<String>>(&document).unwrap(), &texts);

            let mut bytes = Vec::new();
            write_line(&mut bytes, &texts).unwrap();
            let line = String::from_utf8(bytes).unwrap();
            prop_assert_eq!(line.find(is_unsafe), Some(line.len() - 1));
            prop_assert_eq!(serde_json::from_str::<Vec<String>>(&line).unwrap(), texts);
        }
    }

    #[test]
    fn amounts_stay_exact() {
        let amount = trace_model::money::NanoUsd::from_nanos(18_110_250);
        let mut bytes = Vec::new();
        write(&mut bytes, &[amount]).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), "[\n  0.01811025\n]\n");
    }
}
