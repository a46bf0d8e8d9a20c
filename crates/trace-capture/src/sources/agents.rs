//! The subagents of a launch, as its sources and the recorded output tell of them.

use std::{collections::BTreeMap, io::Read};

use trace_model::{
    usage::Agent,
    words::{OutputStream, Provider},
};
use trace_providers::{AgentSeen, Interpreter, interpreter_for, recognise::SessionStart};

use super::{facts::Facts, listed, reading};
use crate::artifacts::{ArtifactError, Home, LaunchDir};

/// Returns what is known of the subagents of a launch, by their start and then their ids.
///
/// What was recorded and what the agent wrote itself are read again; of agents that neither tells of, usage may know
/// still.
///
/// # Errors
///
/// [`ArtifactError::Io`] if what is kept cannot be read. A source that is gone tells nothing.
pub fn agents(home: &Home, launch: &LaunchDir, provider: &Provider) -> Result<Vec<AgentSeen>, ArtifactError> {
    let mut agents: BTreeMap<Agent, AgentSeen> = BTreeMap::new();
    match launch.raw(OutputStream::Stdout) {
        Ok(mut output) => {
            if let Some(mut interpreter) = interpreter_for(provider, SessionStart::New) {
                let facts = facts_of(&mut *output, &mut *interpreter).map_err(|source| ArtifactError::Io {
                    verb: "read",
                    path: home.artifact_path(launch.path()),
                    source,
                })?;
                for session in facts.into_sessions() {
                    session.agents.into_values().for_each(|seen| add(&mut agents, seen));
                }
            }
        }
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    let sources = launch.sources()?;
    if let Some(first) = sources.first() {
        let listed = listed::read_session(home, &sources, &first.session, &|_| false)?;
        for seen in listed.facts.into_iter().flat_map(|facts| facts.agents.into_values()) {
            add(&mut agents, seen);
        }
    }
    let mut agents: Vec<AgentSeen> = agents.into_values().collect();
    agents.sort_by(|one, other| {
        (one.at.is_none(), one.at, &one.agent).cmp(&(other.at.is_none(), other.at, &other.agent))
    });
    Ok(agents)
}

fn facts_of(input: &mut dyn Read, reader: &mut dyn Interpreter) -> std::io::Result<Facts> {
    let mut facts = Facts::default();
    reading::read(input, reader, &mut facts)?;
    Ok(facts)
}

fn add(agents: &mut BTreeMap<Agent, AgentSeen>, seen: AgentSeen) {
    match agents.get_mut(&seen.agent) {
        Some(known) => known.merge(seen),
        None => {
            agents.insert(seen.agent.clone(), seen);
        }
    }
}
