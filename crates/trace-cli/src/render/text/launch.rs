//! One launch as a tree: turns, assets, decisions, usage.

use trace_capture::{Home, artifacts::SourceEntry};
use trace_model::{
    launch::{CaptureState, Launch},
    usage::UsageRow,
    words::{Channel, DecisionKind},
};
use trace_report::{
    context::DecisionCount,
    launch::{LaunchReport, TurnReport},
};

use super::{
    agents,
    context::decision_counts,
    cut::cut,
    escape, figures,
    status::{self, decision},
    style,
    table::{Column, Row, Table},
    tree::{INDENT, Node},
};

/// Returns the lines of the tree. `error` is what the agent said of its failure, if it failed and said something.
pub(crate) fn lines(report: &LaunchReport, home: &Home, error: Option<&str>, width: Option<u16>) -> Vec<String> {
    let mut root = Node::block(head(report, home, error, width));
    for turn in &report.turns {
        root.push(turn_node(report, turn, width));
    }
    let of_no_turn: Vec<&UsageRow> = report.usage.iter().filter(|row| row.record.turn_id.is_none()).collect();
    if !of_no_turn.is_empty() {
        let mut node = Node::new("usage of no turn");
        node.push(Node::block(usage_table(&of_no_turn, under(width, 2))));
        root.push(node);
    }
    if !report.agents.is_empty() {
        let mut node = Node::new("agents");
        node.push(Node::block(agents::tree(&report.agents, 0, under(width, 2))));
        if let Some(rest) = &report.agents_rest {
            node.push(Node::new(format!("not told apart  {}", status::totals(rest, Some(0)))));
        }
        root.push(node);
    }
    root.into_lines()
}

/// Returns the columns that are left at a depth of the tree.
fn under(width: Option<u16>, depth: u16) -> Option<u16> {
    width.map(|width| width.saturating_sub(depth * INDENT))
}

fn head(report: &LaunchReport, home: &Home, error: Option<&str>, width: Option<u16>) -> Vec<String> {
    let launch = &report.launch;
    let header = &launch.header;
    let (ended_at, word) = launch.state.columns();
    let (style, mark) = status::outcome(word);
    let agent = [header.provider.as_str()].into_iter().chain(launch.agent_version.as_deref()).collect::<Vec<_>>();
    let mut title = vec![style::styled(style, format!("{mark} {word}")), escape::line(&agent.join(" ")).into_owned()];
    title.extend(header.model.as_deref().map(|model| escape::line(model).into_owned()));
    title.push(escape::line(&header.surface).into_owned());
    let name = style::styled(style::TITLE, format_args!("launch {}", header.id.short()));
    let mut lines = vec![format!("{name}  {}", title.join(" · "))];

    let took = match ended_at {
        Some(at) => format!(", took {}", figures::duration(at.since(header.started_at))),
        None => String::new(),
    };
    let mut fact = |name: &str, value: &str| {
        let name = style::styled(style::FAINT, format_args!("{name:<9}"));
        lines.push(format!("  {name} {}", escape::line(value)));
    };
    fact("id", &header.id.to_string());
    fact("run", header.run_id.as_str());
    if let Some(parent) = header.parent_launch_id {
        fact("parent", &parent.short());
    }
    if !report.children.is_empty() {
        fact("children", &figures::counted(u64::try_from(report.children.len()).unwrap_or(u64::MAX), "launch"));
    }
    if let Some(control) = &header.control {
        fact("control", control.run_id.as_str());
    }
    fact("started", &format!("{} UTC{took}", figures::time(header.started_at)));
    fact("repo", &header.repo);
    if header.worktree != header.repo {
        fact("worktree", &header.worktree);
    }
    let labels = [("wave", &header.wave), ("project", &header.project), ("task", &header.task)];
    let labels = labels.into_iter().chain([("flow", &header.flow), ("skill", &header.skill)]);
    for (name, value) in labels {
        if let Some(value) = value {
            fact(name, value);
        }
    }
    for (key, value) in &header.tags {
        fact("tag", &format!("{key}={value}"));
    }
    if let Some(session) = &launch.provider_session_id {
        fact("session", session);
    }
    if let Some(path) = &launch.provider_session_path {
        fact("kept in", path);
    }
    fact("files", &home.artifact_path(&header.artifact_dir()).to_string_lossy());
    let sources = home.open_launch(&header.artifact_dir()).and_then(|dir| dir.sources()).unwrap_or_default();
    if launch.conversation_path.is_some() || sources.is_empty() {
        fact("recorded", &recorded(launch));
    } else {
        fact("imported", &imported(launch));
    }
    for source in &sources {
        fact("source", &source_line(source));
    }
    if let Some(error) = error {
        fact("error", &one_line(error, room(width, "  error     ")));
    }
    fact("usage", &status::totals(&report.totals, room(width, "  usage     ")));
    lines
}

