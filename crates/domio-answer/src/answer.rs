//! Answers: what a command found, once for all who show it.

use crate::cell::{Cell, Tone};
use crate::column::Column;
use crate::field::RowType;
use crate::table::{Table, fits};
use std::borrow::Cow;

/// What an answer is: the schema of its JSON.
#[derive(Clone, PartialEq, Debug)]
pub struct AnswerSpec {
    /// Name, as `explain`.
    pub name: &'static str,
    /// Version of the JSON. A key that goes or changes makes a new one.
    pub version: u32,
    /// What it is, for readers of the schema.
    pub doc: &'static str,
    /// Its facts, and its tables as columns of rows within.
    pub columns: Vec<Column>,
}

/// A sentence of what was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sentence {
    /// The sentence.
    pub text: String,
    /// Whether it is good or needs attention.
    pub tone: Tone,
}

/// What a command found.
#[derive(Clone, PartialEq, Debug)]
pub struct Answered {
    /// What it is.
    pub spec: AnswerSpec,
    /// One cell for each column of that.
    pub cells: Vec<Cell>,
    /// What was found, in words.
    pub findings: Vec<Sentence>,
}

impl AnswerSpec {
    /// An answer of these columns.
    pub fn new(
        name: &'static str,
        version: u32,
        doc: &'static str,
        columns: impl Into<Vec<Column>>,
    ) -> Self {
        AnswerSpec {
            name,
            version,
            doc,
            columns: columns.into(),
        }
    }

    /// `domio/NAME/VERSION`: what the JSON says of itself in the key `schema`.
    pub fn id(&self) -> String {
        format!("domio/{}/{}", self.name, self.version)
    }
}

impl Sentence {
    /// A sentence that is neither good nor bad.
    pub fn new(text: impl Into<String>) -> Self {
        Sentence {
            text: text.into(),
            tone: Tone::Plain,
        }
    }
}

impl Answered {
    /// The answer of these cells.
    ///
    /// # Panics
    /// When they are not those of the columns.
    pub fn new(spec: AnswerSpec, cells: Vec<Cell>) -> Self {
        fits(&spec.columns, &cells);
        Answered {
            spec,
            cells,
            findings: Vec::new(),
        }
    }

    /// The answer that is this row.
    pub fn of<R: RowType>(name: &'static str, version: u32, doc: &'static str, row: &R) -> Self {
        Answered::new(AnswerSpec::new(name, version, doc, R::spec()), row.cells())
    }

    /// Adds a column that follows from others, or puts it in the place of the one with its key.
    ///
    /// # Panics
    /// When the cell is not of the column.
    pub fn derive(&mut self, column: Column, cell: impl Into<Cell>) {
        let cell = cell.into();
        fits(std::slice::from_ref(&column), std::slice::from_ref(&cell));
        match self.spec.columns.iter().position(|c| c.key == column.key) {
            Some(at) => {
                self.spec.columns[at] = column;
                self.cells[at] = cell;
            }
            None => {
                self.spec.columns.push(column);
                self.cells.push(cell);
            }
        }
    }

    /// As [`Answered::derive`], of a table.
    pub fn derive_table(&mut self, key: &'static str, doc: &'static str, table: Table) {
        let (column, cell) = table.nested(key, doc);
        self.derive(column, cell);
    }

    /// Lets `change` see and change each row within, of all depths.
    pub fn each_row(&mut self, change: &mut dyn FnMut(&[Column], &mut [Cell])) {
        for (column, cell) in self.spec.columns.iter().zip(&mut self.cells) {
            each_row(column, cell, change);
        }
    }

    /// The facts as a table of one row, without those that are tables, and then these.
    pub fn tables(&self) -> Vec<Table> {
        let mut all = Table::new(Cow::Borrowed(""), self.spec.columns.clone());
        all.row(self.cells.iter().cloned());
        all.flat()
    }
}

fn each_row(column: &Column, cell: &mut Cell, change: &mut dyn FnMut(&[Column], &mut [Cell])) {
    let Cell::Rows(rows) = cell else {
        return;
    };
    for row in rows {
        change(&column.parts, row);
        for (column, cell) in column.parts.iter().zip(row) {
            each_row(column, cell, change);
        }
    }
}
