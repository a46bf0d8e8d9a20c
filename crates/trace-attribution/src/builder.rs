//! Prompts that are assembled here, so that every range is known and nothing is searched.

use alloc::{string::String, vec::Vec};
use core::ops::Range;

use trace_model::{
    context::Decision,
    words::{Channel, TokenizerName},
};

use crate::{
    AttributionError, PreparedTurnContext, Prompts, Source, claims::Claim, decide, place::Unplaced, source::Origin,
    tile::tile,
};

/// Assembles the prompts of a turn from sections and the glue between them.
///
/// ```
/// use trace_attribution::{PromptBuilder, Source};
/// use trace_model::words::{AssetKind, Channel, Scope, TokenizerName};
///
/// let guide = Source {
///     kind: AssetKind::RepoInstructions,
///     scope: Scope::Repo,
///     label: "GUIDE.md".to_owned(),
///     source_path: Some("GUIDE.md".to_owned()),
///     included_by: "harness".to_owned(),
/// };
/// let mut prompt = PromptBuilder::new();
/// prompt.glue(Channel::System, "# Guide\n").section(Channel::System, guide, "Write small commits.");
/// prompt.glue(Channel::Task, "Fix the parser.");
/// let context = prompt.build(TokenizerName::Cl100kBase, Vec::new())?;
///
/// assert_eq!(context.system().unwrap().text(), "# Guide\nWrite small commits.");
/// assert_eq!(context.decisions()[0].reason, "included by harness");
/// # Ok::<(), trace_attribution::AttributionError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct PromptBuilder {
    system: Draft,
    task: Draft,
}

/// A channel that is being assembled.
#[derive(Debug, Clone, Default)]
struct Draft {
    text: String,
    /// The ranges that have a source, from left to right; all else is glue.
    sections: Vec<(Range<usize>, Source)>,
}

impl PromptBuilder {
    /// Returns a builder without text. A system prompt that stays empty will be absent.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a text that comes from the source. An empty one becomes no asset, and is decided to be excluded.
    pub fn section(&mut self, channel: Channel, source: Source, text: &str) -> &mut Self {
        let draft = self.draft(channel);
        let start = draft.text.len();
        draft.text.push_str(text);
        draft.sections.push((start..draft.text.len(), source));
        self
    }

    /// Appends a text of the harness's own.
    pub fn glue(&mut self, channel: Channel, text: &str) -> &mut Self {
        self.draft(channel).text.push_str(text);
        self
    }

    /// Appends a text of which some ranges come from sources; all else in it is glue.
    ///
    /// The ranges count from the start of this text, and come from left to right.
    ///
    /// # Errors
    ///
    /// [`AttributionError::RangeOutside`], [`AttributionError::RangesOverlap`] or
    /// [`AttributionError::RangeOffCharacter`]; nothing is appended.
    pub fn marked(
        &mut self,
        channel: Channel,
        text: &str,
        ranges: impl IntoIterator<Item = (Range<usize>, Source)>,
    ) -> Result<&mut Self, AttributionError> {
        let draft = self.draft(channel);
        let start = draft.text.len();
        let mut sections = Vec::new();
        let mut previous_end = 0;
        for (range, source) in ranges {
            if range.start > range.end || range.end > text.len() {
                return Err(AttributionError::RangeOutside { channel, range, bytes: text.len() });
            }
            if range.start < previous_end {
                return Err(AttributionError::RangesOverlap { channel, range, previous_end });
            }
            if text.get(range.clone()).is_none() {
                return Err(AttributionError::RangeOffCharacter { channel, range });
            }
            previous_end = range.end;
            sections.push((start + range.start..start + range.end, source));
        }
        draft.text.push_str(text);
        draft.sections.extend(sections);
        Ok(self)
    }

    /// Returns the context of the assembled prompts.
    ///
    /// Each section is one asset, and glue that adjoins glue is one assembly asset. Decisions are made as in
    /// [`PreparedTurnContext::from_attributed_prompts`]. The task channel is there even if nothing was appended to it.
    ///
    /// # Errors
    ///
    /// [`AttributionError::PositionsExhausted`] if the caller's decisions leave no positions for those that follow.
    pub fn build(
        self,
        tokenizer: TokenizerName,
        decisions: Vec<Decision>,
    ) -> Result<PreparedTurnContext, AttributionError> {
        let Self { system, task } = self;
        let prompts = Prompts { system: Some(system.text), task: Some(task.text) };
        let sections = |channel| match channel {
            Channel::System => &system.sections,
            Channel::Task => &task.sections,
        };
        let context = PreparedTurnContext::assembled(tokenizer, prompts, |channel, text| {
            let filled = sections(channel).iter().enumerate().filter(|(_, (range, _))| !range.is_empty());
            let claims = filled.map(|(owner, (range, _))| Claim { range: range.clone(), owner }).collect();
            let origin = |owner: Option<usize>| match owner {
                Some(index) => Origin::from(&sections(channel)[index].1),
                None => Origin::assembly(channel),
            };
            tile(text.len(), claims).into_iter().map(|segment| (segment.range, origin(segment.owner))).collect()
        });
        let empty = system.sections.iter().chain(&task.sections).filter(|(range, _)| range.is_empty());
        let left_out = empty.map(|(_, source)| decide::left_out(Origin::from(source), 0, Unplaced::Empty, None));
        context.decided(decisions, left_out)
    }

    fn draft(&mut self, channel: Channel) -> &mut Draft {
        match channel {
            Channel::System => &mut self.system,
            Channel::Task => &mut self.task,
        }
    }
}
