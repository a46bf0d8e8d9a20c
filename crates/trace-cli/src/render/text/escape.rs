//! Recorded text, made safe for a terminal.
//!
//! A prompt or an answer may hold anything: escape sequences that move the cursor or set the title, carriage returns
//! that overwrite a line, marks that turn the reading direction, characters that nobody sees. Each such character is
//! shown as an escape instead.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, Write},
};

/// Tells whether the character could steer a terminal, reorder what stands around it, or stand there unseen: the
/// control characters of Unicode, the marks of reading direction, the separators of lines and paragraphs, the
/// characters without width that join and part words, the byte order mark, and the tags, which can spell a whole hidden
/// text.
pub(crate) fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Returns the text as one line: line feeds and tabs are shown as escapes too.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escape(text, is_unsafe)
}

/// Returns the text with its line feeds and tabs as they are.
pub(crate) fn block(text: &str) -> Cow<'_, str> {
    escape(text, |character| is_unsafe(character) && !matches!(character, '\n' | '\t'))
}

fn escape(text: &str, unsafe_here: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&unsafe_here) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            _ if !unsafe_here(character) => safe.push(character),
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            _ => write!(safe, "\\u{{{:x}}}", u32::from(character)).expect("a string takes every text"),
        }
    }
    Cow::Owned(safe)
}

/// A writer that makes bytes safe for a terminal on their way: text as [`block`] does, other bytes as `\xNN`.
///
/// A character that is cut by the end of a write is held back until the rest of it comes.
pub(crate) struct SafeWriter<W: Write> {
    inner: W,
    /// The bytes of a character that is not whole yet: at most three.
    held: Vec<u8>,
}

impl<W: Write> SafeWriter<W> {
    pub(crate) const fn new(inner: W) -> Self {
        Self { inner, held: Vec::new() }
    }

    /// Writes what is held back: it will not become a character any more.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.write_bytes(&held)?;
        self.inner.flush()
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            write!(self.inner, "\\x{byte:02x}")?;
        }
        Ok(())
    }
}

impl<W: Write> Write for SafeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.inner.write_all(block(chunk.valid()).as_bytes())?;
            let broken = chunk.invalid();
            if chunks.peek().is_none() && may_become_a_character(broken) {
                self.held = broken.to_vec();
            } else {
                self.write_bytes(broken)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Tells whether more bytes could make a character of these, which are none yet.
fn may_become_a_character(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn through_writer(chunks: &[&[u8]]) -> String {
        let mut bytes = Vec::new();
        let mut writer = SafeWriter::new(&mut bytes);
        for chunk in chunks {
            writer.write_all(chunk).unwrap();
        }
        writer.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn is_safe_block(text: &str) -> bool {
        text.chars().all(|character| !is_unsafe(character) || matches!(character, '\n' | '\t'))
    }

    proptest! {
        #[test]
        fn no_text_steers_a_terminal(text: String) {
            prop_assert!(!line(&text).contains(is_unsafe));
            prop_assert!(is_safe_block(&block(&text)));
        }

        #[test]
        fn no_bytes_steer_a_terminal_however_they_are_cut(bytes: Vec<u8>, at: prop::sample::Index) {
            let whole = through_writer(&[&bytes]);
            prop_assert!(is_safe_block(&whole));
            let (head, tail) = bytes.split_at(at.index(bytes.len() + 1));
            prop_assert_eq!(through_writer(&[head, tail]), whole);
        }

        #[test]
        fn harmless_text_stays_as_it_is(text in "[ -~äöü日本語🦀]*") {
            prop_assert_eq!(line(&text), text.as_str());
            prop_assert_eq!(through_writer(&[text.as_bytes()]), text);
        }
    }

    #[test]
    fn what_steers_is_shown() {
        assert_eq!(line("\u{1b}]0;title\u{7}"), "\\u{1b}]0;title\\u{7}");
        assert_eq!(line("a\nb\tc\rd"), "a\\nb\\tc\\rd");
        assert_eq!(block("a\nb\tc\rd"), "a\nb\tc\\rd");
        assert_eq!(line("\u{9b}31m\u{7f}"), "\\u{9b}31m\\u{7f}");
        assert_eq!(line("user\u{202e}txt.exe"), "user\\u{202e}txt.exe");
        for unseen in
            ['\u{feff}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{e0000}', '\u{e0041}', '\u{e007f}']
        {
            let escaped = format!("a\\u{{{:x}}}b", u32::from(unseen));
            assert_eq!(line(&format!("a{unseen}b")), escaped);
            assert_eq!(through_writer(&[format!("a{unseen}b").as_bytes()]), escaped);
        }
        assert_eq!(through_writer(&[b"\xff\x1b[2J\xf0\x9f"]), "\\xff\\u{1b}[2J\\xf0\\x9f");
    }
}
