//! The events of an imported launch: they are in no file, but are what its sources say when they are read again.
//!
//! Of a launch that was recorded from a terminal, or from an output that tells nothing, its own lines come first and
//! then what its sources say of the time that it took.

use std::{
    collections::VecDeque,
    io::{self, Read},
};

use trace_model::{
    codec::{self, Line},
    event::{Event, Payload, RawSpan, SCHEMA_VERSION},
    id::{LaunchId, TurnId},
    timestamp::Timestamp,
    usage::{Agent, UsageRecord},
    words::{InputOp, OutputStream},
};
use trace_providers::{Detail, Interpreter, Observation, reader_for};

use super::{listed, reading::CHUNK, rows::turn_at};
use crate::artifacts::{ArtifactError, ConversationReader, Home, LaunchDir, SourceEntry};

/// Returns the events of a launch, recorded or imported.
///
/// # Errors
///
/// [`ArtifactError::Io`] if the file, or what the launch draws on, cannot be opened.
pub fn conversation(home: &Home, launch: &LaunchDir) -> Result<ConversationReader, ArtifactError> {
    match launch.conversation() {
        Err(error) if error.is_not_found() => {
            let sources = launch.sources()?;
            if sources.is_empty() {
                return Err(error);
            }
            let path = home.artifact_path(launch.path());
            let events = SourceEvents::new(home.clone(), launch, &sources);
            Ok(ConversationReader::new(path, Box::new(events)))
        }
        Err(error) => Err(error),
        Ok(conversation) => {
            let sources = launch.sources()?;
            let own = if sources.is_empty() { None } else { OwnLines::of(launch)? };
            let Some(own) = own else { return Ok(conversation) };
            let path = home.artifact_path(&launch.conversation_path());
            let events =
                SourceEvents { seq: own.next_seq, own: Some(own), ..SourceEvents::new(home.clone(), launch, &sources) };
            Ok(ConversationReader::new(path, Box::new(launch.conversation_bytes()?.chain(events))))
        }
    }
}

/// What the lines of a recorded launch tell that tell nothing of the exchange.
struct OwnLines {
    from: Timestamp,
    to: Timestamp,
    turns: Vec<(Timestamp, TurnId)>,
    next_seq: u64,
}

impl OwnLines {
    /// Reads the lines; returns nothing for a launch that has not ended, or whose exchange is on record.
    fn of(launch: &LaunchDir) -> Result<Option<Self>, ArtifactError> {
        let (mut to, mut turns, mut next_seq) = (None, Vec::new(), 0);
        let mut lines = launch.conversation()?;
        while let Some(stretch) = lines.next()? {
            let Some(Line::Event(event)) = stretch.line else { continue };
            next_seq = event.seq.saturating_add(1);
            match event.payload {
                Payload::Conversation { .. } => return Ok(None),
                Payload::TurnOpened { turn, .. } => turns.push((turn.started_at, turn.id)),
                Payload::LaunchEnded { .. } => to = Some(event.ts),
                _ => {}
            }
        }
        let is_whole = lines.tail().is_none();
        let from = launch.header().started_at;
        Ok(to.filter(|_| is_whole).map(|to| Self { from, to, turns, next_seq }))
    }

    fn holds(&self, at: Timestamp) -> bool {
        self.from <= at && at <= self.to
    }
}

/// Returns the bytes of the first source of an imported launch, as the agent wrote them.
///
/// # Errors
///
/// [`ArtifactError::Io`] if it cannot be opened; also where the launch has no source.
pub fn source_bytes(home: &Home, launch: &LaunchDir) -> Result<Box<dyn Read + Send>, ArtifactError> {
    let sources = launch.sources()?;
    let pieces = listed::first_source(&sources);
    if pieces.is_empty() {
        let source = io::Error::new(io::ErrorKind::NotFound, "the launch draws on no source");
        return Err(ArtifactError::Io { verb: "read", path: home.artifact_path(launch.path()), source });
    }
    listed::open(home, pieces)
}

/// The lines that a conversation file of the launch would hold, made as they are read.
struct SourceEvents {
    home: Home,
    launch: LaunchId,
    session: String,
    default_at: Timestamp,
    sources: VecDeque<Vec<SourceEntry>>,
    current: Option<Current>,
    /// What the launch tells of itself, if it was recorded.
    own: Option<OwnLines>,
    turns: u32,
    seq: u64,
    /// Lines that are not handed out yet.
    lines: Vec<u8>,
    handed_out: usize,
    chunk: Vec<u8>,
}

/// The source that is being read.
struct Current {
    input: Box<dyn Read + Send>,
    reader: Box<dyn Interpreter>,
    path: String,
    /// Whether what is said belongs to the launch's session.
    is_ours: bool,
    at: Timestamp,
}

