//! Standard output and standard error: data on the one, everything else on the other.

use std::io::{self, BufWriter, Stdout, Write};

use anstream::adapter::strip_str;
use serde::Serialize;

use super::{
    json,
    text::{
        escape::{self, SafeWriter},
        style,
    },
};
use crate::environment::Stream;

/// Where data goes.
#[derive(Debug)]
pub(crate) struct Output {
    /// Not locked: a child's output passes by it while a command runs.
    stdout: BufWriter<Stdout>,
    has_color: bool,
    stream: Stream,
}

impl Output {
    /// Returns the output to standard output, with colours or without.
    pub(crate) fn new(stream: Stream, has_color: bool) -> Self {
        Self { stdout: BufWriter::with_capacity(1 << 16, io::stdout()), has_color, stream }
    }

    /// Returns the columns that lines have to fit in, if they have to.
    pub(crate) const fn width(&self) -> Option<u16> {
        self.stream.width()
    }

    /// Prints the lines of a view.
    pub(crate) fn lines<T: AsRef<str>>(&mut self, lines: impl IntoIterator<Item = T>) -> io::Result<()> {
        for line in lines {
            self.line(line.as_ref())?;
        }
        Ok(())
    }

    /// Prints a line of text, whose styles are left out where there are no colours.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        if self.has_color { writeln!(self.stdout, "{line}") } else { writeln!(self.stdout, "{}", strip_str(line)) }
    }

    /// Prints a value as one JSON document.
    pub(crate) fn json(&mut self, document: &impl Serialize) -> io::Result<()> {
        json::write(&mut self.stdout, document)
    }

    /// Prints recorded JSON, exactly as it is unless it would reach a terminal.
    pub(crate) fn recorded_json(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.stream.is_terminal() {
            self.escaped_json(bytes)?;
        } else {
            self.stdout.write_all(bytes.strip_suffix(b"\n").unwrap_or(bytes))?;
        }
        self.stdout.write_all(b"\n")
    }

    /// Prints recorded JSON as a part of a document: without its line feed, and safe for a terminal.
    pub(crate) fn escaped_json(&mut self, bytes: &[u8]) -> io::Result<()> {
        json::write_escaped(&mut self.stdout, String::from_utf8_lossy(bytes).trim_end_matches('\n'))
    }

    /// Copies recorded bytes, exactly as they are unless they would reach a terminal.
    pub(crate) fn recorded_bytes(&mut self, bytes: &mut impl io::Read) -> io::Result<()> {
        if self.stream.is_terminal() {
            let mut safe = SafeWriter::new(&mut self.stdout);
            io::copy(bytes, &mut safe)?;
            return safe.finish();
        }
        io::copy(bytes, &mut self.stdout).map(drop)
    }

    /// Returns the writer itself, for what is safe already.
    pub(crate) fn writer(&mut self) -> &mut impl Write {
        &mut self.stdout
    }

    /// Hands everything to the system.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}

/// Where everything else goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Messages {
    has_color: bool,
}

impl Messages {
    /// Returns the messages to standard error, with colours or without.
    pub(crate) const fn new(has_color: bool) -> Self {
        Self { has_color }
    }

    /// Says something under a word such as `error` or `note`. That nobody listens is no error.
    pub(crate) fn say(self, word: &str, text: &str) {
        let style = match word {
            "error" => style::BAD.bold(),
            "warning" => style::ODD.bold(),
            _ => style::TITLE,
        };
        let text = escape::block(text);
        let word = if self.has_color { style::styled(style, word) } else { word.to_owned() };
        // Standard error is not buffered, and a message that cannot be shown has no other place.
        let _ = writeln!(io::stderr().lock(), "{word}: {text}");
    }
}

/// Says something to standard error as one JSON document on one line. That nobody listens is no error.
pub(crate) fn say_json(document: &impl Serialize) {
    let mut line = Vec::new();
    // Like any other message, it has no other place.
    let _ = json::write_line(&mut line, document).and_then(|()| io::stderr().lock().write_all(&line));
}
