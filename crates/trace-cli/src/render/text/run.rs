//! A run as the tree of its launches.

use trace_model::id::LaunchId;
use trace_report::run::{ParentPlace, RunLaunch, RunReport};

use super::{
    escape, figures, status, style,
    table::{Column, Row, Table},
    tree::Node,
};

/// The levels that are drawn. What is further down stands in the last one and names its parent, so that the lines stay
/// readable however deep the tree is.
const DEEPEST: usize = 8;

/// Returns the lines of the run.
pub(crate) fn lines(report: &RunReport, width: Option<u16>) -> Vec<String> {
    let mut lines = head(report, width);
    let mut table = Table::new([
        Column::text("LAUNCH"),
        Column::text("PARENT"),
        Column::text("STARTED (UTC)").left_out(9),
        Column::number("TOOK").left_out(6),
        Column::text("PROVIDER").left_out(1),
        Column::text("MODEL").left_out(8),
        Column::text("OUTCOME").left_out(4),
        Column::text("CAPTURE").left_out(3),
        Column::number("TOKENS"),
        Column::number("COST").left_out(2),
        Column::text("PROJECT").left_out(7),
        Column::text("TASK").left_out(5),
    ]);
    for root in &report.launches {
        let mut drawn = vec![Drawn { launch: root, is_beneath_parent: false }];
        let mut node = Node::new(root.entry.launch.header.id.short());
        hang(&mut node, &root.children, 1, true, &mut drawn);
        for (branch, drawn) in node.into_lines().into_iter().zip(drawn) {
            table.push(row(branch, &drawn));
        }
    }
    lines.extend(table.into_lines(width));
    lines
}

fn head(report: &RunReport, width: Option<u16>) -> Vec<String> {
    let name = style::styled(style::TITLE, format_args!("run {}", report.run_id));
    let started = figures::time(report.started_at);
    let took = match report.ended_at {
        Some(at) => format!("took {}", figures::duration(at.since(report.started_at))),
        None => "still running".to_owned(),
    };
    let fact =
        |name: &str, value: &str| format!("  {} {value}", style::styled(style::FAINT, format_args!("{name:<9}")));
    let room = width.map(|width| usize::from(width).saturating_sub("  started   ".len()));
    vec![
        format!("{name}  {}", figures::counted(report.launch_count, "launch")),
        fact("started", &format!("{started} UTC, {took}")),
        fact("usage", &status::totals(&report.totals, room)),
    ]
}

/// A launch in the order of the tree.
struct Drawn<'a> {
    launch: &'a RunLaunch,
    is_beneath_parent: bool,
}

/// Hangs the launches under a node, at a level of the tree; `is_parent` says whether the node is the one of their
/// parent.
fn hang<'a>(node: &mut Node, launches: &'a [RunLaunch], level: usize, is_parent: bool, drawn: &mut Vec<Drawn<'a>>) {
    for launch in launches {
        let is_beneath_parent = is_parent && launch.parent_place == ParentPlace::Above;
        drawn.push(Drawn { launch, is_beneath_parent });
        let mut branch = Node::new(launch.entry.launch.header.id.short());
        if level < DEEPEST {
            hang(&mut branch, &launch.children, level + 1, true, drawn);
            node.push(branch);
        } else {
            node.push(branch);
            hang(node, &launch.children, level, false, drawn);
        }
    }
}

fn row(branch: String, drawn: &Drawn<'_>) -> Row {
    let launch = &drawn.launch.entry.launch;
    let totals = &drawn.launch.entry.totals;
    let header = &launch.header;
    let (_, word) = launch.state.columns();
    let text = |text: &Option<String>| escape::line(text.as_deref().unwrap_or_default()).into_owned();
    let (style, mark) = status::outcome(word);
    Row::new([
        branch,
        parent(drawn),
        figures::time(header.started_at),
        status::took(launch),
        header.provider.to_string(),
        text(&header.model),
        word.to_string(),
        status::lack(&launch.capture),
        figures::measured(totals.total_tokens, totals.quality),
        figures::money(totals.cost_usd),
        text(&header.project),
        text(&header.task),
    ])
    .mark(style, mark)
}

/// Returns what the tree itself does not show of the parent.
fn parent(drawn: &Drawn<'_>) -> String {
    let Drawn { launch, is_beneath_parent } = drawn;
    let name = launch.entry.launch.header.parent_launch_id.filter(|_| !is_beneath_parent).map(LaunchId::short);
    let turn = launch.parent_turn_ordinal.map(|ordinal| format!("turn {ordinal}"));
    let note = match launch.parent_place {
        ParentPlace::Missing => Some("not here".to_owned()),
        ParentPlace::Circle => Some("in a circle".to_owned()),
        ParentPlace::None | ParentPlace::Above | ParentPlace::Beside => None,
    };
    [name, turn, note].into_iter().flatten().collect::<Vec<_>>().join(", ")
}
