//! What the agents used, by time, session, model, project, agent or window of five hours.
//!
//! [`UsageView::new`] groups the cells that a ledger answers; [`totals`] says what a group adds up to, [`windows`] are
//! the windows of five hours, and [`check`] holds a view against limits. Days are the caller's: it says which day,
//! week or month a time is in.

mod agents;
pub mod check;
pub mod totals;
pub mod windows;

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::{String, ToString},
    vec::Vec,
};
use core::{cmp::Reverse, iter};

use serde::{Serialize, Serializer};
use trace_model::{
    id::LaunchId,
    launch::Launch,
    timestamp::Timestamp,
    usage::Agent,
    usage_query::{PriceVersion, UsageCell},
    words::Provider,
};

use self::{agents::ToldTogether, totals::UsageTotals, windows::Window};
use crate::SCHEMA_VERSION;

/// What the rows of a view are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UsageBy {
    /// Days.
    #[default]
    Daily,
    /// Weeks, which begin on Monday.
    Weekly,
    /// Months.
    Monthly,
    /// Sessions of the providers.
    Session,
    /// Models.
    Model,
    /// Projects.
    Project,
    /// Agents of sessions: the main one, and its subagents. What is told of several agents together is in a row without
    /// an agent, and what is known of each of them is a lower bound then.
    Agent,
    /// Windows of five hours of one provider.
    Blocks,
}

impl UsageBy {
    /// Every one, in the order of its declaration.
    pub const ALL: &[Self] = &[
        Self::Daily,
        Self::Weekly,
        Self::Monthly,
        Self::Session,
        Self::Model,
        Self::Project,
        Self::Agent,
        Self::Blocks,
    ];

    /// Returns its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
            Self::Session => "session",
            Self::Model => "model",
            Self::Project => "project",
            Self::Agent => "agent",
            Self::Blocks => "blocks",
        }
    }
}

impl Serialize for UsageBy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The usage of a stretch of time, in rows.
#[derive(Debug, Clone, Serialize)]
pub struct UsageView {
    /// The schema of the document.
    pub schema_version: u32,
    /// What the rows are.
    pub by: UsageBy,
    /// The time zone of the days.
    pub time_zone: String,
    /// The prices that costs were computed by.
    pub price_version: PriceVersion,
    /// The rows: times in order, sessions by their start, everything else with the dearest first.
    pub rows: Vec<UsageEntry>,
    /// What all of it adds up to.
    pub totals: UsageTotals,
    /// What has no computed cost.
    pub unpriced: Vec<Unpriced>,
    /// What a reader has to know of the figures.
    pub notes: Vec<String>,
}

/// One row.
#[derive(Debug, Clone, Serialize)]
pub struct UsageEntry {
    /// What it is of: a day, a month, the id of a session, a model, a project, an agent. Unknown for usage that names
    /// none.
    pub key: Option<String>,
    /// What is known of it.
    #[serde(flatten)]
    pub subject: Subject,
    /// What it adds up to.
    pub totals: UsageTotals,
    /// The same by model, the dearest first, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<ModelUsage>>,
}

/// What is known of a row that is not about time alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Subject {
    /// Whose agent it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    /// The session, by the provider's id, or the launch where that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The first launch of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch_id: Option<LaunchId>,
    /// When that began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The project: its label, or the folder that the agent worked in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// What kind of agent the provider calls a subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The tool call that a subagent runs under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<String>,
    /// What a subagent was asked, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

/// What one model used.
#[derive(Debug, Clone, Serialize)]
pub struct ModelUsage {
    /// The model; unknown where the records name none.
    pub model: Option<String>,
    /// What it adds up to.
    pub totals: UsageTotals,
}

/// Usage without a computed cost: its model has no price, or the records name none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unpriced {
    /// Whose agent used it.
    pub provider: Provider,
    /// The model; unknown where the records name none.
    pub model: Option<String>,
    /// The records without a cost.
    pub records: u64,
    /// The tokens of the cells that hold them.
    pub total_tokens: Option<u64>,
}

/// What a view is made of.
#[derive(Clone, Copy)]
pub struct UsageParts<'a> {
    /// The launches of the cells.
    pub launches: &'a BTreeMap<LaunchId, Launch>,
    /// The cells.
    pub cells: &'a [UsageCell],
    /// Tells whether a cell is wanted. The others count nothing; but where windows are rows, a window begins where it
    /// does for all usage of its provider.
    pub wanted: &'a dyn Fn(&UsageCell) -> bool,
    /// The prices that their costs were computed by.
    pub price_version: &'a PriceVersion,
    /// The time of the moment.
    pub now: Timestamp,
}

