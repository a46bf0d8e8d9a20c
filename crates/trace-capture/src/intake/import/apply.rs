//! What sources told, brought into launches: their folders and their rows.

use std::collections::{BTreeMap, BTreeSet};

use trace_model::{
    id::LaunchId,
    launch::{CaptureState, Launch, LaunchHeader},
    ledger::{Ledger, LedgerError},
    path::ArtifactPath,
    query::LaunchQuery,
    rows::{BoundaryRows, LaunchChange},
    timestamp::Timestamp,
    words::Provider,
};

use super::{
    ImportError,
    known::{Known, KnownNote, Position},
    listing::{Copy, Source},
    source::{From, Reading},
    waiting::Waiting,
};
use crate::{
    artifacts::{ArtifactError, Home, SourceEntry},
    reindex::{launch_rows, own_rows},
    sources::{
        beside::OnRecord,
        facts::SessionFacts,
        listed,
        rows::{self, Setting},
    },
};

/// Why an imported launch is not complete, in words that people read.
const SOURCE_MISSING: &str = "source_missing: the agent's file is gone, and no copy of it was kept";
const SOURCE_REWRITTEN: &str = "source_rewritten: the agent's file is not what it was, and no copy of that was kept";

/// Brings readings into launches.
pub(super) struct Applier<'a> {
    pub(super) home: &'a Home,
    ledger: &'a dyn Ledger,
    waiting: &'a mut Waiting,
    is_over: bool,
    pub(super) new: u64,
    pub(super) updated: u64,
    pub(super) changed: BTreeSet<LaunchId>,
}

/// What became of a session.
enum Brought {
    /// A recorder that lives still writes it; it is looked at again the next time.
    NotYet,
    /// It is in this launch: in the one that it is, else in one that was recorded while it ran. Nothing was told of one
    /// that is in none.
    Into(Option<LaunchId>),
}

/// What one source tells of a session.
struct Part {
    /// Which of the readings it is of.
    reading: usize,
    facts: SessionFacts,
}

impl<'a> Applier<'a> {
    pub(super) fn new(home: &'a Home, ledger: &'a dyn Ledger, waiting: &'a mut Waiting, is_over: bool) -> Self {
        Self { home, ledger, waiting, is_over, new: 0, updated: 0, changed: BTreeSet::new() }
    }

    /// Brings in what the sources of a group told, and returns what is known of each from now on.
    pub(super) async fn apply(&mut self, readings: Vec<Reading>) -> Result<Vec<(Known, Position)>, ImportError> {
        let mut sources = Vec::new();
        let mut sessions: BTreeMap<(Provider, String), Vec<Part>> = BTreeMap::new();
        let mut known = Vec::new();
        for (place, reading) in readings.into_iter().enumerate() {
            let provider = reading.format.provider();
            known.push(self.known(&reading));
            for facts in reading.facts.into_sessions() {
                let name = facts.name(&reading.name).to_owned();
                sessions.entry((provider.clone(), name)).or_default().push(Part { reading: place, facts });
            }
            sources.push(Source {
                name: reading.name,
                format: reading.format,
                from: reading.from,
                default_at: Timestamp::from_micros(reading.stamp.changed_micros()).unwrap_or(Timestamp::UNIX_EPOCH),
                copy: reading.piece.map_or(Copy::None, |piece| Copy::Draft(Box::new(piece))),
            });
        }
        let mut waiting = BTreeSet::new();
        for ((provider, session), parts) in sessions {
            let of: BTreeSet<usize> = parts.iter().map(|part| part.reading).collect();
            match self.session(&provider, &session, parts, &mut sources).await? {
                Brought::NotYet => waiting.extend(of),
                Brought::Into(launch) => of.into_iter().for_each(|place| known[place].0.launches.extend(launch)),
            }
        }
        let done = known.into_iter().enumerate().filter(|(place, _)| !waiting.contains(place));
        Ok(done.map(|(_, known)| known).collect())
    }

    fn known(&self, reading: &Reading) -> (Known, Position) {
        let is_open = |facts: &SessionFacts| facts.turns.last().is_some_and(|turn| turn.end.is_none());
        let notes: Vec<KnownNote> = reading
            .facts
            .notes
            .iter()
            .map(|note| KnownNote {
                offset: note.offset,
                kind: note.kind.as_str().to_owned(),
                detail: note.detail.clone(),
            })
            .collect();
        let position = Position { read: reading.position.clone(), notes, note_count: reading.facts.note_count };
        let position = match reading.from {
            From::Offset(offset) => position.behind(self.home.read_position(&reading.name), offset),
            From::Start | From::Anew => position,
        };
        let known = Known {
            path: reading.name.clone(),
            stamp: reading.stamp,
            format: Some(reading.format),
            launches: Vec::new(),
            is_kept: reading.is_kept,
            is_open: !self.is_over && reading.facts.sessions().iter().any(is_open),
            is_missing: false,
            notes: position.note_count,
            failure: None,
        };
        (known, position)
    }

