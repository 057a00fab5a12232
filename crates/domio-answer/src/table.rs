//! Tables.

use crate::cell::{Cell, Tone};
use crate::column::{Column, ColumnKind, Holds, count};
use crate::field::RowType;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A table: columns, and rows of one cell a column.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// Name for programs; empty for one that only people read.
    pub key: Cow<'static, str>,
    /// What people see above it; may be empty.
    pub title: Cow<'static, str>,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    tones: BTreeMap<(usize, usize), Tone>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<Cow<'static, str>>, columns: impl Into<Vec<Column>>) -> Self {
        Table {
            title: title.into(),
            columns: columns.into(),
            ..Table::default()
        }
    }

    /// The table of these rows.
    pub fn of<'r, R: RowType + 'r>(
        title: impl Into<Cow<'static, str>>,
        rows: impl IntoIterator<Item = &'r R>,
    ) -> Self {
        let mut table = Table::new(title, R::spec());
        rows.into_iter().for_each(|row| table.row(row.cells()));
        table
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When the row has not one cell a column, each of what the column holds.
    #[track_caller]
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        fits(&self.columns, &cells);
        self.rows.push(cells);
    }

    /// Adds a column, with one cell for each row.
    ///
    /// # Panics
    /// When a cell is not of the column, or there are fewer cells than rows.
    pub fn derive(&mut self, column: Column, cells: impl IntoIterator<Item = Cell>) {
        let mut cells = cells.into_iter();
        for row in &mut self.rows {
            let cell = cells.next().expect("a cell for each row");
            fits(std::slice::from_ref(&column), std::slice::from_ref(&cell));
            row.push(cell);
        }
        self.columns.push(column);
    }

    /// The table as a column of rows within, called `key`, and the cell of that.
    pub fn nested(self, key: &'static str, doc: &'static str) -> (Column, Cell) {
        let column = crate::column::parts(key, self.columns)
            .of(Holds::Rows)
            .doc(doc);
        (column, Cell::Rows(self.rows))
    }

    /// The table with a row for each value of the column `rows`, a column for each of `across`, and
    /// the cells of `of` where both meet; each in the order in which it comes first. Columns are in
    /// the unit of `of`.
    ///
    /// # Panics
    /// When there is no such column.
    pub fn pivot(&self, rows: &str, across: &str, of: &str) -> Table {
        let at = |key: &str| {
            let at = self.columns.iter().position(|column| column.key == key);
            at.unwrap_or_else(|| panic!("no column {key}"))
        };
        let [rows, across, of] = [rows, across, of].map(at);
        let each = |at: usize| {
            let mut each: Vec<&Cell> = Vec::new();
            let cells = self.rows.iter().map(|row| &row[at]);
            cells.for_each(|cell| {
                if !each.contains(&cell) {
                    each.push(cell)
                }
            });
            each
        };
        let (down, over) = (each(rows), each(across));
        let column = |cell: &&Cell| {
            let name = crate::file::text(cell);
            Column {
                key: name.clone().into(),
                optional: true,
                ..self.columns[of].clone().title(name)
            }
        };
        let first = self.columns[rows].clone();
        let mut table = Table {
            columns: [first].into_iter().chain(over.iter().map(column)).collect(),
            title: self.title.clone(),
            ..Table::default()
        };
        for (r, name) in down.into_iter().enumerate() {
            let mut cells = vec![name.clone()];
            for (c, part) in over.iter().enumerate() {
                let here = |row: &Vec<Cell>| row[rows] == *name && row[across] == **part;
                let found = self.rows.iter().position(here);
                cells.push(found.map_or(Cell::None, |at| self.rows[at][of].clone()));
                let tone = found.map_or(Tone::Plain, |at| self.tone(at, of));
                if tone != Tone::Plain {
                    table.set_tone(r, c + 1, tone);
                }
            }
            table.rows.push(cells);
        }
        table
    }

    /// The table as people read it: without the columns for programs alone, and without rows
    /// within, which are tables of their own.
    pub fn for_people(&self) -> Table {
        self.having(|at| self.columns[at].is_for_people())
    }

    /// The table without the columns in which no row has anything.
    pub fn filled(&self) -> Table {
        self.having(|at| self.rows.iter().any(|row| !row[at].is_none()))
    }

    /// The table with those of its columns alone that are `kept`, by their place.
    fn having(&self, kept: impl Fn(usize) -> bool) -> Table {
        let kept: Vec<usize> = (0..self.columns.len()).filter(|at| kept(*at)).collect();
        let tones = self.tones.iter().filter_map(|((row, at), tone)| {
            let at = kept.iter().position(|other| other == at)?;
            Some(((*row, at), *tone))
        });
        let row = |row: &Vec<Cell>| kept.iter().map(|at| row[*at].clone()).collect();
        Table {
            key: self.key.clone(),
            title: self.title.clone(),
            columns: kept.iter().map(|at| self.columns[*at].clone()).collect(),
            rows: self.rows.iter().map(row).collect(),
            tones: tones.collect(),
        }
    }

    /// Lets `change` see and change each column and its cells; the place of the column comes first.
    ///
    /// # Panics
    /// When cells are not of their column afterwards.
    pub fn each_column(&mut self, mut change: impl FnMut(usize, &mut Column, &mut [&mut Cell])) {
        for (at, column) in self.columns.iter_mut().enumerate() {
            let mut cells: Vec<&mut Cell> = self.rows.iter_mut().map(|row| &mut row[at]).collect();
            change(at, column, &mut cells);
        }
        self.rows.iter().for_each(|row| fits(&self.columns, row));
    }

    /// Lets a cell stand out.
    pub fn set_tone(&mut self, row: usize, column: usize, tone: Tone) {
        self.tones.insert((row, column), tone);
    }

    /// How a cell stands out.
    pub fn tone(&self, row: usize, column: usize) -> Tone {
        self.tones.get(&(row, column)).copied().unwrap_or_default()
    }

    /// Its columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Its rows.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table for formats that have cells of numbers and texts alone: first itself without the
    /// rows within, then a table for each column of such rows, behind the keys of the row around
    /// it. A mean is a column, and its interval and the number of its values are further ones.
    pub fn flat(&self) -> Vec<Table> {
        let mut own = Table {
            key: self.key.clone(),
            title: self.title.clone(),
            ..Table::default()
        };
        let outer: Vec<usize> = (0..self.columns.len())
            .filter(|i| !self.columns[*i].is_nested())
            .collect();
        for i in &outer {
            own.columns.extend(flat_columns(&self.columns[*i]));
        }
        for row in &self.rows {
            let cells = outer
                .iter()
                .flat_map(|i| flat_cells(&self.columns[*i], &row[*i]));
            own.rows.push(cells.collect());
        }
        let nested = self
            .columns
            .iter()
            .enumerate()
            .filter(|(_, c)| c.is_nested());
        let within = nested.flat_map(|(at, column)| self.within(at, column).flat());
        let within: Vec<Table> = within.collect();
        let own = (!own.columns.is_empty()).then_some(own);
        own.into_iter().chain(within).collect()
    }

    /// The rows within the column with number `at`, behind the keys of the rows around them.
    fn within(&self, at: usize, column: &Column) -> Table {
        let keys: Vec<usize> = (0..self.columns.len())
            .filter(|i| self.columns[*i].kind == ColumnKind::Key)
            .collect();
        let name = match self.key.as_ref() {
            "" => column.key.clone(),
            key => format!("{key}.{}", column.key).into(),
        };
        // What has a name of its own there is distinguished from what is around it.
        let is_taken = |key: &str| column.parts.iter().any(|part| part.key == key);
        let outer = keys.iter().map(|i| {
            let outer = self.columns[*i].clone();
            match is_taken(&outer.key) {
                true => outer.behind("of"),
                false => outer,
            }
        });
        let rows = self.rows.iter().flat_map(|row| {
            let keys: Vec<Cell> = keys.iter().map(|i| row[*i].clone()).collect();
            let inner = row[at].rows().iter();
            inner.map(move |inner| keys.iter().chain(inner).cloned().collect())
        });
        Table {
            key: name,
            title: column.title.clone(),
            columns: outer.chain(column.parts.iter().cloned()).collect(),
            rows: rows.collect(),
            tones: BTreeMap::new(),
        }
    }
}

