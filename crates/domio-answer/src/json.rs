//! JSON of answers.
//!
//! ```json
//! {"schema": "domio/NAME/VERSION", "FACT": 1, "TABLE": [{"COLUMN": 1}], "findings": []}
//! ```
//!
//! What a row has not is `null`. A column that is no key, and in which no row of a list has
//! anything, is left out. A table of one column is a list of values.

use crate::answer::Answered;
use crate::cell::Cell;
use crate::column::{Column, ColumnKind, Holds};
use crate::file::text;
use crate::table::Table;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::io::Write;

/// A list of rows.
struct Rows<'a> {
    columns: &'a [Column],
    rows: &'a [Vec<Cell>],
}

/// One of them, and which columns a row of the list has.
struct One<'a> {
    columns: &'a [Column],
    cells: &'a [Cell],
    shown: &'a [bool],
}

/// What a row has in a column.
struct Of<'a>(&'a Column, &'a Cell);

/// Which columns are shown of a list.
fn shown(columns: &[Column], rows: &[Vec<Cell>]) -> Vec<bool> {
    let has = |at: usize| rows.iter().any(|row| !row[at].is_none());
    let columns = columns.iter().enumerate();
    columns
        .map(|(at, column)| column.kind == ColumnKind::Key || has(at))
        .collect()
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if let [column] = self.columns {
            return to.collect_seq(self.rows.iter().map(|row| Of(column, &row[0])));
        }
        let shown = shown(self.columns, self.rows);
        to.collect_seq(self.rows.iter().map(|cells| One {
            columns: self.columns,
            cells,
            shown: &shown,
        }))
    }
}

/// Its rows.
impl Serialize for Table {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let rows = Rows {
            columns: self.columns(),
            rows: self.rows(),
        };
        rows.serialize(to)
    }
}

impl One<'_> {
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let all = self.columns.iter().zip(self.cells).zip(self.shown);
        for ((column, cell), shown) in all {
            if *shown {
                map.serialize_entry(&column.key, &Of(column, cell))?;
            }
        }
        Ok(())
    }
}

impl Serialize for One<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        self.entries(&mut map)?;
        map.end()
    }
}

impl Serialize for Of<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Of(column, cell) = self;
        match cell {
            Cell::None => to.serialize_none(),
            Cell::Whole(n) => to.serialize_i64(*n),
            Cell::Number(n) => to.serialize_f64(*n),
            Cell::Estimate(estimate) => estimate.serialize(to),
            Cell::Text(text) => to.serialize_str(text),
            Cell::Flag(flag) => to.serialize_bool(*flag),
            Cell::Rows(rows) if column.holds == Holds::RowType => match rows.first() {
                None => to.serialize_none(),
                Some(cells) => One {
                    columns: &column.parts,
                    cells,
                    shown: &vec![true; cells.len()],
                }
                .serialize(to),
            },
            Cell::Rows(rows) if column.holds == Holds::Map => {
                let names = rows.iter().map(|row| text(&row[0]));
                let values = rows.iter().map(|row| Of(&column.parts[1], &row[1]));
                to.collect_map(names.zip(values))
            }
            Cell::Rows(rows) => Rows {
                columns: &column.parts,
                rows,
            }
            .serialize(to),
        }
    }
}

impl Serialize for Answered {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("schema", &self.spec.id())?;
        One {
            columns: &self.spec.columns,
            cells: &self.cells,
            shown: &vec![true; self.cells.len()],
        }
        .entries(&mut map)?;
        let findings: Vec<&str> = self.findings.iter().map(|f| f.text.as_str()).collect();
        map.serialize_entry("findings", &findings)?;
        map.end()
    }
}

impl Answered {
    /// Writes the answer as JSON on one line, without the end of the line. Whatever `to` is, the
    /// code is compiled in this crate, and so optimised for a command that answers many times.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write_line(&self, to: &mut dyn Write) -> serde_json::Result<()> {
        serde_json::to_writer(to, self)
    }

    /// Writes the answer as JSON with a line for each value, without the end of the last.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write_pretty(&self, to: &mut dyn Write) -> serde_json::Result<()> {
        serde_json::to_writer_pretty(to, self)
    }
}
