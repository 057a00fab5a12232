//! Apache Parquet, as far as a flat table of numbers, texts and flags needs it.
//!
//! ```text
//! "PAR1"
//! row group: for each column one page ─ header, then gzip of
//!                                       (levels: which rows have a value) (the values)
//! row group ...
//! footer: columns, where each page is, what the rows come from
//! length of the footer, "PAR1"
//! ```
//!
//! The format is that of the Apache Parquet project (`parquet-format`, `README.md`, `Encodings.md`,
//! `src/main/thrift/parquet.thrift`); the numbers of fields below are those of the last of these.
//! Values are in plain encoding, levels in the hybrid of runs and packed bits.
//!
//! In memory there is one row group, of [`ROWS`] rows.

use super::thrift::{Struct, varint};
use crate::cell::Cell;
use crate::column::{Column, Holds};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// What a file begins and ends with.
pub const MAGIC: &[u8; 4] = b"PAR1";

/// Rows of a row group. More would be quicker to read, and take more memory to write: 50 columns of
/// 8 bytes are 3 megabytes.
const ROWS: usize = 8_192;

/// Names of types, repetitions, encodings and codecs (`parquet.thrift`).
mod numbers {
    pub const BOOLEAN: i32 = 0;
    pub const INT64: i32 = 2;
    pub const DOUBLE: i32 = 5;
    pub const BYTE_ARRAY: i32 = 6;
    pub const REQUIRED: i32 = 0;
    pub const OPTIONAL: i32 = 1;
    pub const UTF8: i32 = 0;
    pub const PLAIN: i32 = 0;
    pub const RLE: i32 = 3;
    pub const GZIP: i32 = 2;
    pub const DATA_PAGE: i32 = 0;
}

/// Who made the file, in its footer: this, a space, and the version.
const MAKER: &str = "domio version ";

/// Writes rows.
pub(super) struct ParquetWriter<W: Write> {
    out: W,
    /// Bytes written so far.
    at: u64,
    columns: Vec<Open>,
    about: Vec<(String, String)>,
    /// Rows of the group that is not written yet.
    open: usize,
    rows: u64,
    /// Row groups of the footer.
    groups: Vec<Vec<u8>>,
}

/// One column of the group that is not written yet.
struct Open {
    of: Column,
    /// Which rows have a value.
    there: Vec<bool>,
    /// The values, in plain encoding.
    values: Vec<u8>,
}

impl<W: Write> ParquetWriter<W> {
    pub(super) fn new(
        mut out: W,
        columns: Vec<Column>,
        about: Vec<(String, String)>,
    ) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        let column = |of| Open {
            of,
            there: Vec::new(),
            values: Vec::new(),
        };
        Ok(ParquetWriter {
            out,
            at: MAGIC.len() as u64,
            columns: columns.into_iter().map(column).collect(),
            about,
            open: 0,
            rows: 0,
            groups: Vec::new(),
        })
    }

    pub(super) fn row(&mut self, fields: &[Cell]) -> io::Result<()> {
        assert_eq!(fields.len(), self.columns.len(), "a field for each column");
        for (column, field) in self.columns.iter_mut().zip(fields) {
            column.push(field);
        }
        self.open += 1;
        match self.open {
            ROWS => self.close_group(),
            _ => Ok(()),
        }
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        if self.open > 0 {
            self.close_group()?;
        }
        let footer = self.footer();
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        Ok(self.out)
    }

    /// Writes the open rows as a row group.
    fn close_group(&mut self) -> io::Result<()> {
        let begin = self.at;
        let mut chunks = Vec::new();
        let (mut plain, mut packed) = (0, 0);
        for column in &mut self.columns {
            let (page, uncompressed) = column.page(self.open)?;
            self.out.write_all(&page)?;
            let chunk = Struct::default().i64(2, 0).structure(
                3,
                column.chunk(self.open, self.at, page.len(), uncompressed),
            );
            chunks.push(chunk);
            self.at += page.len() as u64;
            plain += uncompressed;
            packed += page.len();
            column.there.clear();
            column.values.clear();
        }
        let group = Struct::default()
            .structures(1, chunks.into_iter())
            .i64(2, plain as i64)
            .i64(3, self.open as i64)
            .i64(5, begin as i64)
            .i64(6, packed as i64);
        self.groups.push(group.finish());
        self.rows += self.open as u64;
        self.open = 0;
        Ok(())
    }

    fn footer(&self) -> Vec<u8> {
        let root = Struct::default()
            .text(4, "schema")
            .i32(5, self.columns.len() as i32);
        let columns = self.columns.iter().map(Open::schema);
        let elements: Vec<Struct> = [root].into_iter().chain(columns).collect();
        let about = self.about.iter();
        let about = about.map(|(name, value)| Struct::default().text(1, name).text(2, value));
        Struct::default()
            .i32(1, 1)
            .structures(2, elements.into_iter())
            .i64(3, self.rows as i64)
            .finished(4, &self.groups)
            .structures(5, about)
            .text(6, &format!("{MAKER}{}", env!("CARGO_PKG_VERSION")))
            .finish()
    }
}

