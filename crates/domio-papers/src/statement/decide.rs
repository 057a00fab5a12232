//! Decides a statement from samples.

use super::gauge::Recipe;
use super::{Choice, Clause, Least, Operand, Reading, Relation, ShownFigures, Statement, Versus};
use crate::claim::Claim;
use crate::ledger::{ClaimResult, Measured};
use crate::proof::Proof;
use crate::samples::Samples;
use crate::series::{Series, with_unit};
use crate::tolerance::Tolerance;

/// Figures of one cell, or of what was made of several.
type Figures = Vec<Series>;

impl Statement {
    /// What the samples say of `claim`, whose statement this is. The tolerance is the claim's.
    pub fn decide(&self, samples: &Samples<'_>, claim: &Claim) -> ClaimResult {
        let reading = Reading {
            paper: &self.paper,
            samples,
        };
        let found = self.found(reading, claim);
        found.unwrap_or_else(ClaimResult::unknown)
    }

    fn found(&self, reading: Reading<'_>, claim: &Claim) -> Result<ClaimResult, String> {
        let mut proof = Proof::new(reading.samples.risk());
        // The figure farthest from what it should be near, and how far it is off.
        let mut farthest: Option<(f64, Series)> = None;
        for clause in &self.clauses {
            clause.prove(reading, claim, &mut proof)?;
            if let Relation::Near(published, _) = clause.relation {
                for figure in clause.left.figures(reading)?.into_iter().flatten() {
                    let off = figure.estimate().map(|e| (e.mean - published).abs());
                    let off = off.unwrap_or(f64::INFINITY);
                    if farthest.as_ref().is_none_or(|(most, _)| off > *most) {
                        farthest = Some((off, figure));
                    }
                }
            }
        }
        let how = match &self.how {
            Some(how) => how.clone(),
            None => self.told_clauses(claim).join("; "),
        };
        let mut finding = match &self.shows {
            ShownFigures::Farthest => match &farthest {
                Some((_, figure)) => proof.finding_on(figure, &how),
                None => proof.finding("", &how),
            },
            ShownFigures::Operands(shown) => match shown.as_slice() {
                [one] if one.is_one_figure() => one.shown_alone(reading, proof, &how)?,
                several => proof.finding(lists(reading, several)?.join("; "), &how),
            },
            ShownFigures::Numbers(shown) => numbers(reading, shown, proof.finding("", &how))?,
        };
        for list in lists(reading, &self.also)? {
            finding.note += &format!("; {list}");
        }
        Ok(finding)
    }
}

impl Clause {
    /// Adds to `proof` what the clause says.
    fn prove(&self, reading: Reading<'_>, claim: &Claim, proof: &mut Proof) -> Result<(), String> {
        let left = self.left.figures(reading)?;
        let Relation::Compared {
            how,
            factor,
            right,
            matched,
        } = &self.relation
        else {
            if let Relation::OneRun(published) = self.relation {
                let runs = self.left.runs(reading)?;
                let parts = runs.iter().flatten().map(|figure| {
                    let mut part = Proof::new(reading.samples.risk());
                    part.one_run(figure, published);
                    part
                });
                add(
                    proof,
                    self.least.as_ref(),
                    &self.left.told(),
                    parts.collect(),
                );
                return Ok(());
            }
            let parts = left.iter().flatten().map(|figure| {
                let mut part = Proof::new(reading.samples.risk());
                self.judge(figure, claim, &mut part)?;
                Ok(part)
            });
            let parts: Vec<Proof> = parts.collect::<Result<_, String>>()?;
            add(proof, self.least.as_ref(), &self.left.told(), parts);
            return Ok(());
        };
        let right: Vec<Vec<Figures>> = right
            .iter()
            .map(|operand| operand.figures(reading))
            .collect::<Result<_, String>>()?;
        // What the n-th on the left is compared with.
        let others = |n: usize| -> Vec<&Figures> {
            match matched {
                true => right.iter().filter_map(|figures| figures.get(n)).collect(),
                false => right.iter().flatten().collect(),
            }
        };
        let compare = |figures: &Figures, other: &Figures, part: &mut Proof| {
            for (i, figure) in figures.iter().enumerate() {
                let other = match other.len() {
                    1 => other.first(),
                    _ => other.get(i),
                };
                match (how, other) {
                    (_, None) => {}
                    (Versus::Over, Some(other)) => part.greater(figure, *factor, other),
                    (Versus::Under, Some(other)) => part.less(figure, *factor, other),
                    (Versus::Within, Some(other)) => part.within(figure, *factor, other),
                }
            }
        };
        let mut of_matched = Vec::new();
        for (n, figures) in left.iter().enumerate() {
            let others = others(n);
            let mut parts: Vec<Proof> = Vec::new();
            for other in others {
                // Matched pairs count together, all others each by themselves.
                if parts.is_empty() || !matched {
                    parts.push(Proof::new(reading.samples.risk()));
                }
                if let Some(part) = parts.last_mut() {
                    compare(figures, other, part);
                }
            }
            match matched {
                true => of_matched.extend(parts),
                false => add(proof, self.least.as_ref(), self.left.cell(n), parts),
            }
        }
        if *matched {
            add(proof, self.least.as_ref(), &self.left.told(), of_matched);
        }
        Ok(())
    }

