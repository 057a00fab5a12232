//! Rows of figures in a file, written as they come, in memory that does not grow with their number.
//!
//! | file | holds |
//! |---|---|
//! | `parquet` | Apache Parquet: pages, row groups, the footer with what the rows come from |
//! | `thrift` | the encoding of Parquet's headers |
//!
//! CSV is written by the `csv` library. Parquet is written here: the official library builds for
//! longer than all of the simulator, and what a table of numbers and names needs of the format is
//! small.

mod parquet;
mod thrift;

pub use parquet::{MAGIC, made_by};

use crate::cell::Cell;
use crate::column::Column;
use crate::table::Table;
use parquet::ParquetWriter;
use std::io::{self, Write};

/// Formats of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableFormat {
    /// Apache Parquet.
    Parquet,
    /// Values parted by commas, with a line of headings.
    Csv,
}

impl TableFormat {
    /// The format of a file called `name`, by its ending.
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "parquet" => Some(TableFormat::Parquet),
            "csv" => Some(TableFormat::Csv),
            _ => None,
        }
    }
}

/// Writes a table row by row.
pub struct TableWriter<W: Write>(Format<W>);

enum Format<W: Write> {
    Csv(Box<csv::Writer<W>>),
    Parquet(Box<ParquetWriter<W>>),
}

impl<W: Write> TableWriter<W> {
    /// Begins a table with `columns`. `about` says what the rows come from, as names and values;
    /// CSV has no place for that.
    ///
    /// # Errors
    /// When `out` refuses.
    pub fn new(
        format: TableFormat,
        out: W,
        columns: Vec<Column>,
        about: Vec<(String, String)>,
    ) -> io::Result<Self> {
        let writer = match format {
            TableFormat::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                writer.write_record(columns.iter().map(|column| &*column.key))?;
                Format::Csv(Box::new(writer))
            }
            TableFormat::Parquet => {
                let writer = ParquetWriter::new(out, columns, about)?;
                Format::Parquet(Box::new(writer))
            }
        };
        Ok(TableWriter(writer))
    }

    /// Adds a row of one cell a column. A whole number may stand where numbers do. A number that is
    /// none is nothing. Columns are those of a [flat](Table::flat) table.
    ///
    /// # Errors
    /// When the file refuses.
    ///
    /// # Panics
    /// When the cells are not those of the columns.
    pub fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
        match &mut self.0 {
            Format::Csv(writer) => Ok(writer.write_record(cells.iter().map(text))?),
            Format::Parquet(writer) => writer.row(cells),
        }
    }

    /// Writes what is left, and gives the file back.
    ///
    /// # Errors
    /// When the file refuses.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Format::Csv(writer) => writer.into_inner().map_err(|e| e.into_error()),
            Format::Parquet(writer) => writer.finish(),
        }
    }
}

/// A cell with every digit.
///
/// # Panics
/// When there are rows within, or a mean, which are columns of their own in a flat table.
pub fn text(cell: &Cell) -> String {
    match cell {
        Cell::None => String::new(),
        Cell::Whole(n) => n.to_string(),
        Cell::Number(n) if n.is_nan() => String::new(),
        Cell::Number(n) => n.to_string(),
        Cell::Text(text) => text.clone().into_owned(),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Estimate(_) | Cell::Rows(_) => panic!("{cell:?} in a flat table"),
    }
}

/// Tables as CSV, every digit of every number: a line of headings and a line a row each, a blank
/// line between two. Where there are several, the name of each stands above.
pub fn csv(tables: &[Table]) -> String {
    let mut parts = Vec::new();
    for table in tables {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let heads = table.columns().iter().map(|c| &*c.key);
        // Rows have as many cells as the headings, and memory is always written.
        let _ = writer.write_record(heads);
        for row in table.rows() {
            let _ = writer.write_record(row.iter().map(text));
        }
        let bytes = writer.into_inner().unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
        parts.push(match (tables.len(), table.key.as_ref()) {
            (1, _) | (_, "") => text,
            (_, key) => format!("# {key}\n{text}"),
        });
    }
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{Holds, fact};

    #[test]
    fn a_table_of_commas_has_every_digit() {
        let column = |key, holds| fact(key).of(holds).optional();
        let columns = vec![
            column("cell", Holds::Whole),
            column("wake_p99_us", Holds::Number),
            column("domain", Holds::Text),
        ];
        let mut table =
            TableWriter::new(TableFormat::Csv, Vec::new(), columns, Vec::new()).unwrap();
        let rows = [
            [Cell::Whole(0), Cell::Number(0.1), Cell::text("a,b")],
            [Cell::Whole(-7), Cell::Number(f64::NAN), Cell::None],
        ];
        for row in rows {
            table.row(&row).unwrap();
        }
        let text = String::from_utf8(table.finish().unwrap()).unwrap();
        assert_eq!(text, "cell,wake_p99_us,domain\n0,0.1,\"a,b\"\n-7,,\n");
    }

    #[test]
    fn a_name_tells_the_format() {
        assert_eq!(
            TableFormat::of_name("out/a.b.parquet"),
            Some(TableFormat::Parquet)
        );
        assert_eq!(TableFormat::of_name("A.CSV"), Some(TableFormat::Csv));
        assert_eq!(TableFormat::of_name("a.txt"), None);
        assert_eq!(TableFormat::of_name("parquet"), None);
    }
}
