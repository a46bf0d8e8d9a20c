//! Where the bytes and tokens of prompts come from.

use trace_model::{context::Decision, words::AssetKind};
use trace_report::{
    attribution::{AttributionReport, ChannelReport},
    share::per_mille,
};

use super::{
    bar::bar,
    escape, figures, status, style,
    table::{Column, Row, Table},
};

/// Returns the lines of the report.
pub(crate) fn lines(report: &AttributionReport<'_>, width: Option<u16>) -> Vec<String> {
    let mut lines = Vec::new();
    let counted = report.tokenizer.map(|tokenizer| format!(", counted with {tokenizer}")).unwrap_or_default();
    for channel in &report.channels {
        let name = style::styled(style::TITLE, format_args!("{} prompt", channel.channel));
        let tokens = figures::counted(channel.tokens, "token");
        let bytes = figures::counted(channel.bytes, "byte");
        lines.push(format!("{name}  {bytes}, {tokens}{counted}"));
        lines.extend(assets(channel, width));
        lines.push(String::new());
    }
    if !report.decisions.is_empty() {
        lines.push(style::styled(style::TITLE, "decisions"));
        lines.extend(decisions(report.decisions, width));
        lines.push(String::new());
    }
    lines.pop();
    lines
}

fn assets(channel: &ChannelReport<'_>, width: Option<u16>) -> Vec<String> {
    let mut table = Table::new([
        Column::number("#").left_out(4),
        Column::text("KIND").left_out(1),
        Column::text("LABEL").shrinks(),
        Column::number("FROM BYTE").left_out(3),
        Column::number("BYTES").left_out(2),
        Column::number("ALONE").left_out(5),
        Column::number("TOKENS"),
        Column::number("SHARE"),
    ]);
    let tokens: Vec<u64> = channel.assets.iter().map(|asset| asset.attributed_tokens).collect();
    let shares = per_mille(&tokens).unwrap_or_default();
    for (index, asset) in channel.assets.iter().enumerate() {
        let share = shares.get(index).copied();
        let is_glue = asset.kind == AssetKind::Assembly;
        let cells = [
            asset.position.to_string(),
            asset.kind.to_string(),
            escape::line(&asset.label).into_owned(),
            figures::count(asset.span.start()),
            figures::count(asset.span.len()),
            figures::count(asset.isolated_tokens),
            figures::count(asset.attributed_tokens),
            figures::percent(share),
        ];
        let bar_style = if is_glue { style::FAINT } else { style::BAR };
        table.push(Row::new(cells).faint_if(is_glue).tail(bar_style, bar(share.unwrap_or(0))));
    }
    table.into_lines(width)
}

fn decisions(decisions: &[Decision], width: Option<u16>) -> Vec<String> {
    let mut table = Table::new([
        Column::text("DECISION"),
        Column::text("KIND").left_out(1),
        Column::text("LABEL").shrinks(),
        Column::text("REASON").shrinks(),
        Column::number("ASSET").left_out(2),
    ]);
    for decision in decisions {
        let (mark_style, mark) = status::decision(decision.decision);
        let cells = [
            decision.decision.to_string(),
            decision.kind.to_string(),
            escape::line(&decision.label).into_owned(),
            escape::line(&decision.reason).into_owned(),
            decision.asset_position.map_or_else(String::new, |position| position.to_string()),
        ];
        table.push(Row::new(cells).mark(mark_style, mark));
    }
    table.into_lines(width)
}
