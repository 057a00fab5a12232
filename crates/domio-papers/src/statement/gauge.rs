//! Measures: named figures of a cell, as they are in samples or made of those.

use super::shapes::Shape;
use crate::samples::Samples;
use crate::series::{MISSING, Series};
use domio_run::Sample;
use domio_stats::pooled::{self, Group};
use std::sync::Arc;

/// A measure of a file of claims.
#[derive(Clone, PartialEq, Debug)]
pub struct Gauge {
    /// Name in the file.
    pub key: String,
    /// Name for people; `{n}` stands for the guest or the rank of a measure that has several.
    pub name: String,
    /// Unit, empty for none.
    pub unit: String,
    /// What it is made of.
    pub recipe: Recipe,
}

/// What a measure is made of.
#[derive(Clone, PartialEq, Debug)]
pub enum Recipe {
    /// A value of samples.
    Value(String),
    /// Several values of samples, each by itself: what distinguishes them, and their names.
    Each(Vec<(String, String)>),
    /// One figure of several values of each sample.
    Shaped(Vec<String>, Shape),
    /// Several values of each sample, the smallest first.
    Ranks(Vec<String>),
    /// A figure of all observations of all replications; see [`pooled`].
    Pooled {
        /// Names of the number of observations, their mean and their deviation in samples.
        names: [String; 3],
        /// Which figure.
        moment: Moment,
    },
    /// The part of a list's entries, of all replications, that are within a range.
    Part {
        /// Name of the list in samples.
        list: String,
        /// Least and most.
        range: (f64, f64),
        /// Whether least and most belong to the range.
        closed: bool,
    },
    /// The median of a list's entries of all replications. It has no value a replication, and can
    /// be shown alone.
    Median(String),
    /// The first over the second.
    Ratio(Box<[Term; 2]>),
    /// The first less the second, and how many times that.
    Difference(Box<[Term; 2]>, f64),
}

/// A figure of all observations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Arithmetic mean.
    Mean,
    /// Standard deviation.
    Deviation,
}

/// What a ratio or a difference is of.
#[derive(Clone, PartialEq, Debug)]
pub struct Term {
    /// The measure, which has one figure.
    pub gauge: Arc<Gauge>,
    /// The cell; `None` for the one that the whole is measured of.
    pub cell: Option<String>,
}

/// Samples, by cells of a paper.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// First word of the names of experiments.
    pub paper: &'a str,
    /// The samples.
    pub samples: &'a Samples<'a>,
}

/// Name of the experiment that simulates `cell` of `paper`: "ongaro.test1.orig" for "test1/orig".
pub fn experiment(paper: &str, cell: &str) -> String {
    format!("{paper}.{}", cell.replace('/', "."))
}

impl<'a> Reading<'a> {
    fn of(&self, cell: &str) -> &'a [Sample] {
        self.samples.of(&experiment(self.paper, cell))
    }

    fn values(&self, cell: &str, name: &str) -> Result<Vec<f64>, String> {
        let values = self.of(cell).iter().map(|sample| match sample.get(name) {
            Some(value) => Ok(value),
            None => Err(format!("{cell} was not measured: it has no {name}")),
        });
        values.collect()
    }

    /// Values called `names` of each replication.
    fn rows(&self, cell: &str, names: &[String]) -> Result<Vec<Vec<f64>>, String> {
        let columns = names.iter().map(|name| self.values(cell, name));
        let columns: Vec<Vec<f64>> = columns.collect::<Result<_, String>>()?;
        let row = |n: usize| columns.iter().map(|column| column[n]).collect();
        Ok((0..self.of(cell).len()).map(row).collect())
    }

    /// What `pool` makes of a group of each replication; all are missing when it makes nothing.
    fn pooled(
        &self,
        cell: &str,
        group: impl Fn(&Sample) -> Group,
        pool: fn(&[Group]) -> Vec<f64>,
    ) -> Vec<f64> {
        let groups: Vec<Group> = self.of(cell).iter().map(group).collect();
        match pool(&groups) {
            values if values.is_empty() => vec![MISSING; groups.len()],
            values => values,
        }
    }

    /// All entries of the list called `name`, one replication after the other.
    pub fn list(&self, cell: &str, name: &str) -> Vec<f64> {
        let lists = self.of(cell).iter().flat_map(|sample| sample.list(name));
        lists.copied().collect()
    }
}

impl Gauge {
    /// How many figures the measure has.
    pub fn count(&self) -> usize {
        match &self.recipe {
            Recipe::Each(names) => names.len(),
            Recipe::Ranks(names) => names.len(),
            _ => 1,
        }
    }

