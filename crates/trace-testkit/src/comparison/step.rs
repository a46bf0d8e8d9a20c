//! Steps of a random run. A step is drawn without knowing what is there, and made to fit when its turn comes; so a run
//! can be shortened step by step, and what is left still fits.

mod reservations;

use std::collections::{BTreeMap, BTreeSet};

use proptest::{
    collection::{btree_set, vec},
    option,
    prelude::*,
    sample::{Index, select},
};
use trace_model::{
    control::Reservation,
    id::{LaunchId, TurnId},
    launch::{Launch, LaunchState},
    query::{LaunchCursor, LaunchQuery, Order},
    rows::{BoundaryRows, LaunchChange, LaunchRows, TurnRows, UsageChange},
    turn::{Turn, TurnState},
    usage::{UsageRecord, UsageReport},
    words::{LaunchOutcome, ReservationState},
};

use super::{Reopening, call::Call};
use crate::{samples, strategies, suite::Handle};

/// The launches of the world: some of their ids end alike.
const LAUNCHES: [u32; 12] = [1, 2, 3, 4, 5, 6, 0x1_0001, 0x1_0002, 0x1_0003, 0x2_0001, 0x2_0002, 0x2_0003];

/// The keys of usage records, of every origin.
const KEYS: [&str; 6] = ["msg_1", "msg_2", "é", "event:3", "turn:t1", "remainder:1:m"];

/// A step of a run.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// A call is made.
    Call(Box<Planned>),
    /// The ledger is closed and opened again.
    Reopen,
}

/// A call that is still to be made to fit, unless it is wild: then it may well be refused.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    plan: Plan,
    /// Choose among what there is.
    picks: [Index; 2],
    wild: bool,
}

#[derive(Debug, Clone)]
enum Plan {
    Open { launch: Launch, turns: Vec<TurnRows> },
    Change(Box<Change>),
    Replace { launch: Launch, turns: Vec<TurnRows>, usage: Vec<UsageReport> },
    Reserve(Reservation),
    Release,
    Reservation,
    Reservations,
    Launch,
    Find { digits: usize },
    Launches(LaunchQuery),
    Turns,
    Assets,
    Decisions,
    Usage,
}

/// What changes in a launch.
#[derive(Debug, Clone, Default)]
struct Change {
    launch: Option<Launch>,
    turn_opened: Option<TurnRows>,
    turn_updated: Option<Turn>,
    saved: Vec<UsageReport>,
    deleted: Vec<&'static str>,
}

/// The kinds of calls whose success is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    OpenLaunch,
    UpdateLaunch,
    OpenTurn,
    UpdateTurn,
    SaveUsage,
    DeleteUsage,
    ChangeSeveral,
    ReplaceLaunch,
    Reserve,
    Release,
    Reservation,
    Reservations,
    Launch,
    Find,
    Launches,
    Turns,
    Assets,
    Decisions,
    Usage,
}

impl Kind {
    pub(super) const ALL: [Self; 19] = [
        Self::OpenLaunch,
        Self::UpdateLaunch,
        Self::OpenTurn,
        Self::UpdateTurn,
        Self::SaveUsage,
        Self::DeleteUsage,
        Self::ChangeSeveral,
        Self::ReplaceLaunch,
        Self::Reserve,
        Self::Release,
        Self::Reservation,
        Self::Reservations,
        Self::Launch,
        Self::Find,
        Self::Launches,
        Self::Turns,
        Self::Assets,
        Self::Decisions,
        Self::Usage,
    ];
}

/// A random step.
pub(super) fn step(reopening: Reopening) -> BoxedStrategy<Step> {
    let picks = any::<[Index; 2]>();
    let call = (plan(), picks, prop::bool::weighted(0.2))
        .prop_map(|(plan, picks, wild)| Step::Call(Box::new(Planned { plan, picks, wild })));
    match reopening {
        Reopening::Never => call.boxed(),
        Reopening::Often => prop_oneof![20 => call, 1 => Just(Step::Reopen)].boxed(),
    }
}