    fn judge(&self, figure: &Series, claim: &Claim, proof: &mut Proof) -> Result<(), String> {
        match &self.relation {
            Relation::Below(limit) => proof.below(figure, *limit),
            Relation::Above(limit) => proof.above(figure, *limit),
            Relation::Never => proof.never(figure),
            Relation::Always => proof.always(figure),
            Relation::Near(published, tolerance) => {
                let tolerance = tolerance.or_else(|| claims_own(claim, &figure.unit));
                let tolerance = tolerance.ok_or("the claim has no tolerance to decide by")?;
                proof.near(figure, *published, tolerance);
            }
            Relation::OneRun(_) | Relation::Compared { .. } => {}
        }
        Ok(())
    }
}

/// The tolerance of `claim`, which may end in `unit`: "100 to 200 Mb/s".
pub(super) fn claims_own(claim: &Claim, unit: &str) -> Option<Tolerance> {
    let text = claim.tolerance.as_deref()?;
    Tolerance::parse(text).or_else(|| Tolerance::parse(text.strip_suffix(unit)?))
}

fn add(proof: &mut Proof, least: Option<&Least>, cell: &str, parts: Vec<Proof>) {
    match least {
        Some(least) => {
            let what = least.what.replace("{cell}", cell);
            proof.most(least.count, &parts, &what);
        }
        None => parts.into_iter().for_each(|part| proof.all(part)),
    }
}

impl Operand {
    /// Its figures, by cell.
    fn figures(&self, reading: Reading<'_>) -> Result<Vec<Figures>, String> {
        let each = self
            .cells
            .iter()
            .map(|cell| self.gauge.series(reading, cell));
        let each: Vec<Figures> = each.collect::<Result<_, String>>()?;
        let Some(choice) = self.choice else {
            return Ok(each);
        };
        let chosen = (0..self.gauge.count()).map(|i| {
            let of_cells: Vec<&Series> = each.iter().filter_map(|figures| figures.get(i)).collect();
            let chosen = choice.of(&of_cells)?;
            // The cell that was picked has its name in the figure already.
            Some(match choice {
                Choice::Mean => Series {
                    name: format!("mean {} over {}", self.gauge.name, self.told_cells_alone()),
                    ..chosen
                },
                _ => chosen,
            })
        });
        let chosen: Option<Figures> = chosen.collect();
        let chosen = chosen.ok_or_else(|| "nothing was measured".to_owned())?;
        Ok(vec![chosen])
    }

    /// Its figures by cell, each value that of one replication alone.
    fn runs(&self, reading: Reading<'_>) -> Result<Vec<Figures>, String> {
        let each = self.cells.iter().map(|cell| self.gauge.runs(reading, cell));
        each.collect()
    }

    fn is_one_figure(&self) -> bool {
        self.gauge.count() == 1 && (self.cells.len() == 1 || self.choice.is_some())
    }

