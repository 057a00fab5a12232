//! One table: columns with a title and a side, cells with a tone.
//!
//! Rendered text holds ANSI codes wherever a cell has a tone. Write it through a stream that strips
//! them (the `anstream` crate) when the output is not a terminal or colour is not wanted; no tone
//! carries a meaning that the text lacks.

use crate::figure;
use crate::text::view::{Sort, View, names, plain_title};
use comfy_table::{
    Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, TableStyle,
};
use domio_answer::{ColumnKind, Holds};

/// A line under the header and nothing else: the rest is noise, also for screen readers.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Characters that a column of words needs to be read.
const NARROW: usize = 16;

pub use domio_answer::Tone;

/// One cell.
#[derive(Clone, PartialEq, Debug)]
pub struct TextCell {
    text: String,
    tone: Tone,
    /// What it is worth beside others of the column.
    worth: Option<f64>,
}

impl TextCell {
    /// A cell that stands out as `tone` tells.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        let text = text.into();
        TextCell {
            worth: figure::value(&text),
            text,
            tone,
        }
    }
}

impl<T: Into<String>> From<T> for TextCell {
    fn from(text: T) -> Self {
        TextCell::new(text, Tone::Plain)
    }
}

/// One column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextColumn {
    /// Name for programs; empty where there is none.
    key: String,
    title: String,
    right: bool,
    whole: bool,
}

impl TextColumn {
    /// A column of words, aligned left.
    pub fn words(title: impl Into<String>) -> Self {
        TextColumn {
            key: String::new(),
            title: title.into(),
            right: false,
            whole: false,
        }
    }

    /// A column of figures, aligned right. Its title names the unit.
    pub fn figures(title: impl Into<String>) -> Self {
        TextColumn {
            right: true,
            whole: true,
            ..TextColumn::words(title)
        }
    }

    /// Whether `word` names it: by its title, or by its key.
    fn is_called(&self, word: &str) -> bool {
        names(word, &self.title) || !self.key.is_empty() && names(word, &self.key)
    }

    /// The column, never wrapped.
    pub fn whole(self) -> Self {
        TextColumn {
            whole: true,
            ..self
        }
    }
}

/// A table.
#[derive(Clone, PartialEq, Debug)]
pub struct TextTable {
    columns: Vec<TextColumn>,
    rows: Vec<Vec<TextCell>>,
}

