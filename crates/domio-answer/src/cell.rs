//! What a row has in a column.

use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Ordering;

/// What a row has in one column.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Cell {
    /// Nothing: not measured, or nobody.
    #[default]
    None,
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A mean with its interval.
    Estimate(MeanCell),
    /// A text.
    Text(Cow<'static, str>),
    /// Yes or no.
    Flag(bool),
    /// Rows within.
    Rows(Vec<Vec<Cell>>),
}

/// A mean over replications.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MeanCell {
    /// Arithmetic mean.
    pub mean: f64,
    /// Lower and upper end of the 95 % confidence interval of the mean; `None` for one value.
    pub ci95: Option<[f64; 2]>,
    /// Sample standard deviation; `None` for one value.
    pub deviation: Option<f64>,
    /// Number of values; 0 for a value that is no mean, beside means.
    pub n: usize,
}

impl MeanCell {
    /// A value that is no mean, in a column of means.
    pub const fn alone(value: f64) -> Self {
        MeanCell {
            mean: value,
            ci95: None,
            deviation: None,
            n: 0,
        }
    }

    /// Half the width of the interval, the figure after "±"; `None` for one value.
    pub fn half_width(&self) -> Option<f64> {
        self.ci95.map(|[low, high]| (high - low) / 2.0)
    }
}

/// How a cell stands out for people. No tone carries a meaning that the cell lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tone {
    /// Not at all.
    #[default]
    Plain,
    /// What was hoped for.
    Good,
    /// What needs attention.
    Bad,
    /// Less important than the rest.
    Dim,
    /// More important than the rest.
    Strong,
}

impl Cell {
    /// A text.
    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Cell::Text(text.into())
    }

    /// Whether there is nothing.
    pub fn is_none(&self) -> bool {
        *self == Cell::None
    }

    /// What the cell is worth; of an estimate the mean.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Whole(n) => Some(*n as f64),
            Cell::Number(n) => Some(*n),
            Cell::Estimate(estimate) => Some(estimate.mean),
            Cell::Flag(flag) => Some(f64::from(u8::from(*flag))),
            Cell::None | Cell::Text(_) | Cell::Rows(_) => None,
        }
    }

    /// The rows within; none where the cell is something else.
    pub fn rows(&self) -> &[Vec<Cell>] {
        match self {
            Cell::Rows(rows) => rows,
            _ => &[],
        }
    }

    /// The order of cells of one column: nothing, then numbers and texts as they rise.
    pub fn order(&self, other: &Cell) -> Ordering {
        match (self, other) {
            (Cell::Whole(a), Cell::Whole(b)) => a.cmp(b),
            (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
            (a, b) => match (a.number(), b.number()) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                (a, b) => (a.is_some(), !self.is_none()).cmp(&(b.is_some(), !other.is_none())),
            },
        }
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Cell::Number(number)
    }
}

impl From<u64> for Cell {
    /// A number that no clock and no counter reaches is the largest there is.
    fn from(number: u64) -> Self {
        Cell::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Cell::from(number as u64)
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Self {
        Cell::Flag(flag)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::text(text)
    }
}

impl From<Cow<'static, str>> for Cell {
    fn from(text: Cow<'static, str>) -> Self {
        Cell::Text(text)
    }
}

impl From<&'static str> for Cell {
    fn from(text: &'static str) -> Self {
        Cell::text(text)
    }
}

impl From<MeanCell> for Cell {
    fn from(estimate: MeanCell) -> Self {
        Cell::Estimate(estimate)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::None, Into::into)
    }
}
