//! Statements of papers as data: what a claim says of named measures of named cells.
//!
//! A claim's checks are in `papers/<name>/claims.toml`; `docs/papers/statements.md` is the
//! reference of the language. Reading gives a [`Statement`]: every set is replaced by its members,
//! every name of a measure by the measure. A statement decides a claim from samples without knowing
//! which paper the claim is of.
//!
//! | file | holds |
//! |---|---|
//! | `names` | names in braces, which stand for several |
//! | `gauge` | measures |
//! | `shapes` | figures made of several of one replication |
//! | `read` | reads tables of TOML, with all mistakes |
//! | `decide` | decides |
//! | `tell` | statements in English |

mod decide;
mod gauge;
mod names;
mod read;
mod shapes;
mod tell;

use crate::tolerance::Tolerance;
use std::sync::Arc;

pub use gauge::{Gauge, Moment, Reading, Recipe, Term, experiment};
pub use names::{NamedSets, short};
pub(crate) use read::{CHECK, Said, Vocabulary};
pub use shapes::Shape;
pub use tell::{CheckText, tell};

/// How a claim is decided: all of its clauses have to hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// The paper: first word of the ids of its claims and the names of its experiments.
    pub paper: String,
    /// The checks of the file, one for each measure that they name.
    pub clauses: Vec<Clause>,
    /// What is shown as measured.
    pub shows: ShownFigures,
    /// Further operands that the note reports.
    pub also: Vec<Operand>,
    /// What decides, in words; `None` for what the clauses say.
    pub how: Option<String>,
}

/// One check of the file: a relation that each figure of the left side has to what is on the right.
#[derive(Clone, PartialEq, Debug)]
pub struct Clause {
    /// Line in the file, from 1.
    pub line: usize,
    /// What is judged.
    pub left: Operand,
    /// By what.
    pub relation: Relation,
    /// How many have to be so; `None` for all.
    pub least: Option<Least>,
}

/// A measure of cells.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand {
    /// The measure.
    pub gauge: Arc<Gauge>,
    /// What is made of the cells; `None` for each by itself.
    pub choice: Option<Choice>,
    /// Names of the cells: "test1/orig".
    pub cells: Vec<String>,
}

impl Operand {
    /// Number of cells, or one for what is made of them.
    fn units(&self) -> usize {
        self.choice.map_or(self.cells.len(), |_| 1)
    }
}

/// What is made of several cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Their mean, by replication.
    Mean,
    /// The cell with the lowest mean; a latency that is missing is the highest.
    Lowest,
    /// The cell with the highest mean.
    Highest,
}

impl Choice {
    /// All of them.
    pub const ALL: [Choice; 3] = [Choice::Mean, Choice::Lowest, Choice::Highest];

    /// The word in files.
    pub const fn name(self) -> &'static str {
        match self {
            Choice::Mean => "mean",
            Choice::Lowest => "lowest",
            Choice::Highest => "highest",
        }
    }
}

/// What a figure has to be.
#[derive(Clone, PartialEq, Debug)]
pub enum Relation {
    /// Compared with other figures.
    Compared {
        /// How.
        how: Versus,
        /// How many times the other; for [`Versus::Within`], which part of it.
        factor: f64,
        /// The others.
        right: Vec<Operand>,
        /// Whether the n-th cell is compared with the n-th of each operand alone.
        matched: bool,
    },
    /// Under a limit.
    Below(f64),
    /// Over a limit.
    Above(f64),
    /// Zero in every replication.
    Never,
    /// Not zero in any replication.
    Always,
    /// Near a published figure: within a tolerance, the claim's own without one.
    Near(f64, Option<Tolerance>),
}

/// A comparison of two figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Versus {
    /// More than a factor of the other.
    Over,
    /// Less than a factor of the other.
    Under,
    /// Closer than a part of the other, either way.
    Within,
}

/// At least so many are so.
#[derive(Clone, PartialEq, Debug)]
pub struct Least {
    /// How many.
    pub count: usize,
    /// Of what, for people; `{cell}` stands for the cell on the left.
    pub what: String,
}

/// What a finding shows as measured.
#[derive(Clone, PartialEq, Debug)]
pub enum ShownFigures {
    /// Means of measures, by test, in words. One figure alone is a number with its interval.
    Operands(Vec<Operand>),
    /// Means, as a list of numbers.
    Numbers(Vec<Operand>),
    /// The figure that is farthest from what it should be near.
    Farthest,
}

impl Statement {
    /// The cells that the statement reads, each once.
    pub fn cells(&self) -> Vec<&str> {
        let mut cells: Vec<&str> = Vec::new();
        for operand in self.operands() {
            let own = operand.cells.iter().map(String::as_str);
            for cell in own.chain(operand.gauge.cells()) {
                if !cells.contains(&cell) {
                    cells.push(cell);
                }
            }
        }
        cells
    }

    /// The experiments that simulate them.
    pub fn experiments(&self) -> Vec<String> {
        let cells = self.cells().into_iter();
        cells.map(|cell| experiment(&self.paper, cell)).collect()
    }

    /// Line of the first check that reads `cell`.
    pub fn line_of(&self, cell: &str) -> Option<usize> {
        let reads = |operand: &Operand| {
            let own = operand.cells.iter().any(|name| name == cell);
            own || operand.gauge.cells().any(|name| name == cell)
        };
        let mut clauses = self.clauses.iter();
        let found = clauses.find(|clause| clause.operands().any(reads));
        found.map(|clause| clause.line)
    }

    /// Everything that is measured.
    fn operands(&self) -> impl Iterator<Item = &Operand> {
        let shown = match &self.shows {
            ShownFigures::Operands(list) | ShownFigures::Numbers(list) => list.as_slice(),
            ShownFigures::Farthest => &[],
        };
        let clauses = self.clauses.iter().flat_map(Clause::operands);
        clauses.chain(shown).chain(&self.also)
    }
}

impl Clause {
    /// Number of checks in a finding.
    pub fn count(&self) -> usize {
        let figures = |operand: &Operand| operand.units() * operand.gauge.count();
        let Relation::Compared {
            how,
            right,
            matched,
            ..
        } = &self.relation
        else {
            return self.least.as_ref().map_or(figures(&self.left), |_| 1);
        };
        if self.least.is_some() {
            return if *matched { 1 } else { self.left.units() };
        }
        let each = if *how == Versus::Within { 2 } else { 1 };
        let others = match matched {
            true => right.len(),
            false => right.iter().map(Operand::units).sum(),
        };
        each * others * figures(&self.left)
    }

    fn operands(&self) -> impl Iterator<Item = &Operand> {
        let right: &[Operand] = match &self.relation {
            Relation::Compared { right, .. } => right,
            _ => &[],
        };
        std::iter::once(&self.left).chain(right)
    }
}

#[cfg(test)]
mod tests;
