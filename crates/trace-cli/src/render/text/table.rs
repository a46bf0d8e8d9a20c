//! Tables without borders, one line a row.
//!
//! The layout of the cells is comfy-table's, and knows nothing of colours; what is coloured alone stands at the edges:
//! a mark in front of a row, a bar behind it.

use std::iter;

use anstyle::Style;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Row as Cells, Table as Layout, presets};
use unicode_width::UnicodeWidthStr;

use super::style;

/// A table of rows under titles.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    /// The width of the widest cell of each column.
    widths: Vec<usize>,
    rows: Vec<Row>,
    /// The columns of the widest mark.
    mark_width: usize,
    /// The columns of the widest tail.
    tail_width: usize,
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    is_number: bool,
    room: Room,
}

/// What becomes of a column where the lines are too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// It stays as it is.
    Kept,
    /// Its cells are cut, down to so many columns of the terminal.
    Shrinks(usize),
    /// It is left out; those of the largest number first.
    LeftOut(u8),
}

impl Column {
    /// Returns a column of text.
    pub(crate) const fn text(title: &'static str) -> Self {
        Self { title, is_number: false, room: Room::Kept }
    }

    /// Returns a column of numbers, which stand at its right.
    pub(crate) const fn number(title: &'static str) -> Self {
        Self { title, is_number: true, room: Room::Kept }
    }

    /// Lets the cells be cut where the lines are too long.
    pub(crate) const fn shrinks(self) -> Self {
        self.shrinks_to(SMALLEST_CUT)
    }

    /// Lets the cells be cut where the lines are too long, once every column that may go is gone and more than so many
    /// columns of the terminal are left.
    pub(crate) const fn shrinks_to(self, width: usize) -> Self {
        Self { room: Room::Shrinks(width), ..self }
    }

    /// Lets the column be left out where the lines are too long; a larger number goes first.
    pub(crate) const fn left_out(self, order: u8) -> Self {
        Self { room: Room::LeftOut(order), ..self }
    }
}

/// A row of a table.
#[derive(Debug, Default)]
pub(crate) struct Row {
    cells: Vec<String>,
    mark: Option<(Style, &'static str)>,
    tail: Option<(Style, String)>,
    is_faint: bool,
}

impl Row {
    /// Returns a row of cells, one for each column; their text is safe for a terminal already.
    pub(crate) fn new(cells: impl IntoIterator<Item = String>) -> Self {
        Self { cells: cells.into_iter().collect(), ..Self::default() }
    }

    /// Puts a mark of one column in front of it.
    pub(crate) fn mark(self, style: Style, mark: &'static str) -> Self {
        Self { mark: Some((style, mark)), ..self }
    }

    /// Puts a text behind it.
    pub(crate) fn tail(self, style: Style, tail: String) -> Self {
        Self { tail: Some((style, tail)).filter(|(_, tail)| !tail.is_empty()), ..self }
    }

    /// Shows it as less important than the others, if so.
    pub(crate) fn faint_if(self, is_faint: bool) -> Self {
        Self { is_faint, ..self }
    }
}

/// The columns between two columns.
const GAP: u16 = 2;

impl Table {
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        let columns: Vec<Column> = columns.into_iter().collect();
        Self { widths: vec![0; columns.len()], columns, rows: Vec::new(), mark_width: 0, tail_width: 0 }
    }

    pub(crate) fn push(&mut self, row: Row) {
        for (width, cell) in self.widths.iter_mut().zip(&row.cells) {
            *width = cell.width().max(*width);
        }
        if row.mark.is_some() {
            self.mark_width = 2;
        }
        if let Some((_, tail)) = &row.tail {
            self.tail_width = self.tail_width.max(tail.width());
        }
        self.rows.push(row);
    }

