//! What sources tell of sessions: the observations of a reader, taken together by session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trace_model::{
    event::Receipt,
    timestamp::Timestamp,
    turn::Outcome,
    usage::{Agent, UsageReport},
};
use trace_providers::{AgentSeen, Note, Observation, SessionSeen};

/// The most notes that are kept of one source; the others are only counted.
pub(crate) const NOTES_PER_SOURCE: usize = 100;

/// What one source tells, by session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    sessions: Vec<SessionFacts>,
    current: Option<usize>,
    pub(crate) notes: Vec<Note>,
    pub(crate) note_count: u64,
}

/// What is known of one session.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionFacts {
    /// As the provider tells it; the id is empty where no line names one.
    pub(crate) seen: SessionSeen,
    pub(crate) receipt: Receipt,
    pub(crate) first_at: Option<Timestamp>,
    pub(crate) last_at: Option<Timestamp>,
    /// The number of turns before the first one here: they were read earlier.
    pub(crate) turns_before: u32,
    /// The number of turns that were known when the reading began: the first one here may be the last of those.
    pub(crate) known_turns: u32,
    pub(crate) turns: Vec<TurnFact>,
    /// By key. The facts are large, and a map moves what it holds when it grows.
    pub(crate) usage: BTreeMap<String, Box<UsageFact>>,
    pub(crate) agents: BTreeMap<Agent, AgentSeen>,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TurnFact {
    pub(crate) at: Option<Timestamp>,
    /// How it ended, and when, if its end is to be seen.
    pub(crate) end: Option<(Option<Timestamp>, Outcome)>,
    /// Whether the size of a prompt of it is known.
    pub(crate) has_usage: bool,
}

/// What a request cost, and the place of its turn among the turns here.
#[derive(Debug, Clone)]
pub(crate) struct UsageFact {
    pub(crate) report: UsageReport,
    pub(crate) turn: Option<usize>,
}

/// Where the reading of a session stands; the next reading of its source goes on there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionPosition {
    id: String,
    turns_before: u32,
    /// The number of turns that are told of.
    known_turns: u32,
    last_turn: Option<TurnFact>,
    first_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    is_current: bool,
}

impl Facts {
    /// Returns the facts of a source that is read on: the last turn of each session may still be told of.
    pub(crate) fn going_on(positions: Vec<SessionPosition>) -> Self {
        let current = positions.iter().position(|position| position.is_current);
        let sessions = positions.into_iter().map(|position| SessionFacts {
            seen: SessionSeen { id: position.id, ..SessionSeen::default() },
            first_at: position.first_at,
            last_at: position.last_at,
            turns_before: position.turns_before,
            known_turns: position.known_turns,
            turns: position.last_turn.into_iter().collect(),
            ..SessionFacts::default()
        });
        Self { sessions: sessions.collect(), current, ..Self::default() }
    }

    /// Returns where each session stands, before the source's end is taken.
    pub(crate) fn positions(&self) -> Vec<SessionPosition> {
        let position = |(place, session): (usize, &SessionFacts)| {
            let before_last = u32::try_from(session.turns.len().saturating_sub(1)).unwrap_or(u32::MAX);
            SessionPosition {
                id: session.seen.id.clone(),
                turns_before: session.turns_before.saturating_add(before_last),
                known_turns: 0,
                last_turn: session.turns.last().cloned(),
                first_at: session.first_at,
                last_at: session.last_at,
                is_current: self.current == Some(place),
            }
        };
        self.sessions.iter().enumerate().map(position).collect()
    }

    /// Adds to the positions how many turns are told of once the end was taken: a last line without a line feed may
    /// tell of one, and is read again.
    pub(crate) fn note_known_turns(&self, positions: &mut Vec<SessionPosition>) {
        for (place, session) in self.sessions.iter().enumerate() {
            let turns = u32::try_from(session.turns.len()).unwrap_or(u32::MAX);
            let known_turns = session.known_turns.max(session.turns_before.saturating_add(turns));
            match positions.get_mut(place) {
                Some(position) => position.known_turns = known_turns,
                None => positions.push(SessionPosition {
                    id: session.seen.id.clone(),
                    turns_before: 0,
                    known_turns,
                    last_turn: None,
                    first_at: session.first_at,
                    last_at: session.last_at,
                    is_current: false,
                }),
            }
        }
    }

