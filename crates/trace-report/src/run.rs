//! One run as the tree of its launches.

#[cfg(test)]
mod tests;
pub(crate) mod tree;

use alloc::{collections::BTreeMap, vec::Vec};

use serde::Serialize;
use trace_model::{
    id::{LaunchId, RunId, TurnId},
    launch::Launch,
    query::LaunchCursor,
    timestamp::Timestamp,
    totals::Totals,
    usage::UsageRow,
};

use crate::{SCHEMA_VERSION, launches::LaunchEntry};

/// The launches of a run, each beneath the one that started it.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// The schema of the document.
    pub schema_version: u32,
    /// The run.
    pub run_id: RunId,
    /// When its first launch began.
    pub started_at: Timestamp,
    /// When its last launch ended; absent while one runs.
    pub ended_at: Option<Timestamp>,
    /// The number of its launches.
    pub launch_count: u64,
    /// The launches that stand beneath no other one, by start, then id.
    pub launches: Vec<RunLaunch>,
    /// What the usage records of all launches add up to.
    pub totals: Totals,
}

/// A launch and what it started.
#[derive(Debug, Clone, Serialize)]
pub struct RunLaunch {
    /// Its row and its totals.
    #[serde(flatten)]
    pub entry: LaunchEntry,
    /// Where its parent stands.
    pub parent_place: ParentPlace,
    /// The number of the parent's turn that started it, if that is known.
    pub parent_turn_ordinal: Option<u32>,
    /// The launches that stand beneath it, by start, then id.
    pub children: Vec<RunLaunch>,
}

/// Where the parent of a launch stands in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ParentPlace {
    /// There is none.
    None,
    /// The launch stands beneath it.
    Above,
    /// The launch stands as deep as the tree goes, and its parent is before it at the same depth.
    Beside,
    /// The launch is its own ancestor: here the circle was cut.
    Circle,
    /// It is not among the launches of the run.
    Missing,
}

/// The numbers of the turns that started launches, by the parent and its turn.
pub type TurnOrdinals = BTreeMap<(LaunchId, TurnId), u32>;

impl RunReport {
    /// The levels that the tree has at most. A launch further down stands beside its parent. Each level takes two of a
    /// JSON document's, and many parsers read no more than 128 of those.
    pub const DEEPEST: usize = 60;

    /// Returns the report of a run, of all of its launches with their usage records; `None` if there are none.
    ///
    /// Every launch is in it once, whatever their parents say.
    pub fn new(
        run_id: RunId,
        launches: impl IntoIterator<Item = (Launch, Vec<UsageRow>)>,
        ordinals: &TurnOrdinals,
    ) -> Option<Self> {
        let mut usage = Vec::new();
        let mut entries = Vec::new();
        for (launch, mut rows) in launches {
            entries.push(LaunchEntry { launch, totals: Totals::of(&rows) });
            usage.append(&mut rows);
        }
        entries.sort_by_key(|entry| LaunchCursor::of(&entry.launch));
        let ends = || entries.iter().map(|entry| entry.launch.state.columns().0);
        Some(Self {
            schema_version: SCHEMA_VERSION,
            run_id,
            started_at: entries.first()?.launch.header.started_at,
            ended_at: if ends().all(|end| end.is_some()) { ends().flatten().max() } else { None },
            launch_count: u64::try_from(entries.len()).unwrap_or(u64::MAX),
            launches: tree(entries, ordinals),
            totals: Totals::of(&usage),
        })
    }
}

/// Returns the launches, which are in order, as trees.
fn tree(entries: Vec<LaunchEntry>, ordinals: &TurnOrdinals) -> Vec<RunLaunch> {
    let places: BTreeMap<LaunchId, usize> =
        entries.iter().enumerate().map(|(place, entry)| (entry.launch.header.id, place)).collect();
    let parent = |entry: &LaunchEntry| places.get(&entry.launch.header.parent_launch_id?).copied();
    let mut parents: Vec<Option<usize>> = entries.iter().map(parent).collect();
    let cuts = tree::cut_circles(&mut parents);

    let mut entries: Vec<Option<LaunchEntry>> = entries.into_iter().map(Some).collect();
    let steps = tree::preorder(&parents).into_iter().filter_map(|tree::Step { place, depth }| {
        let entry = entries.get_mut(place)?.take()?;
        let parent_place = match (entry.launch.header.parent_launch_id, depth) {
            (None, _) => ParentPlace::None,
            (Some(_), 0) if cuts.contains(&place) => ParentPlace::Circle,
            (Some(_), 0) => ParentPlace::Missing,
            (Some(_), depth) if depth < RunReport::DEEPEST => ParentPlace::Above,
            (Some(_), _) => ParentPlace::Beside,
        };
        let header = &entry.launch.header;
        let turn = header.parent_launch_id.zip(header.parent_turn_id);
        let parent_turn_ordinal = turn.and_then(|turn| ordinals.get(&turn).copied());
        let launch = RunLaunch { entry, parent_place, parent_turn_ordinal, children: Vec::new() };
        Some((depth.min(RunReport::DEEPEST - 1), launch))
    });
    nest(steps)
}

/// Returns the trees of launches that come in the order of the tree, each with its depth.
fn nest(steps: impl Iterator<Item = (usize, RunLaunch)>) -> Vec<RunLaunch> {
    let mut roots = Vec::new();
    let mut open: Vec<RunLaunch> = Vec::new();
    let close = |open: &mut Vec<RunLaunch>, roots: &mut Vec<RunLaunch>, depth: usize| {
        while open.len() > depth {
            let Some(launch) = open.pop() else { break };
            open.last_mut().map_or(&mut *roots, |parent| &mut parent.children).push(launch);
        }
    };
    for (depth, launch) in steps {
        close(&mut open, &mut roots, depth);
        open.push(launch);
    }
    close(&mut open, &mut roots, 0);
    roots
}
