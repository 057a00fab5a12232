//! Columns: what a figure or a name is called, in which unit it is, and what may be done with it.

use std::borrow::Cow;

/// What a cell of a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// Whole numbers.
    Whole,
    /// Numbers.
    Number,
    /// Means with their intervals.
    Estimate,
    /// Texts.
    Text,
    /// Yes or no.
    Flag,
    /// A number, a text, or yes or no: what a key of a scenario takes.
    Any,
    /// Rows of a table within the row: [`Column::parts`].
    Rows,
    /// Rows of a name and a value, in two columns of [`Column::parts`].
    Map,
    /// One row; where the column is optional, one or none.
    RowType,
}

/// What a column says of its row, and so how rows of several runs become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// Names the row: rows with the same keys are of the same thing.
    Key,
    /// Adds up.
    Sum,
    /// The largest counts.
    Max,
    /// True when all are.
    All,
    /// True when one is.
    Any,
    /// What the first row has stays.
    Fact,
    /// An instant, in nanoseconds.
    Moment,
    /// A part of a whole, in percent.
    Share,
    /// So many in a time.
    Rate,
    /// A mean over what happened in the run.
    Mean,
    /// A quantile of what happened in the run.
    Quantile,
    /// Rows by their keys.
    Parts,
    /// The rows with the largest values in this column of theirs, the largest first, so many at
    /// most.
    Largest(&'static str, usize),
}

/// Whom a column is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Audience {
    /// Everybody.
    #[default]
    All,
    /// Programs: people read the same in another column.
    Programs,
}

/// One column.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Name for programs. It ends in the unit where there is one.
    pub key: Cow<'static, str>,
    /// Name for people.
    pub title: Cow<'static, str>,
    /// Unit ("ns", "%"); empty for none.
    pub unit: Cow<'static, str>,
    /// What cells hold.
    pub holds: Holds,
    /// What the column says of its row.
    pub kind: ColumnKind,
    /// Whether a row may have nothing there.
    pub optional: bool,
    /// What it means, a sentence.
    pub doc: Cow<'static, str>,
    /// Whom it is for.
    pub audience: Audience,
    /// Columns of the rows within.
    pub parts: Vec<Column>,
    /// Whether the rows within have further columns, which depend on what was asked, as the axes
    /// of a sweep.
    pub open: bool,
}

/// A column called `key` in `unit`, of numbers unless [`Column::of`] says what it holds.
pub fn column(key: impl Into<Cow<'static, str>>, unit: &'static str, kind: ColumnKind) -> Column {
    let key = key.into();
    let plain = key.strip_suffix(unit).filter(|rest| rest.ends_with('_'));
    let plain = plain.unwrap_or(&key).trim_end_matches('_');
    let title = plain.replace('_', " ");
    Column {
        title: title.into(),
        key,
        unit: unit.into(),
        holds: Holds::Number,
        kind,
        optional: false,
        doc: "".into(),
        audience: Audience::All,
        parts: Vec::new(),
        open: false,
    }
}

/// A column that names the row.
pub fn key(key: impl Into<Cow<'static, str>>) -> Column {
    column(key, "", ColumnKind::Key)
}

/// A sum.
pub fn sum(key: &'static str, unit: &'static str) -> Column {
    column(key, unit, ColumnKind::Sum)
}

/// A number of things.
pub fn count(key: &'static str) -> Column {
    sum(key, "")
}

/// A largest value.
pub fn max(key: &'static str, unit: &'static str) -> Column {
    column(key, unit, ColumnKind::Max)
}

/// A fact that runs have in common.
pub fn fact(key: impl Into<Cow<'static, str>>) -> Column {
    column(key, "", ColumnKind::Fact)
}

/// Whether all runs have something.
pub fn all(key: &'static str) -> Column {
    column(key, "", ColumnKind::All)
}

/// Whether a run has something.
pub fn any(key: &'static str) -> Column {
    column(key, "", ColumnKind::Any)
}

/// An instant.
pub fn moment(key: &'static str) -> Column {
    column(key, "ns", ColumnKind::Moment)
}

/// A part of a whole, in percent.
pub fn share(key: impl Into<Cow<'static, str>>) -> Column {
    column(key, "%", ColumnKind::Share)
}

/// Rows within the row, by their keys. A type that is a row itself has its own columns, and
/// `columns` is empty; a map or a tuple takes one of them for each of its types. A list of plain
/// values needs none: its column has the key of the list.
pub fn parts(key: &'static str, columns: impl Into<Vec<Column>>) -> Column {
    Column {
        parts: columns.into(),
        ..column(key, "", ColumnKind::Parts)
    }
}

/// Values by name, which JSON has as an object.
pub fn by_name(key: &'static str, value: Column) -> Column {
    parts(key, [self::key("name").of(Holds::Text), value]).of(Holds::Map)
}

/// The rows with the largest values in their column `by`, at most `most` of them.
pub fn largest(key: &'static str, by: &'static str, most: usize) -> Column {
    column(key, "", ColumnKind::Largest(by, most))
}

impl Column {
    /// The same with this name for people.
    pub fn title(self, title: impl Into<Cow<'static, str>>) -> Self {
        let title = title.into();
        Column { title, ..self }
    }

    /// The same in this unit.
    pub fn unit(self, unit: &'static str) -> Self {
        Column {
            unit: unit.into(),
            ..self
        }
    }

    /// The same with this meaning.
    pub fn doc(self, doc: impl Into<Cow<'static, str>>) -> Self {
        let doc = doc.into();
        Column { doc, ..self }
    }

    /// The same with cells of another sort.
    pub fn of(self, holds: Holds) -> Self {
        Column { holds, ..self }
    }

    /// The same where a row may have nothing.
    pub fn optional(self) -> Self {
        Column {
            optional: true,
            ..self
        }
    }

    /// The same for programs alone.
    pub fn for_programs(self) -> Self {
        Column {
            audience: Audience::Programs,
            ..self
        }
    }

    /// The same, whose rows have further columns, which depend on what was asked.
    pub fn open(self) -> Self {
        Column { open: true, ..self }
    }

    /// The same behind what `name` names: a vcpu that waited has `domain`, and the one behind which
    /// it waited has `behind_domain`.
    pub fn behind(self, name: &str) -> Self {
        match name {
            "" => self,
            name => Column {
                key: format!("{name}_{}", self.key).into(),
                title: format!("{name} {}", self.title).into(),
                ..self
            },
        }
    }

    /// Whether people see the column in a table. Rows within are tables of their own.
    pub fn is_for_people(&self) -> bool {
        self.audience == Audience::All && !self.is_nested()
    }

    /// Whether the cells are rows.
    pub fn is_nested(&self) -> bool {
        matches!(self.holds, Holds::Rows | Holds::Map | Holds::RowType)
    }
}
