//! What can be asked for by name: how lists and pages show it, and how one is found.
//!
//! A kind of parts declares a row ([`Registered`]). Its list has a row a part, its page has one row
//! with all tables within.

use crate::args::{ListArgs, ShowArgs};
use crate::out::{self, Status};
use crate::suggest;
use anyhow::anyhow;
use domio_answer::{AnswerSpec, Answered, Cell, Column, RowType, Table, rows};
use domio_blk::elevator::{ElevatorInfo, find_elevator};
use domio_contract::Policy;
use domio_core::{ParamKind, ParamSpec};
use domio_report::text::table::render;
use domio_report::written;
use domio_scenario::{Parts, unmodelled_policy};
use std::borrow::Cow;

rows! {
    /// A declared parameter.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Param {
        /// Name.
        pub name: Cow<'static, str> = key("name");
        /// Value that holds when nothing is said.
        pub default: Cell = fact("default");
        /// Unit, empty for none.
        pub unit: Cow<'static, str> = fact("unit");
        /// Allowed values, for people.
        pub range: String = fact("range");
        /// What it does.
        pub meaning: Cow<'static, str> = fact("meaning");
    }
}

/// A list of what there is by name, as an answer.
pub struct Listing {
    /// Name of the answer.
    pub name: &'static str,
    /// Version of its JSON.
    pub version: u32,
    /// What it is.
    pub doc: &'static str,
    /// Key of the rows.
    pub key: &'static str,
    /// What they are.
    pub rows: &'static str,
}

impl Listing {
    /// The list of `rows`.
    pub fn of<R: RowType>(&self, rows: &[R]) -> Answered {
        self.answer(Table::of("", rows))
    }

    /// The list of the rows of `table`.
    pub fn answer(&self, table: Table) -> Answered {
        let spec = AnswerSpec::new(self.name, self.version, self.doc, []);
        let mut list = Answered::new(spec, Vec::new());
        list.derive_table(self.key, self.rows, table);
        list
    }

    /// Prints the list of `rows`.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn print<R: RowType>(&self, rows: &[R], as_json: bool) -> anyhow::Result<Status> {
        let table = || render(&Table::of("", rows), out::view());
        out::answer(as_json, || self.of(rows), table)?;
        Ok(Status::Success)
    }
}

/// A kind of parts: the row is what its lists and pages say of one. The first two columns are name
/// and summary.
pub trait Registered: RowType {
    /// Its list.
    const LIST: Listing;
    /// Name, version and meaning of the page of one.
    const SHOW: (&'static str, u32, &'static str);

    /// Those of `parts`, in the order in which lists show them.
    fn all(parts: &Parts) -> Vec<Self>;

    /// The one called `name`.
    ///
    /// # Errors
    /// When there is none, with near matches and where to look.
    fn named(name: &str, parts: &Parts) -> anyhow::Result<Self>;
}

/// The schema of the list.
pub fn list_spec<R: Registered>() -> AnswerSpec {
    R::LIST.of::<R>(&[]).spec
}

/// The schema of the page.
pub fn show_spec<R: Registered>() -> AnswerSpec {
    let (name, version, doc) = R::SHOW;
    AnswerSpec::new(name, version, doc, R::spec())
}

/// Prints the list.
///
/// # Errors
/// When the output cannot be written.
pub fn list<R: Registered>(args: &ListArgs, parts: &Parts) -> anyhow::Result<Status> {
    R::LIST.print(&R::all(parts), args.json)
}

/// Prints the page of one.
///
/// # Errors
/// When there is none of that name, or the output cannot be written.
pub fn show<R: Registered>(args: &ShowArgs, parts: &Parts) -> anyhow::Result<Status> {
    let row = R::named(&args.name, parts)?.cells();
    let answered = || Answered::new(show_spec::<R>(), row.clone());
    out::answer(args.json, answered, || page(R::spec(), &row))?;
    Ok(Status::Success)
}

/// A row as a page: its name with the summary, the other facts a line each, the tables within.
fn page(columns: &[Column], cells: &[Cell]) -> String {
    let all = || columns.iter().zip(cells);
    let mut text = String::new();
    for (number, (column, cell)) in all().enumerate() {
        let shown = match (cell, &column.parts[..]) {
            (Cell::None, _) | (_, [_, _, ..]) => continue,
            (Cell::Rows(words), [word]) => {
                let words = words.iter().map(|row| written::shown(word, &row[0]));
                match words.collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => "nothing".to_owned(),
                    words => words,
                }
            }
            (cell, _) => written::shown(column, cell),
        };
        text += &match number {
            0 => format!("{shown}: "),
            1 => format!("{shown}\n"),
            _ => format!("{}: {shown}\n", column.title),
        };
    }
    let tables = all().filter(|(column, _)| column.parts.len() > 1);
    if tables.clone().all(|(_, cell)| cell.rows().is_empty()) {
        let first = tables.clone().next();
        text += &first.map_or_else(String::new, |(column, _)| format!("{}: none\n", column.key));
    }
    for (column, cell) in tables.filter(|(_, cell)| !cell.rows().is_empty()) {
        let mut table = Table::new("", column.parts.clone());
        cell.rows().iter().for_each(|row| table.row(row.clone()));
        text += &format!("\n{}\n\n{}", column.title, render(&table, out::view()));
    }
    text
}

/// The words that hold.
pub fn held<const N: usize>(words: [(&str, bool); N]) -> Vec<String> {
    let held = words.iter().filter(|(_, holds)| *holds);
    held.map(|(word, _)| (*word).to_owned()).collect()
}

/// Declared parameters as rows.
pub fn params<'s>(specs: impl IntoIterator<Item = &'s ParamSpec>) -> Vec<Param> {
    let param = |spec: &ParamSpec| Param {
        name: spec.name.into(),
        default: match spec.kind {
            ParamKind::Int { .. } => Cell::Whole(spec.default),
            ParamKind::Flag => (spec.default != 0).into(),
            ParamKind::Choice(_) => spec.show(spec.default).to_string().into(),
        },
        unit: spec.unit.into(),
        range: spec.range().to_string(),
        meaning: spec.doc.into(),
    };
    specs.into_iter().map(param).collect()
}

/// That nothing of the sort `what` is called `name`, with near matches and where to look.
pub fn unknown<'a>(
    what: &str,
    name: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> anyhow::Error {
    let near = suggest::near(name, names);
    let list = match what {
        "schema" => "domio schema".to_owned(),
        what => format!("domio {what} list"),
    };
    anyhow!("no {what} is called \"{name}\"{near}; `{list}` lists them")
}

/// The policy of `parts` called `name`.
///
/// # Errors
/// With near matches and where to look.
pub fn policy(name: &str, parts: &Parts) -> anyhow::Result<Policy> {
    let names = parts.policies().iter().map(|p| p.descriptor.name);
    parts
        .policy(name)
        .copied()
        .ok_or_else(|| match unmodelled_policy(name) {
            Some(told) => anyhow!("no policy is called \"{name}\": {told}"),
            None => unknown("policy", name, names),
        })
}

/// The elevator of `parts` called `name`, or with that short name.
///
/// # Errors
/// When there is none.
pub fn elevator(name: &str, parts: &Parts) -> anyhow::Result<&'static ElevatorInfo> {
    let names = parts.elevators().iter().map(|e| e.name);
    find_elevator(parts.elevators(), name).ok_or_else(|| unknown("elevator", name, names))
}
