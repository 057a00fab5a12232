//! Typed tables as text.
//!
//! Rendered text holds ANSI codes wherever a cell has a tone. Write it through a stream that strips
//! them (the `anstream` crate) when the output is not a terminal or colour is not wanted; no tone
//! carries a meaning that the text lacks.

use crate::text::folded::folded;
use crate::text::view::{Sort, View, names, plain_title};
use crate::written;
use comfy_table::{
    Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, TableStyle,
};
use domio_answer::{Column, ColumnKind, Holds, Table, Tone};

/// A line under the header and nothing else: the rest is noise, also for screen readers.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Characters that a column of words needs to be read.
const NARROW: usize = 16;

/// A table as it is drawn.
#[derive(Clone)]
struct Shown {
    heads: Vec<Head>,
    rows: Vec<Vec<Text>>,
}

/// The head of a column.
#[derive(Clone)]
struct Head {
    key: String,
    title: String,
    /// Whether cells are aligned right, as figures are.
    right: bool,
    /// Whether cells are never wrapped.
    whole: bool,
}

/// A cell.
#[derive(Clone)]
struct Text {
    text: String,
    tone: Tone,
    /// What it is worth beside others of the column.
    worth: Option<f64>,
}

impl Head {
    /// Whether `word` names it: by its title, or by its key.
    fn is_called(&self, word: &str) -> bool {
        names(word, &self.title) || names(word, &self.key)
    }
}

impl Shown {
    /// The table of `typed`, whose columns do not tell the unit `told`.
    fn of(typed: &Table, told: &str) -> Self {
        let typed = &typed.for_people();
        let column = |column: &Column| Head {
            key: column.key.clone().into_owned(),
            title: heading(
                column,
                match written::unit(column) {
                    unit if unit == told => "",
                    unit => unit,
                },
            ),
            right: column.holds != Holds::Text,
            whole: column.holds != Holds::Text || column.kind == ColumnKind::Key,
        };
        // Figures have marks beside their colours; words say the same themselves.
        let is_marked = |row: usize, at: usize| {
            let marked = matches!(typed.tone(row, at), Tone::Good | Tone::Bad);
            marked && typed.columns()[at].holds != Holds::Text
        };
        let has_marks = |at: &usize| (0..typed.rows().len()).any(|row| is_marked(row, *at));
        let marks: Vec<usize> = (0..typed.columns().len()).filter(has_marks).collect();
        let cell = |row: usize, at: usize| {
            let (column, cell) = (&typed.columns()[at], &typed.rows()[row][at]);
            let mark = match typed.tone(row, at) {
                Tone::Good if is_marked(row, at) => " +",
                Tone::Bad if is_marked(row, at) => " -",
                // Blanks keep the figures of a column in line.
                _ if marks.contains(&at) => "  ",
                _ => "",
            };
            let text = written::shown(column, cell) + mark;
            let (text, tone) = match typed.tone(row, at) {
                Tone::Plain if cell.is_none() => (text, Tone::Dim),
                Tone::Plain if at == 0 => (text, Tone::Strong),
                tone => (text, tone),
            };
            let worth = written::worth(cell);
            Text { text, tone, worth }
        };
        let columns = typed.columns();
        let row = |row: usize| (0..columns.len()).map(|at| cell(row, at)).collect();
        Shown {
            heads: columns.iter().map(column).collect(),
            rows: (0..typed.rows().len()).map(row).collect(),
        }
    }
}

/// The title of `column` with its unit below. Names have room.
fn heading(column: &Column, unit: &str) -> String {
    match column.holds == Holds::Text && column.kind != ColumnKind::Key {
        true => written::two_lines(&column.title, unit),
        false => in_lines(&column.title, unit),
    }
}

/// A title with its unit below. Columns are narrow: what follows a comma, or else the last word of
/// a long name, goes below, too.
fn in_lines(title: &str, unit: &str) -> String {
    let title = match (title.split_once(", "), title.rsplit_once(' ')) {
        (Some((first, rest)), _) => format!("{first},\n{rest}"),
        (None, Some((first, rest))) if title.len() > 8 => format!("{first}\n{rest}"),
        _ => title.to_owned(),
    };
    written::two_lines(&title, unit)
}

/// `table` as text that ends in a newline, as `view` asks for; empty where no column has a name
/// that the view asks for.
pub fn render(table: &Table, view: &View) -> String {
    Shown::of(table, "").render(view)
}

/// `table` under its title, which tells the unit that all figures have in common. Nothing is left
/// out: columns that have no room go into further tables.
pub fn titled(table: &Table, view: &View) -> String {
    let columns = table.columns().iter();
    let figures = columns.filter(|column| column.holds != Holds::Text);
    let mut units = figures.map(written::unit);
    let first = units.next().unwrap_or_default();
    let unit = if units.all(|unit| unit == first) {
        first
    } else {
        ""
    };
    let heading = written::heading(&table.title, unit);
    match Shown::of(table, unit).render_all(view) {
        table if table.is_empty() => table,
        table => format!("{heading}\n\n{table}"),
    }
}

/// As [`render`], and nothing is left out: columns that have no room go into further tables below,
/// each of which begins with the first column again.
pub fn render_all(table: &Table, view: &View) -> String {
    Shown::of(table, "").render_all(view)
}

impl Shown {
    /// The table as text that ends in a newline, as `view` asks for. Columns of words wrap. Columns
    /// of figures that have no room are left out from the right, and a line below the table names
    /// them. No line is longer than the view is wide.
    fn render(&self, view: &View) -> String {
        let Some(mut shown) = self.asked(view) else {
            return String::new();
        };
        let left_out = shown.fit(view.width.into());
        let mut text = shown.drawn(view.width);
        if !left_out.is_empty() {
            let titles = left_out.join("; ");
            let told =
                format!("no room for {titles}: widen the terminal, or choose with --columns");
            text += &folded(&told, view.width.into(), "");
        }
        text
    }