/// How a view is laid out.
#[derive(Clone, Copy)]
pub struct UsageLayout<'a> {
    /// What the rows are.
    pub by: UsageBy,
    /// Whether each row has its models.
    pub breakdown: bool,
    /// The time zone's name.
    pub time_zone: &'a str,
    /// Returns the day, week or month of a time, in a form that sorts as time does; where rows are windows, the
    /// minute.
    pub label: &'a dyn Fn(Timestamp) -> String,
}

impl UsageParts<'_> {
    fn wants(&self, cell: &UsageCell) -> bool {
        self.launches.contains_key(&cell.launch_id) && (self.wanted)(cell)
    }
}

/// The cells of a row, under what they have in common.
type Group<'a> = (Subject, Vec<&'a UsageCell>);

impl UsageView {
    /// Returns the view of the wanted cells. A cell of a launch that is not among the launches is left out.
    pub fn new(parts: UsageParts<'_>, layout: UsageLayout<'_>) -> Self {
        let cells: Vec<&UsageCell> = parts.cells.iter().filter(|cell| parts.wants(cell)).collect();
        let told_together = ToldTogether::of(parts.cells);
        let mut notes = Vec::new();
        let groups = if layout.by == UsageBy::Blocks {
            notes.extend(note_of_undated(&cells));
            windows::groups(&parts)
        } else {
            groups(&parts, layout, &cells, &told_together)
        };
        let mut rows: Vec<UsageEntry> =
            groups.into_iter().map(|group| entry(&parts, layout, group, &told_together)).collect();
        sort(layout.by, &mut rows);
        Self {
            schema_version: SCHEMA_VERSION,
            by: layout.by,
            time_zone: layout.time_zone.to_string(),
            price_version: parts.price_version.clone(),
            rows,
            totals: UsageTotals::of(parts.launches, &cells),
            unpriced: unpriced(&parts, &cells),
            notes,
        }
    }
}

/// Returns what names the session of a launch: sessions that go on in another launch are one.
pub fn session_of(launch: &Launch) -> String {
    launch.provider_session_id.clone().unwrap_or_else(|| launch.header.id.to_string())
}

/// Returns the project of a launch: its label, or the folder that it worked on, if that is known.
pub fn project_of(launch: &Launch) -> Option<&str> {
    launch.header.project.as_deref().or_else(|| Some(launch.header.repo.as_str()).filter(|repo| !repo.is_empty()))
}

fn groups<'a>(
    parts: &UsageParts<'a>,
    layout: UsageLayout<'_>,
    cells: &[&'a UsageCell],
    told_together: &ToldTogether,
) -> Vec<(Option<String>, Group<'a>)> {
    let mut groups: BTreeMap<(Option<String>, Option<String>), Group<'a>> = BTreeMap::new();
    for cell in cells {
        let Some(launch) = parts.launches.get(&cell.launch_id) else { continue };
        let key = match layout.by {
            UsageBy::Daily | UsageBy::Weekly | UsageBy::Monthly | UsageBy::Blocks => cell.period.map(layout.label),
            UsageBy::Session => Some(session_of(launch)),
            UsageBy::Model => cell.model.clone(),
            UsageBy::Project => project_of(launch).map(ToString::to_string),
            UsageBy::Agent => told_together.agent_of(cell).map(ToString::to_string),
        };
        let session = (layout.by == UsageBy::Agent).then(|| session_of(launch));
        let (subject, group) = groups.entry((key, session)).or_default();
        note_subject(subject, layout.by, launch, told_together.agent_of(cell));
        group.push(*cell);
    }
    groups.into_iter().map(|((key, _), group)| (key, group)).collect()
}

/// Notes what is known of a row, of the launch that began first.
fn note_subject(subject: &mut Subject, by: UsageBy, launch: &Launch, agent: Option<&Agent>) {
    if !matches!(by, UsageBy::Session | UsageBy::Agent)
        || subject.started_at.is_some_and(|started_at| started_at <= launch.header.started_at)
    {
        return;
    }
    *subject = Subject {
        provider: Some(launch.header.provider.clone()),
        session: Some(session_of(launch)),
        launch_id: Some(launch.header.id),
        started_at: Some(launch.header.started_at),
        project: project_of(launch).map(ToString::to_string),
        agent: agent.filter(|_| by == UsageBy::Agent).cloned(),
        ..Subject::default()
    };
}

