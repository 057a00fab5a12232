//! What comes out of a command: typed tables, and the writers of them.
//!
//! Whoever measures declares a row as a structure ([`rows!`]): each field is a [`Column`] with a
//! key, a unit, a [`ColumnKind`] and what it means. Whoever shows knows tables alone. Values stay
//! numbers until a writer has them.
//!
//! | file | what it holds |
//! |---|---|
//! | `column.rs` | what a column is: key, title, unit, kind, meaning |
//! | `cell.rs` | what a row has in a column |
//! | `field.rs` | what types are cells, and how they add up and come back |
//! | `declare.rs` | the macro that declares a row |
//! | `table.rs` | a table, as people and programs get it |
//! | `answer.rs` | an answer: one row of facts and tables, and findings in words |
//! | `json.rs`, `schema.rs` | JSON, and the schema of an answer |
//! | `bytes.rs` | rows as bytes, as they are kept, and back |
//! | `file/` | CSV and Parquet, row by row |
//!
//! # How a command is written
//!
//! 1. Declare what comes out with [`rows!`], beside the code that finds it. What is nested in a
//!    row,
//!    as the waits of a vcpu, is a field of its own: JSON nests it, tables of files stand alone
//!    with the keys of the rows around it.
//! 2. Name it once, as an [`AnswerSpec`]: name, version, what it is. `domio schema` has it from
//!    there.
//! 3. Write one function from arguments to an [`Answered`]: [`Answered::of`] takes the row, and
//!    [`Answered::derive`] adds columns that follow from others.
//! 4. For people, the same function fills sections with charts and [`Table`]s. The terminal, the
//!    page and the CSV files are written from these.

#[macro_use]
mod declare;

mod answer;
mod bytes;
mod cell;
pub mod column;
mod field;
pub mod file;
mod json;
mod schema;
mod table;

pub use answer::{AnswerSpec, Answered, Sentence};
pub use bytes::{decode, encode};
pub use cell::{Cell, MeanCell, Tone};
pub use column::{Audience, Column, ColumnKind, Holds};
pub use domio_core::Class;
pub use field::{FieldType, Inner, Known, Maybe, RowType, Value, add_rows};
pub use table::Table;