    /// Returns the sessions, in the order in which they were told of.
    pub(crate) fn into_sessions(self) -> Vec<SessionFacts> {
        self.sessions
    }

    /// Returns the number of usage records that are held.
    pub(crate) fn records(&self) -> usize {
        self.sessions.iter().map(|session| session.usage.len()).sum()
    }

    /// Returns the sessions so far.
    pub(crate) fn sessions(&self) -> &[SessionFacts] {
        &self.sessions
    }

    /// Adds what is known from elsewhere of all sessions here; what they tell themselves stands.
    pub(crate) fn complete(&mut self, parent: Option<&str>, cwd: Option<&str>) {
        for SessionFacts { seen, .. } in &mut self.sessions {
            let parent = parent.filter(|parent| *parent != seen.id);
            seen.parent = seen.parent.take().or_else(|| parent.map(str::to_owned));
            seen.cwd = seen.cwd.take().or_else(|| cwd.map(str::to_owned));
        }
    }

    pub(crate) fn take(&mut self, observation: Observation) {
        match observation {
            Observation::Session(seen) => self.enter(seen),
            Observation::Receipt(receipt) => {
                if let Some(id) = receipt.provider_session_id.clone() {
                    self.enter(SessionSeen { id, ..SessionSeen::default() });
                }
                self.session().take_receipt(receipt);
            }
            Observation::Input { at, .. } => {
                let session = self.session();
                session.see(at);
                session.turns.push(TurnFact { at, end: None, has_usage: false });
            }
            Observation::Result { status, at, .. } => {
                let session = self.session();
                session.see(at);
                if let Some(turn) = session.turns.last_mut() {
                    turn.end = Some((at, status));
                }
            }
            Observation::Usage(report) => self.session().take_usage(report),
            Observation::Agent(agent) => self.session().take_agent(agent),
            Observation::Event(observed) => self.session().see(observed.at),
            Observation::Note(note) => {
                self.note_count += 1;
                if self.notes.len() < NOTES_PER_SOURCE {
                    self.notes.push(note);
                }
            }
        }
    }

    /// Goes over to the session of that id; what was told before any session had a name belongs to the first one.
    fn enter(&mut self, seen: SessionSeen) {
        let place = self.sessions.iter().position(|session| session.seen.id == seen.id);
        let place = place.or_else(|| self.sessions.iter().position(|session| session.seen.id.is_empty()));
        let place = place.unwrap_or_else(|| {
            self.sessions.push(SessionFacts::default());
            self.sessions.len() - 1
        });
        self.current = Some(place);
        if let Some(session) = self.sessions.get_mut(place) {
            session.take_session(seen);
        }
    }

    fn session(&mut self) -> &mut SessionFacts {
        let place = match self.current {
            Some(place) if place < self.sessions.len() => place,
            _ => {
                self.sessions.push(SessionFacts::default());
                self.sessions.len() - 1
            }
        };
        self.current = Some(place);
        &mut self.sessions[place]
    }
}

impl SessionFacts {
    /// Adds what another source tells of the same session. A turn that both tell of is one.
    pub(crate) fn merge(&mut self, other: Self) {
        let mut places: Vec<usize> = Vec::new();
        for turn in other.turns {
            let same = turn.at.and_then(|at| self.turns.iter().position(|own| own.at == Some(at)));
            places.push(same.unwrap_or_else(|| {
                self.turns.push(turn.clone());
                self.turns.len() - 1
            }));
            if let Some(own) = places.last().and_then(|place| self.turns.get_mut(*place)) {
                own.end = own.end.or(turn.end);
            }
        }
        for fact in other.usage.into_values() {
            let turn = fact.turn.and_then(|turn| places.get(turn).copied());
            self.put_usage(fact.report, turn);
        }
        other.agents.into_values().for_each(|agent| self.take_agent(agent));
        self.take_session(other.seen);
        self.take_receipt(other.receipt);
        self.see(other.first_at);
        self.see(other.last_at);
        self.sort_turns();
    }