    /// Name of the `n`-th cell, without the test.
    fn cell(&self, n: usize) -> &str {
        let cell = self.cells.get(n).map_or("", String::as_str);
        cell.rsplit('/').next().unwrap_or(cell)
    }

    fn shown_alone(
        &self,
        reading: Reading<'_>,
        proof: Proof,
        how: &str,
    ) -> Result<ClaimResult, String> {
        if let (Recipe::Median(list), Some(cell)) = (&self.gauge.recipe, self.cells.first()) {
            let entries = reading.list(cell, list);
            let mut finding = proof.finding("", how);
            finding.measured =
                domio_stats::median(&entries).map_or(Measured::Nothing, Measured::Number);
            finding.ci95 = domio_stats::median_ci95(&entries);
            finding.unit = self.gauge.unit.clone();
            return Ok(finding);
        }
        match self.figures(reading)?.first().and_then(|f| f.first()) {
            Some(figure) => Ok(proof.finding_on(figure, how)),
            None => Ok(proof.finding("", how)),
        }
    }
}

impl Choice {
    fn of(self, series: &[&Series]) -> Option<Series> {
        let first = *series.first()?;
        let mean = |one: &Series| one.estimate().map_or(f64::INFINITY, |e| e.mean);
        // The first of several that are equally low or high.
        let mut best = first;
        for one in series {
            let better = match self {
                Choice::Lowest => mean(one) < mean(best),
                Choice::Highest => mean(one) > mean(best),
                Choice::Mean => return mean_of(series),
            };
            if better {
                best = one;
            }
        }
        Some(best.clone())
    }
}

/// The mean of several, by replication.
fn mean_of(series: &[&Series]) -> Option<Series> {
    let first = *series.first()?;
    let least = series.iter().map(|one| one.values.len()).min()?;
    let mut mean = first.clone();
    mean.values = vec![0.0; least];
    mean.reads.clear();
    for one in series {
        for (sum, value) in mean.values.iter_mut().zip(&one.values) {
            *sum += value / series.len() as f64;
        }
        mean.reads.extend(one.reads.iter().cloned());
    }
    Some(mean)
}

/// Means of each of `operands`, a text for each measure in each test.
fn lists(reading: Reading<'_>, operands: &[Operand]) -> Result<Vec<String>, String> {
    let mut lists = Vec::new();
    for operand in operands {
        let mut tests: Vec<(&str, Vec<String>)> = Vec::new();
        let figures = operand.figures(reading)?;
        for (n, figures) in figures.iter().enumerate() {
            let cell = operand.cells.get(n).map_or("", String::as_str);
            let (test, name) = cell.rsplit_once('/').unwrap_or(("", cell));
            let shown: Vec<String> = figures.iter().map(Series::figures).collect();
            let shown = match operand.choice {
                Some(_) => shown.join(", "),
                None => format!("{name} {}", shown.join(", ")),
            };
            match tests.iter_mut().find(|(other, _)| *other == test) {
                Some((_, texts)) => texts.push(shown),
                None => tests.push((test, vec![shown])),
            }
        }
        let gauge = &operand.gauge;
        let name = gauge.name_of_all();
        for (test, texts) in tests {
            let list = with_unit(&texts.join(", "), &gauge.unit);
            let place = if test.is_empty() { "" } else { " in " };
            lists.push(format!("{name}{place}{test}: {list}"));
        }
    }
    Ok(lists)
}

/// `finding` with the means of `operands` as a list of numbers; figures that are missing are not.
fn numbers(
    reading: Reading<'_>,
    operands: &[Operand],
    mut finding: ClaimResult,
) -> Result<ClaimResult, String> {
    let (mut means, mut units) = (Vec::new(), Vec::new());
    for operand in operands {
        let figures = operand.figures(reading)?.into_iter().flatten();
        means.extend(figures.filter_map(|figure| Some(figure.estimate()?.mean)));
        if !units.contains(&operand.gauge.unit.as_str()) {
            units.push(&operand.gauge.unit);
        }
    }
    finding.measured = Measured::Numbers(means);
    finding.unit = units.join(", ");
    Ok(finding)
}
