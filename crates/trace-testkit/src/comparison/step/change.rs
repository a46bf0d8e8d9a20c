//! Steps that change launches, made to fit.

use std::collections::BTreeMap;

use proptest::{collection::vec, option, prelude::*, sample::select};
use trace_model::{
    id::{LaunchId, TurnId},
    launch::{Launch, LaunchState},
    rows::{BoundaryRows, LaunchChange, LaunchRows, TurnRows, UsageChange},
    turn::{Turn, TurnState},
    usage::{Agent, UsageRecord, UsageReport},
};

use super::{Kind, LAUNCHES, MODELS, PERIOD_SECONDS, Planned, World, agents, is_here};
use crate::{samples, strategies};

/// The keys of usage records, of every origin.
const KEYS: [&str; 7] = ["msg_1", "msg_2", "é", "event:3", "turn:t1", "remainder:1:m", "cost:t1"];

/// What changes in a launch.
#[derive(Debug, Clone, Default)]
pub(super) struct Change {
    launch: Option<Launch>,
    turn_opened: Option<TurnRows>,
    turn_updated: Option<Turn>,
    saved: Vec<UsageReport>,
    deleted: Vec<&'static str>,
    /// Whether there is more to what the launch was imported from, so that what ended may go on.
    is_extended: bool,
}

pub(super) fn change() -> BoxedStrategy<Change> {
    let launch = || strategies::launch().prop_map(Some);
    let opened = || strategies::turn_rows().prop_map(Some);
    let updated = || strategies::turn().prop_map(Some);
    let saved = || vec(usage_report(), 1..4);
    let deleted = || vec(select(KEYS.as_slice()), 1..3);
    let changes = prop_oneof![
        2 => launch().prop_map(|launch| Change { launch, ..Change::default() }),
        3 => opened().prop_map(|turn_opened| Change { turn_opened, ..Change::default() }),
        3 => updated().prop_map(|turn_updated| Change { turn_updated, ..Change::default() }),
        8 => saved().prop_map(|saved| Change { saved, ..Change::default() }),
        1 => deleted().prop_map(|deleted| Change { deleted, ..Change::default() }),
        2 => (launch(), opened(), updated(), saved(), deleted()).prop_map(
            |(launch, turn_opened, turn_updated, saved, deleted)| {
                Change { launch, turn_opened, turn_updated, saved, deleted, is_extended: false }
            }
        ),
    ];
    (changes, prop::bool::weighted(0.3)).prop_map(|(change, is_extended)| Change { is_extended, ..change }).boxed()
}

/// A report with a key of the world, and a request that other launches have too; it may be in a cell with others.
pub(super) fn usage_report() -> impl Strategy<Value = UsageReport> {
    let times = vec![None, Some(samples::time(1)), Some(samples::time(2)), Some(samples::time(PERIOD_SECONDS))];
    let models = option::weighted(0.8, select(MODELS.as_slice()));
    let agents = prop_oneof![2 => Just(Agent::Main), 1 => select(agents())];
    let requests = option::weighted(0.8, select(vec!["request 1", "request 2", "Request 2", "ré"]));
    let place = (select(times), models, agents);
    (strategies::usage_report(), select(KEYS.as_slice()), requests, place).prop_map(
        |(report, key, request_key, (observed_at, model, agent))| UsageReport {
            key: String::from(key),
            request_key: request_key.map(String::from),
            observed_at,
            model: model.map(String::from),
            agent,
            ..report
        },
    )
}

impl Planned {
    pub(super) fn open(&self, world: &World, launch: &Launch, turns: &[TurnRows]) -> BoundaryRows {
        let free: Vec<u32> = LAUNCHES.into_iter().filter(|n| !is_here(world, samples::launch_id(*n))).collect();
        let number =
            if self.wild || free.is_empty() { *self.picks[0].get(&LAUNCHES) } else { *self.picks[0].get(&free) };
        let mut launch = launch.clone();
        launch.header.id = samples::launch_id(number);
        let turns_opened = (1..).zip(turns).map(|(ordinal, rows)| placed(rows, number, ordinal)).collect();
        BoundaryRows { turns_opened, ..BoundaryRows::of_launch(LaunchChange::Opened(launch)) }
    }

    pub(super) fn change(&self, world: &World, change: &Change) -> BoundaryRows {
        let fits = |launch: &Launch| {
            (change.turn_opened.is_none() || change.is_extended || launch.state == LaunchState::Running)
                && (change.turn_updated.is_none() || world.has_turns(launch))
        };
        let id = self.launch(world, fits);
        let number = number_of(id);
        let old = world.launches.iter().find(|launch| launch.header.id == id);
        let unchanged = old.cloned().unwrap_or_else(|| samples::launch(number));
        let new = change
            .launch
            .as_ref()
            .map_or_else(|| unchanged.clone(), |new| self.updated_launch(&unchanged, new, change.is_extended));
        let turns = world.turns_of(id);
        let extend = if change.is_extended { LaunchChange::Extended } else { LaunchChange::Updated };
        let mut rows = BoundaryRows::of_launch(extend(new));
        if let Some(opened) = &change.turn_opened {
            let ordinal = if self.wild { 1 } else { turns.iter().map(|turn| turn.ordinal).max().unwrap_or(0) + 1 };
            rows.turns_opened.push(placed(opened, number, ordinal));
        }
        if let Some(updated) = &change.turn_updated {
            let old = if turns.is_empty() { None } else { Some(*self.picks[1].get(&turns)) };
            let turn = self.updated_turn(old, updated, number, change.is_extended);
            rows.turns_updated.insert(turn.id, turn);
        }
        rows.usage.extend(change.deleted.iter().map(|key| (String::from(*key), UsageChange::Deleted)));
        let turns: Vec<TurnId> = turns.iter().map(|turn| turn.id).collect();
        let saved = change.saved.iter().map(|report| self.record(report, id, &turns));
        rows.usage.extend(saved.map(|record| (record.report.key.clone(), UsageChange::Saved(record))));
        rows
    }

