//! `trace show --content`.

use std::io::Read;

use anyhow::Context;
use trace_model::{launch::Launch, words::Channel};
use trace_report::{content::ContentReport, launch::TurnReport};

use super::FormatArgs;
use crate::{app::App, render::text::content, store::Store};

/// Prints the exact prompts; in a pipe byte for byte under their headings.
pub(super) fn run(app: &mut App, store: &Store, launch: Launch, format: FormatArgs) -> anyhow::Result<()> {
    let report = store.report(launch)?;
    let prompts = ContentReport::new(&report, |turn, channel| read(store, turn, channel))?;
    if format.json {
        return Ok(app.output.json(&prompts)?);
    }
    for turn in &prompts.turns {
        for prompt in &turn.channels {
            app.output.lines(content::heading(turn.ordinal, prompt, app.width()))?;
            app.output.recorded_bytes(&mut prompt.text.as_bytes())?;
            app.output.line(if prompt.text.ends_with('\n') { "" } else { "\n" })?;
        }
    }
    Ok(())
}

fn read(store: &Store, report: &TurnReport, channel: Channel) -> anyhow::Result<Option<String>> {
    let turn = &report.row.turn;
    let path = match channel {
        Channel::System => &turn.system_prompt_path,
        Channel::Task => &turn.task_prompt_path,
    };
    let Some(path) = path else { return Ok(None) };
    let mut text = String::new();
    let mut file = store.home.open_artifact(path)?;
    file.read_to_string(&mut text).with_context(|| format!("cannot read {path}"))?;
    Ok(Some(text))
}
