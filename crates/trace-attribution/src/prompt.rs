//! The context of a turn, prepared for recording and for the provider.

use alloc::{string::String, vec, vec::Vec};
use core::{fmt, ops::Range};

use trace_model::{
    context::{Asset, Decision},
    words::{Channel, Coverage, TokenizerName},
};

use crate::{
    AssetSpec, AttributionError, PreparedChannel, decide,
    place::{Placement, place},
    source::Origin,
    tile::tile,
    tokenizer::Encoder,
};

/// The finished texts of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompts {
    /// The system prompt. An empty one is as good as none.
    pub system: Option<String>,
    /// The prompt of the task. An empty one is there, and has no bytes.
    pub task: Option<String>,
}

/// All that is known about the input of a turn: its texts, their assets and tokens, and the decisions behind them.
///
/// It is made by one of the constructors below or by a [`PromptBuilder`](crate::PromptBuilder), and never changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedTurnContext {
    system: Option<PreparedChannel>,
    task: Option<PreparedChannel>,
    decisions: Vec<Decision>,
    coverage: Coverage,
    tokenizer: Option<TokenizerName>,
}

/// What a harness hands to its launcher: the context, and the command line that carries it to the provider.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderInvocation {
    /// What the provider is sent.
    pub context: PreparedTurnContext,
    /// The provider's command and its arguments. They may hold secrets: they are never stored, and `Debug` hides them.
    pub argv: Vec<String>,
}

impl PreparedTurnContext {
    /// Returns the context of prompts whose sources are not known: one assembly asset a channel, and no decisions.
    pub fn from_prompts(tokenizer: TokenizerName, prompts: Prompts) -> Self {
        let whole = |channel, text: &str| vec![(0..text.len(), Origin::whole_prompt(channel))];
        Self::assembled(tokenizer, prompts, whole)
    }

    /// Returns the context of finished prompts, with the specs, in order of priority, found in them.
    ///
    /// A spec claims the first occurrence of its content that is wholly unclaimed; if there is none, the first that
    /// has an unclaimed byte; with `match_all_occurrences`, every non-overlapping occurrence from the left. Of an
    /// occurrence that earlier specs hold in part it gets the unclaimed fragments, an asset each. Bytes that no spec
    /// claims become assembly assets.
    ///
    /// The caller's decisions come first. A position belongs to the first decision that names it; those that name a
    /// taken one are moved behind the largest, in their order. Behind them follow one `included` decision for each
    /// asset that is no assembly, in asset order, and then, in the order of the specs, one decision for each spec that
    /// got nothing: `excluded` (its content is empty, or not in the prompt) or `deduplicated` (earlier specs hold every
    /// occurrence; it names the asset with the first byte of the first one).
    ///
    /// # Errors
    ///
    /// [`AttributionError::PositionsExhausted`] if the caller's decisions leave no positions for those that follow.
    pub fn from_attributed_prompts(
        tokenizer: TokenizerName,
        prompts: Prompts,
        specs: &[AssetSpec],
        decisions: Vec<Decision>,
    ) -> Result<Self, AttributionError> {
        let mut unplaced = Vec::new();
        let context = Self::assembled(tokenizer, prompts, |channel, text| {
            let Placement { claims, unplaced: of_channel } = place(text, channel, specs);
            unplaced.extend(of_channel);
            let owner = |owner: Option<usize>| match owner {
                Some(index) => Origin::from(&specs[index]),
                None => Origin::assembly(channel),
            };
            tile(text.len(), claims).into_iter().map(|segment| (segment.range, owner(segment.owner))).collect()
        });
        unplaced.sort_unstable_by_key(|&(spec, _)| spec);

        let left_out = unplaced.into_iter().map(|(index, unplaced)| {
            let spec = &specs[index];
            decide::left_out(Origin::from(spec), spec.content.len(), unplaced, context.channel(spec.channel))
        });
        let left_out: Vec<_> = left_out.collect();
        context.decided(decisions, left_out)
    }

