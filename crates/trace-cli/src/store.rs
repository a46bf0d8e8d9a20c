//! An open home: its artifacts, and the ledger that answers about them.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::Context;
use pollster::FutureExt;
use trace_capture::{
    Home,
    artifacts::{ConversationReader, LaunchDir},
};
use trace_model::{
    Entity,
    codec::Line,
    event::{ConversationEvent, Payload},
    id::{IdSuffix, LaunchId, RunId},
    launch::Launch,
    ledger::{Ledger, LedgerError},
    query::{LaunchQuery, Order},
    usage_query::UsageQuery,
    words::LaunchOutcome,
};
use trace_report::{
    launch::{LaunchReport, TurnParts},
    launches::LaunchesReport,
    run::{RunReport, TurnOrdinals},
};

use crate::{
    args::LaunchName,
    error::{Advise, advised},
};

/// A home and its ledger.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) home: Home,
    pub(crate) ledger: Arc<dyn Ledger>,
}

/// What to do where a launch was not found.
fn see_list() -> String {
    "`trace ls` lists the launches; a launch is called by the last digits of its id".to_owned()
}

/// Returns the error of a home that holds no launch.
pub(crate) fn nothing_recorded() -> anyhow::Error {
    advised(anyhow::Error::msg("no launch is recorded yet"), "record one with `trace exec -- COMMAND`".to_owned())
}

impl Store {
    /// Returns the launch of that name.
    pub(crate) fn launch(&self, name: &LaunchName) -> anyhow::Result<Launch> {
        let suffix = match name {
            LaunchName::Suffix(suffix) => suffix,
            LaunchName::Latest => {
                let latest = LaunchQuery { order: Order::NewestFirst, limit: Some(1), ..LaunchQuery::default() };
                let launches = self.ledger.launches(&latest).block_on().context("cannot look for the latest launch")?;
                return launches.into_iter().next().ok_or_else(|| match self.hint_of_unindexed() {
                    Some(hint) => anyhow::Error::msg(hint),
                    None => nothing_recorded(),
                });
            }
        };
        let found = self.launch_by_suffix(suffix)?;
        found.ok_or_else(|| LedgerError::not_found(Entity::Launch, suffix)).advise(see_list)
    }

    /// Returns the id of the launch of that name. A whole id is taken at its word: what others say about a launch can
    /// be asked for without it.
    pub(crate) fn launch_id(&self, name: &LaunchName) -> anyhow::Result<LaunchId> {
        match format!("{}{name}", LaunchId::PREFIX).parse() {
            Ok(whole) => Ok(whole),
            Err(_) => Ok(self.launch(name)?.header.id),
        }
    }

    /// Returns the launch whose id ends so, if there is one. More than one is an error.
    pub(crate) fn launch_by_suffix(&self, suffix: &IdSuffix) -> anyhow::Result<Option<Launch>> {
        match self.ledger.find_launch(suffix).block_on() {
            Err(LedgerError::NotFound { .. }) => Ok(None),
            Err(LedgerError::Ambiguous { suffix, matches }) => {
                let ids: Vec<String> = matches.iter().map(ToString::to_string).collect();
                let ambiguous = Err(LedgerError::Ambiguous { suffix, matches });
                ambiguous.advise(|| format!("name one of these launches\n  {}", ids.join("\n  ")))
            }
            found => Ok(Some(found?)),
        }
    }

    /// Returns the tree of a run's launches, if there are any.
    pub(crate) fn run(&self, id: &RunId) -> anyhow::Result<Option<RunReport>> {
        let read = async {
            let of_run = LaunchQuery { runs: [id.clone()].into(), ..LaunchQuery::default() };
            let launches = self.ledger.launches(&of_run).await?;
            let started_by_turns = launches.iter().filter(|launch| launch.header.parent_turn_id.is_some());
            let parents: BTreeSet<LaunchId> =
                started_by_turns.filter_map(|launch| launch.header.parent_launch_id).collect();
            let mut ordinals = TurnOrdinals::new();
            for parent in parents {
                let turns = self.ledger.turns(parent).await?;
                ordinals.extend(turns.into_iter().map(|row| ((parent, row.turn.id), row.turn.ordinal)));
            }
            let mut parts = Vec::with_capacity(launches.len());
            for launch in launches {
                let usage = self.ledger.usage(launch.header.id).await?;
                parts.push((launch, usage));
            }
            Ok::<_, LedgerError>(RunReport::new(id.clone(), parts, &ordinals))
        };
        read.block_on().with_context(|| format!("cannot read the launches of the run {id}"))
    }

