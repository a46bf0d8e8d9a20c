//! The context profile.

use anstyle::Style;
use trace_model::{
    launch::Launch,
    words::{AssetKind, DecisionKind},
};
use trace_report::context::{ContextProfile, Counted, DecisionCount, Measured, TurnProfile};

use super::{
    bar::bar,
    escape, figures, status, style,
    table::{Column, Row, Table},
};

const NOTHING_COUNTED: &str =
    "no prompt is on record, so nothing can be told by source; --system-file and --task-file of `trace exec` record it";

/// Returns the lines of the profile.
pub(crate) fn lines(profile: &ContextProfile, launch: &Launch, width: Option<u16>) -> Vec<String> {
    let mut lines = vec![title(launch)];
    let mut section = |part: Vec<String>| {
        if !part.is_empty() {
            lines.push(String::new());
            lines.extend(part);
        }
    };
    section(turns(&profile.turns, width));
    if profile.counted.is_empty() {
        section(vec![NOTHING_COUNTED.to_owned()]);
    }
    for counted in &profile.counted {
        section(by_kind(counted, width));
        section(by_source(counted, width));
    }
    section(decisions(profile, width));
    section(measured(&profile.measured, launch, width));
    lines
}

fn title(launch: &Launch) -> String {
    let header = &launch.header;
    let (_, word) = launch.state.columns();
    let (mark_style, mark) = status::outcome(word);
    let model = header.model.as_deref().map(|model| format!(" · {}", escape::line(model))).unwrap_or_default();
    format!(
        "{}  {} · {}{model}",
        style::styled(style::TITLE, format_args!("context of launch {}", header.id.short())),
        style::styled(mark_style, format_args!("{mark} {word}")),
        header.provider,
    )
}

fn turns(turns: &[TurnProfile], width: Option<u16>) -> Vec<String> {
    let mut table = Table::new([
        Column::number("TURN"),
        Column::text("INPUT").left_out(1),
        Column::text("COVERAGE"),
        Column::number("SYSTEM").left_out(2),
        Column::number("TASK").left_out(2),
        Column::number("COUNTED HERE"),
        Column::number("MEASURED IN"),
        Column::number("LARGEST REQUEST").left_out(3),
    ]);
    for turn in turns {
        let (mark_style, mark) = status::turn(turn.status);
        let totals = &turn.measured.totals;
        let cells = [
            turn.ordinal.to_string(),
            turn.input_op.to_string(),
            turn.context_coverage.to_string(),
            figures::known(turn.system_tokens),
            figures::known(turn.task_tokens),
            figures::known(turn.supplied_context_tokens),
            figures::measured(status::all_input(totals), totals.quality),
            figures::known(turn.measured.peak_input_tokens),
        ];
        table.push(Row::new(cells).mark(mark_style, mark));
    }
    table.into_lines(width)
}

fn by_kind(counted: &Counted, width: Option<u16>) -> Vec<String> {
    let mut table = Table::new([
        Column::text("KIND"),
        Column::number("ASSETS").left_out(1),
        Column::number("BYTES").left_out(2),
        Column::number("TOKENS"),
        Column::number("SHARE"),
    ]);
    for kind in &counted.by_kind {
        let cells = [
            kind.kind.to_string(),
            figures::count(kind.assets),
            figures::count(kind.bytes),
            figures::count(kind.tokens),
            figures::percent(kind.share_per_mille),
        ];
        table.push(with_bar(Row::new(cells), kind.share_per_mille, kind.kind));
    }
    let total = format!(
        "{} counted here with {}, in {}",
        figures::counted(counted.tokens, "token"),
        counted.tokenizer,
        figures::counted(counted.assets, "asset"),
    );
    let mut lines = vec![style::styled(style::TITLE, total)];
    lines.extend(table.into_lines(width));
    lines
}

fn by_source(counted: &Counted, width: Option<u16>) -> Vec<String> {
    let mut table = Table::new([
        Column::text("SOURCE").shrinks(),
        Column::text("KIND").left_out(2),
        Column::text("CHANNEL").left_out(3),
        Column::number("ASSETS").left_out(4),
        Column::number("BYTES").left_out(5),
        Column::number("TOKENS"),
        Column::number("SHARE"),
    ]);
    for source in &counted.by_source {
        let cells = [
            escape::line(&source.label).into_owned(),
            source.kind.to_string(),
            source.channel.to_string(),
            figures::count(source.assets),
            figures::count(source.bytes),
            figures::count(source.tokens),
            figures::percent(source.share_per_mille),
        ];
        table.push(with_bar(Row::new(cells), source.share_per_mille, source.kind));
    }
    table.into_lines(width)
}

fn with_bar(row: Row, per_mille: Option<u32>, kind: AssetKind) -> Row {
    let is_glue = kind == AssetKind::Assembly;
    let bar_style = if is_glue { style::FAINT } else { style::BAR };
    row.faint_if(is_glue).tail(bar_style, bar(per_mille.unwrap_or(0)))
}

/// Returns how many decisions of each kind there are, in words.
pub(crate) fn decision_counts(counts: &[DecisionCount]) -> String {
    let count = |count: &DecisionCount| format!("{} {}", figures::count(count.count), count.decision);
    counts.iter().map(count).collect::<Vec<_>>().join(" · ")
}

/// Lists what did not simply go in; what did is among the sources.
fn decisions(profile: &ContextProfile, width: Option<u16>) -> Vec<String> {
    if profile.decisions.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new([
        Column::text("DECISION"),
        Column::text("SOURCE").shrinks(),
        Column::text("KIND").left_out(1),
        Column::text("REASON").shrinks(),
        Column::number("TOKENS").left_out(2),
    ]);
    for row in &profile.decisions {
        let made = &row.decision;
        if made.decision == DecisionKind::Included {
            continue;
        }
        let (mark_style, mark) = status::decision(made.decision);
        let cells = [
            made.decision.to_string(),
            escape::line(&made.label).into_owned(),
            made.kind.to_string(),
            escape::line(&made.reason).into_owned(),
            figures::known(made.original_tokens),
        ];
        table.push(Row::new(cells).mark(mark_style, mark));
    }
    let mut lines =
        vec![format!("{}  {}", style::styled(style::TITLE, "decisions"), decision_counts(&profile.decision_counts))];
    lines.extend(table.into_lines(width));
    lines
}

fn measured(measured: &Measured, launch: &Launch, width: Option<u16>) -> Vec<String> {
    let title = format!("measured by {}", launch.header.provider);
    let room = width.map(|width| usize::from(width).saturating_sub(title.chars().count() + 2));
    let totals = status::totals(&measured.totals, room);
    let mut lines = vec![format!("{}  {totals}", style::styled(style::TITLE, title))];
    if let Some(peak) = measured.peak_input_tokens {
        let mut line = format!("  the largest request had a context of {}", figures::counted(peak, "token"));
        if let Some(window) = measured.context_window_tokens.filter(|window| *window > 0) {
            let per_mille = u32::try_from(u128::from(peak) * 1000 / u128::from(window)).unwrap_or(u32::MAX);
            let share = figures::percent(Some(per_mille));
            let bar = style::styled(fullness(per_mille), bar(per_mille));
            line = format!("{line} of {}, {share} {bar}", figures::count(window));
        }
        lines.push(line);
    }
    lines
}

/// Returns the style of a context window that is so full.
const fn fullness(per_mille: u32) -> Style {
    match per_mille {
        0..700 => style::BAR,
        700..900 => style::ODD,
        _ => style::BAD,
    }
}