    /// Returns the lines: the titles, and one for each row. None is wider than `width`, if that is given and has room
    /// for the columns that must stay.
    ///
    /// A column without any content is left out. A table without rows has no lines.
    pub(crate) fn into_lines(mut self, width: Option<u16>) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let mut shown = self.shown_columns(self.room(width));
        if self.room(width).is_some_and(|room| self.needed(&shown) > room) {
            // Not even the columns that must stay find room beside the tails.
            self.rows.iter_mut().for_each(|row| row.tail = None);
            self.tail_width = 0;
            shown = self.shown_columns(self.room(width));
        }
        let layout = self.layout(&shown, self.room(width));
        let mut laid_out = layout.lines();
        let titles = laid_out.next().unwrap_or_default();
        let titles = style::styled(style::FAINT, titles.trim_end());
        let mut lines = vec![format!("{}{titles}", " ".repeat(self.mark_width))];
        // Where no column finds room, the layout has no lines.
        let laid_out = laid_out.chain(iter::repeat(String::new()));
        lines.extend(self.rows.iter().zip(laid_out).map(|(row, cells)| self.line(row, &cells)));
        lines
    }

    /// Returns the columns that there are between the marks and the tails.
    fn room(&self, width: Option<u16>) -> Option<usize> {
        width.map(|width| usize::from(width).saturating_sub(self.mark_width + self.tail_width))
    }

    fn line(&self, row: &Row, cells: &str) -> String {
        let mark = match row.mark {
            Some((style, mark)) => format!("{} ", style::styled(style, mark)),
            None => " ".repeat(self.mark_width),
        };
        let tail = row.tail.as_ref().map(|(style, tail)| style::styled(*style, tail));
        let cells = if tail.is_some() { cells } else { cells.trim_end() };
        let cells = if row.is_faint { style::styled(style::FAINT, cells) } else { cells.to_owned() };
        format!("{mark}{cells}{}", tail.unwrap_or_default())
    }

    /// Returns the indexes of the columns that have content and find room.
    fn shown_columns(&self, room: Option<usize>) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).filter(|index| self.widths[*index] > 0).collect();
        while room.is_some_and(|room| self.needed(&shown) > room) {
            let order = |index: &usize| match self.columns[*index].room {
                Room::LeftOut(order) => Some(order),
                Room::Kept | Room::Shrinks(_) => None,
            };
            let Some(first) = shown.iter().copied().filter(|index| order(index).is_some()).max_by_key(order) else {
                break;
            };
            shown.retain(|index| *index != first);
        }
        shown
    }

    /// Returns the columns of the terminal that the columns of the table need.
    fn needed(&self, shown: &[usize]) -> usize {
        let width = |index: &usize| {
            let Column { title, room, .. } = self.columns[*index];
            let width = match room {
                // A cut cell is of use while some words of it are seen.
                Room::Shrinks(smallest) => self.widths[*index].min(smallest),
                Room::Kept | Room::LeftOut(_) => self.widths[*index],
            };
            width.max(title.len()) + usize::from(GAP)
        };
        shown.iter().map(width).sum()
    }

    fn layout(&self, shown: &[usize], room: Option<usize>) -> Layout {
        let mut layout = Layout::new();
        layout.load_style(presets::NOTHING);
        // A cell is cut at any character: no text holds this one.
        layout.set_delimiter('\0');
        // Each row is one line, also where there is no room: the marks and tails are put beside the lines.
        let mut titles = Cells::from(shown.iter().map(|index| self.columns[*index].title).collect::<Vec<_>>());
        titles.max_height(1);
        layout.set_header(titles);
        for row in &self.rows {
            let cells = shown.iter().map(|index| row.cells.get(*index).map_or("", String::as_str));
            let mut cells = Cells::from(cells.collect::<Vec<_>>());
            cells.max_height(1);
            layout.add_row(cells);
        }
        match room {
            Some(room) => layout
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(u16::try_from(room).unwrap_or(u16::MAX)),
            None => layout.set_content_arrangement(ContentArrangement::Disabled),
        };
        for (column, index) in layout.column_iter_mut().zip(shown) {
            let Column { is_number, room, .. } = self.columns[*index];
            column.set_padding((0, GAP));
            if is_number {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if !matches!(room, Room::Shrinks(_)) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        layout
    }
}

/// The fewest columns of a cell that is cut.
const SMALLEST_CUT: usize = 24;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(rows: &[[&str; 3]]) -> Table {
        let columns = [Column::text("NAME").shrinks(), Column::number("SIZE"), Column::text("NOTE").left_out(1)];
        let mut table = Table::new(columns);
        for row in rows {
            table.push(Row::new(row.map(str::to_owned)));
        }
        table
    }

    fn plain(lines: &[String]) -> Vec<String> {
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn numbers_stand_at_the_right_and_empty_columns_nowhere() {
        let lines = table(&[["a", "1", ""], ["bcd", "1,000", ""]]).into_lines(None);
        assert_eq!(plain(&lines), ["NAME   SIZE", "a         1", "bcd   1,000"]);
    }

    #[test]
    fn a_column_that_may_be_left_out_goes_before_a_cell_is_cut() {
        let rows = [["a name that is rather long", "1", "a note"], ["short", "22", "another note"]];
        let wide = table(&rows).into_lines(Some(80));
        assert!(plain(&wide)[1].contains("a note"), "{wide:?}");
        let narrow = plain(&table(&rows).into_lines(Some(24)));
        assert_eq!(narrow, ["NAME              SIZE", "a name that is …     1", "short               22"]);
    }

    #[test]
    fn what_is_coloured_stands_at_the_edges() {
        let mut table = Table::new([Column::text("KIND")]);
        table.push(Row::new(["goal".to_owned()]).mark(style::GOOD, "✓").tail(style::BAR, "██".to_owned()));
        table.push(Row::new(["document".to_owned()]));
        assert_eq!(plain(&table.into_lines(None)), ["  KIND", "✓ goal      ██", "  document"]);
    }

    #[test]
    fn tails_go_where_the_columns_that_stay_need_their_room() {
        let mut table = Table::new([Column::text("KIND")]);
        table.push(Row::new(["instructions".to_owned()]).tail(style::BAR, "██████".to_owned()));
        assert_eq!(plain(&table.into_lines(Some(16))), ["KIND", "instructions"]);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(
            cells in prop::collection::vec(("[a-z 日本🦀é]{0,60}", "[0-9]{0,6}", "[a-z ]{0,40}"), 0..8),
            width in 10_u16..120,
        ) {
            let rows: Vec<[&str; 3]> =
                cells.iter().map(|(name, size, note)| [name.as_str(), size.as_str(), note.as_str()]).collect();
            let lines = plain(&table(&rows).into_lines(Some(width)));
            prop_assert_eq!(lines.len(), if rows.is_empty() { 0 } else { rows.len() + 1 });
            // Below that not even the columns that must stay find room.
            for line in lines.iter().filter(|_| width >= 30) {
                prop_assert!(line.width() <= usize::from(width), "{}", line);
            }
        }
    }
}