    /// Adds a record that no source tells of any more.
    pub(crate) fn keep_usage(&mut self, report: UsageReport) {
        if !self.usage.contains_key(&report.key) {
            self.put_usage(report, None);
        }
    }

    /// Puts the turns in the order of their time; those without one stay behind the one that they followed.
    fn sort_turns(&mut self) {
        let mut last = None;
        let mut order: Vec<(Option<Timestamp>, usize)> = Vec::new();
        for (place, turn) in self.turns.iter().enumerate() {
            last = turn.at.or(last);
            order.push((last, place));
        }
        if order.is_sorted() {
            return;
        }
        order.sort();
        let mut new_places = vec![0; self.turns.len()];
        for (new, (_, old)) in order.iter().enumerate() {
            new_places[*old] = new;
        }
        self.turns = order.iter().map(|(_, old)| self.turns[*old].clone()).collect();
        for fact in self.usage.values_mut() {
            fact.turn = fact.turn.map(|turn| new_places[turn]);
        }
    }

    fn take_session(&mut self, seen: SessionSeen) {
        self.see(seen.at);
        let own = &mut self.seen;
        own.id = seen.id;
        own.parent = own.parent.take().or(seen.parent);
        own.cwd = own.cwd.take().or(seen.cwd);
        own.at = own.at.or(seen.at);
    }

    fn take_receipt(&mut self, receipt: Receipt) {
        let own = &mut self.receipt;
        own.provider = receipt.provider.or(own.provider.take());
        own.provider_session_path = receipt.provider_session_path.or(own.provider_session_path.take());
        own.model = receipt.model.or(own.model.take());
        own.agent_version = receipt.agent_version.or(own.agent_version.take());
    }

    fn take_usage(&mut self, report: UsageReport) {
        self.see(report.observed_at);
        // A subagent's own file has no prompt of a person: the turn follows from the time, once all turns are known.
        let turn = self.turns.len().checked_sub(1);
        self.put_usage(report, turn);
    }

    fn put_usage(&mut self, report: UsageReport, turn: Option<usize>) {
        let has_prompt = report.prompt_tokens().is_some();
        let turn = if let Some(fact) = self.usage.get_mut(&report.key) {
            fact.report.merge_in(report);
            fact.turn = fact.turn.or(turn);
            fact.turn
        } else {
            self.usage.insert(report.key.clone(), Box::new(UsageFact { report, turn }));
            turn
        };
        if let Some(turn) = turn.and_then(|turn| self.turns.get_mut(turn)) {
            turn.has_usage |= has_prompt;
        }
    }

    fn take_agent(&mut self, agent: AgentSeen) {
        match self.agents.get_mut(&agent.agent) {
            Some(own) => own.merge(agent),
            None => {
                self.agents.insert(agent.agent.clone(), agent);
            }
        }
    }

    fn see(&mut self, at: Option<Timestamp>) {
        let Some(at) = at else { return };
        self.first_at = Some(self.first_at.map_or(at, |first| first.min(at)));
        self.last_at = Some(self.last_at.map_or(at, |last| last.max(at)));
    }

    /// Tells whether it is the session of that name: where no line names one, the source's path does.
    pub(crate) fn is_called(&self, session: &str, path: &str) -> bool {
        self.name(path) == session
    }

    /// Returns what the session goes by.
    pub(crate) fn name<'a>(&'a self, path: &'a str) -> &'a str {
        if self.seen.id.is_empty() { path } else { &self.seen.id }
    }

    /// Tells whether there is anything to make rows of.
    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty() && self.usage.is_empty()
    }

    /// Returns the place of the turn that was on at that time.
    pub(crate) fn turn_at(&self, at: Option<Timestamp>) -> Option<usize> {
        let begun = |turn: &TurnFact| at.is_none_or(|at| turn.at.is_none_or(|start| start <= at));
        self.turns.iter().rposition(begun).or(if self.turns.is_empty() { None } else { Some(0) })
    }
}