fn plan() -> BoxedStrategy<Plan> {
    let turns = |range| vec(strategies::turn_rows(), range);
    let open = (strategies::launch(), turns(0..3)).prop_map(|(launch, turns)| Plan::Open { launch, turns });
    let replace = (strategies::launch(), turns(0..4), vec(usage_report(), 0..4))
        .prop_map(|(launch, turns, usage)| Plan::Replace { launch, turns, usage });
    prop_oneof![
        4 => open,
        12 => change().prop_map(|change| Plan::Change(Box::new(change))),
        3 => replace,
        3 => strategies::reservation().prop_map(Plan::Reserve),
        2 => Just(Plan::Release),
        2 => Just(Plan::Reservation),
        1 => Just(Plan::Reservations),
        1 => Just(Plan::Launch),
        2 => (4_usize..=32).prop_map(|digits| Plan::Find { digits }),
        3 => query().prop_map(Plan::Launches),
        2 => Just(Plan::Turns),
        2 => Just(Plan::Assets),
        2 => Just(Plan::Decisions),
        2 => Just(Plan::Usage),
    ]
    .boxed()
}

fn change() -> BoxedStrategy<Change> {
    let launch = || strategies::launch().prop_map(Some);
    let opened = || strategies::turn_rows().prop_map(Some);
    let updated = || strategies::turn().prop_map(Some);
    let saved = || vec(usage_report(), 1..4);
    let deleted = || vec(select(KEYS.as_slice()), 1..3);
    prop_oneof![
        2 => launch().prop_map(|launch| Change { launch, ..Change::default() }),
        3 => opened().prop_map(|turn_opened| Change { turn_opened, ..Change::default() }),
        3 => updated().prop_map(|turn_updated| Change { turn_updated, ..Change::default() }),
        4 => saved().prop_map(|saved| Change { saved, ..Change::default() }),
        1 => deleted().prop_map(|deleted| Change { deleted, ..Change::default() }),
        2 => (launch(), opened(), updated(), saved(), deleted()).prop_map(
            |(launch, turn_opened, turn_updated, saved, deleted)| {
                Change { launch, turn_opened, turn_updated, saved, deleted }
            }
        ),
    ]
    .boxed()
}

/// A report with a key of the world, and a request that other launches have too.
fn usage_report() -> impl Strategy<Value = UsageReport> {
    let times = vec![None, Some(samples::time(1)), Some(samples::time(2))];
    let requests = option::weighted(0.8, select(vec!["request 1", "request 2", "Request 2", "ré"]));
    (strategies::usage_report(), select(KEYS.as_slice()), requests, select(times)).prop_map(
        |(report, key, request_key, observed_at)| UsageReport {
            key: String::from(key),
            request_key: request_key.map(String::from),
            observed_at,
            ..report
        },
    )
}

fn query() -> impl Strategy<Value = LaunchQuery> {
    let rare =
        |strategy: BoxedStrategy<BTreeSet<LaunchOutcome>>| prop_oneof![3 => Just(BTreeSet::new()), 1 => strategy];
    let outcomes = rare(btree_set(strategies::word(LaunchOutcome::ALL), 1..3).boxed());
    let providers = prop_oneof![4 => Just(BTreeSet::new()), 1 => btree_set(strategies::provider(), 1..3)];
    let order = select(vec![Order::OldestFirst, Order::NewestFirst]);
    let bounds = (option::weighted(0.05, strategies::timestamp()), option::weighted(0.05, strategies::timestamp()));
    (outcomes, providers, order, bounds, option::weighted(0.3, 1_u32..6)).prop_map(
        |(outcomes, providers, order, (started_from, started_before), limit)| LaunchQuery {
            outcomes,
            providers,
            order,
            started_from,
            started_before,
            limit,
            ..LaunchQuery::default()
        },
    )
}

/// What there is when a step is made to fit.
#[derive(Debug, Default)]
pub(super) struct World {
    launches: Vec<Launch>,
    turns: Vec<Turn>,
    /// The turns that have assets.
    with_assets: Vec<TurnId>,
    /// The turns that have decisions.
    with_decisions: Vec<TurnId>,
    /// The launches that have usage records.
    with_usage: BTreeSet<LaunchId>,
    reservations: Vec<Reservation>,
}

