//! Bytes of a source to facts.

use std::{
    io::{self, Read},
    ops::ControlFlow,
};

use trace_providers::Interpreter;

use super::facts::Facts;

/// How much of a source is read at once, in bytes.
pub(super) const CHUNK: usize = 1 << 20;

/// Reads to the end of the source and hands on each chunk, while more is wanted.
///
/// # Errors
///
/// Those of reading, and what `each` says.
pub(crate) fn each_chunk<E: From<io::Error>>(
    input: &mut dyn Read,
    mut each: impl FnMut(&[u8]) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match input.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(len) => {
                if each(&chunk[..len])?.is_break() {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reads to the end of the source and takes all that the reader observes.
///
/// # Errors
///
/// Those of reading.
pub(crate) fn read(input: &mut dyn Read, reader: &mut dyn Interpreter, facts: &mut Facts) -> io::Result<()> {
    let mut seen = Vec::new();
    each_chunk::<io::Error>(input, |bytes| {
        reader.push(bytes, &mut seen);
        seen.drain(..).for_each(|observation| facts.take(observation));
        Ok(ControlFlow::Continue(()))
    })?;
    finish(reader, facts);
    Ok(())
}

/// Tells the reader that the source ends.
pub(crate) fn finish(reader: &mut dyn Interpreter, facts: &mut Facts) {
    let mut seen = Vec::new();
    reader.finish(&mut seen);
    for observation in seen {
        facts.take(observation);
    }
}
