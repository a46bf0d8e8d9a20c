//! What a harness says about a launch when it begins.

use std::collections::BTreeMap;

use trace_model::{
    control::Control,
    id::{LaunchId, ProcessId, RunId, TurnId},
    launch::LaunchHeader,
    turn::Basis,
    words::{InputOp, Provider, TagKey},
};

use super::{Capture, Parents};

/// What a launch is for. It never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// The run that it is part of.
    pub run_id: RunId,
    /// The process that starts it.
    pub process_id: ProcessId,
    /// The repository that it works on.
    pub repo: String,
    /// The folder that it works in.
    pub worktree: String,
    /// The wave of work.
    pub wave: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// The task.
    pub task: Option<String>,
    /// The flow.
    pub flow: Option<String>,
    /// The skill.
    pub skill: Option<String>,
    /// The harness's own labels.
    pub tags: BTreeMap<TagKey, String>,
    /// The launch that starts it, which this home need not hold.
    pub parent_launch_id: Option<LaunchId>,
    /// The turn that starts it, which this home need not hold.
    pub parent_turn_id: Option<TurnId>,
}

impl Labels {
    /// Returns labels that say nothing else, for struct update syntax.
    pub fn new(run_id: RunId, process_id: ProcessId, repo: impl Into<String>, worktree: impl Into<String>) -> Self {
        Self {
            run_id,
            process_id,
            repo: repo.into(),
            worktree: worktree.into(),
            wave: None,
            project: None,
            task: None,
            flow: None,
            skill: None,
            tags: BTreeMap::new(),
            parent_launch_id: None,
            parent_turn_id: None,
        }
    }

    /// Returns the labels of a launch that is started in the running turn of this one: those of this one, with it as
    /// the parent. A disabled capture has none.
    ///
    /// A process that the agent is started in by this one may be given an id of its own:
    /// `Labels { process_id, ..labels }`.
    pub fn beneath(capture: &Capture) -> Option<Self> {
        let handle = capture.handle.as_ref()?;
        let Parents { launch_id, turn_id, .. } = Parents::beneath(capture);
        Some(Self { parent_launch_id: launch_id, parent_turn_id: turn_id, ..Self::of(&handle.live.header) })
    }

    /// Returns the labels of the same launch as part of what is around it. What is not known of that stays as it is.
    #[must_use]
    pub fn within(self, parents: Parents) -> Self {
        let Parents { run_id, launch_id, turn_id } = parents;
        Self {
            run_id: run_id.unwrap_or(self.run_id),
            parent_launch_id: launch_id.or(self.parent_launch_id),
            parent_turn_id: turn_id.or(self.parent_turn_id),
            ..self
        }
    }

    /// Returns the labels that a launch has.
    pub(super) fn of(header: &LaunchHeader) -> Self {
        Self {
            run_id: header.run_id.clone(),
            process_id: header.process_id.clone(),
            repo: header.repo.clone(),
            worktree: header.worktree.clone(),
            wave: header.wave.clone(),
            project: header.project.clone(),
            task: header.task.clone(),
            flow: header.flow.clone(),
            skill: header.skill.clone(),
            tags: header.tags.clone(),
            parent_launch_id: header.parent_launch_id,
            parent_turn_id: header.parent_turn_id,
        }
    }
}

/// How a launch is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Who the agent is.
    pub provider: Provider,
    /// The model, if it is known.
    pub model: Option<String>,
    /// What the agent is used through.
    pub surface: String,
    /// How the first turn's input reaches the agent.
    pub input_op: InputOp,
    /// How long the harness gathered the sources of the first turn, in milliseconds.
    pub gather_ms: u64,
    /// How long the harness rendered the prompts of the first turn, in milliseconds.
    pub render_ms: u64,
    /// Whether the provider's own output is kept verbatim.
    pub raw: bool,
    /// The harness's revision that the first turn's context was assembled from.
    pub basis: Option<Basis>,
    /// What an orchestrator says of the launch, if one controls it. Of a reservation that waits for its run, the launch
    /// takes the id and the time.
    pub control: Option<Control>,
}

impl Start {
    /// Returns the start of a launch by its initial input, whose output is not kept verbatim, for struct update syntax.
    pub fn new(provider: Provider, surface: impl Into<String>) -> Self {
        Self {
            provider,
            model: None,
            surface: surface.into(),
            input_op: InputOp::Initial,
            gather_ms: 0,
            render_ms: 0,
            raw: false,
            basis: None,
            control: None,
        }
    }
}