/// The columns of what `column` is in formats without estimates.
fn flat_columns(column: &Column) -> Vec<Column> {
    if column.holds != Holds::Estimate {
        return vec![column.clone()];
    }
    let number = |key: String, doc: &'static str| Column {
        key: key.into(),
        doc: doc.into(),
        holds: Holds::Number,
        optional: true,
        ..column.clone()
    };
    // What is called the mean has no need of a name before its interval.
    let key = match column.key.as_ref() {
        "mean" => String::new(),
        key => format!("{key}_"),
    };
    vec![
        Column {
            holds: Holds::Number,
            ..column.clone()
        },
        number(
            format!("{key}ci95_low"),
            "Lower end of the 95 % confidence interval.",
        ),
        number(
            format!("{key}ci95_high"),
            "Upper end of the 95 % confidence interval.",
        ),
        Column {
            key: format!("{key}replications").into(),
            holds: Holds::Whole,
            optional: true,
            ..count("replications").doc("Number of values of the mean.")
        },
    ]
}

/// The cells of [`flat_columns`].
fn flat_cells(column: &Column, cell: &Cell) -> Vec<Cell> {
    if column.holds != Holds::Estimate {
        return vec![cell.clone()];
    }
    match cell {
        Cell::Estimate(e) => vec![
            e.mean.into(),
            e.ci95.map(|[low, _]| low).into(),
            e.ci95.map(|[_, high]| high).into(),
            // A value that is no mean has no number of values.
            (e.n > 0).then_some(e.n).into(),
        ],
        _ => vec![Cell::None; 4],
    }
}

/// # Panics
/// When the cells are not those of the columns.
#[track_caller]
pub(crate) fn fits(columns: &[Column], cells: &[Cell]) {
    assert_eq!(cells.len(), columns.len(), "one cell a column");
    for (column, cell) in columns.iter().zip(cells) {
        let fits = match (cell, column.holds) {
            (Cell::None, _) => column.optional,
            (Cell::Whole(_), Holds::Whole | Holds::Number)
            | (Cell::Number(_), Holds::Number)
            | (Cell::Estimate(_), Holds::Estimate)
            | (Cell::Text(_), Holds::Text)
            | (Cell::Flag(_), Holds::Flag)
            | (Cell::Whole(_) | Cell::Number(_) | Cell::Text(_) | Cell::Flag(_), Holds::Any) => {
                true
            }
            (Cell::Rows(rows), Holds::Rows | Holds::Map) => {
                rows.iter().for_each(|row| fits(&column.parts, row));
                true
            }
            (Cell::Rows(rows), Holds::RowType) => {
                rows.iter().for_each(|row| fits(&column.parts, row));
                rows.len() == 1 || rows.is_empty() && column.optional
            }
            _ => false,
        };
        assert!(fits, "{cell:?} in {}, of {:?}", column.key, column.holds);
    }
}
