//! The rows, in the orders in which they are asked for. Nothing here can fail: `check` has looked before.

use std::collections::{BTreeMap, BTreeSet};

use trace_model::{
    context::{Asset, Decision},
    control::Reservation,
    id::{ControlRunId, LaunchId, TurnId},
    launch::Launch,
    rows::{BoundaryRows, LaunchChange, LaunchRows, TurnRows, UsageChange},
    timestamp::Timestamp,
    turn::Turn,
    usage::{UsageRecord, UsageRow},
    usage_query::{CostEntry, PriceVersion},
    usage_sum::ComputedCost,
    words::ReservationState,
};

/// All rows.
#[derive(Debug, Default)]
pub(crate) struct State {
    launches: BTreeMap<LaunchId, Launch>,
    turns: BTreeMap<TurnId, Turn>,
    /// The turn at each ordinal of a launch.
    ordinals: BTreeMap<(LaunchId, u32), TurnId>,
    contexts: BTreeMap<TurnId, Context>,
    usage: BTreeMap<(LaunchId, String), UsageRecord>,
    /// The records of each request key: the first one counts.
    requests: BTreeMap<String, BTreeSet<Seniority>>,
    reservations: BTreeMap<LaunchId, Reservation>,
    /// What each record costs, and by which version of the prices.
    costs: BTreeMap<(LaunchId, String), (PriceVersion, ComputedCost)>,
}

/// What the prompts of a turn consist of, by position.
#[derive(Debug)]
struct Context {
    assets: BTreeMap<u32, Asset>,
    decisions: BTreeMap<u32, Decision>,
}

/// A record that was taken out, and what was known of its cost.
type Deleted = (UsageRecord, Option<(PriceVersion, ComputedCost)>);

/// [`UsageRecord::seniority`], owned.
type Seniority = (bool, Option<Timestamp>, LaunchId, String);

impl State {
    pub(crate) fn launch(&self, id: LaunchId) -> Option<&Launch> {
        self.launches.get(&id)
    }

