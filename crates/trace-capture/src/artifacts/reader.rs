//! Reads the events of a launch, whatever its file holds.

use std::{
    fmt,
    io::{self, Read},
    path::PathBuf,
};

use trace_model::codec::{self, Line};

use super::error::ArtifactError;

/// The longest line that is read as an event.
pub const LINE_LIMIT: usize = 256 << 20;

const CHUNK: usize = 64 << 10;

/// Reads `conversation.jsonl` line by line, in memory bounded by its longest line.
///
/// The file is bytes, split at line feeds and nowhere else: a torn character, a line of nonsense or an event of a newer
/// writer hides nothing that follows it. The stretches, and the tail behind them, are the whole file.
pub struct ConversationReader {
    path: PathBuf,
    source: Box<dyn Read + Send>,
    line_limit: usize,
    /// The bytes from `start` to `end` are read and not yet told.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The offset in the file of the byte at `start`.
    offset: u64,
    /// The bytes before it that were told of a line which has not come to its end: it is longer than the limit.
    inside_long_line: bool,
    at_end: bool,
}

/// One line of the file, or a piece of one that is longer than [`LINE_LIMIT`].
#[derive(Debug)]
pub struct Stretch<'a> {
    /// Where it begins in the file.
    pub offset: u64,
    /// Its bytes, with the line feed that ends it.
    pub bytes: &'a [u8],
    /// What it is; nothing for a blank line and for one that is no event.
    pub line: Option<Line>,
    /// Why it is no event; nothing for an event and for a blank line.
    pub skipped: Option<SkipReason>,
}

/// Why a line is no event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// Its bytes are none.
    Malformed {
        /// What the parser says, with its column.
        message: String,
    },
    /// It is longer than any event. Its pieces follow each other; the first one has this reason, the others have none.
    TooLong {
        /// The longest line that is read.
        limit: usize,
    },
}

/// The end of a file whose last record was torn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail<'a> {
    /// Where it begins in the file.
    pub offset: u64,
    /// Its bytes; there is no line feed in them.
    pub bytes: &'a [u8],
}

impl ConversationReader {
    /// Reads events from any bytes. `path` is what they are called in errors.
    pub fn new(path: PathBuf, source: Box<dyn Read + Send>) -> Self {
        Self::with_line_limit(path, source, LINE_LIMIT)
    }

    /// Reads events from any bytes, with a longest line of its own.
    pub fn with_line_limit(path: PathBuf, source: Box<dyn Read + Send>, line_limit: usize) -> Self {
        Self {
            path,
            source,
            line_limit: line_limit.max(1),
            buffer: Vec::new(),
            start: 0,
            end: 0,
            offset: 0,
            inside_long_line: false,
            at_end: false,
        }
    }

    /// Returns the next stretch of the file, or `None` at its end; then [`tail`](Self::tail) tells what is left.
    ///
    /// A last line without a line feed is told like any other if it is a whole event, or blank.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if the file cannot be read.
    #[expect(clippy::should_implement_trait, reason = "a stretch borrows from the reader, which no iterator can say")]
    pub fn next(&mut self) -> Result<Option<Stretch<'_>>, ArtifactError> {
        let Some(len) = self.fill()? else { return Ok(None) };
        let (start, offset, continues) = (self.start, self.offset, self.inside_long_line);
        let bytes = &self.buffer[start..start + len];
        let ends = bytes.ends_with(b"\n");
        let is_piece = continues || (!ends && len == self.line_limit);
        let (line, skipped) = if continues {
            (None, None)
        } else if is_piece {
            (None, Some(SkipReason::TooLong { limit: self.line_limit }))
        } else if bytes.trim_ascii().is_empty() {
            (None, None)
        } else {
            match codec::decode(bytes) {
                Ok(line) => (Some(line), None),
                // The tail is not told as a line: it stays in the buffer.
                Err(_) if !ends => return Ok(None),
                Err(error) => (None, Some(SkipReason::Malformed { message: error.to_string() })),
            }
        };
        self.inside_long_line = is_piece && !ends;
        self.start += len;
        self.offset += super::append::len_of(bytes);
        Ok(Some(Stretch { offset, bytes, line, skipped }))
    }

    /// Returns the piece of a record that the file ends in, once [`next`](Self::next) has returned `None`.
    pub fn tail(&self) -> Option<Tail<'_>> {
        let bytes = &self.buffer[self.start..self.end];
        (self.at_end && !bytes.is_empty()).then_some(Tail { offset: self.offset, bytes })
    }

    /// Reads until a whole line, a piece as long as the limit, or the last bytes of the file are in the buffer; returns
    /// how many bytes that is.
    fn fill(&mut self) -> Result<Option<usize>, ArtifactError> {
        let mut searched = 0;
        loop {
            let ready = &self.buffer[self.start..self.end];
            let within = ready.len().min(self.line_limit);
            if let Some(place) = memchr::memchr(b'\n', &ready[searched..within]) {
                return Ok(Some(searched + place + 1));
            }
            if within == self.line_limit {
                return Ok(Some(within));
            }
            if self.at_end {
                return Ok((!ready.is_empty()).then_some(ready.len()));
            }
            searched = within;
            self.read_more()?;
        }
    }

    fn read_more(&mut self) -> Result<(), ArtifactError> {
        // Only the beginning of one line is left to be moved, so no byte is moved more than once.
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() - self.end < CHUNK {
            let longest = self.line_limit.saturating_add(CHUNK);
            self.buffer.resize((self.buffer.len() * 2).clamp(self.end + CHUNK, longest.max(self.end + CHUNK)), 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(ArtifactError::io("read", self.path.clone(), source)),
            }
            return Ok(());
        }
    }
}

impl fmt::Debug for ConversationReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ConversationReader")
            .field("path", &self.path)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { message } => formatter.write_str(message),
            Self::TooLong { limit } => write!(formatter, "the line is longer than {limit} bytes"),
        }
    }
}
