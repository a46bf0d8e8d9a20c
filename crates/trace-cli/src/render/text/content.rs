//! The headings of exact prompts.

use trace_report::content::ChannelContent;

use super::{
    escape, figures, style,
    table::{Column, Row, Table},
};

/// Returns what stands above an exact prompt: what it is, and where each asset begins and ends.
pub(crate) fn heading(ordinal: u32, content: &ChannelContent<'_>, width: Option<u16>) -> Vec<String> {
    let name = format!("turn {ordinal} · {} prompt", content.channel);
    let bytes = u64::try_from(content.bytes.len()).unwrap_or(u64::MAX);
    let mut lines = vec![format!("{}  {}", style::styled(style::TITLE, name), figures::counted(bytes, "byte"))];
    let mut table = Table::new([
        Column::number("FROM"),
        Column::number("TO"),
        Column::text("KIND").left_out(1),
        Column::text("LABEL").shrinks(),
        Column::number("TOKENS"),
    ]);
    for row in &content.assets {
        let asset = &row.asset;
        table.push(Row::new([
            figures::count(asset.span.start()),
            figures::count(asset.span.end()),
            asset.kind.to_string(),
            escape::line(&asset.label).into_owned(),
            figures::count(asset.attributed_tokens),
        ]));
    }
    lines.extend(table.into_lines(width));
    lines.push(style::styled(style::FAINT, "─".repeat(usize::from(width.unwrap_or(80)))));
    lines
}