    /// Brings in what the sources tell of one session.
    async fn session(
        &mut self,
        provider: &Provider,
        session: &str,
        parts: Vec<Part>,
        sources: &mut [Source],
    ) -> Result<Brought, ImportError> {
        let id = LaunchId::of_session(provider, session);
        if self.waiting.holds(id) {
            self.waiting.write(self.ledger).await?;
        }
        let recorded = self.recorded(provider, session, id).await?;
        for launch in &recorded {
            let dir = self.home.open_launch(&launch.header.artifact_dir());
            if dir.and_then(|dir| dir.is_live()).unwrap_or(false) {
                return Ok(Brought::NotYet);
            }
        }
        let first_recorded = recorded.first().map(|launch| launch.header.id);
        let own = match self.ledger.launch(id).await {
            Ok(launch) => Some(launch),
            Err(LedgerError::NotFound { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let has_own = match own {
            Some(own) if recorded.is_empty() && self.extends(&own, &parts, sources)? => {
                self.extend(own, parts, session, sources).await?;
                true
            }
            own => self.put(provider, session, own, parts, recorded, sources).await?,
        };
        Ok(Brought::Into(if has_own { Some(id) } else { first_recorded }))
    }

    /// Returns the launches that were recorded while the session ran.
    async fn recorded(&self, provider: &Provider, session: &str, id: LaunchId) -> Result<Vec<Launch>, LedgerError> {
        let query = LaunchQuery {
            providers: BTreeSet::from([provider.clone()]),
            sessions: BTreeSet::from([session.to_owned()]),
            ..LaunchQuery::default()
        };
        let launches = self.ledger.launches(&query).await?;
        Ok(launches.into_iter().filter(|launch| launch.header.id != id).collect())
    }

    /// Tells whether the parts only add to the rows that a launch has. Running totals of a stream do not: what a finer
    /// source says lessens them.
    fn extends(&self, own: &Launch, parts: &[Part], sources: &[Source]) -> Result<bool, ArtifactError> {
        let listed = self.home.sources_of(&own.header.artifact_dir())?;
        let of_streams = listed.iter().any(|entry| entry.format.is_stream());
        let adds = |part: &Part| {
            let source = &sources[part.reading];
            let goes_on = matches!(source.from, From::Offset(_));
            let is_new = !listed.iter().any(|entry| entry.path == source.name);
            !source.format.is_stream() && (goes_on || (is_new && part.facts.turns.is_empty()))
        };
        Ok(!of_streams && parts.iter().all(adds))
    }

    async fn extend(
        &mut self,
        mut own: Launch,
        parts: Vec<Part>,
        session: &str,
        sources: &mut [Source],
    ) -> Result<(), ImportError> {
        let id = own.header.id;
        let dir = own.header.artifact_dir();
        for part in parts {
            let capture = self.list(&dir, part.reading, session, sources, &[])?;
            let setting = Setting { default_at: own.header.started_at, is_over: self.is_over };
            let needs_turns = part.facts.turns.is_empty() && !part.facts.usage.is_empty();
            let turns = if needs_turns {
                let turns = self.ledger.turns(id).await?;
                turns.into_iter().map(|row| (row.turn.started_at, row.turn.id)).collect()
            } else {
                Vec::new()
            };
            let boundary = rows::extension(own, part.facts, &turns, capture, &setting);
            own = boundary.launch.launch().clone();
            self.ledger.apply(&boundary).await?;
        }
        self.updated += 1;
        self.changed.insert(id);
        Ok(())
    }

    /// Puts the rows of a session in place of those that it had, if any; tells whether it has a launch of its own.
    async fn put(
        &mut self,
        provider: &Provider,
        session: &str,
        own: Option<Launch>,
        parts: Vec<Part>,
        recorded: Vec<Launch>,
        sources: &mut [Source],
    ) -> Result<bool, ImportError> {
        let mut readings: Vec<usize> = parts.iter().map(|part| part.reading).collect();
        readings.sort_unstable();
        readings.dedup();
        let mut on_record = Vec::new();
        let mut beside = Vec::new();
        for launch in recorded {
            let dir = launch.header.artifact_dir();
            for reading in &readings {
                self.list(&dir, *reading, session, sources, &[])?;
            }
            on_record.push(OnRecord::of(&own_rows(self.home, &dir)?.rows));
            self.ledger.replace_launch(&launch_rows(self.home, &dir)?.rows).await?;
            self.changed.insert(launch.header.id);
            beside.push(dir);
        }
        if !beside.is_empty() {
            self.updated += 1;
        }
        let default_at = readings.first().map_or(Timestamp::UNIX_EPOCH, |reading| sources[*reading].default_at);
        let setting = Setting { default_at, is_over: self.is_over };
        let dir = rows::artifact_dir(provider, session);
        let entries = self.home.sources_of(&dir)?;
        // What was read whole need not be read again; of what was read on, only the end is at hand.
        let is_whole = |part: &Part| !matches!(sources[part.reading].from, From::Offset(_));
        let whole: BTreeSet<&str> =
            parts.iter().filter(|part| is_whole(part)).map(|part| sources[part.reading].name.as_str()).collect();
        let rewritten: BTreeSet<&str> = parts
            .iter()
            .map(|part| &sources[part.reading])
            .filter(|source| source.from == From::Anew)
            .map(|source| source.name.as_str())
            .collect();
        let is_rewritten = !rewritten.is_empty();
        // Of a source that was rewritten, the copies are all that is left of what it was.
        let is_left = |entry: &SourceEntry| entry.kept.is_some() && rewritten.contains(entry.path.as_str());
        let at_hand = |entry: &SourceEntry| whole.contains(entry.path.as_str()) && !is_left(entry);
        let listed = listed::read_session(self.home, &entries, session, &at_hand)?;
        let mut facts = listed.facts;
        let unlisted = |part: &Part| !entries.iter().any(|entry| entry.path == sources[part.reading].name);
        for part in parts.into_iter().filter(|part| is_whole(part) || unlisted(part)) {
            match &mut facts {
                Some(facts) => facts.merge(part.facts),
                None => facts = Some(part.facts),
            }
        }
        let Some(mut facts) = facts else { return Ok(own.is_some()) };
        if let Some(own) = &own
            && (is_rewritten || !listed.missing.is_empty())
        {
            // What only the ledger still knows is kept.
            for row in self.ledger.usage(own.header.id).await? {
                facts.keep_usage(row.record.report);
            }
        }
        for launch in &on_record {
            launch.leave_out(&mut facts);
        }
        if facts.is_empty() && own.is_none() && !beside.is_empty() {
            return Ok(false);
        }
        let header = self.header(provider, session, &facts, &setting, &dir)?;
        self.home.ensure_imported(&header)?;
        let mut capture = CaptureState::Complete;
        for reading in &readings {
            capture = self.list(&dir, *reading, session, sources, &beside)?;
        }
        if is_rewritten && capture != CaptureState::Complete {
            capture = CaptureState::Partial { reason: SOURCE_REWRITTEN.to_owned() };
        }
        let rows = rows::whole(header, facts, capture, &setting);
        self.changed.insert(rows.launch.header.id);
        self.waiting.put(rows);
        match own {
            Some(_) => self.updated += 1,
            None => self.new += 1,
        }
        Ok(true)
    }

    /// Returns the header that the launch has, or a new one: identity never changes.
    fn header(
        &self,
        provider: &Provider,
        session: &str,
        facts: &SessionFacts,
        setting: &Setting,
        dir: &ArtifactPath,
    ) -> Result<LaunchHeader, ArtifactError> {
        match self.home.open_launch(dir) {
            Ok(launch) => Ok(launch.header().clone()),
            Err(error) if error.is_not_found() => Ok(rows::header(provider, session, facts, setting)),
            Err(error) => Err(error),
        }
    }
}

/// Marks an imported launch whose source is gone and of which no copy is kept. One that was recorded is as complete
/// as it was.
pub(super) async fn mark_missing(ledger: &dyn Ledger, id: LaunchId) -> Result<(), LedgerError> {
    let mut launch = match ledger.launch(id).await {
        Ok(launch) => launch,
        Err(LedgerError::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    if launch.header.surface != rows::SURFACE {
        return Ok(());
    }
    launch.capture = CaptureState::Partial { reason: SOURCE_MISSING.to_owned() };
    ledger.apply(&BoundaryRows::of_launch(LaunchChange::Extended(launch))).await
}
