//! One source, read.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use trace_model::words::Provider;
use trace_providers::{
    Detail, Interpreter, Observation, SourceFormat, reader_for,
    recognise::{SOURCE_HEAD, recognise_source},
    resume_reader,
};

use super::known::{Known, Position, Prints, ReadPosition, Stamp};
use crate::{
    artifacts::{ArtifactError, Home, KeptPiece},
    sources::{facts::Facts, gemini_place::GeminiPlace, reading},
};

/// How much of a file is looked at first to tell what it is, in bytes: nearly always enough.
const FIRST_LOOK: usize = 64 << 10;

/// A file that may be a source.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
}

/// What a source told, and where it is to go.
pub(super) struct Reading {
    pub(super) name: String,
    pub(super) stamp: Stamp,
    pub(super) format: SourceFormat,
    pub(super) facts: Facts,
    /// How it goes on with what was read before.
    pub(super) from: From,
    /// What is needed to go on with it.
    pub(super) position: Option<ReadPosition>,
    /// The copy of what was read, still without its place.
    pub(super) piece: Option<KeptPiece>,
    /// Whether copies of all of it are kept, with this one.
    pub(super) is_kept: bool,
    /// The bytes that were read.
    pub(super) bytes: u64,
    /// Whether there is more, that was left for the next reading.
    pub(super) is_cut: bool,
}

/// Where a reading of a source begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// At its start, and it tells all that it told before, if it was read before.
    Start,
    /// At its start, though it was read before: it is not what it was.
    Anew,
    /// At this place, where the last reading ended.
    Offset(u64),
}

/// Why a source was not read.
pub(super) enum ReadError {
    /// It is the source's fault, in words.
    Source(String),
    /// It is the home's.
    Home(ArtifactError),
}

impl std::convert::From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Source(error.to_string())
    }
}

impl std::convert::From<ArtifactError> for ReadError {
    fn from(error: ArtifactError) -> Self {
        Self::Home(error)
    }
}

/// A source that is being read.
pub(super) struct Begun {
    reading: Reading,
    reader: Box<dyn Interpreter>,
    seen: Vec<Observation>,
}

/// How a source may be read on, and with what it then begins.
struct Start {
    format: SourceFormat,
    reader: Box<dyn Interpreter>,
    facts: Facts,
    from: From,
    /// The file itself, where it is read as it is: what its name names later may be another one.
    file: Option<File>,
}

impl Reading {
    /// Reads a file, from where it was left if that can be; `None` if it is no session. Where that can be gone on
    /// with, no more is read once that many usage records are held.
    pub(super) fn of_file(
        home: &Home,
        file: SourceFile,
        known: Option<&Known>,
        keep: bool,
        at_once: usize,
        told: &mut dyn FnMut(u64),
    ) -> Result<Option<Self>, ReadError> {
        let is_compressed = is_compressed(&file.path);
        let mut source = File::open(&file.path)?;
        let mut from = From::Start;
        if !is_compressed && let Some(Position { read: Some(position), .. }) = home.read_position(&file.name) {
            let goes_on = known.is_some_and(|known| known.format.is_some() && (known.is_kept || !keep));
            match resumed(&position, &mut source)? {
                Some(reader) if goes_on => {
                    let offset = position.checkpoint.offset;
                    source.seek(SeekFrom::Start(offset))?;
                    let facts = Facts::going_on(position.sessions);
                    let same = Some(source.try_clone()?);
                    let start =
                        Start { format: position.format, reader, facts, from: From::Offset(offset), file: same };
                    return Self::go(home, file, keep, start, &mut source, at_once, told).map(Some);
                }
                None if known.is_some() => from = From::Anew,
                Some(_) | None => {}
            }
            source.seek(SeekFrom::Start(0))?;
        }
        let same = if is_compressed { None } else { Some(source.try_clone()?) };
        let mut input: Box<dyn Read> =
            if is_compressed { Box::new(zstd::Decoder::new(source)?) } else { Box::new(source) };
        let mut head = Vec::new();
        let mut format = None;
        for looked_at in [FIRST_LOOK, SOURCE_HEAD] {
            let more = looked_at - head.len();
            head.reserve_exact(more);
            let read = (&mut input).take(u64::try_from(more).unwrap_or(u64::MAX)).read_to_end(&mut head)?;
            format = recognise_source(&head);
            // A line that the end cuts may tell more in what follows.
            if read < more || (format.is_some() && head.contains(&b'\n')) {
                break;
            }
        }
        let Some(format) = format else { return Ok(None) };
        let Some(reader) = reader_for(format, Detail::Usage) else { return Ok(None) };
        let start = Start { format, reader, facts: Facts::default(), from, file: same };
        Self::go(home, file, keep, start, &mut head.chain(input), at_once, told).map(Some)
    }

