//! What the last line of a stream says of usage.
//!
//! Sources: google-gemini/gemini-cli@5411f113cafa `output/types.ts`, `output/stream-json-formatter.ts`,
//! `telemetry/uiTelemetry.ts`, and recordings of Gemini CLI 0.61.
//!
//! * `stats` is the running total of the process, by model in `models`. Each process counts from zero, also where it
//!   goes on with a session: only the program with a screen restores the counts of the session.
//! * `input_tokens` includes `cached`, and `input` is the rest. Clients before `cached` (PR#13340) do not say which
//!   part of the input was cached, so that neither class is known.
//! * `output_tokens` leaves out the thoughts, and no field tells them: they are what `total_tokens` holds beyond input
//!   and output. Prompts of tools that the server runs are in there, too, and cannot be told apart.
//! * There is no class of cache writes, and no cost.

use alloc::{string::String, vec::Vec};

use crate::{
    account::{Figures, ModelTotal},
    json::Json,
};

/// A `stats` object.
#[derive(Debug, Default)]
pub(super) struct Stats {
    /// The total of each model; one for all of a client that tells no models.
    pub(super) models: Vec<ModelTotal>,
    /// Whether a figure is there and makes no sense.
    pub(super) is_illegible: bool,
    /// Whether a figure is not there.
    pub(super) is_incomplete: bool,
    pub(super) duration_secs: Option<f64>,
}

impl Stats {
    /// Reads the totals; `model` is the one that the client began with.
    pub(super) fn read(stats: Json<'_>, model: Option<&str>) -> Self {
        let mut read = Self::default();
        let [models, duration] = stats.fields(["models", "duration_ms"]);
        read.duration_secs =
            duration.and_then(|duration| duration.source().parse::<f64>().ok()).map(|millis| millis / 1000.0);
        match models {
            Some(models) => models.for_each_field(|model, total| read.take(model, total)),
            None => read.take(model.unwrap_or_default(), stats),
        }
        read
    }

    /// Tells whether anybody counted.
    pub(super) fn is_counted(&self) -> bool {
        self.models.iter().flat_map(|total| total.figures).flatten().any(|figure| figure != 0)
    }

    fn take(&mut self, model: &str, total: Json<'_>) {
        let fields = total.fields(["input_tokens", "cached", "output_tokens", "total_tokens"]);
        self.is_illegible |=
            !total.source().starts_with('{') || fields.iter().flatten().any(|field| field.number().is_none());
        let [input, cached, output, total] = fields.map(|field| field.and_then(Json::number));
        self.is_incomplete |= input.is_none() || cached.is_none() || output.is_none() || total.is_none();
        let uncached = self.rest(input, cached);
        let prompt_and_output = input.zip(output).map(|(input, output)| input.saturating_add(output));
        let thoughts = self.rest(total, prompt_and_output);
        let output = output.map(|output| output.saturating_add(thoughts.unwrap_or(0)));
        let figures: Figures = [uncached, cached, Some(0), output, thoughts];
        self.models.push(ModelTotal { model: String::from(model), figures, ..ModelTotal::default() });
    }

    /// Returns what is left of a whole without its part.
    fn rest(&mut self, whole: Option<u64>, part: Option<u64>) -> Option<u64> {
        let (whole, part) = whole.zip(part)?;
        let rest = whole.checked_sub(part);
        self.is_illegible |= rest.is_none();
        rest
    }
}
