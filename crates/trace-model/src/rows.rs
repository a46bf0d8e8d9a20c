//! Sets of rows: what one boundary changed, and all rows of a launch.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use crate::{
    context::{Asset, Decision},
    id::TurnId,
    launch::Launch,
    turn::Turn,
    usage::UsageRecord,
};

/// A turn with its context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRows {
    /// The turn.
    pub turn: Turn,
    /// Its assets, by position.
    pub assets: Vec<Asset>,
    /// Its decisions, by position.
    pub decisions: Vec<Decision>,
}

/// What happened to a launch's row at a boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchChange {
    /// It is new.
    Opened(Launch),
    /// It is there already and looks like this now.
    Updated(Launch),
    /// It is there already, and what it was imported from has more to it: its end may move, and that of its turns.
    Extended(Launch),
}

impl LaunchChange {
    /// Returns the row as it is after the change.
    pub const fn launch(&self) -> &Launch {
        match self {
            Self::Opened(launch) | Self::Updated(launch) | Self::Extended(launch) => launch,
        }
    }
}

/// What happened to a usage record at a boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a boundary has few of them, and nearly all are saved")]
pub enum UsageChange {
    /// It is new, or looks like this now.
    Saved(UsageRecord),
    /// A finer record stands instead of it.
    Deleted,
}

/// What one boundary changed in the rows of one launch. A ledger applies it as one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundaryRows {
    /// The launch.
    pub launch: LaunchChange,
    /// New turns, by ordinal, with their contexts.
    pub turns_opened: Vec<TurnRows>,
    /// Turns that were there already and look like this now.
    pub turns_updated: BTreeMap<TurnId, Turn>,
    /// Usage records by key.
    pub usage: BTreeMap<String, UsageChange>,
}

impl BoundaryRows {
    /// Returns the change of one launch's row and nothing else.
    pub const fn of_launch(launch: LaunchChange) -> Self {
        Self { launch, turns_opened: Vec::new(), turns_updated: BTreeMap::new(), usage: BTreeMap::new() }
    }

    /// Adds what a later boundary of the same launch changed, so that both are applied as one.
    pub fn merge(&mut self, later: Self) {
        self.launch = match (&self.launch, later.launch) {
            (LaunchChange::Opened(_), LaunchChange::Updated(launch) | LaunchChange::Extended(launch)) => {
                LaunchChange::Opened(launch)
            }
            (LaunchChange::Extended(_), LaunchChange::Updated(launch)) => LaunchChange::Extended(launch),
            (_, change) => change,
        };
        for (id, turn) in later.turns_updated {
            match self.turns_opened.iter_mut().find(|rows| rows.turn.id == id) {
                Some(rows) => rows.turn = turn,
                None => {
                    self.turns_updated.insert(id, turn);
                }
            }
        }
        self.turns_opened.extend(later.turns_opened);
        self.usage.extend(later.usage);
    }
}

/// All rows of one launch: what a fold over its artifacts yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchRows {
    /// The launch.
    pub launch: Launch,
    /// Its turns, by ordinal.
    pub turns: Vec<TurnRows>,
    /// Its usage records, by key.
    pub usage: BTreeMap<String, UsageRecord>,
}
