//! What a harness did, retold without any of the machinery that records it: what ended how, and what was spent.

use std::collections::BTreeMap;

use trace_model::{id::LaunchId, turn::Outcome};

/// All launches of a story, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Reference {
    pub(super) launches: Vec<LaunchReference>,
    /// The launch that named a request first: all others replay it.
    request_owners: BTreeMap<u8, LaunchId>,
}

/// What is known of one launch.
#[derive(Debug)]
pub(super) struct LaunchReference {
    pub(super) id: LaunchId,
    pub(super) outcome: Option<Outcome>,
    /// The last one may run; no other one does.
    turns: Vec<TurnReference>,
    last_running_total: u64,
    cost: u64,
}

#[derive(Debug)]
struct TurnReference {
    runs: bool,
    name: Option<u8>,
    requests: BTreeMap<u8, u64>,
    figure: Option<u64>,
    events: Option<u64>,
}

impl TurnReference {
    const fn new() -> Self {
        Self { runs: true, name: None, requests: BTreeMap::new(), figure: None, events: None }
    }

    /// The finest that is known counts: requests, else the provider's figure for the turn, else the events.
    fn tokens(&self, owns: impl Fn(u8) -> bool) -> u64 {
        if self.requests.is_empty() {
            return self.figure.or(self.events).unwrap_or(0);
        }
        self.requests.iter().filter(|(key, _)| owns(**key)).map(|(_, tokens)| tokens).sum()
    }
}

impl Reference {
    pub(super) fn begin(&mut self, id: LaunchId) {
        let turns = vec![TurnReference::new()];
        self.launches.push(LaunchReference { id, outcome: None, turns, last_running_total: 0, cost: 0 });
    }

    /// Returns the launch if it has not ended.
    pub(super) fn open(&mut self, id: LaunchId) -> Option<&mut LaunchReference> {
        self.launches.iter_mut().find(|launch| launch.id == id && launch.outcome.is_none())
    }

    pub(super) fn request(&mut self, id: LaunchId, key: u8, tokens: u64) {
        let Some(launch) = self.open(id) else { return };
        let known = launch.turns.iter().position(|turn| turn.requests.contains_key(&key));
        let last = launch.turns.len() - 1;
        launch.turns[known.unwrap_or(last)].requests.insert(key, tokens);
        self.request_owners.entry(key).or_insert(id);
    }

    /// Returns the input tokens and the cost of a launch.
    pub(super) fn spent(&self, launch: &LaunchReference) -> (u64, u64) {
        let owns = |key| self.request_owners.get(&key) == Some(&launch.id);
        (launch.turns.iter().map(|turn| turn.tokens(owns)).sum(), launch.cost)
    }
}

impl LaunchReference {
    pub(super) fn begin_turn(&mut self) {
        self.finish_turn();
        self.turns.push(TurnReference::new());
    }

    pub(super) fn finish_turn(&mut self) {
        self.last().runs = false;
    }

    pub(super) fn finish(&mut self, outcome: Outcome) {
        self.outcome.get_or_insert(outcome);
    }

    /// Takes note of an event of a turn, as the provider names it.
    pub(super) fn hear(&mut self, name: Option<u8>) -> Option<usize> {
        let named = self.turns.iter().rposition(|turn| turn.name.is_some() && turn.name == name);
        let at = named.or_else(|| self.turns.iter().rposition(|turn| turn.runs))?;
        let turn = &mut self.turns[at];
        if turn.runs && turn.name.is_none() {
            turn.name = name;
        }
        Some(at)
    }

    pub(super) fn turn_figure(&mut self, name: Option<u8>, tokens: u64) {
        let at = self.hear(name).unwrap_or(self.turns.len() - 1);
        self.turns[at].figure = Some(tokens);
    }

    pub(super) fn event_tokens(&mut self, tokens: u64) {
        let events = &mut self.last().events;
        *events = Some(events.unwrap_or(0) + tokens);
    }

    /// A total that is less than the last one began anew.
    pub(super) fn running_total(&mut self, total: u64) {
        let before = if self.last_running_total <= total { self.last_running_total } else { 0 };
        self.cost += total - before;
        self.last_running_total = total;
    }

    fn last(&mut self) -> &mut TurnReference {
        self.turns.last_mut().unwrap()
    }
}