impl World {
    /// Returns what a ledger holds.
    pub(super) async fn of(ledger: &Handle) -> Self {
        let launches = ledger.launches(&LaunchQuery::default()).await.unwrap();
        let reservations = ledger.reservations().await.unwrap();
        let mut world = Self { launches, reservations, ..Self::default() };
        for id in world.launches.iter().map(|launch| launch.header.id) {
            for turn in ledger.turns(id).await.unwrap().into_iter().map(|row| row.turn) {
                if !ledger.assets(turn.id).await.unwrap().is_empty() {
                    world.with_assets.push(turn.id);
                }
                if !ledger.decisions(turn.id).await.unwrap().is_empty() {
                    world.with_decisions.push(turn.id);
                }
                world.turns.push(turn);
            }
            if !ledger.usage(id).await.unwrap().is_empty() {
                world.with_usage.insert(id);
            }
        }
        world
    }

    fn has_turns(&self, launch: &Launch) -> bool {
        self.turns.iter().any(|turn| turn.launch_id == launch.header.id)
    }

    fn turns_of(&self, launch: LaunchId) -> Vec<&Turn> {
        self.turns.iter().filter(|turn| turn.launch_id == launch).collect()
    }
}

impl Planned {
    pub(super) fn kind(&self) -> Kind {
        match &self.plan {
            Plan::Open { .. } => Kind::OpenLaunch,
            Plan::Change(change) => change.kind(),
            Plan::Replace { .. } => Kind::ReplaceLaunch,
            Plan::Reserve(_) => Kind::Reserve,
            Plan::Release => Kind::Release,
            Plan::Reservation => Kind::Reservation,
            Plan::Reservations => Kind::Reservations,
            Plan::Launch => Kind::Launch,
            Plan::Find { .. } => Kind::Find,
            Plan::Launches(_) => Kind::Launches,
            Plan::Turns => Kind::Turns,
            Plan::Assets => Kind::Assets,
            Plan::Decisions => Kind::Decisions,
            Plan::Usage => Kind::Usage,
        }
    }

    /// Returns the call that fits what there is.
    pub(super) fn fit(&self, world: &World) -> Call {
        match &self.plan {
            Plan::Open { launch, turns } => Call::Apply(self.open(world, launch, turns)),
            Plan::Change(change) => Call::Apply(self.change(world, change)),
            Plan::Replace { launch, turns, usage } => Call::Replace(self.replace(launch, turns, usage)),
            Plan::Reserve(reservation) => Call::Reserve(Box::new(self.reserve(world, reservation))),
            Plan::Release => Call::Release(self.control_run(world, |state| state != ReservationState::Taken)),
            Plan::Reservation => Call::Reservation(self.control_run(world, |_| true)),
            Plan::Reservations => Call::Reservations,
            Plan::Launch => Call::Launch(self.launch(world, |_| true)),
            Plan::Find { digits } => {
                let id = self.launch(world, |_| true).as_uuid().simple().to_string();
                Call::Find(id[32 - digits..].parse().expect("they are four digits or more"))
            }
            Plan::Launches(query) => Call::Launches(self.query(world, query)),
            Plan::Turns => Call::Turns(self.launch(world, |launch| world.has_turns(launch))),
            Plan::Assets => Call::Assets(self.turn(&world.with_assets)),
            Plan::Decisions => Call::Decisions(self.turn(&world.with_decisions)),
            Plan::Usage => Call::Usage(self.launch(world, |launch| world.with_usage.contains(&launch.header.id))),
        }
    }

    /// Chooses a launch that is there, one of the fitting ones if there are any; a wild step, any of the world.
    fn launch(&self, world: &World, fits: impl Fn(&Launch) -> bool) -> LaunchId {
        if self.wild || world.launches.is_empty() {
            return samples::launch_id(*self.picks[0].get(&LAUNCHES));
        }
        let fitting: Vec<&Launch> = world.launches.iter().filter(|launch| fits(launch)).collect();
        let launch = if fitting.is_empty() { self.picks[0].get(&world.launches) } else { self.picks[0].get(&fitting) };
        launch.header.id
    }

    /// Chooses one of the turns; a wild step, any of the world.
    fn turn(&self, turns: &[TurnId]) -> TurnId {
        if self.wild || turns.is_empty() {
            return samples::turn_id(*self.picks[0].get(&LAUNCHES), 1);
        }
        *self.picks[1].get(turns)
    }

