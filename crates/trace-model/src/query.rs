//! Which launches are wanted.

use alloc::{collections::BTreeSet, string::String, vec::Vec};

use crate::{
    id::{LaunchId, RunId},
    launch::Launch,
    timestamp::Timestamp,
    words::{LaunchOutcome, Provider},
};

/// Which launches are wanted, in which order, and how many.
///
/// An empty set allows everything. [`matches`](Self::matches) and [`select`](Self::select) define the meaning; a ledger
/// may find the answer in any way that gives the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaunchQuery {
    /// The allowed runs.
    pub runs: BTreeSet<RunId>,
    /// The allowed parents; a launch without a parent is in no set.
    pub parents: BTreeSet<LaunchId>,
    /// The allowed providers.
    pub providers: BTreeSet<Provider>,
    /// The allowed outcomes.
    pub outcomes: BTreeSet<LaunchOutcome>,
    /// The allowed repositories.
    pub repos: BTreeSet<String>,
    /// The allowed projects; a launch without a project is in no set.
    pub projects: BTreeSet<String>,
    /// The allowed sessions of a provider; a launch without a session is in no set.
    pub sessions: BTreeSet<String>,
    /// The earliest start.
    pub started_from: Option<Timestamp>,
    /// The first start that is too late.
    pub started_before: Option<Timestamp>,
    /// The order.
    pub order: Order,
    /// The place to go on from: launches up to it, in the wanted order, are left out.
    pub after: Option<LaunchCursor>,
    /// The largest number of launches.
    pub limit: Option<u32>,
}

/// The order of launches: by start, then id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The first one first.
    #[default]
    OldestFirst,
    /// The last one first.
    NewestFirst,
}

/// A place in the order of launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaunchCursor {
    /// The start of the launch at this place.
    pub started_at: Timestamp,
    /// Its id.
    pub id: LaunchId,
}

impl LaunchCursor {
    /// Returns the place of the launch.
    pub const fn of(launch: &Launch) -> Self {
        Self { started_at: launch.header.started_at, id: launch.header.id }
    }
}

impl LaunchQuery {
    /// Tells whether the launch is wanted, apart from the limit.
    pub fn matches(&self, launch: &Launch) -> bool {
        self.allows(launch)
            && self.after.is_none_or(|after| match self.order {
                Order::OldestFirst => after < LaunchCursor::of(launch),
                Order::NewestFirst => LaunchCursor::of(launch) < after,
            })
    }

    /// Tells whether the launch is one of those that are asked for, on whichever page.
    pub fn allows(&self, launch: &Launch) -> bool {
        let header = &launch.header;
        allows(&self.runs, Some(&header.run_id))
            && allows(&self.parents, header.parent_launch_id.as_ref())
            && allows(&self.providers, Some(&header.provider))
            && allows(&self.outcomes, Some(&launch.state.columns().1))
            && allows(&self.repos, Some(&header.repo))
            && allows(&self.projects, header.project.as_ref())
            && allows(&self.sessions, launch.provider_session_id.as_ref())
            && self.started_from.is_none_or(|from| from <= header.started_at)
            && self.started_before.is_none_or(|before| header.started_at < before)
    }

    /// Returns the wanted ones of all launches, in order.
    pub fn select<'a>(&self, launches: impl IntoIterator<Item = &'a Launch>) -> Vec<Launch> {
        let mut wanted: Vec<&Launch> = launches.into_iter().filter(|launch| self.matches(launch)).collect();
        wanted.sort_by_key(|launch| LaunchCursor::of(launch));
        if self.order == Order::NewestFirst {
            wanted.reverse();
        }
        let limit = self.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        wanted.into_iter().take(limit).cloned().collect()
    }
}

fn allows<T: Ord>(allowed: &BTreeSet<T>, value: Option<&T>) -> bool {
    allowed.is_empty() || value.is_some_and(|value| allowed.contains(value))
}
