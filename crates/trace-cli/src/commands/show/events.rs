//! `trace show --events`.

use std::io::Write;

use trace_capture::artifacts::{SkipReason, Stretch};
use trace_model::{codec::Line, event::Payload, launch::Launch, usage::Agent};

use crate::{
    app::App,
    render::text::{escape, events as view, figures},
    store::Store,
};

/// How events are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// One line of text each.
    Text,
    /// The recorded lines themselves.
    Lines,
    /// One document that holds them all.
    Document,
}

/// Prints the events as they are read, those of one agent only if it is given; what is no event is said on standard
/// error.
pub(super) fn run(
    app: &mut App,
    store: &Store,
    launch: &Launch,
    format: Format,
    agent: Option<&Agent>,
) -> anyhow::Result<()> {
    let mut conversation = store.conversation(launch)?;
    let mut ordinals = view::Ordinals::default();
    let mut first = true;
    if format == Format::Document {
        write!(app.output.writer(), "{{\n  \"schema_version\": {},\n  \"events\": [", trace_report::SCHEMA_VERSION)?;
    }
    while let Some(stretch) = conversation.next()? {
        if let Some(reason) = &stretch.skipped {
            app.output.flush()?;
            app.messages.say("note", &skipped(&stretch, reason));
        }
        let Some(line) = &stretch.line else { continue };
        if agent.is_some_and(|agent| !is_of(line, agent)) {
            continue;
        }
        match format {
            Format::Text => app.output.line(&text(line, &mut ordinals, app.width()))?,
            Format::Lines => app.output.recorded_json(stretch.bytes)?,
            Format::Document => {
                write!(app.output.writer(), "{}\n    ", if first { "" } else { "," })?;
                app.output.escaped_json(stretch.bytes)?;
            }
        }
        first = false;
    }
    if format == Format::Document {
        write!(app.output.writer(), "{}]\n}}\n", if first { "" } else { "\n  " })?;
    }
    if let Some(tail) = conversation.tail() {
        app.output.flush()?;
        let (offset, len) = (figures::count(tail.offset), figures::count(u64::try_from(tail.bytes.len())?));
        app.messages.say("note", &format!("the last line, at byte {offset}, is torn after {len} bytes"));
    }
    Ok(())
}

/// Tells whether an event is one of the agent. Of an event of a newer writer, nobody knows.
fn is_of(line: &Line, agent: &Agent) -> bool {
    match line {
        Line::Event(event) => match &event.payload {
            Payload::UsageRecord { record } => record.report.agent == *agent,
            _ => event.agent == *agent,
        },
        Line::Unknown(_) => false,
    }
}

fn text(line: &Line, ordinals: &mut view::Ordinals, width: Option<u16>) -> String {
    match line {
        Line::Event(event) => view::line(event, ordinals, width),
        Line::Unknown(unknown) => view::unknown_line(unknown),
    }
}

fn skipped(stretch: &Stretch<'_>, reason: &SkipReason) -> String {
    let offset = figures::count(stretch.offset);
    format!("the line at byte {offset} was skipped: {}", escape::line(&reason.to_string()))
}
