//! `trace attribute`.

use std::{
    io::{self, Read},
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;
use trace_attribution::PreparedTurnContext;
use trace_model::words::Channel;
use trace_report::attribution::{AttributionReport, ChannelReport};

use super::FormatArgs;
use crate::{app::App, error::WrongUsage, prompts::PromptArgs, render::text::attribution};

/// Tell where the bytes and tokens of given prompts come from
///
/// Nothing is recorded. Each byte and each token belongs to one asset, and the tokens of all assets add up to those of
/// the whole prompt.
#[derive(Debug, Args)]
pub(crate) struct AttributeArgs {
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    prompts: PromptArgs,
}

pub(crate) fn run(args: &AttributeArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    if !args.prompts.is_given() {
        return Err(WrongUsage("no prompt is given: use --task-file FILE or --system-file FILE".to_owned()).into());
    }
    let mut stdin = Vec::new();
    if args.prompts.takes_stdin() {
        io::stdin().lock().read_to_end(&mut stdin).context("cannot read standard input")?;
    }
    let context = args.prompts.prepare(&stdin)?;
    let report = report(&context);
    if args.format.json {
        app.output.json(&report)?;
    } else {
        app.output.lines(attribution::lines(&report, app.width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report(context: &PreparedTurnContext) -> AttributionReport<'_> {
    let channels = Channel::ALL.iter().filter_map(|&channel| {
        let prepared = context.channel(channel)?;
        let bytes =
            u64::try_from(prepared.text().len()).expect("no supported system has addresses of more than 64 bits");
        Some(ChannelReport { channel, bytes, tokens: prepared.tokens(), assets: prepared.assets() })
    });
    AttributionReport::new(context.tokenizer(), channels.collect(), context.decisions())
}

#[cfg(test)]
mod tests;
