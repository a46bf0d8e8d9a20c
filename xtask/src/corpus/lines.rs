//! A file of lines.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};

use super::truth::Truth;

/// Where the lines go, and how many there were.
#[derive(Debug)]
pub(super) struct Lines {
    file: BufWriter<File>,
    pub(super) bytes: u64,
    count: u64,
}

impl Lines {
    /// Creates a file.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = File::create_new(path).with_context(|| format!("create {}", path.display()))?;
        Ok(Self { file: BufWriter::with_capacity(1 << 20, file), bytes: 0, count: 0 })
    }

    /// Writes a line, and empties it.
    pub(super) fn write(&mut self, line: &mut String) -> Result<()> {
        line.push('\n');
        self.file.write_all(line.as_bytes())?;
        self.bytes += u64::try_from(line.len())?;
        self.count += 1;
        line.clear();
        Ok(())
    }

    /// Ends the file, and counts it.
    pub(super) fn finish(mut self, truth: &mut Truth) -> Result<()> {
        self.file.flush()?;
        truth.bytes += self.bytes;
        truth.lines += self.count;
        truth.files += 1;
        Ok(())
    }
}