    /// The name with all that `{n}` stands for: "share of guest 1..7".
    pub fn name_of_all(&self) -> String {
        let labels: Vec<String> = match &self.recipe {
            Recipe::Each(names) => names.iter().map(|(label, _)| label.clone()).collect(),
            Recipe::Ranks(names) => (1..=names.len()).map(|n| n.to_string()).collect(),
            _ => return self.name.clone(),
        };
        let all = match labels.as_slice() {
            [first, .., last] if labels.len() > 2 => format!("{first}..{last}"),
            few => few.join(", "),
        };
        self.name.replace("{n}", &all)
    }

    /// Cells that it reads in addition to the one that it is measured of.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        let terms: &[Term] = match &self.recipe {
            Recipe::Ratio(terms) | Recipe::Difference(terms, _) => &terms[..],
            _ => &[],
        };
        terms.iter().filter_map(|term| term.cell.as_deref())
    }

    /// The figures of `cell`, by replication.
    ///
    /// # Errors
    /// When a sample lacks one of the values.
    pub fn series(&self, reading: Reading<'_>, cell: &str) -> Result<Vec<Series>, String> {
        let reads = experiment(reading.paper, cell);
        let named = |label: &str, values| Series {
            reads: vec![reads.clone()],
            ..self.named(label, cell, values)
        };
        let one = |values| Ok(vec![named("", values)]);
        match &self.recipe {
            Recipe::Value(name) => one(reading.values(cell, name)?),
            Recipe::Shaped(names, shape) => {
                let rows = reading.rows(cell, names)?;
                one(rows.iter().map(|row| shape.of(row)).collect())
            }
            Recipe::Pooled { names, moment } => {
                let pool = match moment {
                    Moment::Mean => pooled::means,
                    Moment::Deviation => pooled::deviations,
                };
                one(reading.pooled(cell, |sample| group(sample, names), pool))
            }
            Recipe::Part {
                list,
                range: (least, most),
                closed,
            } => {
                let within = |value| match closed {
                    true => *least <= value && value <= *most,
                    false => *least < value && value < *most,
                };
                let group = |sample: &Sample| Group::share(sample.list(list), within);
                one(reading.pooled(cell, group, pooled::means))
            }
            Recipe::Median(_) => Err(format!("{} has no value a replication", self.name)),
            Recipe::Ratio(terms) => self.made_of(reading, cell, terms, |a, b| a / b),
            Recipe::Difference(terms, times) => {
                self.made_of(reading, cell, terms, |a, b| (a - b) * times)
            }
            Recipe::Each(names) => {
                let each = names.iter().map(|(label, name)| {
                    let values = reading.values(cell, name)?;
                    Ok(named(label, values))
                });
                each.collect()
            }
            Recipe::Ranks(names) => {
                let mut rows = reading.rows(cell, names)?;
                rows.iter_mut().for_each(|row| row.sort_by(f64::total_cmp));
                let rank = |n: usize| {
                    let values = rows.iter().map(|row| row[n]).collect();
                    named(&(n + 1).to_string(), values)
                };
                Ok((0..names.len()).map(rank).collect())
            }
        }
    }

    fn made_of(
        &self,
        reading: Reading<'_>,
        cell: &str,
        terms: &[Term; 2],
        make: impl Fn(f64, f64) -> f64,
    ) -> Result<Vec<Series>, String> {
        let term = |term: &Term| {
            let cell = term.cell.as_deref().unwrap_or(cell);
            let series = term.gauge.series(reading, cell)?;
            let first = series.into_iter().next();
            first.ok_or_else(|| format!("{} has no figure", term.gauge.name))
        };
        let (a, b) = (term(&terms[0])?, term(&terms[1])?);
        let mut made = self.named("", cell, a.with(&b, make));
        for name in a.reads.iter().chain(&b.reads) {
            if !made.reads.contains(name) {
                made.reads.push(name.clone());
            }
        }
        Ok(vec![made])
    }

    fn named(&self, label: &str, cell: &str, values: Vec<f64>) -> Series {
        let name = format!("{} of {cell}", self.name.replace("{n}", label));
        Series::new(name, self.unit.as_str(), values)
    }
}

fn group(sample: &Sample, [count, mean, deviation]: &[String; 3]) -> Group {
    let get = |name: &str| sample.get(name).unwrap_or(0.0);
    Group {
        count: get(count),
        mean: get(mean),
        deviation: get(deviation),
    }
}