    /// Returns the context of a follow-up in a session that the provider keeps.
    ///
    /// Only the text is known to be sent; what the provider adds to it is in its totals alone.
    pub fn provider_total_only(tokenizer: TokenizerName, text: impl Into<String>) -> Self {
        let text = text.into();
        let segments = [(0..text.len(), Origin::FOLLOW_UP)];
        let task = PreparedChannel::prepare(&mut Encoder::new(tokenizer), Channel::Task, text, &segments, 0);
        let reason = "sent as a follow-up provider-session input";
        let decisions = task.assets().iter().map(|asset| decide::included(asset, reason.into())).collect();
        Self {
            system: None,
            task: Some(task),
            decisions,
            coverage: Coverage::ProviderTotalOnly,
            tokenizer: Some(tokenizer),
        }
    }

    /// Returns the context of a turn whose input nobody knows.
    pub fn unknown() -> Self {
        Self { system: None, task: None, decisions: Vec::new(), coverage: Coverage::Unknown, tokenizer: None }
    }

    /// Prepares each text; `segments` tiles it. It is asked about a channel that is absent too, with an empty text.
    pub(crate) fn assembled<'a>(
        tokenizer: TokenizerName,
        prompts: Prompts,
        mut segments: impl FnMut(Channel, &str) -> Vec<(Range<usize>, Origin<'a>)>,
    ) -> Self {
        let mut encoder = Encoder::new(tokenizer);
        let mut position = 0;
        let mut prepare = |channel, text: Option<String>| {
            let segments = segments(channel, text.as_deref().unwrap_or_default());
            let prepared = PreparedChannel::prepare(&mut encoder, channel, text?, &segments, position);
            position += prepared.assets().len();
            Some(prepared)
        };
        let system = prepare(Channel::System, prompts.system.filter(|text| !text.is_empty()));
        let task = prepare(Channel::Task, prompts.task);
        Self { system, task, decisions: Vec::new(), coverage: Coverage::Assembled, tokenizer: Some(tokenizer) }
    }

    /// Adds the caller's decisions, those about the assets, and those about what was left out.
    pub(crate) fn decided(
        mut self,
        caller: Vec<Decision>,
        left_out: impl IntoIterator<Item = Decision>,
    ) -> Result<Self, AttributionError> {
        self.decisions = decide::join(caller, decide::all_included(self.assets()).chain(left_out))?;
        Ok(self)
    }

    /// Returns the system prompt.
    pub fn system(&self) -> Option<&PreparedChannel> {
        self.system.as_ref()
    }

    /// Returns the prompt of the task.
    pub fn task(&self) -> Option<&PreparedChannel> {
        self.task.as_ref()
    }

    /// Returns the prompt of a channel.
    pub fn channel(&self, channel: Channel) -> Option<&PreparedChannel> {
        match channel {
            Channel::System => self.system(),
            Channel::Task => self.task(),
        }
    }

    /// Returns the assets of both channels by position, which is the system prompt's first.
    pub fn assets(&self) -> impl Iterator<Item = &Asset> {
        [&self.system, &self.task].into_iter().flatten().flat_map(PreparedChannel::assets)
    }

    /// Returns the decisions by position.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Returns how much of the real input this is.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// Returns the encoding of all token counts, or `None` where nothing was counted.
    pub fn tokenizer(&self) -> Option<TokenizerName> {
        self.tokenizer
    }

    /// Returns the tokens of both channels, or `None` where nothing was counted.
    ///
    /// They are counted here, and never the provider's own number.
    pub fn total_tokens(&self) -> Option<u64> {
        self.tokenizer?;
        Some([&self.system, &self.task].into_iter().flatten().map(PreparedChannel::tokens).sum())
    }
}

impl fmt::Debug for ProviderInvocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ProviderInvocation").field("context", &self.context).finish_non_exhaustive()
    }
}