    fn open(&self, world: &World, launch: &Launch, turns: &[TurnRows]) -> BoundaryRows {
        let free: Vec<u32> = LAUNCHES.into_iter().filter(|n| !is_here(world, samples::launch_id(*n))).collect();
        let number =
            if self.wild || free.is_empty() { *self.picks[0].get(&LAUNCHES) } else { *self.picks[0].get(&free) };
        let mut launch = launch.clone();
        launch.header.id = samples::launch_id(number);
        let turns_opened = (1..).zip(turns).map(|(ordinal, rows)| placed(rows, number, ordinal)).collect();
        BoundaryRows { turns_opened, ..BoundaryRows::of_launch(LaunchChange::Opened(launch)) }
    }

    fn change(&self, world: &World, change: &Change) -> BoundaryRows {
        let fits = |launch: &Launch| {
            (change.turn_opened.is_none() || launch.state == LaunchState::Running)
                && (change.turn_updated.is_none() || world.has_turns(launch))
        };
        let id = self.launch(world, fits);
        let number = number_of(id);
        let old = world.launches.iter().find(|launch| launch.header.id == id);
        let unchanged = old.cloned().unwrap_or_else(|| samples::launch(number));
        let new = change.launch.as_ref().map_or_else(|| unchanged.clone(), |new| self.updated_launch(&unchanged, new));
        let turns = world.turns_of(id);
        let mut rows = BoundaryRows::of_launch(LaunchChange::Updated(new));
        if let Some(opened) = &change.turn_opened {
            let ordinal = if self.wild { 1 } else { turns.iter().map(|turn| turn.ordinal).max().unwrap_or(0) + 1 };
            rows.turns_opened.push(placed(opened, number, ordinal));
        }
        if let Some(updated) = &change.turn_updated {
            let old = if turns.is_empty() { None } else { Some(*self.picks[1].get(&turns)) };
            let turn = self.updated_turn(old, updated, number);
            rows.turns_updated.insert(turn.id, turn);
        }
        rows.usage.extend(change.deleted.iter().map(|key| (String::from(*key), UsageChange::Deleted)));
        let turns: Vec<TurnId> = turns.iter().map(|turn| turn.id).collect();
        let saved = change.saved.iter().map(|report| self.record(report, id, &turns));
        rows.usage.extend(saved.map(|record| (record.report.key.clone(), UsageChange::Saved(record))));
        rows
    }

    /// Returns the launch as it may change: it keeps its identity and its end.
    fn updated_launch(&self, old: &Launch, new: &Launch) -> Launch {
        let mut launch = new.clone();
        launch.header.id = old.header.id;
        if self.wild {
            return launch;
        }
        launch.header.run_id = old.header.run_id.clone();
        launch.header.process_id = old.header.process_id.clone();
        launch.header.started_at = old.header.started_at;
        if let LaunchState::Ended { .. } = old.state {
            launch.state = old.state;
        }
        launch
    }

    /// Returns the turn as it may change: it keeps its place and its end. Without an old one it is not there.
    fn updated_turn(&self, old: Option<&Turn>, new: &Turn, number: u32) -> Turn {
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
        if let (TurnState::Ended { .. }, false) = (old.state, self.wild) {
            turn.state = old.state;
        }
        turn
    }

    fn replace(&self, launch: &Launch, turns: &[TurnRows], usage: &[UsageReport]) -> LaunchRows {
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

    /// Returns the query, with names of a launch that is there; a wild step asks for names that nothing has.
    fn query(&self, world: &World, query: &LaunchQuery) -> LaunchQuery {
        let mut query = query.clone();
        if self.wild || world.launches.is_empty() {
            query.repos.insert(String::from("nowhere"));
            return query;
        }
        let launch = self.picks[0].get(&world.launches);
        match self.picks[1].index(8) {
            0 => query.runs.extend([launch.header.run_id.clone()]),
            1 => query.repos.extend([launch.header.repo.clone()]),
            2 => query.projects.extend(launch.header.project.clone()),
            3 => query.sessions.extend(launch.provider_session_id.clone()),
            4 => query.parents.extend(launch.header.parent_launch_id),
            5 => query.after = Some(LaunchCursor::of(launch)),
            _ => {}
        }
        query
    }
}

impl Change {
    fn kind(&self) -> Kind {
        match self {
            change if !change.is_single() => Kind::ChangeSeveral,
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

fn is_here(world: &World, id: LaunchId) -> bool {
    world.launches.iter().any(|launch| launch.header.id == id)
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
