//! One table: columns with a title and a side, cells with a tone.
//!
//! Rendered text holds ANSI codes wherever a cell has a tone. Write it through a stream that strips
//! them (the `anstream` crate) when the output is not a terminal or colour is not wanted; no tone
//! carries a meaning that the text lacks.

use comfy_table::{
    Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, TableStyle,
};

/// A line under the header and nothing else: the rest is noise, also for screen readers.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// How a cell stands out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tone {
    /// Not at all.
    #[default]
    Plain,
    /// What was hoped for.
    Good,
    /// What needs attention.
    Bad,
    /// Less important than the rest.
    Dim,
    /// More important than the rest.
    Strong,
}

/// One cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// A cell that stands out as `tone` tells.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Cell {
            text: text.into(),
            tone,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell::new(text, Tone::Plain)
    }
}

/// One column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    title: String,
    right: bool,
    whole: bool,
}

impl Column {
    /// A column of words, aligned left.
    pub fn words(title: impl Into<String>) -> Self {
        Column {
            title: title.into(),
            right: false,
            whole: false,
        }
    }

    /// A column of figures, aligned right. Its title names the unit.
    pub fn figures(title: impl Into<String>) -> Self {
        Column {
            right: true,
            whole: true,
            ..Column::words(title)
        }
    }

    /// The column, never wrapped.
    pub fn whole(self) -> Self {
        Column {
            whole: true,
            ..self
        }
    }
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Table {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When the row has not one cell a column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "one cell a column");
        self.rows.push(cells);
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text that ends in a newline. Columns of words wrap so that lines fit into
    /// `width` characters; without a width nothing wraps.
    pub fn render(&self, width: Option<u16>) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE);
        // Without both calls the library asks the real terminal, and the text depends on it.
        table.force_no_tty().enforce_styling();
        table.style_text_only();
        match width {
            Some(width) => table
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(width),
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        table.set_header(
            self.columns
                .iter()
                .map(|column| comfy_table::Cell::new(&column.title).add_attribute(Attribute::Bold)),
        );
        for row in &self.rows {
            table.add_row(row.iter().map(styled));
        }
        for (index, column) in self.columns.iter().enumerate() {
            let Some(out) = table.column_mut(index) else {
                continue;
            };
            out.set_padding((if index == 0 { 0 } else { 1 }, 1));
            if column.right {
                out.set_cell_alignment(CellAlignment::Right);
            }
            if column.whole {
                out.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let text = table.trim_fmt();
        let lines = text.lines().map(str::trim_end);
        lines.flat_map(|line| [line, "\n"]).collect()
    }
}

fn styled(cell: &Cell) -> comfy_table::Cell {
    let out = comfy_table::Cell::new(&cell.text);
    match cell.tone {
        Tone::Plain => out,
        Tone::Good => out.fg(Color::DarkGreen),
        Tone::Bad => out.fg(Color::DarkRed).add_attribute(Attribute::Bold),
        Tone::Dim => out.add_attribute(Attribute::Dim),
        Tone::Strong => out.add_attribute(Attribute::Bold),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new([
            Column::words("policy").whole(),
            Column::figures("latency [ms]"),
            Column::words("remark"),
        ]);
        let remark = "the head of the queue runs for one slice, then joins the tail";
        table.row(["credit".into(), "14.29 ± 0.03".into(), remark.into()]);
        table.row([
            "credit2".into(),
            "0.2".into(),
            Cell::new("fast", Tone::Good),
        ]);
        table
    }

    /// `text` without the codes for colours.
    pub fn plain(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            out += before;
            rest = after.split_once('m').map_or("", |(_, rest)| rest);
        }
        out + rest
    }

    #[test]
    fn figures_are_right_aligned_and_tones_are_codes() {
        let text = table().render(None);
        assert!(text.contains('\u{1b}'));
        insta::assert_snapshot!(plain(&text));
    }

    #[test]
    fn words_wrap_and_figures_do_not() {
        let text = plain(&table().render(Some(50)));
        assert!(
            text.lines().all(|line| line.chars().count() <= 50),
            "{text}"
        );
        assert!(text.contains("14.29 ± 0.03"));
        assert!(text.lines().count() > 4);
    }

    #[test]
    fn no_width_is_too_small() {
        for width in 0..20 {
            assert!(!table().render(Some(width)).is_empty());
        }
    }
}