fn entry(
    parts: &UsageParts<'_>,
    layout: UsageLayout<'_>,
    (key, (subject, cells)): (Option<String>, Group<'_>),
    told_together: &ToldTogether,
) -> UsageEntry {
    let key = match &subject.window {
        Some(window) => Some((layout.label)(window.starts_at)),
        None => key,
    };
    let mut totals = UsageTotals::of(parts.launches, &cells);
    // The row of a model is that of its only model.
    let mut models = (layout.breakdown && layout.by != UsageBy::Model).then(|| models(parts, &cells));
    if subject.agent.is_some() {
        let of_models = models.iter_mut().flatten().map(|model| &mut model.totals);
        iter::once(&mut totals).chain(of_models).for_each(|totals| told_together.bound(totals, &cells));
    }
    UsageEntry { key, subject, totals, models }
}

fn models(parts: &UsageParts<'_>, cells: &[&UsageCell]) -> Vec<ModelUsage> {
    let mut models: BTreeMap<Option<&String>, Vec<&UsageCell>> = BTreeMap::new();
    for cell in cells {
        models.entry(cell.model.as_ref()).or_default().push(*cell);
    }
    let of_model = |(model, cells): (Option<&String>, Vec<&UsageCell>)| ModelUsage {
        model: model.cloned(),
        totals: UsageTotals::of(parts.launches, &cells),
    };
    let mut models: Vec<ModelUsage> = models.into_iter().map(of_model).collect();
    models.sort_by_key(|model| Reverse(model.totals.weight()));
    models
}

fn sort(by: UsageBy, rows: &mut [UsageEntry]) {
    match by {
        // What has no time comes last.
        UsageBy::Daily | UsageBy::Weekly | UsageBy::Monthly => {
            rows.sort_by(|one, other| (one.key.is_none(), &one.key).cmp(&(other.key.is_none(), &other.key)));
        }
        UsageBy::Session => rows.sort_by_key(|row| row.subject.started_at),
        UsageBy::Model | UsageBy::Project | UsageBy::Agent => rows.sort_by_key(|row| Reverse(row.totals.weight())),
        UsageBy::Blocks => rows.sort_by_key(|row| row.subject.window.map(|window| window.starts_at)),
    }
}

fn unpriced(parts: &UsageParts<'_>, cells: &[&UsageCell]) -> Vec<Unpriced> {
    let mut found: BTreeMap<(&Provider, Option<&String>), Vec<&UsageCell>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.sum.unpriced + cell.sum.uncosted > 0) {
        if let Some(launch) = parts.launches.get(&cell.launch_id) {
            found.entry((&launch.header.provider, cell.model.as_ref())).or_default().push(*cell);
        }
    }
    let of_model = |((provider, model), cells): ((&Provider, Option<&String>), Vec<&UsageCell>)| Unpriced {
        provider: provider.clone(),
        model: model.cloned(),
        records: cells.iter().map(|cell| cell.sum.unpriced + cell.sum.uncosted).sum(),
        total_tokens: UsageTotals::of(parts.launches, &cells).total_tokens,
    };
    found.into_iter().map(of_model).collect()
}

fn note_of_undated(cells: &[&UsageCell]) -> Option<String> {
    let records: u64 = cells.iter().filter(|cell| cell.period.is_none()).map(|cell| cell.sum.records).sum();
    match records {
        0 => None,
        1 => Some("1 record has no time, and is in no window".to_string()),
        _ => Some(alloc::format!("{records} records have no time, and are in no window")),
    }
}

/// Returns the sessions of the cells.
fn sessions(launches: &BTreeMap<LaunchId, Launch>, cells: &[&UsageCell]) -> u64 {
    let counted = cells.iter().filter(|cell| cell.sum.records > 0);
    let ids: BTreeSet<LaunchId> = counted.map(|cell| cell.launch_id).collect();
    let sessions: BTreeSet<String> = ids.iter().filter_map(|id| launches.get(id)).map(session_of).collect();
    u64::try_from(sessions.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
