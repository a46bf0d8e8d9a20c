//! `trace show --content`.

use std::process::ExitCode;

use anyhow::Context;
use trace_model::{launch::Launch, words::Channel};
use trace_report::{content::ContentReport, launch::TurnReport};

use super::FormatArgs;
use crate::{
    app::App,
    render::text::{content, escape},
    store::Store,
};

/// Prints the exact prompts; in a pipe byte for byte under their headings. One that is not what was sent is a finding.
pub(super) fn run(app: &mut App, store: &Store, launch: Launch, format: FormatArgs) -> anyhow::Result<ExitCode> {
    let report = store.report(launch)?;
    let prompts = ContentReport::new(&report, |turn, channel| read(store, turn, channel))?;
    let code = if prompts.notes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if format.json {
        app.output.json(&prompts)?;
        return Ok(code);
    }
    for turn in &prompts.turns {
        for prompt in &turn.channels {
            app.output.lines(content::heading(turn.ordinal, prompt, app.width()))?;
            app.output.recorded_bytes(&mut prompt.bytes.as_slice())?;
            app.output.line(if prompt.bytes.ends_with(b"\n") { "" } else { "\n" })?;
        }
    }
    app.output.flush()?;
    if prompts.turns.iter().all(|turn| turn.channels.is_empty()) {
        app.messages.say("note", "no prompt of this launch is on record");
    }
    for note in &prompts.notes {
        let detail = escape::line(&note.detail);
        app.messages.say("note", &format!("turn {}, {} prompt: {detail}", note.ordinal, note.channel));
    }
    Ok(code)
}

fn read(store: &Store, report: &TurnReport, channel: Channel) -> anyhow::Result<Option<Vec<u8>>> {
    let turn = &report.row.turn;
    let path = match channel {
        Channel::System => &turn.system_prompt_path,
        Channel::Task => &turn.task_prompt_path,
    };
    let Some(path) = path else { return Ok(None) };
    let mut bytes = Vec::new();
    let mut file = store.home.open_artifact(path)?;
    file.read_to_end(&mut bytes).with_context(|| format!("cannot read {path}"))?;
    Ok(Some(bytes))
}