    /// As [`Shown::render`], and nothing is left out: columns that have no room go into further
    /// tables below, each of which begins with the first column again.
    fn render_all(&self, view: &View) -> String {
        let Some(shown) = self.asked(view) else {
            return String::new();
        };
        let width = usize::from(view.width);
        let part = |columns: &[usize]| {
            let mut part = shown.clone();
            for index in (1..shown.heads.len()).rev() {
                if !columns.contains(&index) {
                    part.remove(index);
                }
            }
            part
        };
        let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
        for index in 1..shown.heads.len() {
            let last = parts.last_mut().expect("there is one");
            last.push(index);
            if last.len() > 1 && part(last).least_width() > width {
                last.pop();
                parts.push(vec![index]);
            }
        }
        let drawn = parts.iter().map(|columns| {
            let mut part = part(columns);
            part.narrow(width);
            part.drawn(view.width)
        });
        drawn.collect::<Vec<_>>().join("\n")
    }

    /// The table with the columns and the order that `view` asks for; `None` where it asks for
    /// columns and there is none of them.
    fn asked(&self, view: &View) -> Option<Shown> {
        let mut shown = self.clone();
        let is_left_out = !shown.choose(&view.columns);
        let sorted = view.sort.as_ref().is_some_and(|sort| shown.sort(sort));
        view.met.table(self.titles(), sorted);
        let is_here = |word: &&String| self.heads.iter().any(|c| c.is_called(word));
        let found = view.columns.iter().filter(is_here);
        found.for_each(|word| view.is_found(word));
        (!is_left_out).then_some(shown)
    }

    fn titles(&self) -> impl Iterator<Item = String> {
        self.heads.iter().map(|column| plain_title(&column.title))
    }

    /// Keeps the first column and those that `asked` names, all without any. Returns false when
    /// there is none of those.
    fn choose(&mut self, asked: &[String]) -> bool {
        let wanted = |column: &Head| asked.iter().any(|part| column.is_called(part));
        if asked.is_empty() {
            return true;
        }
        if !self.heads.iter().any(wanted) {
            return false;
        }
        for index in (1..self.heads.len()).rev() {
            if !wanted(&self.heads[index]) {
                self.remove(index);
            }
        }
        true
    }

    /// Sorts rows, where there is such a column, and returns whether there is. Rows without a
    /// figure come last.
    fn sort(&mut self, sort: &Sort) -> bool {
        let found = self.heads.iter().position(|c| c.is_called(&sort.column));
        let Some(index) = found else {
            return false;
        };
        let figures = self.heads[index].right;
        self.rows.sort_by(|a, b| {
            let (a, b) = (&a[index], &b[index]);
            let order = match figures {
                true => match (a.worth, b.worth) {
                    (Some(a), Some(b)) => a.total_cmp(&b),
                    (a, b) => return b.is_some().cmp(&a.is_some()),
                },
                false => a.text.cmp(&b.text),
            };
            match sort.descending {
                true => order.reverse(),
                false => order,
            }
        });
        true
    }

    /// Removes columns from the right until lines of `width` characters have room for the rest, and
    /// returns the titles of those that went.
    fn fit(&mut self, width: usize) -> Vec<String> {
        let mut left_out = Vec::new();
        while self.heads.len() > 1 && self.least_width() > width {
            let figures = self.heads.iter().rposition(|column| column.right);
            let index = figures.filter(|i| *i > 0).unwrap_or(self.heads.len() - 1);
            left_out.push(plain_title(&self.heads[index].title));
            self.remove(index);
        }
        self.narrow(width);
        left_out.reverse();
        left_out
    }

    /// Lets all columns wrap where lines of `width` characters have no room for whole ones.
    fn narrow(&mut self, width: usize) {
        if self.least_width() > width {
            self.heads
                .iter_mut()
                .for_each(|column| column.whole = false);
        }
    }

    fn remove(&mut self, index: usize) {
        self.heads.remove(index);
        for row in &mut self.rows {
            row.remove(index);
        }
    }

    /// Characters of a line when columns of words are as narrow as can still be read.
    fn least_width(&self) -> usize {
        let columns = self.heads.iter().enumerate().map(|(index, column)| {
            let cells = self.rows.iter().map(|row| row[index].text.as_str());
            let texts = cells.chain([column.title.as_str()]);
            let lines = texts.flat_map(str::lines).map(|line| line.chars().count());
            let widest = lines.max().unwrap_or(0);
            // A blank on each side, and one where a line between columns would be.
            match column.whole {
                true => widest + 3,
                false => widest.min(NARROW) + 3,
            }
        });
        columns.sum::<usize>().saturating_sub(2)
    }

    fn drawn(&self, width: u16) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE);
        // Without both calls the library asks the real terminal, and the text depends on it.
        table.force_no_tty().enforce_styling();
        table.style_text_only();
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
        table.set_header(
            self.heads
                .iter()
                .map(|column| comfy_table::Cell::new(&column.title).add_attribute(Attribute::Bold)),
        );
        for row in &self.rows {
            table.add_row(row.iter().map(styled));
        }
        for (index, column) in self.heads.iter().enumerate() {
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

fn styled(cell: &Text) -> comfy_table::Cell {
    let out = comfy_table::Cell::new(&cell.text);
    match cell.tone {
        Tone::Plain => out,
        Tone::Good => out.fg(Color::DarkGreen),
        Tone::Bad => out.fg(Color::DarkRed).add_attribute(Attribute::Bold),
        Tone::Dim => out.add_attribute(Attribute::Dim),
        Tone::Strong => out.add_attribute(Attribute::Bold),
    }
}
