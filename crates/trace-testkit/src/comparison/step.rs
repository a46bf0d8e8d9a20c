//! Steps of a random run. A step is drawn without knowing what is there, and made to fit when its turn comes; so a run
//! can be shortened step by step, and what is left still fits.

mod change;
mod costs;
mod queries;
mod reservations;

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*, sample::Index};
use trace_model::{
    control::Reservation,
    id::{LaunchId, TurnId},
    launch::Launch,
    query::LaunchQuery,
    rows::TurnRows,
    turn::Turn,
    usage::{Agent, UsageRecord, UsageReport},
    usage_query::{PriceVersion, UsageQuery},
    words::ReservationState,
};

use self::change::Change;
pub(super) use self::costs::price_versions;
use super::{Reopening, call::Call};
use crate::{samples, strategies, suite::Handle};

/// The launches of the world: some of their ids end alike.
const LAUNCHES: [u32; 12] = [1, 2, 3, 4, 5, 6, 0x1_0001, 0x1_0002, 0x1_0003, 0x2_0001, 0x2_0002, 0x2_0003];

/// The models of the world.
const MODELS: [&str; 3] = ["claude-opus-4-8", "Claude-Opus-4-8", "gpt-5"];

/// How many seconds are in a period of usage.
const PERIOD_SECONDS: u32 = 900;

/// Returns the agents of the world.
fn agents() -> Vec<Agent> {
    vec![Agent::Main, Agent::Sub(String::from("sub-1")), Agent::Sub(String::from("Sub-1"))]
}

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
    UsageCells(UsageQuery),
    Uncosted { version: PriceVersion, limit: u32 },
    SaveCosts { version: PriceVersion, costs: Vec<(Index, Option<u64>)> },
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
    Extend,
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
    UsageCells,
    Uncosted,
    SaveCosts,
}

impl Kind {
    pub(super) const ALL: [Self; 23] = [
        Self::OpenLaunch,
        Self::UpdateLaunch,
        Self::OpenTurn,
        Self::UpdateTurn,
        Self::SaveUsage,
        Self::DeleteUsage,
        Self::Extend,
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
        Self::UsageCells,
        Self::Uncosted,
        Self::SaveCosts,
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
    let replace = (strategies::launch(), turns(0..4), vec(change::usage_report(), 0..6))
        .prop_map(|(launch, turns, usage)| Plan::Replace { launch, turns, usage });
    prop_oneof![
        4 => open,
        18 => change::change().prop_map(|change| Plan::Change(Box::new(change))),
        3 => replace,
        3 => strategies::reservation().prop_map(Plan::Reserve),
        2 => Just(Plan::Release),
        2 => Just(Plan::Reservation),
        1 => Just(Plan::Reservations),
        1 => Just(Plan::Launch),
        2 => (4_usize..=32).prop_map(|digits| Plan::Find { digits }),
        3 => queries::launches().prop_map(Plan::Launches),
        2 => Just(Plan::Turns),
        2 => Just(Plan::Assets),
        2 => Just(Plan::Decisions),
        2 => Just(Plan::Usage),
        5 => costs::usage_query().prop_map(Plan::UsageCells),
        3 => costs::uncosted().prop_map(|(version, limit)| Plan::Uncosted { version, limit }),
        4 => costs::costs().prop_map(|(version, costs)| Plan::SaveCosts { version, costs }),
    ]
    .boxed()
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
    usage: Vec<UsageRecord>,
    /// The records that have no cost, by versions of the prices.
    uncosted: BTreeMap<PriceVersion, Vec<UsageRecord>>,
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
            let usage = ledger.usage(id).await.unwrap();
            if !usage.is_empty() {
                world.with_usage.insert(id);
            }
            world.usage.extend(usage.into_iter().map(|row| row.record));
        }
        for version in price_versions() {
            let records = ledger.uncosted(&version, u32::MAX).await.unwrap();
            world.uncosted.insert(version, records);
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
            Plan::UsageCells(_) => Kind::UsageCells,
            Plan::Uncosted { .. } => Kind::Uncosted,
            Plan::SaveCosts { .. } => Kind::SaveCosts,
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
            Plan::Launches(query) => Call::Launches(self.launch_query(world, query)),
            Plan::Turns => Call::Turns(self.launch(world, |launch| world.has_turns(launch))),
            Plan::Assets => Call::Assets(self.turn(&world.with_assets)),
            Plan::Decisions => Call::Decisions(self.turn(&world.with_decisions)),
            Plan::Usage => Call::Usage(self.launch(world, |launch| world.with_usage.contains(&launch.header.id))),
            Plan::UsageCells(query) => Call::UsageCells(self.usage_query(world, query)),
            Plan::Uncosted { version, limit } => Call::Uncosted(version.clone(), *limit),
            Plan::SaveCosts { version, costs } => Call::SaveCosts(version.clone(), self.costs(world, version, costs)),
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
}

fn is_here(world: &World, id: LaunchId) -> bool {
    world.launches.iter().any(|launch| launch.header.id == id)
}