/// Returns the columns that are left behind a text.
fn room(width: Option<u16>, text: &str) -> Option<usize> {
    width.map(|width| usize::from(width).saturating_sub(text.chars().count()))
}

fn recorded(launch: &Launch) -> String {
    let (status, reason) = launch.capture.columns();
    let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let events = figures::counted(launch.conversation_event_count, "event");
    let bytes = figures::counted(launch.conversation_bytes, "byte");
    let so_far = if launch.capture == CaptureState::Capturing { " so far" } else { "" };
    format!("{status}{why}, {events} in {bytes}{so_far}")
}

fn imported(launch: &Launch) -> String {
    let (status, reason) = launch.capture.columns();
    reason.map_or_else(|| status.to_string(), |reason| format!("{status}: {reason}"))
}

fn source_line(source: &SourceEntry) -> String {
    match source.bytes {
        Some(bytes) => {
            format!("{}, {} kept from byte {}", source.path, figures::bytes(bytes), figures::count(source.offset))
        }
        None => source.path.clone(),
    }
}

fn turn_node(report: &LaunchReport, turn: &TurnReport, width: Option<u16>) -> Node {
    let mut node = Node::new(turn_title(turn));
    node.push(context_node(turn, width));
    if !turn.decisions.is_empty() {
        let mut decisions = Node::new(format!("decisions  {}", decision_counts(&DecisionCount::of(&turn.decisions))));
        decisions.push(Node::block(decision_table(turn, under(width, 3))));
        node.push(decisions);
    }
    let id = Some(turn.row.turn.id);
    let usage: Vec<&UsageRow> = report.usage.iter().filter(|row| row.record.turn_id == id).collect();
    let mut usage_node =
        Node::new(format!("usage  {}", status::totals(&turn.totals, room(under(width, 2), "usage  "))));
    if !usage.is_empty() {
        usage_node.push(Node::block(usage_table(&usage, under(width, 3))));
    }
    node.push(usage_node);
    if let Some(output) = &turn.row.turn.root_output {
        node.push(Node::new(answer(output, under(width, 2))));
    }
    node
}

fn turn_title(report: &TurnReport) -> String {
    let turn = &report.row.turn;
    let (ended_at, word, reason) = turn.state.columns();
    let (style, mark) = status::turn(word);
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let mut parts = vec![style::styled(style, format!("{mark} {word}{reason}")), turn.input_op.to_string()];
    parts.extend(ended_at.map(|at| figures::duration(at.since(turn.started_at))));
    format!("{}  {}", style::styled(style::TITLE, format_args!("turn {}", turn.ordinal)), parts.join(" · "))
}