    /// Returns what to say where the ledger is empty and the home is not.
    pub(crate) fn hint_of_unindexed(&self) -> Option<&'static str> {
        let is_empty = |query| self.ledger.launches(&query).block_on().is_ok_and(|launches| launches.is_empty());
        let has_recordings = || self.home.list_launch_artifact_dirs().is_ok_and(|dirs| !dirs.is_empty());
        (is_empty(LaunchQuery { limit: Some(1), ..LaunchQuery::default() }) && has_recordings())
            .then_some("there are recordings, and the ledger holds none of them: run `trace reindex`")
    }

    /// Returns all rows of a launch.
    pub(crate) fn report(&self, launch: Launch) -> anyhow::Result<LaunchReport> {
        let id = launch.header.id;
        let read = async {
            let usage = self.ledger.usage(id).await?;
            let started_by_it = LaunchQuery { parents: [id].into(), ..LaunchQuery::default() };
            let children = self.ledger.launches(&started_by_it).await?;
            let children = children.into_iter().map(|launch| launch.header.id).collect();
            let mut parts = Vec::new();
            for row in self.ledger.turns(id).await? {
                let assets = self.ledger.assets(row.turn.id).await?;
                let decisions = self.ledger.decisions(row.turn.id).await?;
                parts.push(TurnParts { row, assets, decisions });
            }
            Ok::<_, LedgerError>(LaunchReport::new(launch, children, parts, usage))
        };
        read.block_on().with_context(|| format!("cannot read the rows of {id}"))
    }

    /// Returns the launches that the query wants, each with what it cost.
    pub(crate) fn launches(&self, query: &LaunchQuery) -> anyhow::Result<LaunchesReport> {
        let read = async {
            let launches = self.ledger.launches(query).await?;
            let usage = UsageQuery { launches: query.clone(), ..UsageQuery::default() };
            let cells = self.ledger.usage_cells(&usage).await?;
            Ok::<_, LedgerError>(LaunchesReport::new(launches, &cells))
        };
        read.block_on().context("cannot list the launches")
    }

    /// Returns what a failed launch said last of an error, as far as its events can be read.
    pub(crate) fn last_error(&self, launch: &Launch) -> Option<String> {
        if launch.state.columns().1 != LaunchOutcome::Failed {
            return None;
        }
        let mut conversation = self.conversation(launch).ok()?;
        let mut last = None;
        while let Ok(Some(stretch)) = conversation.next() {
            let Some(Line::Event(event)) = stretch.line else { continue };
            if let Payload::Conversation { event: ConversationEvent::Error { code, message } } = event.payload {
                last = Some(if message.trim().is_empty() { code } else { message });
            }
        }
        last
    }

    /// Opens the events of a launch: recorded ones, or those that are made of what the agent wrote itself.
    pub(crate) fn conversation(&self, launch: &Launch) -> anyhow::Result<ConversationReader> {
        let conversation = trace_capture::conversation(&self.home, &self.launch_dir(launch)?);
        conversation.with_context(|| format!("cannot read the events of {}", launch.header.id))
    }

    /// Opens the folder of a launch.
    pub(crate) fn launch_dir(&self, launch: &Launch) -> anyhow::Result<LaunchDir> {
        let dir = launch.header.artifact_dir();
        self.home.open_launch(&dir).with_context(|| format!("cannot read the recording of {}", launch.header.id))
    }
}
