//! The figures that Codex states of a request, a turn or a thread.
//!
//! `input_tokens` includes `cached_input_tokens` and `cache_write_input_tokens`; `output_tokens` includes
//! `reasoning_output_tokens` (measured); `total_tokens` is the sum of the two. The fields for writes and for reasoning
//! came later; without them both are unknown.

use crate::{account::Figures, json::Json};

/// The figures in the order of the fields: input, cached, written, output, reasoning. Parts are inside of their whole.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) figures: [Option<u64>; 5],
    /// Whether a figure is there that makes no sense.
    pub(super) is_illegible: bool,
    /// Whether a figure of the writes is there, legible or not.
    states_writes: bool,
}

impl Tally {
    /// Reads an object of figures.
    pub(super) fn of(usage: Json<'_>) -> Self {
        let fields = usage.fields([
            "input_tokens",
            "cached_input_tokens",
            "cache_write_input_tokens",
            "output_tokens",
            "reasoning_output_tokens",
        ]);
        let [_, _, written, ..] = fields;
        let figures = fields.map(|field| field.and_then(Json::number));
        let is_illegible = !usage.source().starts_with('{')
            || fields.iter().zip(figures).any(|(field, figure)| field.is_some() && figure.is_none());
        Self { figures, is_illegible, states_writes: written.is_some() }
    }

    /// Tells whether anybody counted. The client writes zeros if it was told nothing.
    pub(super) fn is_counted(&self) -> bool {
        self.figures.into_iter().flatten().any(|figure| figure != 0)
    }

    /// Returns all of the input.
    pub(super) const fn input(&self) -> Option<u64> {
        let [input, ..] = self.figures;
        input
    }

    /// Returns the figures less those of another tally; what is unknown stays unknown.
    pub(super) fn since(self, before: [u64; 5]) -> Self {
        let mut figures = self.figures;
        for (figure, before) in figures.iter_mut().zip(before) {
            *figure = figure.map(|figure| figure.saturating_sub(before));
        }
        Self { figures, ..self }
    }

    /// Returns the classes that do not overlap (input, cache read, cache write, output), how much of the output is
    /// thinking, and whether a figure makes no sense: it cannot be read, or a part is more than its whole.
    pub(super) fn classes(&self) -> (Figures, bool) {
        let [input, cached, written, output, thinking] = self.figures;
        // A figure that is there and cannot be read is a part of the input all the same.
        let written_part = if self.states_writes { written } else { Some(0) };
        let uncached = input
            .zip(cached)
            .zip(written_part)
            .map(|((input, cached), written)| input.checked_sub(cached).and_then(|rest| rest.checked_sub(written)));
        let thinking_is_part = thinking.zip(output).is_none_or(|(thinking, output)| thinking <= output);
        let is_illegible = self.is_illegible || uncached == Some(None) || !thinking_is_part;
        ([uncached.flatten(), cached, written, output, thinking.filter(|_| thinking_is_part)], is_illegible)
    }
}
