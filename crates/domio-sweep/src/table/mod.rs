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

use crate::axis::ValueKind;
use parquet::ParquetWriter;
use std::io::{self, Write};

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableColumn {
    /// Its name, which ends in the unit where there is one.
    pub name: String,
    /// What it holds.
    pub kind: ValueKind,
    /// Whether a row may have nothing there.
    pub optional: bool,
}

/// What a row has in one column.
#[derive(Clone, PartialEq, Debug)]
pub enum Datum {
    /// Nothing: the figure was not measured.
    None,
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

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
    /// Begins a table with `columns`. `about` tells what the rows come from, as names and values;
    /// CSV has no place for that.
    ///
    /// # Errors
    /// When `out` refuses.
    pub fn new(
        format: TableFormat,
        out: W,
        columns: Vec<TableColumn>,
        about: Vec<(String, String)>,
    ) -> io::Result<Self> {
        let writer = match format {
            TableFormat::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                writer.write_record(columns.iter().map(|column| &column.name))?;
                Format::Csv(Box::new(writer))
            }
            TableFormat::Parquet => {
                let writer = ParquetWriter::new(out, columns, about)?;
                Format::Parquet(Box::new(writer))
            }
        };
        Ok(TableWriter(writer))
    }

    /// Adds a row, which has a field for each column, of the column's kind. A whole number may
    /// stand where numbers do. A number that is none is nothing.
    ///
    /// # Errors
    /// When the file refuses.
    ///
    /// # Panics
    /// When the fields are not those of the columns.
    pub fn row(&mut self, fields: &[Datum]) -> io::Result<()> {
        match &mut self.0 {
            Format::Csv(writer) => Ok(writer.write_record(fields.iter().map(text))?),
            Format::Parquet(writer) => writer.row(fields),
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

/// A field with every digit.
fn text(field: &Datum) -> String {
    match field {
        Datum::None => String::new(),
        Datum::Whole(n) => n.to_string(),
        Datum::Number(n) if n.is_nan() => String::new(),
        Datum::Number(n) => n.to_string(),
        Datum::Text(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_commas_has_every_digit() {
        let column = |name: &str, kind| TableColumn {
            name: name.to_owned(),
            kind,
            optional: true,
        };
        let columns = vec![
            column("cell", ValueKind::Whole),
            column("wake_p99_us", ValueKind::Number),
            column("domain", ValueKind::Text),
        ];
        let mut table =
            TableWriter::new(TableFormat::Csv, Vec::new(), columns, Vec::new()).unwrap();
        let rows = [
            [
                Datum::Whole(0),
                Datum::Number(0.1),
                Datum::Text("a,b".to_owned()),
            ],
            [Datum::Whole(-7), Datum::Number(f64::NAN), Datum::None],
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
