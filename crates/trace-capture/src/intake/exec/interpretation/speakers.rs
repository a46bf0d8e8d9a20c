//! Who speaks on a stream, and what of it is the launch's own.

use std::{collections::BTreeMap, mem};

use memchr::memmem;
use trace_model::{event::Receipt, words::Provider};
use trace_providers::{Interpreter, Observation, SessionScanner, interpreter_for, recognise::SessionStart};

/// The providers whose rules read a stream of which nobody said whose it is.
const PROVIDERS: [Provider; 2] = [Provider::Claude, Provider::Codex];

/// How much of a line that came in pieces is looked at for its session.
const LINE: usize = 1 << 20;

/// The interpreters of a stream.
///
/// Where nobody names the provider, a shell may start several agents on one output, one after the other. So the rules
/// of each provider read the whole of it. One that was not recognised is heard from where it names a session.
///
/// A session is the launch's own or that of a launch beneath it. What an interpreter observes of one that is not the
/// launch's own is passed over; the interpreter reads on all the same, for the next session may be. A line is of the
/// session that it names, else of the one that its provider named last.
#[derive(Debug)]
pub(super) struct Speakers {
    all: Vec<Speaker>,
    /// The place of the one that spoke last: what cannot be taken as it is, is of that one.
    last: usize,
    /// The last line so far, if it came in pieces.
    line: Vec<u8>,
    sessions: Sessions,
}

/// An interpreter, and whose its session is.
#[derive(Debug)]
struct Speaker {
    provider: Provider,
    interpreter: Box<dyn Interpreter>,
    /// What it observed on the last line.
    said: Vec<Observation>,
    is_heard: bool,
    session: Option<String>,
    /// The session is that of a launch beneath.
    yields: bool,
    /// It was told whose rules these are.
    is_introduced: bool,
}

/// Whether sessions are the launch's own, as it was when they were last named by their provider.
#[derive(Debug, Default)]
struct Sessions(BTreeMap<String, bool>);

impl Sessions {
    fn ask(&mut self, session: &str, is_own: IsOwn<'_>) -> bool {
        let answer = is_own(session);
        self.0.insert(session.to_owned(), answer);
        answer
    }

    fn recall(&mut self, session: &str, is_own: IsOwn<'_>) -> bool {
        self.0.get(session).copied().unwrap_or_else(|| self.ask(session, is_own))
    }
}

/// Tells whether a session is the launch's own.
pub(super) type IsOwn<'a> = &'a mut dyn FnMut(&str) -> bool;

impl Speakers {
    /// Returns the rules of the provider that the stream is said to be of, if there are any.
    pub(super) fn named(provider: &Provider, start: SessionStart) -> Option<Self> {
        let speaker = Speaker { is_heard: true, ..Speaker::new(provider, start)? };
        Some(Self { all: vec![speaker], last: 0, line: Vec::new(), sessions: Sessions::default() })
    }

    /// Returns the rules of all providers, for a stream that begins as one's.
    pub(super) fn recognised(provider: &Provider, start: SessionStart) -> Option<Self> {
        let mut speakers = Self::named(provider, start)?;
        let others = PROVIDERS.iter().filter(|other| *other != provider);
        speakers.all.extend(others.filter_map(|other| Speaker::new(other, start)));
        Some(speakers)
    }

    /// Takes the next bytes of the stream, and adds what is observed of the launch's own sessions to `out`.
    pub(super) fn push(&mut self, bytes: &[u8], is_own: IsOwn<'_>, out: &mut Vec<Observation>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            for speaker in &mut self.all {
                speaker.interpreter.push(piece, &mut speaker.said);
            }
            let is_end = piece.ends_with(b"\n");
            if is_end && self.line.is_empty() {
                self.take(piece, is_own, out);
                continue;
            }
            let room = LINE.saturating_sub(self.line.len());
            self.line.extend(piece.iter().take(room));
            if is_end {
                self.take_held(is_own, out);
            }
        }
    }

    /// Takes the end of the stream.
    pub(super) fn finish(&mut self, is_own: IsOwn<'_>, out: &mut Vec<Observation>) {
        for speaker in &mut self.all {
            speaker.interpreter.finish(&mut speaker.said);
        }
        self.take_held(is_own, out);
    }

    fn take_held(&mut self, is_own: IsOwn<'_>, out: &mut Vec<Observation>) {
        let mut line = mem::take(&mut self.line);
        self.take(&line, is_own, out);
        line.clear();
        self.line = line;
    }

    /// Takes what was observed on a line.
    fn take(&mut self, line: &[u8], is_own: IsOwn<'_>, out: &mut Vec<Observation>) {
        for (place, speaker) in self.all.iter_mut().enumerate() {
            let names_session = speaker.said.iter().any(|said| session_of(said).is_some());
            speaker.is_heard |= names_session;
            if !speaker.is_heard {
                speaker.said.clear();
            } else if speaker.said.iter().any(|said| !matches!(said, Observation::Note(_))) {
                self.last = place;
                if !names_session && let Some(session) = speaker.other_session_on(line) {
                    speaker.yields = !self.sessions.recall(&session, is_own);
                    speaker.session = Some(session.clone());
                    let receipt = Receipt { provider_session_id: Some(session), ..Receipt::default() };
                    speaker.said.insert(0, Observation::Receipt(receipt));
                }
            }
        }
        for (place, speaker) in self.all.iter_mut().enumerate() {
            for said in mem::take(&mut speaker.said) {
                if let Some(session) = session_of(&said).filter(|session| speaker.session.as_deref() != Some(session)) {
                    speaker.yields = !self.sessions.ask(session, is_own);
                    speaker.session = Some(session.to_owned());
                }
                let is_note = matches!(said, Observation::Note(_));
                if speaker.yields || (is_note && place != self.last) {
                    continue;
                }
                if !is_note && !mem::replace(&mut speaker.is_introduced, true) {
                    let provider = Some(speaker.provider.clone());
                    out.push(Observation::Receipt(Receipt { provider, ..Receipt::default() }));
                }
                out.push(said);
            }
        }
    }
}

impl Speaker {
    fn new(provider: &Provider, start: SessionStart) -> Option<Self> {
        Some(Self {
            provider: provider.clone(),
            interpreter: interpreter_for(provider, start)?,
            said: Vec::new(),
            is_heard: false,
            session: None,
            yields: false,
            is_introduced: false,
        })
    }

    /// Returns the session that the line names, if that is not the one that the provider named last.
    fn other_session_on(&self, line: &[u8]) -> Option<String> {
        if self.session.as_ref().is_some_and(|session| memmem::find(line, session.as_bytes()).is_some()) {
            return None;
        }
        let mut scanner = SessionScanner::new(Provider::Unknown);
        scanner.push(line).or_else(|| scanner.finish())?.provider_session_id
    }
}

fn session_of(said: &Observation) -> Option<&str> {
    match said {
        Observation::Receipt(receipt) => receipt.provider_session_id.as_deref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