    pub(crate) fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.launches.values()
    }

    pub(crate) fn turn(&self, id: TurnId) -> Option<&Turn> {
        self.turns.get(&id)
    }

    pub(crate) fn turn_at(&self, launch: LaunchId, ordinal: u32) -> Option<&Turn> {
        self.turns.get(self.ordinals.get(&(launch, ordinal))?)
    }

    pub(crate) fn turns(&self, launch: LaunchId) -> impl Iterator<Item = &Turn> {
        let places = self.ordinals.range((launch, 0)..=(launch, u32::MAX));
        places.filter_map(|(_, id)| self.turns.get(id))
    }

    pub(crate) fn assets(&self, turn: TurnId) -> impl Iterator<Item = &Asset> {
        self.contexts.get(&turn).into_iter().flat_map(|context| context.assets.values())
    }

    pub(crate) fn decisions(&self, turn: TurnId) -> impl Iterator<Item = &Decision> {
        self.contexts.get(&turn).into_iter().flat_map(|context| context.decisions.values())
    }

    pub(crate) fn usage(&self, launch: LaunchId) -> Vec<UsageRow> {
        let records = self.records(launch).cloned();
        records.map(|record| UsageRow { replay_of: self.replay_of(&record), record }).collect()
    }

    fn records(&self, launch: LaunchId) -> impl Iterator<Item = &UsageRecord> {
        let from_launch = self.usage.range((launch, String::new())..);
        from_launch.map(|(_, record)| record).take_while(move |record| record.launch_id == launch)
    }

    pub(crate) fn all_usage(&self) -> impl Iterator<Item = &UsageRecord> {
        self.usage.values()
    }

    /// Returns what the record is known to cost by that version of the prices.
    pub(crate) fn cost(&self, record: &UsageRecord, version: Option<&PriceVersion>) -> ComputedCost {
        match self.costs.get(&(record.launch_id, record.report.key.clone())) {
            Some((of, cost)) if Some(of) == version => *cost,
            _ => ComputedCost::NotYet,
        }
    }

    pub(crate) fn save_cost(&mut self, version: &PriceVersion, entry: &CostEntry) {
        let place = (entry.record.launch_id, entry.record.report.key.clone());
        if self.usage.get(&place) == Some(&entry.record) {
            let cost = entry.cost.map_or(ComputedCost::NoPrice, ComputedCost::Priced);
            self.costs.insert(place, (version.clone(), cost));
        }
    }

    fn replay_of(&self, record: &UsageRecord) -> Option<LaunchId> {
        let first = self.requests.get(record.report.request_key.as_ref()?)?.first()?;
        (*first != seniority(record)).then_some(first.2)
    }

    pub(crate) fn reservations(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.values()
    }

    /// Returns the reservation that is the control run's.
    pub(crate) fn reservation(&self, run: &ControlRunId) -> Option<&Reservation> {
        self.reservations().filter(|reservation| reservation.control.run_id == *run).max_by_key(|one| one.precedence())
    }

    pub(crate) fn insert_reservation(&mut self, reservation: Reservation) {
        self.reservations.insert(reservation.launch_id, reservation);
    }

    /// Gives up the reservation of the launch.
    pub(crate) fn release(&mut self, launch: LaunchId) {
        self.set_reservation(launch, ReservationState::Released);
    }

    fn set_reservation(&mut self, launch: LaunchId, state: ReservationState) {
        if let Some(reservation) = self.reservations.get_mut(&launch) {
            reservation.state = state;
        }
    }

    /// Applies the rows of a boundary, which were checked.
    pub(crate) fn apply(&mut self, rows: &BoundaryRows) {
        let launch = rows.launch.launch();
        self.launches.insert(launch.header.id, launch.clone());
        if let LaunchChange::Opened(_) = rows.launch {
            self.set_reservation(launch.header.id, ReservationState::Taken);
        }
        for turn in &rows.turns_opened {
            self.insert_turn(turn);
        }
        for turn in rows.turns_updated.values() {
            self.turns.insert(turn.id, turn.clone());
        }
        for (key, change) in &rows.usage {
            let old = self.delete_usage(launch.header.id, key);
            if let UsageChange::Saved(record) = change {
                self.insert_usage(record, old);
            }
        }
    }

    /// Puts the rows, which were checked, in place of those of the launch.
    pub(crate) fn replace_launch(&mut self, rows: &LaunchRows) {
        let id = rows.launch.header.id;
        let keys: Vec<String> = self.records(id).map(|record| record.report.key.clone()).collect();
        let mut old: BTreeMap<String, Deleted> =
            keys.into_iter().filter_map(|key| Some((key.clone(), self.delete_usage(id, &key)?))).collect();
        let turns: Vec<(u32, TurnId)> = self.turns(id).map(|turn| (turn.ordinal, turn.id)).collect();
        for (ordinal, turn) in turns {
            self.turns.remove(&turn);
            self.ordinals.remove(&(id, ordinal));
            self.contexts.remove(&turn);
        }
        self.launches.insert(id, rows.launch.clone());
        self.set_reservation(id, ReservationState::Taken);
        for turn in &rows.turns {
            self.insert_turn(turn);
        }
        for record in rows.usage.values() {
            let old = old.remove(&record.report.key);
            self.insert_usage(record, old);
        }
    }

    fn insert_turn(&mut self, rows: &TurnRows) {
        let turn = &rows.turn;
        self.ordinals.insert((turn.launch_id, turn.ordinal), turn.id);
        self.turns.insert(turn.id, turn.clone());
        let context = Context {
            assets: rows.assets.iter().map(|asset| (asset.position, asset.clone())).collect(),
            decisions: rows.decisions.iter().map(|decision| (decision.position, decision.clone())).collect(),
        };
        self.contexts.insert(turn.id, context);
    }

    /// Adds a record; one that is as it was keeps what is known of its cost.
    fn insert_usage(&mut self, record: &UsageRecord, old: Option<Deleted>) {
        if let Some((_, Some(cost))) = old.filter(|(old, _)| old == record) {
            self.costs.insert((record.launch_id, record.report.key.clone()), cost);
        }
        if let Some(request) = &record.report.request_key {
            self.requests.entry(request.clone()).or_default().insert(seniority(record));
        }
        self.usage.insert((record.launch_id, record.report.key.clone()), record.clone());
    }

    fn delete_usage(&mut self, launch: LaunchId, key: &str) -> Option<Deleted> {
        let place = (launch, String::from(key));
        let old = self.usage.remove(&place)?;
        let cost = self.costs.remove(&place);
        if let Some(request) = &old.report.request_key
            && let Some(all) = self.requests.get_mut(request)
        {
            all.remove(&seniority(&old));
            if all.is_empty() {
                self.requests.remove(request);
            }
        }
        Some((old, cost))
    }
}

fn seniority(record: &UsageRecord) -> Seniority {
    let (without_time, observed_at, launch, key) = record.seniority();
    (without_time, observed_at, launch, String::from(key))
}
