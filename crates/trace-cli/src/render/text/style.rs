//! The few styles that text has. They are written always, and taken out again where there are no colours.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

/// Titles.
pub(crate) const TITLE: Style = Style::new().bold();
/// What matters less than what stands beside it.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// Names of things that can be asked for.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
/// What went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What needs a look.
pub(crate) const ODD: Style = AnsiColor::Yellow.on_default();
/// What failed.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// Bars.
pub(crate) const BAR: Style = AnsiColor::Blue.on_default();

/// Returns the text in the style.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}
