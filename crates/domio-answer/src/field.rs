//! Types of fields of rows: how each becomes cells, comes back, and adds up.

use crate::cell::{Cell, MeanCell};
use crate::column::{Column, ColumnKind, Holds};
use domio_core::{Better, Class, DomainId, Duration, Instant, PcpuId, Runstate, VcpuName};
use serde::Deserialize;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::slice::Iter;

/// The classes that names of kept rows stand for.
pub type Known<'k> = &'k [&'static Class];

/// A type that is one cell.
pub trait Value: Clone {
    /// What its cells hold.
    const HOLDS: Holds;
    /// Whether a cell may be empty.
    const OPTIONAL: bool = false;

    /// It as a cell.
    fn cell(&self) -> Cell;

    /// What became this cell; `None` when something else did.
    fn of(cell: &Cell, known: Known<'_>) -> Option<Self>;

    /// Adds that of another run.
    fn add(&mut self, other: &Self, kind: ColumnKind) {
        let _ = (other, kind);
    }
}

/// A type that is one or more columns of a row.
pub trait FieldType: Clone {
    /// Its columns, as declared by the next of `declared`.
    fn columns(declared: &mut dyn Iterator<Item = Column>) -> Vec<Column>;

    /// Adds its cells, one for each of its columns.
    fn put(&self, cells: &mut Vec<Cell>);

    /// What became the next cells; `None` when something else did.
    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self>;

    /// Adds that of another run; its columns are the next of `columns`.
    fn add(&mut self, other: &Self, columns: &mut Iter<'_, Column>);
}

/// A row of a table, declared with [`rows!`](crate::rows).
pub trait RowType: FieldType {
    /// Its columns.
    fn spec() -> &'static [Column];

    /// Its cells, one for each column.
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::with_capacity(Self::spec().len());
        self.put(&mut cells);
        cells
    }

    /// What became these cells; `None` when something else did.
    fn of_cells(cells: &[Cell], known: Known<'_>) -> Option<Self> {
        let mut cells = cells.iter();
        let row = Self::take(&mut cells, known)?;
        cells.next().is_none().then_some(row)
    }

    /// Adds that of another run, as the kinds of the columns say.
    fn merge(&mut self, other: &Self) {
        self.add(other, &mut Self::spec().iter());
    }
}

impl<T: Value> FieldType for T {
    fn columns(declared: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        let column = declared.next().expect("a column for each field");
        vec![Column {
            holds: T::HOLDS,
            optional: T::OPTIONAL,
            ..column
        }]
    }

    fn put(&self, cells: &mut Vec<Cell>) {
        cells.push(self.cell());
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        T::of(cells.next()?, known)
    }

    fn add(&mut self, other: &Self, columns: &mut Iter<'_, Column>) {
        let column = columns.next().expect("a column for each field");
        Value::add(self, other, column.kind);
    }
}

impl<A: FieldType, B: FieldType> FieldType for (A, B) {
    fn columns(declared: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        let first = A::columns(declared);
        [first, B::columns(declared)].concat()
    }

    fn put(&self, cells: &mut Vec<Cell>) {
        self.0.put(cells);
        self.1.put(cells);
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        Some((A::take(cells, known)?, B::take(cells, known)?))
    }

    fn add(&mut self, other: &Self, columns: &mut Iter<'_, Column>) {
        self.0.add(&other.0, columns);
        self.1.add(&other.1, columns);
    }
}

/// The column of rows within, each of which is a `T`.
fn nested<T: FieldType>(declared: &mut dyn Iterator<Item = Column>, holds: Holds) -> Vec<Column> {
    let column = declared.next().expect("a column for each field");
    let within = match column.parts.is_empty() {
        true => vec![column.clone()],
        false => column.parts.clone(),
    };
    vec![Column {
        holds: match column.holds {
            Holds::Map => Holds::Map,
            _ => holds,
        },
        parts: T::columns(&mut within.into_iter()),
        ..column
    }]
}

fn cells<T: FieldType>(of: &T) -> Vec<Cell> {
    let mut cells = Vec::new();
    of.put(&mut cells);
    cells
}

fn rows_of<T: FieldType>(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Vec<T>> {
    let Cell::Rows(rows) = cells.next()? else {
        return None;
    };
    let row = |row: &Vec<Cell>| {
        let mut cells = row.iter();
        let row = T::take(&mut cells, known)?;
        cells.next().is_none().then_some(row)
    };
    rows.iter().map(row).collect()
}

impl<T: FieldType> FieldType for Vec<T> {
    fn columns(declared: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        nested::<T>(declared, Holds::Rows)
    }

    fn put(&self, out: &mut Vec<Cell>) {
        out.push(Cell::Rows(self.iter().map(cells).collect()));
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        rows_of(cells, known)
    }

    fn add(&mut self, other: &Self, columns: &mut Iter<'_, Column>) {
        let column = columns.next().expect("a column for each field");
        add_rows(self, other, column);
    }
}

/// So many values. Those of the first run stay.
impl<T: FieldType, const N: usize> FieldType for [T; N] {
    fn columns(declared: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        nested::<T>(declared, Holds::Rows)
    }

    fn put(&self, out: &mut Vec<Cell>) {
        out.push(Cell::Rows(self.iter().map(cells).collect()));
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        rows_of(cells, known)?.try_into().ok()
    }

    fn add(&mut self, _: &Self, columns: &mut Iter<'_, Column>) {
        columns.next();
    }
}

/// So many values, or nothing.
impl<T: FieldType, const N: usize> FieldType for Option<[T; N]> {
    fn columns(declared: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        let columns = <[T; N]>::columns(declared).into_iter();
        columns.map(Column::optional).collect()
    }

    fn put(&self, out: &mut Vec<Cell>) {
        match self {
            Some(values) => values.put(out),
            None => out.push(Cell::None),
        }
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        match cells.as_slice().first()? {
            Cell::None => {
                cells.next();
                Some(None)
            }
            _ => <[T; N]>::take(cells, known).map(Some),
        }
    }

    fn add(&mut self, _: &Self, columns: &mut Iter<'_, Column>) {
        columns.next();
    }
}

/// A row within a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Inner<T>(pub T);

impl<T: FieldType> FieldType for Inner<T> {
    fn columns(declared: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        nested::<T>(declared, Holds::RowType)
    }

    fn put(&self, out: &mut Vec<Cell>) {
        out.push(Cell::Rows(vec![cells(&self.0)]));
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        let rows: [T; 1] = rows_of(cells, known)?.try_into().ok()?;
        let [row] = rows;
        Some(Inner(row))
    }

    fn add(&mut self, other: &Self, columns: &mut Iter<'_, Column>) {
        let column = columns.next().expect("a column for each field");
        self.0.add(&other.0, &mut column.parts.iter());
    }
}

/// A row within a row, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Maybe<T>(pub Option<T>);

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Maybe(None)
    }
}

impl<T: FieldType> FieldType for Maybe<T> {
    fn columns(declared: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        let columns = nested::<T>(declared, Holds::RowType).into_iter();
        columns.map(Column::optional).collect()
    }

    fn put(&self, out: &mut Vec<Cell>) {
        out.push(Cell::Rows(self.0.iter().map(cells).collect()));
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        let mut rows = rows_of(cells, known)?.into_iter();
        let row = Maybe(rows.next());
        rows.next().is_none().then_some(row)
    }

    /// The first one stays.
    fn add(&mut self, other: &Self, columns: &mut Iter<'_, Column>) {
        columns.next();
        if self.0.is_none() {
            self.0.clone_from(&other.0);
        }
    }
}

impl<K: FieldType + Ord, V: FieldType> FieldType for BTreeMap<K, V> {
    fn columns(declared: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        nested::<(K, V)>(declared, Holds::Rows)
    }

    fn put(&self, out: &mut Vec<Cell>) {
        let row = |(key, value): (&K, &V)| {
            let mut row = cells(key);
            value.put(&mut row);
            row
        };
        out.push(Cell::Rows(self.iter().map(row).collect()));
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        Some(rows_of::<(K, V)>(cells, known)?.into_iter().collect())
    }

    fn add(&mut self, other: &Self, columns: &mut Iter<'_, Column>) {
        let column = columns.next().expect("a column for each field");
        for (key, value) in other {
            match self.get_mut(key) {
                Some(sum) => {
                    // The columns of the value come after those of the key.
                    let before = cells(key).len();
                    sum.add(value, &mut column.parts[before..].iter());
                }
                None => {
                    self.insert(key.clone(), value.clone());
                }
            }
        }
    }
}

/// Adds the rows of another run to those of a column: rows with the same keys become one, and the
/// others come in the order of their keys, or of what makes them the largest.
pub fn add_rows<T: FieldType>(rows: &mut Vec<T>, others: &[T], column: &Column) {
    if let ColumnKind::Largest(by, most) = column.kind {
        let at = column.parts.iter().position(|part| part.key == by);
        let at = at.expect("rows have the column by which they are ordered");
        let mut all: Vec<(Cell, T)> = rows
            .drain(..)
            .chain(others.iter().cloned())
            .map(|row| (cells(&row)[at].clone(), row))
            .collect();
        all.sort_by(|a, b| b.0.order(&a.0));
        rows.extend(all.into_iter().take(most).map(|(_, row)| row));
        return;
    }
    let key = |row: &T| -> Vec<Cell> {
        let all = column.parts.iter().zip(cells(row));
        let keys = all.filter(|(part, _)| part.kind == ColumnKind::Key);
        keys.map(|(_, cell)| cell).collect()
    };
    let mut keys: Vec<Vec<Cell>> = rows.iter().map(key).collect();
    for other in others {
        let of_other = key(other);
        match keys.binary_search_by(|key| order(key, &of_other)) {
            Ok(at) => rows[at].add(other, &mut column.parts.iter()),
            Err(at) => {
                rows.insert(at, other.clone());
                keys.insert(at, of_other);
            }
        }
    }
}

fn order(a: &[Cell], b: &[Cell]) -> Ordering {
    let parts = a.iter().zip(b).map(|(a, b)| a.order(b));
    parts.fold(Ordering::Equal, Ordering::then)
}

impl<T: Value> Value for Option<T> {
    const HOLDS: Holds = T::HOLDS;
    const OPTIONAL: bool = true;

    fn cell(&self) -> Cell {
        self.as_ref().map_or(Cell::None, T::cell)
    }

    fn of(cell: &Cell, known: Known<'_>) -> Option<Self> {
        match cell {
            Cell::None => Some(None),
            cell => Some(Some(T::of(cell, known)?)),
        }
    }

    fn add(&mut self, other: &Self, kind: ColumnKind) {
        match (self, other) {
            (Some(sum), Some(other)) => sum.add(other, kind),
            (sum @ None, other) => sum.clone_from(other),
            (Some(_), None) => {}
        }
    }
}

/// Types that are whole numbers in other clothes.
macro_rules! whole {
    ($($type:ty: $put:expr, $take:expr;)*) => {$(
        impl Value for $type {
            const HOLDS: Holds = Holds::Whole;

            fn cell(&self) -> Cell {
                let put: fn($type) -> u64 = $put;
                Cell::from(put(*self))
            }

            fn of(cell: &Cell, _: Known<'_>) -> Option<Self> {
                let take: fn(u64) -> Option<$type> = $take;
                match cell {
                    Cell::Whole(n) => take(u64::try_from(*n).ok()?),
                    _ => None,
                }
            }

            fn add(&mut self, other: &Self, kind: ColumnKind) {
                let put: fn($type) -> u64 = $put;
                let take: fn(u64) -> Option<$type> = $take;
                let (a, b) = (put(*self), put(*other));
                let sum = match kind {
                    ColumnKind::Sum => a.saturating_add(b),
                    ColumnKind::Max => a.max(b),
                    _ => return,
                };
                *self = take(sum).expect("a sum that its type holds");
            }
        }
    )*};
}

whole! {
    u16: u64::from, |n| n.try_into().ok();
    u32: u64::from, |n| n.try_into().ok();
    u64: |n| n, Some;
    usize: |n| n as u64, |n| n.try_into().ok();
    DomainId: |id| id.0.into(), |n| Some(DomainId(n.try_into().ok()?));
    PcpuId: |id| id.0.into(), |n| Some(PcpuId(n.try_into().ok()?));
    Instant: Instant::as_nanos, |n| Some(Instant::from_nanos(n));
    Duration: Duration::as_nanos, |n| Some(Duration::from_nanos(n));
}

impl Value for f64 {
    const HOLDS: Holds = Holds::Number;

    fn cell(&self) -> Cell {
        Cell::Number(*self)
    }

    fn of(cell: &Cell, _: Known<'_>) -> Option<Self> {
        match cell {
            Cell::Number(n) => Some(*n),
            _ => None,
        }
    }

    fn add(&mut self, other: &Self, kind: ColumnKind) {
        match kind {
            ColumnKind::Sum => *self += other,
            ColumnKind::Max => *self = self.max(*other),
            _ => {}
        }
    }
}

impl Value for bool {
    const HOLDS: Holds = Holds::Flag;

    fn cell(&self) -> Cell {
        Cell::Flag(*self)
    }

    fn of(cell: &Cell, _: Known<'_>) -> Option<Self> {
        match cell {
            Cell::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    fn add(&mut self, other: &Self, kind: ColumnKind) {
        match kind {
            ColumnKind::All => *self &= other,
            ColumnKind::Any => *self |= other,
            _ => {}
        }
    }
}

/// A value of any kind.
impl Value for Cell {
    const HOLDS: Holds = Holds::Any;

    fn cell(&self) -> Cell {
        self.clone()
    }

    fn of(cell: &Cell, _: Known<'_>) -> Option<Self> {
        Some(cell.clone())
    }
}

impl Value for MeanCell {
    const HOLDS: Holds = Holds::Estimate;

    fn cell(&self) -> Cell {
        Cell::Estimate(*self)
    }

    fn of(cell: &Cell, _: Known<'_>) -> Option<Self> {
        match cell {
            Cell::Estimate(estimate) => Some(*estimate),
            _ => None,
        }
    }
}

/// Declares types that are a text each: how it is written, and how it is read.
#[macro_export]
macro_rules! texts {
    ($($type:ty: $put:expr, $take:expr;)*) => {$(
        impl $crate::Value for $type {
            const HOLDS: $crate::Holds = $crate::Holds::Text;

            fn cell(&self) -> $crate::Cell {
                let put: fn(&$type) -> std::borrow::Cow<'static, str> = $put;
                $crate::Cell::Text(put(self))
            }

            fn of(cell: &$crate::Cell, known: $crate::Known<'_>) -> Option<Self> {
                let take: fn(&str, $crate::Known<'_>) -> Option<$type> = $take;
                match cell {
                    $crate::Cell::Text(text) => take(text, known),
                    _ => None,
                }
            }
        }
    )*};
}

texts! {
    String: |text| text.clone().into(), |text, _| Some(text.to_owned());
    Cow<'static, str>: Clone::clone, |text, _| Some(text.to_owned().into());
    Runstate: |state| state.name().into(), |text, _| named(&Runstate::ALL, text, |s| s.name());
    Better: |better| better.name().into(), |text, _| named(
        &[Better::Higher, Better::Lower, Better::Neither],
        text,
        |better| better.name(),
    );
    &'static Class: |class| class.name.into(), |text, known| named(known, text, |c| c.name);
}

/// The one of `all` that has this name.
fn named<T: Copy>(all: &[T], name: &str, name_of: impl Fn(&T) -> &'static str) -> Option<T> {
    all.iter().find(|one| name_of(one) == name).copied()
}

/// The columns of a vcpu's name: `domain` and `vcpu`, behind what the column is called.
fn vcpu(declared: &mut dyn Iterator<Item = Column>, optional: bool) -> Vec<Column> {
    let declared = declared.next().expect("a column for each field");
    let part = |key: &'static str, what: &str| Column {
        doc: format!("{} {what}", declared.doc.trim())
            .trim()
            .to_owned()
            .into(),
        kind: declared.kind,
        holds: Holds::Whole,
        optional,
        ..crate::column::fact(key).behind(&declared.key)
    };
    vec![
        part("domain", "Xen's domid."),
        part("vcpu", "Its index in the domain."),
    ]
}

impl FieldType for VcpuName {
    fn columns(declared: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        vcpu(declared, false)
    }

    fn put(&self, cells: &mut Vec<Cell>) {
        cells.extend([self.domain.cell(), self.index.cell()]);
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        let domain = DomainId::take(cells, known)?;
        Some(VcpuName::new(domain, u16::take(cells, known)?))
    }

    fn add(&mut self, _: &Self, columns: &mut Iter<'_, Column>) {
        columns.nth(1);
    }
}

impl FieldType for Option<VcpuName> {
    fn columns(declared: &mut dyn Iterator<Item = Column>) -> Vec<Column> {
        vcpu(declared, true)
    }

    fn put(&self, cells: &mut Vec<Cell>) {
        cells.extend([self.map(|v| v.domain).cell(), self.map(|v| v.index).cell()]);
    }

    fn take(cells: &mut Iter<'_, Cell>, known: Known<'_>) -> Option<Self> {
        let domain = <Option<DomainId> as FieldType>::take(cells, known)?;
        let index = <Option<u16> as FieldType>::take(cells, known)?;
        Some(
            domain
                .zip(index)
                .map(|(domain, index)| VcpuName::new(domain, index)),
        )
    }

    fn add(&mut self, _: &Self, columns: &mut Iter<'_, Column>) {
        columns.nth(1);
    }
}