    /// Returns the launch as it may change: it keeps its identity and, unless it is extended, its end.
    fn updated_launch(&self, old: &Launch, new: &Launch, is_extended: bool) -> Launch {
        let mut launch = new.clone();
        launch.header.id = old.header.id;
        if self.wild {
            return launch;
        }
        launch.header.run_id = old.header.run_id.clone();
        launch.header.process_id = old.header.process_id.clone();
        launch.header.started_at = old.header.started_at;
        if let (LaunchState::Ended { .. }, false) = (old.state, is_extended) {
            launch.state = old.state;
        }
        launch
    }

    /// Returns the turn as it may change: it keeps its place and, unless its launch is extended, its end. Without an
    /// old one it is not there.
    fn updated_turn(&self, old: Option<&Turn>, new: &Turn, number: u32, is_extended: bool) -> Turn {
        let mut turn = new.clone();
        turn.launch_id = samples::launch_id(number);
        let Some(old) = old else {
            turn.id = samples::turn_id(number, 9);
            return turn;
        };
        turn.id = old.id;
        if !self.wild {
            turn.ordinal = old.ordinal;
            turn.started_at = old.started_at;
        }
        if let (TurnState::Ended { .. }, false) = (old.state, self.wild || is_extended) {
            turn.state = old.state;
        }
        turn
    }

    pub(super) fn replace(&self, launch: &Launch, turns: &[TurnRows], usage: &[UsageReport]) -> LaunchRows {
        let number = *self.picks[0].get(&LAUNCHES);
        let mut launch = launch.clone();
        launch.header.id = samples::launch_id(number);
        let mut turns: Vec<TurnRows> = (1..).zip(turns).map(|(ordinal, rows)| placed(rows, number, ordinal)).collect();
        if let (true, Some(last)) = (self.wild, turns.last_mut()) {
            // One of another launch, of this one at another place, or one that is free.
            last.turn.id = samples::turn_id(*self.picks[1].get(&LAUNCHES), 1);
            last.turn.ordinal = 1;
        }
        let ids: Vec<TurnId> = turns.iter().map(|rows| rows.turn.id).collect();
        let records = usage.iter().map(|report| self.record(report, launch.header.id, &ids));
        LaunchRows {
            usage: records.map(|record| (record.report.key.clone(), record)).collect::<BTreeMap<_, _>>(),
            launch,
            turns,
        }
    }

    /// Returns a record of one of the turns, or of none; a wild step, of a turn that may not be there.
    fn record(&self, report: &UsageReport, launch_id: LaunchId, turns: &[TurnId]) -> UsageRecord {
        let any = samples::turn_id(*self.picks[1].get(&LAUNCHES), 2);
        let choice: Vec<Option<TurnId>> = turns.iter().copied().map(Some).chain([None]).collect();
        let turn_id = if self.wild { Some(any) } else { *self.picks[1].get(&choice) };
        UsageRecord { launch_id, turn_id, report: report.clone() }
    }
}

impl Change {
    pub(super) fn kind(&self) -> Kind {
        match self {
            change if !change.is_single() => Kind::ChangeSeveral,
            Self { is_extended: true, .. } => Kind::Extend,
            Self { turn_opened: Some(_), .. } => Kind::OpenTurn,
            Self { turn_updated: Some(_), .. } => Kind::UpdateTurn,
            Self { launch: Some(_), .. } => Kind::UpdateLaunch,
            Self { saved, .. } if !saved.is_empty() => Kind::SaveUsage,
            _ => Kind::DeleteUsage,
        }
    }

    /// Tells whether only one thing changes.
    fn is_single(&self) -> bool {
        let parts = [
            self.launch.is_some(),
            self.turn_opened.is_some(),
            self.turn_updated.is_some(),
            !self.saved.is_empty(),
            !self.deleted.is_empty(),
        ];
        parts.into_iter().filter(|there| *there).count() == 1
    }
}

/// Returns the number in the world of a launch of the world.
fn number_of(id: LaunchId) -> u32 {
    LAUNCHES.into_iter().find(|n| samples::launch_id(*n) == id).expect("all launches are of the world")
}

/// Returns the rows as those of a turn of a launch of the world.
fn placed(rows: &TurnRows, number: u32, ordinal: u32) -> TurnRows {
    let mut rows = rows.clone();
    rows.turn.id = samples::turn_id(number, ordinal);
    rows.turn.launch_id = samples::launch_id(number);
    rows.turn.ordinal = ordinal;
    rows
}