impl Open {
    /// # Panics
    /// When the field is of another kind, or missing where it must not be.
    fn push(&mut self, field: &Cell) {
        match (self.of.holds, field) {
            (_, Cell::None) => return self.push_none(),
            (Holds::Number, Cell::Number(n)) if n.is_nan() => return self.push_none(),
            (Holds::Whole, Cell::Whole(n)) => self.values.extend(n.to_le_bytes()),
            (Holds::Number, Cell::Number(n)) => self.values.extend(n.to_le_bytes()),
            (Holds::Number, Cell::Whole(n)) => self.values.extend((*n as f64).to_le_bytes()),
            (Holds::Text, Cell::Text(text)) => self.push_text(text),
            (Holds::Any, cell) => self.push_text(&super::text(cell)),
            (Holds::Flag, Cell::Flag(flag)) => self.values.push(u8::from(*flag)),
            (holds, field) => panic!("{field:?} in {}, which holds {holds:?}", self.of.key),
        }
        self.there.push(true);
    }

    fn push_text(&mut self, text: &str) {
        self.values.extend((text.len() as u32).to_le_bytes());
        self.values.extend(text.as_bytes());
    }

    fn push_none(&mut self) {
        assert!(
            self.of.optional,
            "nothing in {}, which has a value in each row",
            self.of.key
        );
        self.there.push(false);
    }

    /// The element of the schema.
    fn schema(&self) -> Struct {
        let repetition = match self.of.optional {
            true => numbers::OPTIONAL,
            false => numbers::REQUIRED,
        };
        let element = Struct::default()
            .i32(1, self.type_number())
            .i32(3, repetition)
            .text(4, &self.of.key);
        match self.of.holds {
            // Older readers ask for the converted type, newer ones for the logical type: a string.
            Holds::Text | Holds::Any => element
                .i32(6, numbers::UTF8)
                .structure(10, Struct::default().structure(1, Struct::default())),
            _ => element,
        }
    }

    fn type_number(&self) -> i32 {
        match self.of.holds {
            Holds::Whole => numbers::INT64,
            Holds::Number => numbers::DOUBLE,
            Holds::Flag => numbers::BOOLEAN,
            _ => numbers::BYTE_ARRAY,
        }
    }

    /// The page of the open rows with its header, and how long it would be uncompressed.
    fn page(&self, rows: usize) -> io::Result<(Vec<u8>, usize)> {
        let mut body = Vec::new();
        if self.of.optional {
            let levels = levels(&self.there);
            body.extend((levels.len() as u32).to_le_bytes());
            body.extend(levels);
        }
        match self.of.holds {
            Holds::Flag => body.extend(self.values.chunks(8).map(bits)),
            _ => body.extend(&self.values),
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&body)?;
        let packed = packed.finish()?;
        let data = Struct::default()
            .i32(1, rows as i32)
            .i32(2, numbers::PLAIN)
            .i32(3, numbers::RLE)
            .i32(4, numbers::RLE);
        let mut page = Struct::default()
            .i32(1, numbers::DATA_PAGE)
            .i32(2, body.len() as i32)
            .i32(3, packed.len() as i32)
            .structure(5, data)
            .finish();
        let uncompressed = page.len() + body.len();
        page.extend(packed);
        Ok((page, uncompressed))
    }

    /// Where and what the page at `at` is.
    fn chunk(&self, rows: usize, at: u64, packed: usize, uncompressed: usize) -> Struct {
        Struct::default()
            .i32(1, self.type_number())
            .i32s(2, &[numbers::PLAIN, numbers::RLE])
            .texts(3, &[&self.of.key])
            .i32(4, numbers::GZIP)
            .i64(5, rows as i64)
            .i64(6, uncompressed as i64)
            .i64(7, packed as i64)
            .i64(9, at as i64)
    }
}