fn context_node(report: &TurnReport, width: Option<u16>) -> Node {
    let turn = &report.row.turn;
    let counted = match (turn.supplied_context_tokens, turn.tokenizer) {
        (Some(tokens), Some(tokenizer)) => {
            let part = |tokens: Option<u64>, channel: Channel| Some(format!("{} {channel}", figures::count(tokens?)));
            let parts = [part(turn.system_tokens, Channel::System), part(turn.task_tokens, Channel::Task)];
            let parts = parts.into_iter().flatten().collect::<Vec<_>>().join(" + ");
            format!(" · {} by {tokenizer}: {parts}", figures::counted(tokens, "token"))
        }
        _ => String::new(),
    };
    let mut node = Node::new(format!("context  {}{counted}", turn.context_coverage));
    if !report.assets.is_empty() {
        let mut table = Table::new([
            Column::number("#").left_out(3),
            Column::text("KIND"),
            Column::text("LABEL").shrinks(),
            Column::text("CHANNEL").left_out(1),
            Column::number("BYTES").left_out(2),
            Column::number("TOKENS"),
        ]);
        for row in &report.assets {
            let asset = &row.asset;
            let cells = [
                asset.position.to_string(),
                asset.kind.to_string(),
                escape::line(&asset.label).into_owned(),
                asset.channel.to_string(),
                figures::count(asset.span.len()),
                figures::count(asset.attributed_tokens),
            ];
            table.push(Row::new(cells).faint_if(asset.kind == trace_model::words::AssetKind::Assembly));
        }
        node.push(Node::block(table.into_lines(under(width, 3))));
    }
    node
}

fn decision_table(turn: &TurnReport, width: Option<u16>) -> Vec<String> {
    let mut table = Table::new([
        Column::text("DECISION"),
        Column::text("KIND").left_out(1),
        Column::text("LABEL").shrinks(),
        Column::text("REASON").shrinks(),
        Column::number("TOKENS").left_out(2),
    ]);
    for row in &turn.decisions {
        let made = &row.decision;
        let (style, mark) = decision(made.decision);
        let cells = [
            made.decision.to_string(),
            made.kind.to_string(),
            escape::line(&made.label).into_owned(),
            escape::line(&made.reason).into_owned(),
            figures::known(made.original_tokens),
        ];
        table.push(Row::new(cells).mark(style, mark).faint_if(made.decision == DecisionKind::Deduplicated));
    }
    table.into_lines(width)
}

fn usage_table(rows: &[&UsageRow], width: Option<u16>) -> Vec<String> {
    let mut table = Table::new([
        Column::text("RECORD").shrinks(),
        Column::text("AGENT").left_out(5),
        Column::text("MODEL").left_out(4),
        Column::number("UNCACHED"),
        Column::number("CACHE READ").left_out(2),
        Column::number("CACHE WRITE").left_out(3),
        Column::number("OUTPUT"),
        Column::number("COST").left_out(1),
        Column::text("QUALITY").left_out(6),
    ]);
    for row in rows {
        let report = &row.record.report;
        let replay = row.replay_of.map(|launch| format!(" (replay of {})", launch.short())).unwrap_or_default();
        let agent = if report.agent.is_main() { String::new() } else { report.agent.to_string() };
        let cells = [
            format!("{}{replay}", escape::line(&report.key)),
            escape::line(&agent).into_owned(),
            escape::line(report.model.as_deref().unwrap_or_default()).into_owned(),
            figures::measured(report.input_tokens, report.quality),
            figures::measured(report.cache_read_tokens, report.quality),
            figures::measured(report.cache_write_tokens, report.quality),
            figures::measured(report.output_tokens, report.quality),
            report.reported_cost_usd.map_or_else(String::new, |cost| figures::money(Some(cost))),
            report.quality.to_string(),
        ];
        table.push(Row::new(cells).faint_if(row.replay_of.is_some()));
    }
    table.into_lines(width)
}

/// Returns the beginning of an answer, in quotes.
fn answer(output: &str, width: Option<u16>) -> String {
    format!("answer  “{}”", one_line(output, room(width, "answer  “”")))
}

/// Returns the beginning of a text as one line that fits into `room` columns, if they are limited.
fn one_line(text: &str, room: Option<usize>) -> String {
    const LONGEST: usize = 200;
    let room = room.map_or(LONGEST, |room| room.min(LONGEST));
    let mut lines = text.trim().lines();
    let first = escape::line(lines.next().unwrap_or_default());
    let more = if lines.next().is_some() { "…" } else { "" };
    cut(&format!("{first}{more}"), Some(room)).into_owned()
}
