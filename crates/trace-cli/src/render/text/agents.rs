//! The agents of a launch as a tree, and one of them alone.

use trace_model::{
    event::{ConversationEvent, Event, Payload},
    usage::Agent,
};
use trace_report::{agents::AgentRow, run::ParentPlace};

use super::{
    cut::cut,
    escape, events, figures, status, style,
    table::{Column, Row, Table},
    tree::INDENT,
};
use crate::commands::show::AgentReport;

/// The levels that are drawn; what is further down stands in the last one and names its parent.
const DEEPEST: u64 = 6;

/// Returns the lines of a table whose first column is the tree of the agents; `base` is the depth of its roots.
pub(crate) fn tree(rows: &[AgentRow], base: u64, width: Option<u16>) -> Vec<String> {
    let mut table = Table::new([
        Column::text("AGENT").shrinks_to(16),
        Column::text("KIND").left_out(2),
        Column::text("TOOL CALL").left_out(5),
        Column::text("PROMPT").shrinks(),
        Column::number("REQUESTS").left_out(3),
        Column::number("TOOLS").left_out(4),
        Column::number("CONTEXT").left_out(1),
        Column::number("TOKENS"),
    ]);
    for row in rows {
        let depth = row.depth.saturating_sub(base);
        let indent = "  ".repeat(usize::try_from(depth.min(DEEPEST)).unwrap_or_default());
        let parent = match (&row.parent, row.parent_place) {
            (Some(parent), ParentPlace::Missing) => format!(" (of {parent}, not here)"),
            (Some(parent), ParentPlace::Circle) => format!(" (of {parent}, in a circle)"),
            (Some(parent), _) if depth > DEEPEST => format!(" (of {parent})"),
            _ => String::new(),
        };
        let unknown = if row.agent.is_main() { "" } else { figures::UNKNOWN };
        let text = |text: &Option<String>| {
            escape::line(text.as_deref().map_or(unknown, |text| text.trim().lines().next().unwrap_or_default()))
                .into_owned()
        };
        table.push(Row::new([
            format!("{indent}{}{}", escape::line(row.agent.as_str()), escape::line(&parent)),
            text(&row.kind),
            text(&row.tool_call),
            cut(&text(&row.prompt), Some(60)).into_owned(),
            figures::known(row.totals.requests),
            figures::known(row.tool_calls),
            figures::known(row.largest_context_tokens),
            figures::measured(row.totals.total_tokens, row.totals.quality),
        ]));
    }
    table.into_lines(width)
}

/// Returns the lines of one subagent: who asked it for what, what it used, what it did, and whom it asked.
pub(crate) fn one(report: &AgentReport, width: Option<u16>) -> Vec<String> {
    let row = &report.row;
    let room = width.map(|width| usize::from(width).saturating_sub("  tool call ".len()));
    let mut lines = vec![format!(
        "{}  launch {}",
        style::styled(style::TITLE, format_args!("agent {}", escape::line(row.agent.as_str()))),
        report.launch_id.short()
    )];
    let known = |text: Option<&str>| text.unwrap_or(figures::UNKNOWN).to_owned();
    let mut fact = |name: &str, value: &str| {
        let name = style::styled(style::FAINT, format_args!("{name:<9}"));
        lines.push(format!("  {name} {}", cut(&escape::line(value), room)));
    };
    let place = match row.parent_place {
        ParentPlace::Missing => ", which is not here",
        ParentPlace::Circle => ", which it started itself",
        ParentPlace::None | ParentPlace::Above | ParentPlace::Beside => "",
    };
    fact("parent", &format!("{}{place}", known(row.parent.as_ref().map(Agent::as_str))));
    fact("tool call", &known(row.tool_call.as_deref()));
    fact("kind", &known(row.kind.as_deref()));
    fact("began", &row.began_at.map_or_else(|| figures::UNKNOWN.to_owned(), |at| format!("{} UTC", figures::time(at))));
    fact("context", &format!("{} tokens in its largest request", figures::known(row.largest_context_tokens)));
    fact("tools", &format!("{} called", figures::known(row.tool_calls)));
    fact("usage", &status::totals(&row.totals, room));
    for model in &report.models {
        let name = model.model.as_deref().unwrap_or("no model");
        fact("", &format!("{name}: {}", status::totals(&model.totals, Some(0))));
    }

    lines.push(style::styled(style::TITLE, "prompt"));
    match &row.prompt {
        Some(prompt) => lines.extend(prompt.trim_end().lines().map(|line| format!("  {}", escape::line(line)))),
        None => lines.push(format!("  {}", figures::UNKNOWN)),
    }
    lines.push(style::styled(style::TITLE, "steps"));
    let mut ordinals = events::Ordinals::default();
    let before = lines.len();
    for event in &report.events {
        let is_said_again = matches!(
            event.payload,
            Payload::Usage { .. } | Payload::Conversation { event: ConversationEvent::ItemStarted { .. } }
        );
        if !is_said_again {
            // All of it is this agent's, and need not say so.
            let event = Event { agent: Agent::Main, ..event.clone() };
            lines.push(events::line(&event, &mut ordinals, width));
        }
    }
    if lines.len() == before {
        lines.push("  none is on record".to_owned());
    }
    if !report.children.is_empty() {
        lines.push(style::styled(style::TITLE, "agents that it started"));
        let under = width.map(|width| width.saturating_sub(INDENT));
        lines.extend(tree(&report.children, row.depth + 1, under).into_iter().map(|line| format!("   {line}")));
    }
    lines
}