    /// Begins to read a source whose bytes come from elsewhere.
    pub(super) fn begin(home: &Home, file: SourceFile, format: SourceFormat, keep: bool) -> Result<Begun, ReadError> {
        let reader = reader_for(format, Detail::Usage);
        let reader = reader.ok_or_else(|| ReadError::Source("this build does not read its format".to_owned()))?;
        let start = Start { format, reader, facts: Facts::default(), from: From::Start, file: None };
        Ok(Begun::new(home, file, keep, start)?)
    }

    fn go(
        home: &Home,
        file: SourceFile,
        keep: bool,
        mut start: Start,
        input: &mut dyn Read,
        at_once: usize,
        told: &mut dyn FnMut(u64),
    ) -> Result<Self, ReadError> {
        let path = file.path.clone();
        let from_offset = matches!(start.from, From::Offset(_));
        let same = start.file.take();
        let mut begun = Begun::new(home, file, keep, start)?;
        let goes_on = same.is_some() && begun.reader.checkpoint().is_some();
        let mut is_cut = false;
        reading::each_chunk::<ReadError>(input, |bytes| {
            let is_full = goes_on && begun.reading.facts.records() >= at_once;
            // Between two lines, where what was read is what a source of that length would tell.
            let end = bytes.iter().rposition(|byte| *byte == b'\n').filter(|_| is_full).map(|place| place + 1);
            let bytes = end.map_or(bytes, |end| &bytes[..end]);
            told(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            begun.push(bytes)?;
            is_cut = end.is_some();
            Ok(if is_cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        begun.reading.is_cut = is_cut;
        let checkpoint = begun.reader.checkpoint();
        let mut sessions = begun.reading.facts.positions();
        let mut reading = begun.end();
        reading.facts.note_known_turns(&mut sessions);
        if reading.format.provider() == Provider::Gemini
            && let Some(place) = GeminiPlace::of(&path)
        {
            place.complete(&mut reading.facts, None);
        }
        if reading.bytes == 0 && from_offset {
            // There is nothing new to keep; only its time has run out.
            reading.piece = None;
        }
        if let Some((checkpoint, mut same)) = checkpoint.zip(same) {
            let prints = Prints::take(&mut same, checkpoint.offset)?;
            if is_cut {
                // As if the source ended here, so that whoever looks next reads on.
                reading.stamp.bytes = checkpoint.offset;
            }
            reading.position = Some(ReadPosition { format: reading.format, checkpoint, sessions, prints });
        }
        Ok(reading)
    }
}

impl Begun {
    fn new(home: &Home, file: SourceFile, keep: bool, start: Start) -> Result<Self, ArtifactError> {
        let Start { format, reader, facts, from, file: _ } = start;
        let SourceFile { name, stamp, .. } = file;
        let piece = keep.then(|| home.keep_piece(&name)).transpose()?;
        let reading =
            Reading { name, stamp, format, facts, from, position: None, piece, is_kept: keep, bytes: 0, is_cut: false };
        Ok(Self { reading, reader, seen: Vec::new() })
    }

    /// Takes the next bytes of the source.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), ArtifactError> {
        let Self { reading, reader, seen } = self;
        reading.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        reader.push(bytes, seen);
        seen.drain(..).for_each(|observation| reading.facts.take(observation));
        reading.piece.as_mut().map_or(Ok(()), |piece| piece.write(bytes))
    }

    /// Takes the end of the source.
    pub(super) fn end(mut self) -> Reading {
        reading::finish(&mut *self.reader, &mut self.reading.facts);
        self.reading
    }
}

/// Returns a reader that goes on at the place, if the beginning of the source is what it was.
fn resumed(position: &ReadPosition, source: &mut File) -> io::Result<Option<Box<dyn Interpreter>>> {
    let offset = position.checkpoint.offset;
    if source.metadata()?.len() < offset || Prints::take(source, offset)? != position.prints {
        return Ok(None);
    }
    Ok(resume_reader(position.format, Detail::Usage, &position.checkpoint))
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "zst")
}
