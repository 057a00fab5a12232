//! Statements in English.

use super::decide::claims_own;
use super::names::short;
use super::{Clause, Operand, Relation, Statement, Versus};
use crate::claim::Claim;
use crate::series::{number, with_unit};
use domio_answer::rows;

rows! {
    /// A check of a claim, for people.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct CheckText {
        /// Its line in the file of claims.
        pub line: usize = fact("line");
        /// What is checked.
        pub statement: String = fact("statement");
        /// Whether the bound is ours, and not the paper's.
        pub ours: bool = fact("ours");
        /// How many comparisons the statement makes.
        pub checks: usize = count("checks");
        /// The cells that the check reads.
        pub cells: Vec<String> = fact("cells");
    }
}

/// The checks of `claim`; none when the claim is not implemented.
pub fn tell(claim: &Claim) -> Vec<CheckText> {
    let Some(statement) = &claim.statement else {
        return Vec::new();
    };
    let told = |clause: &Clause| {
        let mut cells: Vec<String> = Vec::new();
        for operand in clause.operands() {
            let own = operand.cells.iter().map(String::as_str);
            for cell in own.chain(operand.gauge.cells()) {
                if !cells.iter().any(|known| known == cell) {
                    cells.push(cell.to_owned());
                }
            }
        }
        CheckText {
            line: clause.line,
            statement: clause.told(claim),
            ours: clause.ours,
            checks: clause.count(),
            cells,
        }
    };
    statement.clauses.iter().map(told).collect()
}

impl Statement {
    /// What each clause says.
    pub(super) fn told_clauses(&self, claim: &Claim) -> Vec<String> {
        self.clauses
            .iter()
            .map(|clause| clause.told(claim))
            .collect()
    }
}

impl Clause {
    fn told(&self, claim: &Claim) -> String {
        let unit = self.left.gauge.unit.as_str();
        let is = match &self.relation {
            Relation::Below(limit) => format!("under {}", with_unit(&number(*limit), unit)),
            Relation::Above(limit) => format!("over {}", with_unit(&number(*limit), unit)),
            Relation::Never => "zero in every replication".to_owned(),
            Relation::Always => "not zero in any replication".to_owned(),
            Relation::OneRun(published) => format!(
                "the published {}, as that of one run, is no rare one among single replications",
                with_unit(&number(*published), unit)
            ),
            Relation::Near(published, tolerance) => {
                let tolerance = tolerance.or_else(|| claims_own(claim, unit));
                let (least, most) = tolerance.map_or((*published, *published), |tolerance| {
                    tolerance.range(*published)
                });
                let range = format!("{} to {}", number(least), number(most));
                let near = with_unit(&number(*published), unit);
                format!("in {range}, near the published {near}")
            }
            Relation::Compared {
                how,
                factor,
                right,
                matched,
            } => {
                let others: Vec<String> = right.iter().map(|o| o.told_after(&self.left)).collect();
                let others = others.join(" and ");
                let matched = if *matched {
                    ", each with the one at its place"
                } else {
                    ""
                };
                let how = match (how, *factor) {
                    (Versus::Over, 1.0) => "over".to_owned(),
                    (Versus::Under, 1.0) => "under".to_owned(),
                    (Versus::Over, factor) => format!("over {} times", number(factor)),
                    (Versus::Under, factor) => format!("under {} times", number(factor)),
                    (Versus::Within, part) => {
                        format!("less than {} % away from", number(100.0 * part))
                    }
                };
                format!("{how} {others}{matched}")
            }
        };
        let least = match &self.least {
            Some(least) => {
                let what = least.what.replace("{cell}", "it");
                format!("; at least {}: {what}", least.count)
            }
            None => String::new(),
        };
        format!("{}: {is}{least}", self.left.told())
    }
}

impl Operand {
    /// The measure and the cells.
    pub(super) fn told(&self) -> String {
        let name = self.gauge.name_of_all();
        format!("{name} of {}", self.told_cells())
    }

    /// The same, without the measure when it is that of `left`.
    fn told_after(&self, left: &Operand) -> String {
        match self.gauge == left.gauge {
            true => self.told_cells(),
            false => self.told(),
        }
    }

    /// The cells, whatever is made of them.
    pub(super) fn told_cells_alone(&self) -> String {
        short(self.cells.iter().map(String::as_str))
    }

    fn told_cells(&self) -> String {
        let cells = self.told_cells_alone();
        match self.choice {
            Some(choice) => format!("the {} of {cells}", choice.name()),
            None => cells,
        }
    }
}