/// Which rows have a value, as levels of one bit: one run where all are alike, else packed bits.
fn levels(there: &[bool]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let first = there.first().copied().unwrap_or_default();
    if there.iter().all(|other| *other == first) {
        varint(&mut bytes, (there.len() as u64) << 1);
        bytes.push(u8::from(first));
        return bytes;
    }
    let groups = there.chunks(8);
    varint(&mut bytes, (groups.len() as u64) << 1 | 1);
    let packed =
        groups.map(|group| bits(&group.iter().map(|bit| u8::from(*bit)).collect::<Vec<_>>()));
    bytes.extend(packed);
    bytes
}

/// Up to eight bits, the first in the lowest place.
fn bits(bits: &[u8]) -> u8 {
    let bits = bits.iter().enumerate();
    bits.fold(0, |byte, (i, bit)| byte | bit << i)
}

/// Whether the last bytes of a Parquet file, its footer among them, say that domio made it.
pub fn made_by(tail: &[u8]) -> bool {
    tail.windows(MAKER.len())
        .any(|window| window == MAKER.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::thrift::reading::{self, Tree};
    use super::*;
    use crate::column::fact;
    use flate2::read::GzDecoder;
    use proptest::prelude::*;
    use std::io::Read;

    /// Names of columns, rows, and what they come from.
    type Content = (Vec<String>, Vec<Vec<Cell>>, Vec<(String, String)>);

    /// Reads a file that was written here.
    fn read(bytes: &[u8]) -> Content {
        assert!(bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC));
        let end = bytes.len() - 8;
        let length = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
        assert!(made_by(&bytes[end - length..]));
        let mut footer = &bytes[end - length..end];
        let footer = reading::structure(&mut footer);
        let (root, elements) = footer.at(2).list().split_first().unwrap();
        assert_eq!(root.at(5).int() as usize, elements.len());
        let mut columns: Vec<Vec<Cell>> = vec![Vec::new(); elements.len()];
        let mut rows = 0;
        // Pages follow each other without a gap.
        let mut next = MAGIC.len();
        for group in footer.at(4).list() {
            assert_eq!(group.at(5).int() as usize, next);
            rows += group.at(3).int();
            for ((chunk, element), column) in
                group.at(1).list().iter().zip(elements).zip(&mut columns)
            {
                let meta = chunk.at(3);
                assert_eq!(meta.at(1), element.at(1));
                assert_eq!(meta.at(3).list()[0], *element.at(4));
                assert_eq!(meta.at(9).int() as usize, next);
                let length = meta.at(7).int() as usize;
                column.extend(page(&bytes[next..next + length], element, meta));
                next += length;
            }
        }
        assert_eq!(next, end - length);
        assert_eq!(footer.at(3).int(), rows);
        let row = |i: usize| columns.iter().map(|column| column[i].clone()).collect();
        let names = elements.iter().map(|e| e.at(4).text().to_owned());
        let pair = |e: &Tree| (e.at(1).text().to_owned(), e.at(2).text().to_owned());
        let about = footer.at(5).list().iter().map(pair);
        (
            names.collect(),
            (0..rows as usize).map(row).collect(),
            about.collect(),
        )
    }

    fn page(mut bytes: &[u8], element: &Tree, meta: &Tree) -> Vec<Cell> {
        let whole = bytes.len();
        let header = reading::structure(&mut bytes);
        assert_eq!(header.at(3).int() as usize, bytes.len());
        let mut body = Vec::new();
        GzDecoder::new(bytes).read_to_end(&mut body).unwrap();
        assert_eq!(header.at(2).int() as usize, body.len());
        let heading = whole - bytes.len();
        assert_eq!(meta.at(6).int() as usize, heading + body.len());
        let count = header.at(5).at(1).int() as usize;
        assert_eq!(meta.at(5).int() as usize, count);
        let mut body = body.as_slice();
        let mut there = vec![true; count];
        if element.at(3).int() == 1 {
            let length = u32::from_le_bytes(take(&mut body)) as usize;
            let (mut levels, rest) = body.split_at(length);
            body = rest;
            let head = reading::number(&mut levels);
            there = match head & 1 {
                0 => {
                    assert_eq!((head >> 1) as usize, count);
                    vec![levels == [1]; count]
                }
                _ => {
                    assert_eq!(levels.len(), (head >> 1) as usize);
                    (0..count)
                        .map(|i| levels[i / 8] >> (i % 8) & 1 == 1)
                        .collect()
                }
            };
        }
        let field = |is_there| match (is_there, element.at(1).int()) {
            (false, _) => Cell::None,
            (true, 2) => Cell::Whole(i64::from_le_bytes(take(&mut body))),
            (true, 5) => Cell::Number(f64::from_le_bytes(take(&mut body))),
            (true, 6) => {
                let length = u32::from_le_bytes(take(&mut body)) as usize;
                let (text, rest) = body.split_at(length);
                body = rest;
                Cell::text(String::from_utf8(text.to_vec()).unwrap())
            }
            (true, other) => panic!("type {other}"),
        };
        let fields: Vec<Cell> = there.into_iter().map(field).collect();
        assert!(body.is_empty());
        fields
    }

    fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
        let (first, rest) = bytes.split_first_chunk().unwrap();
        *bytes = rest;
        *first
    }

    fn column(name: &'static str, holds: Holds, optional: bool) -> Column {
        Column {
            optional,
            ..fact(name).of(holds)
        }
    }

    fn columns() -> Vec<Column> {
        vec![
            column("cell", Holds::Whole, false),
            column("share_pct", Holds::Number, true),
            column("domain", Holds::Text, true),
        ]
    }

    fn written(rows: &[Vec<Cell>]) -> Vec<u8> {
        let about = vec![("domio.seed".to_owned(), "7".to_owned())];
        let mut writer = ParquetWriter::new(Vec::new(), columns(), about).unwrap();
        rows.iter().for_each(|row| writer.row(row).unwrap());
        writer.finish().unwrap()
    }

    #[test]
    fn a_table_of_several_groups_comes_back() {
        let row = |i: usize| {
            let share = match i % 3 {
                0 => Cell::None,
                _ => Cell::Number(i as f64 / 7.0),
            };
            vec![
                Cell::Whole(i as i64),
                share,
                Cell::text(format!("g{}", i % 5)),
            ]
        };
        for count in [0, 1, ROWS, 2 * ROWS + 5] {
            let rows: Vec<Vec<Cell>> = (0..count).map(row).collect();
            let bytes = written(&rows);
            let (names, read, about) = read(&bytes);
            assert_eq!(names, ["cell", "share_pct", "domain"]);
            assert_eq!(about, [("domio.seed".to_owned(), "7".to_owned())]);
            assert!(read == rows, "{count}");
            assert!(bytes == written(&rows), "the same rows give the same bytes");
        }
    }

    #[test]
    fn what_is_no_number_is_nothing() {
        let nan = vec![Cell::Whole(0), Cell::Number(f64::NAN), Cell::None];
        let whole = vec![Cell::Whole(1), Cell::Whole(3), Cell::None];
        let (_, read, _) = read(&written(&[nan, whole]));
        assert_eq!(read[0], [Cell::Whole(0), Cell::None, Cell::None]);
        assert_eq!(read[1], [Cell::Whole(1), Cell::Number(3.0), Cell::None]);
    }

    #[test]
    #[should_panic(expected = "nothing in cell")]
    fn a_column_without_gaps_has_none() {
        written(&[vec![Cell::None, Cell::None, Cell::None]]);
    }

    #[test]
    fn others_made_other_files() {
        assert!(!made_by(b"parquet-cpp-arrow version 14.0.0"));
    }

    proptest! {
        #[test]
        fn any_rows_come_back(
            rows in prop::collection::vec(
                (any::<i64>(), prop::option::of(any::<u64>()), prop::option::of(".{0,9}")), 0..60)
        ) {
            let row = |(whole, bits, text): (i64, Option<u64>, Option<String>)| {
                let number = bits.map(f64::from_bits).filter(|n| !n.is_nan());
                vec![
                    Cell::Whole(whole),
                    number.map_or(Cell::None, Cell::Number),
                    text.map_or(Cell::None, Cell::text),
                ]
            };
            let rows: Vec<Vec<Cell>> = rows.into_iter().map(row).collect();
            let (_, read, _) = read(&written(&rows));
            prop_assert_eq!(read, rows);
        }
    }
}