impl SourceEvents {
    fn new(home: Home, launch: &LaunchDir, entries: &[SourceEntry]) -> Self {
        let session = entries.first().map(|entry| entry.session.clone()).unwrap_or_default();
        let mut sources = VecDeque::new();
        let mut rest = entries;
        while !rest.is_empty() {
            let pieces = listed::first_source(rest);
            sources.push_back(pieces.to_vec());
            rest = rest.get(pieces.len()..).unwrap_or_default();
        }
        Self {
            home,
            launch: launch.header().id,
            session,
            default_at: launch.header().started_at,
            sources,
            current: None,
            own: None,
            turns: 0,
            seq: 0,
            lines: Vec::new(),
            handed_out: 0,
            chunk: Vec::new(),
        }
    }

    /// Makes more lines; none are made at the end of all sources.
    fn fill(&mut self) -> io::Result<()> {
        self.lines.clear();
        self.handed_out = 0;
        let mut seen = Vec::new();
        while self.lines.is_empty() {
            let Some(mut current) = self.next_source()? else { return Ok(()) };
            self.chunk.resize(CHUNK, 0);
            let len = match current.input.read(&mut self.chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    self.current = Some(current);
                    continue;
                }
                read => read?,
            };
            if len == 0 {
                current.reader.finish(&mut seen);
            } else {
                current.reader.push(&self.chunk[..len], &mut seen);
            }
            seen.drain(..).for_each(|observation| self.take(&mut current, observation));
            if len > 0 {
                self.current = Some(current);
            }
        }
        Ok(())
    }

    fn next_source(&mut self) -> io::Result<Option<Current>> {
        if let Some(current) = self.current.take() {
            return Ok(Some(current));
        }
        while let Some(pieces) = self.sources.pop_front() {
            let Some(first) = pieces.first() else { continue };
            let Some(reader) = reader_for(first.format, Detail::Everything) else { continue };
            let input = listed::open(&self.home, &pieces).map_err(io::Error::other)?;
            let path = first.path.clone();
            let is_ours = self.session == path;
            return Ok(Some(Current { input, reader, path, is_ours, at: self.default_at }));
        }
        Ok(None)
    }

    fn take(&mut self, current: &mut Current, observation: Observation) {
        let id = match &observation {
            Observation::Session(seen) => Some(seen.id.as_str()),
            Observation::Receipt(receipt) => receipt.provider_session_id.as_deref(),
            _ => None,
        };
        if let Some(id) = id {
            current.is_ours = id == self.session || current.path == self.session;
        }
        if !current.is_ours {
            return;
        }
        let at = match &observation {
            Observation::Input { at, .. } | Observation::Result { at, .. } => *at,
            Observation::Event(observed) => observed.at,
            Observation::Usage(report) => report.observed_at,
            _ => None,
        };
        current.at = at.unwrap_or(current.at);
        if self.own.as_ref().is_some_and(|own| !own.holds(current.at)) {
            return;
        }
        self.turns += u32::from(matches!(observation, Observation::Input { .. }));
        let turn_id = match &self.own {
            Some(own) => turn_at(&own.turns, Some(current.at)),
            None => (self.turns > 0).then(|| TurnId::of_import(self.launch, self.turns)),
        };
        // Of a recorded launch, the raw output is another one.
        let is_raw = self.own.is_none();
        let raw = |span: trace_model::span::ByteSpan| {
            is_raw.then(|| RawSpan { stream: OutputStream::Stdout, offset: span.start(), len: span.len() })
        };
        let (agent, raw, payload) = match observation {
            Observation::Receipt(receipt) => (Agent::Main, None, Payload::Receipt(receipt)),
            Observation::Input { text, span, .. } => {
                let op = if self.turns == 1 { InputOp::Initial } else { InputOp::Message };
                (Agent::Main, raw(span), Payload::UserInput { op, text: text.unwrap_or_default() })
            }
            Observation::Event(observed) => {
                let payload = Payload::Conversation { event: observed.event };
                (observed.agent, observed.span.and_then(raw), payload)
            }
            Observation::Usage(report) => {
                let agent = report.agent.clone();
                let record = UsageRecord { launch_id: self.launch, turn_id, report };
                (agent, None, Payload::UsageRecord { record })
            }
            Observation::Result { status, cost_usd, duration_secs, span, .. } => {
                (Agent::Main, raw(span), Payload::Result { status, cost_usd, duration_secs })
            }
            _ => return,
        };
        let event =
            Event { schema_version: SCHEMA_VERSION, seq: self.seq, ts: current.at, turn_id, agent, raw, payload };
        self.seq += 1;
        codec::encode(&event, &mut self.lines);
    }
}

impl Read for SourceEvents {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.handed_out == self.lines.len() {
            self.fill()?;
        }
        let rest = self.lines.get(self.handed_out..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        self.handed_out += len;
        Ok(len)
    }
}
