//! What a turn and the process so far cost.
//!
//! * `modelUsage` is the running total of the process by model, subagents and side requests included; `total_cost_usd`
//!   is one, too (anthropics/claude-code#83239; measured on a stream of two prompts). Its fields are in camel case;
//!   the older snake case is read as well.
//! * `usage` is that of the prompt alone and leaves subagents out (measured: the `subagent` recording has 2005 there
//!   for a true 4010), so it only helps where an older client writes no `modelUsage`.
//! * An error can come as `subtype` `success` with `is_error` true (measured: the `fail` recording), and an `error_…`
//!   subtype is an error in any case.

use alloc::{string::String, vec::Vec};

use trace_model::{money::NanoUsd, turn::Outcome};

use super::usage::Usage;
use crate::{
    account::{ModelTotal, Statement},
    json::Json,
};

/// A `result` line.
#[derive(Debug)]
pub(super) struct TurnResult {
    pub(super) status: Outcome,
    pub(super) duration_secs: Option<f64>,
    pub(super) statement: Statement,
    /// What kind of error it is.
    pub(super) error_code: String,
    /// The errors that it tells.
    pub(super) errors: Vec<String>,
}

impl TurnResult {
    pub(super) fn read(line: Json<'_>, main_model: Option<String>) -> Self {
        let [subtype, is_error, duration, usage, model_usage, total_cost, cost] =
            line.fields(["subtype", "is_error", "duration_ms", "usage", "modelUsage", "total_cost_usd", "cost_usd"]);
        let subtype = subtype.and_then(Json::name);
        let is_failed = match (&subtype, is_error) {
            (_, Some(is_error)) if !is_error.is_no() => true,
            (Some(subtype), _) => subtype != "success",
            (None, is_error) => is_error.is_none(),
        };
        let mut is_illegible = false;
        let model_usage = model_usage.filter(|models| models.source().starts_with('{'));
        let statement = Statement {
            models: model_usage.map(|models| model_totals(models, &mut is_illegible)),
            turn: usage.map(|usage| Usage::read(usage).figures()),
            cost: total_cost.or(cost).and_then(money),
            main_model,
            is_illegible,
            leaves_out: false,
        };
        let (error_code, errors) = if is_failed { errors(line, subtype) } else { Default::default() };
        Self {
            status: if is_failed { Outcome::Failed } else { Outcome::Completed },
            duration_secs: duration.and_then(|duration| duration.source().parse::<f64>().ok()).map(|ms| ms / 1000.0),
            statement,
            error_code,
            errors,
        }
    }
}

/// Reads an amount as it is written, without floating point.
fn money(amount: Json<'_>) -> Option<NanoUsd> {
    amount.source().parse().ok()
}

/// Reads the totals by model; a figure that is there and is no number makes them illegible.
fn model_totals(models: Json<'_>, is_illegible: &mut bool) -> Vec<ModelTotal> {
    let mut totals = Vec::new();
    models.for_each_field(|model, total| {
        let camel = total.fields([
            "inputTokens",
            "cacheReadInputTokens",
            "cacheCreationInputTokens",
            "outputTokens",
            "costUSD",
            "contextWindow",
        ]);
        let snake = total.fields([
            "input_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "output_tokens",
            "cost_usd",
            "context_window",
        ]);
        let mut fields = camel;
        for (field, snake) in fields.iter_mut().zip(snake) {
            *field = field.or(snake);
        }
        let [input, cache_read, cache_write, output, cost, window] = fields;
        let classes = [input, cache_read, cache_write, output];
        *is_illegible |= classes.iter().flatten().any(|class| class.number().is_none());
        let [input, cache_read, cache_write, output] = classes.map(|class| class.and_then(Json::number));
        totals.push(ModelTotal {
            model: String::from(model),
            // How much of the output is thinking is not told.
            figures: [input, cache_read, cache_write, output, None],
            cost: cost.and_then(money),
            context_window: window.and_then(Json::number),
        });
    });
    totals
}

/// Returns the code and the words of an error: those of `errors`, else of `result`.
fn errors(line: Json<'_>, subtype: Option<String>) -> (String, Vec<String>) {
    let [list, result, api_status] = line.fields(["errors", "result", "api_error_status"]);
    let mut words = Vec::new();
    if let Some(list) = list {
        list.for_each_element(|error| words.extend(error.name()));
    }
    if words.is_empty() {
        words.extend(result.and_then(Json::name));
    }
    // The subtype of an error that comes as a success says nothing.
    let code = match api_status.and_then(Json::number) {
        Some(status) => alloc::format!("{status}"),
        None => subtype.filter(|subtype| subtype != "success").unwrap_or_else(|| String::from("error")),
    };
    (code, words)
}
