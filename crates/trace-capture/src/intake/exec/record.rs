//! The record of a stream, read behind its writer.

use std::io::{self, Read};

const CHUNK: usize = 64 << 10;

/// Reads what is on record of a stream, and nothing behind the place that is certain to stay on it.
#[derive(Debug)]
pub(super) struct RecordReader<R> {
    record: R,
    /// Where in the record it is.
    position: u64,
    chunk: Vec<u8>,
}

impl<R: Read> RecordReader<R> {
    /// Returns a reader of a record of which nothing was read.
    pub(super) fn new(record: R) -> Self {
        Self { record, position: 0, chunk: vec![0; CHUNK] }
    }

    /// Reads on towards `end`. No bytes means that it is there.
    pub(super) fn read(&mut self, end: u64) -> io::Result<&[u8]> {
        let left = usize::try_from(end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let (room, _) = self.chunk.split_at_mut(left.min(CHUNK));
        let read = loop {
            match self.record.read(room) {
                Ok(0) if !room.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.position += u64::try_from(read).unwrap_or_default();
        Ok(room.get(..read).unwrap_or_default())
    }
}