impl TextTable {
    /// The table of `typed`, whose columns do not tell the unit `told`.
    fn of(typed: &domio_answer::Table, told: &str) -> Self {
        let typed = &typed.for_people();
        let column = |column: &domio_answer::Column| TextColumn {
            key: column.key.clone().into_owned(),
            title: heading(
                column,
                match figure::unit(column) {
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
            let text = figure::shown(column, cell) + mark;
            let (text, tone) = match typed.tone(row, at) {
                Tone::Plain if cell.is_none() => (text, Tone::Dim),
                Tone::Plain if at == 0 => (text, Tone::Strong),
                tone => (text, tone),
            };
            let worth = figure::worth(cell);
            TextCell { text, tone, worth }
        };
        let columns = typed.columns();
        let row = |row: usize| (0..columns.len()).map(|at| cell(row, at)).collect();
        TextTable {
            columns: columns.iter().map(column).collect(),
            rows: (0..typed.rows().len()).map(row).collect(),
        }
    }
}

/// The title of `column` with its unit below. Names have room.
fn heading(column: &domio_answer::Column, unit: &str) -> String {
    match column.holds == Holds::Text && column.kind != ColumnKind::Key {
        true => figure::two_lines(&column.title, unit),
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
    figure::two_lines(&title, unit)
}

/// `table` as text that ends in a newline, as `view` asks for.
pub fn render(table: &domio_answer::Table, view: &View) -> String {
    TextTable::of(table, "").render(view)
}

/// `table` under its title, which tells the unit that all figures have in common. Nothing is left
/// out: columns that have no room go into further tables.
pub fn titled(table: &domio_answer::Table, view: &View) -> String {
    let columns = table.columns().iter();
    let figures = columns.filter(|column| column.holds != Holds::Text);
    let mut units = figures.map(figure::unit);
    let first = units.next().unwrap_or_default();
    let unit = if units.all(|unit| unit == first) {
        first
    } else {
        ""
    };
    let heading = figure::heading(&table.title, unit);
    let table = TextTable::of(table, unit).render_all(view);
    format!("{heading}\n\n{table}")
}

/// As [`render`], and nothing is left out: columns that have no room go into further tables below,
/// each of which begins with the first column again.
pub fn render_all(table: &domio_answer::Table, view: &View) -> String {
    TextTable::of(table, "").render_all(view)
}

impl TextTable {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = TextColumn>) -> Self {
        TextTable {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When the row has not one cell a column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = TextCell>) {
        let cells: Vec<TextCell> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "one cell a column");
        self.rows.push(cells);
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text that ends in a newline, as `view` asks for. Columns of words wrap. Columns
    /// of figures that have no room are left out from the right, and a line below the table names
    /// them. No line is longer than the view is wide.
    pub fn render(&self, view: &View) -> String {
        let (mut shown, unknown) = self.asked(view);
        let left_out = shown.fit(view.width.into());
        let mut text = shown.drawn(view.width) + &unknown;
        if !left_out.is_empty() {
            let titles = left_out.join("; ");
            let told =
                format!("no room for {titles}: widen the terminal, or choose with --columns");
            text += &folded(&told, view.width.into(), "");
        }
        text
    }

    /// As [`TextTable::render`], and nothing is left out: columns that have no room go into further
    /// tables below, each of which begins with the first column again.
    pub fn render_all(&self, view: &View) -> String {
        let (shown, unknown) = self.asked(view);
        let width = usize::from(view.width);
        let part = |columns: &[usize]| {
            let mut part = shown.clone();
            for index in (1..shown.columns.len()).rev() {
                if !columns.contains(&index) {
                    part.remove(index);
                }
            }
            part
        };
        let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
        for index in 1..shown.columns.len() {
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
        drawn.collect::<Vec<_>>().join("\n") + &unknown
    }

    /// The table with the columns and the order that `view` asks for, and what to say where there
    /// is no such column.
    fn asked(&self, view: &View) -> (TextTable, String) {
        let mut shown = self.clone();
        let unknown = shown.choose(&view.columns);
        let sorted = view.sort.as_ref().is_some_and(|sort| shown.sort(sort));
        view.met.table(self.titles(), sorted);
        let is_here = |word: &&String| self.columns.iter().any(|c| c.is_called(word));
        let found = view.columns.iter().filter(is_here);
        found.for_each(|word| view.is_found(word));
        let titles: Vec<String> = self.titles().skip(1).collect();
        let told = format!("no such column; there are {}", titles.join("; "));
        let told = unknown.then(|| folded(&told, view.width.into(), ""));
        (shown, told.unwrap_or_default())
    }

    fn titles(&self) -> impl Iterator<Item = String> {
        self.columns.iter().map(|column| plain_title(&column.title))
    }

    /// Keeps the first column and those that `asked` names. Keeps all of them and returns true when
    /// none is named.
    fn choose(&mut self, asked: &[String]) -> bool {
        let wanted = |column: &TextColumn| asked.iter().any(|part| column.is_called(part));
        if asked.is_empty() || !self.columns.iter().any(wanted) {
            return !asked.is_empty();
        }
        for index in (1..self.columns.len()).rev() {
            if !wanted(&self.columns[index]) {
                self.remove(index);
            }
        }
        false
    }

    /// Sorts rows, where there is such a column, and returns whether there is. Rows without a
    /// figure come last.
    fn sort(&mut self, sort: &Sort) -> bool {
        let found = self.columns.iter().position(|c| c.is_called(&sort.column));
        let Some(index) = found else {
            return false;
        };
        let figures = self.columns[index].right;
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
        while self.columns.len() > 1 && self.least_width() > width {
            let figures = self.columns.iter().rposition(|column| column.right);
            let index = figures.filter(|i| *i > 0).unwrap_or(self.columns.len() - 1);
            left_out.push(plain_title(&self.columns[index].title));
            self.remove(index);
        }
        self.narrow(width);
        left_out.reverse();
        left_out
    }

    /// Lets all columns wrap where lines of `width` characters have no room for whole ones.
    fn narrow(&mut self, width: usize) {
        if self.least_width() > width {
            self.columns
                .iter_mut()
                .for_each(|column| column.whole = false);
        }
    }

    fn remove(&mut self, index: usize) {
        self.columns.remove(index);
        for row in &mut self.rows {
            row.remove(index);
        }
    }

    /// Characters of a line when columns of words are as narrow as can still be read.
    fn least_width(&self) -> usize {
        let columns = self.columns.iter().enumerate().map(|(index, column)| {
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

/// `text` in lines of up to `width` characters, broken at blanks, the second and later ones behind
/// `indent`. A number keeps its unit.
pub(super) fn folded(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in words(text) {
        let last = lines.last_mut().expect("there is one");
        let is_begin = last.trim().is_empty();
        if !is_begin && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("{indent}{word}"));
            continue;
        }
        if !last.is_empty() || word.is_empty() {
            last.push(' ');
        }
        last.push_str(&word);
    }
    lines.join("\n") + "\n"
}

/// What stands behind a number.
const UNITS: [&str; 10] = [
    "%", "ns", "us", "ms", "s", "min", "KiB", "MiB", "MB/s", "Mb/s",
];

/// The words of a text: what stands between blanks, but a number and its unit are one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let plain = word.trim_end_matches(['.', ',', ';', ':', ')']);
        match words.last_mut() {
            Some(last)
                if UNITS.contains(&plain) && last.ends_with(|c: char| c.is_ascii_digit()) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

fn styled(cell: &TextCell) -> comfy_table::Cell {
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

    #[test]
    fn typed_tables_are_sorted_by_what_cells_are_worth() {
        let column = |title, unit| crate::tables::number(title, unit);
        let columns = [crate::tables::name("vcpu"), column("waits_ns", "ns")];
        let mut table = domio_answer::Table::new("", columns);
        for (name, ns) in [("a", 59.7e6), ("b", f64::NAN), ("c", 812e3), ("d", 1.2e9)] {
            table.row([name.into(), Some(ns).filter(|n: &f64| !n.is_nan()).into()]);
        }
        let view = View {
            sort: "waits_ns:asc".parse().ok(),
            ..View::default()
        };
        let text = plain(&render(&table, &view));
        let rows = text.lines().skip(2).map(|line| line[..1].to_owned());
        assert_eq!(rows.collect::<String>(), "cadb", "{text}");
        assert!(text.contains("59.7 ms") && text.contains("1.2 s"), "{text}");
    }

    #[test]
    fn a_number_and_its_unit_are_not_parted() {
        let text = "the guest waits for 12.5 %, then for 30 ms of 1 s or more";
        assert_eq!(
            folded(text, 25, "  "),
            "the guest waits for\n  12.5 %, then for 30 ms\n  of 1 s or more\n"
        );
        assert_eq!(folded("as % of a pcpu", 5, ""), "as %\nof a\npcpu\n");
    }

    fn table() -> TextTable {
        let mut table = TextTable::new([
            TextColumn::words("policy").whole(),
            TextColumn::figures("latency [ms]"),
            TextColumn::words("remark"),
        ]);
        let remark = "the head of the queue runs for one slice, then joins the tail";
        table.row(["credit".into(), "14.29 ± 0.03".into(), remark.into()]);
        table.row([
            "credit2".into(),
            "0.2".into(),
            TextCell::new("fast", Tone::Good),
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
        let text = table().render(&View::default());
        assert!(text.contains('\u{1b}'));
        insta::assert_snapshot!(plain(&text));
    }

    #[test]
    fn words_wrap_and_figures_do_not() {
        let mut long = table();
        let remark = "the head of the queue runs for one slice, then joins the tail ".repeat(2);
        long.row(["null".into(), "1".into(), remark.into()]);
        let text = plain(&long.render(&View::of_width(80)));
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.contains("14.29 ± 0.03"));
        assert!(text.lines().count() > 5);
    }

    /// A domain and thirty columns of figures, the titles of which say their number.
    fn wide() -> TextTable {
        let columns = (0..30).map(|i| TextColumn::figures(format!("latency {i:02}\n[ms]")));
        let mut table = TextTable::new(
            [TextColumn::words("domain").whole()]
                .into_iter()
                .chain(columns),
        );
        for (name, base) in [("web", 7.0), ("db", 12.0), ("batch", 0.5)] {
            let figures = (0..30).map(|i| format!("{} ± 0.25", base + f64::from(i)).into());
            table.row([name.into()].into_iter().chain(figures));
        }
        table
    }

    #[test]
    fn columns_without_room_are_named() {
        for width in [0, 80, 97, 150, 200, u16::MAX] {
            let view = View::of_width(width);
            let text = plain(&wide().render(&view));
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(view.width.into()), "{width}: {text}");
            assert!(text.contains("latency 00"), "{text}");
            let text = text.replace('\n', " ");
            assert!(
                text.contains("no room for latency") && text.contains("29: widen"),
                "{text}"
            );
        }
        let chosen = View {
            columns: vec!["latency 29".into()],
            ..View::of_width(80)
        };
        let text = plain(&wide().render(&chosen));
        assert!(
            text.contains("latency 29") && !text.contains("latency 28"),
            "{text}"
        );
        assert!(text.contains("web") && !text.contains("no room"), "{text}");
    }

    #[test]
    fn columns_without_room_go_into_further_tables() {
        for width in [80, 200] {
            let text = plain(&wide().render_all(&View::of_width(width)));
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(width.into()), "{width}: {text}");
            for title in (0..30).map(|i| format!("latency {i:02}")) {
                assert_eq!(text.matches(&title).count(), 1, "{title}: {text}");
            }
            let tables = text.matches("domain").count();
            assert_eq!(text.matches("web ").count(), tables, "{text}");
            assert!(tables > 1 && !text.contains("no room"), "{text}");
        }
        let mut long = TextTable::new([
            TextColumn::words("domain"),
            TextColumn::figures("x".repeat(300)),
        ]);
        long.row(["web".into(), "1".into()]);
        let text = plain(&long.render_all(&View::of_width(80)));
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        assert_eq!(text.matches('x').count(), 300, "{text}");
    }

    #[test]
    fn a_name_that_is_too_long_wraps() {
        let mut table = TextTable::new([
            TextColumn::words("domain").whole(),
            TextColumn::figures("share"),
        ]);
        table.row(["x".repeat(300).into(), "1".into()]);
        let text = plain(&table.render(&View::of_width(80)));
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.contains("no room for share"), "{text}");
    }

    #[test]
    fn rows_are_sorted_by_what_the_figures_are_worth() {
        let mut table = TextTable::new([TextColumn::words("domain"), TextColumn::figures("wait")]);
        for (name, wait) in [
            ("a", "59.7 ms"),
            ("b", "-"),
            ("c", "812 us"),
            ("d", "1.2 ± 0.1 s"),
        ] {
            table.row([name.into(), wait.into()]);
        }
        let order = |sort: &str| {
            let view = View {
                sort: Some(sort.parse().unwrap()),
                ..View::default()
            };
            let text = plain(&table.render(&view));
            let rows = text.lines().skip(2).map(|line| line[..1].to_owned());
            rows.collect::<String>()
        };
        assert_eq!(order("wait"), "dacb");
        assert_eq!(order("wait:asc"), "cadb");
        assert_eq!(order("domain"), "dcba");
        assert_eq!(order("other"), "abcd", "there is no such column here");
    }

    #[test]
    fn a_column_that_is_not_there_is_told() {
        let view = View {
            columns: vec!["jitter".into()],
            ..View::default()
        };
        let text = plain(&table().render(&view));
        assert!(
            text.ends_with("no such column; there are latency; remark\n"),
            "{text}"
        );
        assert!(text.contains("14.29"), "{text}");
    }
}
