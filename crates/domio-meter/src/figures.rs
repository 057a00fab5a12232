//! Figures of domains that records add to, as their declarations say.

use std::collections::BTreeMap;

use domio_core::{Adds, Declared, DomainId, Record, Tally, Unit};

use crate::account::Window;
use crate::distribution::{Distribution, Quantiles};

/// A figure of a domain over the measured time, which records of a class add to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DomainFigure {
    /// The declared name ("web_replied").
    pub name: &'static str,
    /// What is counted.
    pub unit: Unit,
    /// How much.
    pub value: FigureValue,
}

/// The value of a [`DomainFigure`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FigureValue {
    /// A count, or a sum that stops at `u64::MAX`.
    Sum(u64),
    /// Samples.
    Samples(Quantiles),
}

/// The figures of one domain, to look up by name.
pub(crate) trait Figures {
    /// The sum called `name`; 0 where no record has added to it.
    fn sum(&self, name: &str) -> u64;

    /// The samples called `name`; none where no record has added to them.
    fn samples(&self, name: &str) -> Quantiles;
}

impl Figures for [DomainFigure] {
    fn sum(&self, name: &str) -> u64 {
        let found = self.iter().find(|figure| figure.name == name);
        match found.map(|figure| figure.value) {
            Some(FigureValue::Sum(sum)) => sum,
            _ => 0,
        }
    }

    fn samples(&self, name: &str) -> Quantiles {
        let found = self.iter().find(|figure| figure.name == name);
        match found.map(|figure| figure.value) {
            Some(FigureValue::Samples(quantiles)) => quantiles,
            _ => Distribution::default().quantiles(),
        }
    }
}

/// Sums and samples of all domains.
#[derive(Debug, Default)]
pub(crate) struct FigureBooks {
    /// Name and unit of each figure, in the order in which they were first added to.
    known: Vec<(&'static str, Unit)>,
    /// By domain and place in `known`. A trace can name no more domains than there are ids.
    books: BTreeMap<(DomainId, usize), Book>,
}

#[derive(Debug)]
enum Book {
    Sum(u64),
    Samples(Distribution),
}

impl FigureBooks {
    /// Adds what `record`, declared as `declared`, adds to the figures of `domain`. Returns how
    /// many samples took memory of their own.
    pub fn add(
        &mut self,
        domain: DomainId,
        declared: &'static Declared,
        record: &Record,
        window: Window,
    ) -> usize {
        let at = record.at.as_nanos();
        let counts = |figure: &Tally| match figure.adds {
            Adds::Spent(_) => window.ends_in(at),
            Adds::One | Adds::Sum(_) | Adds::Sample(_) => window.holds(at),
        };
        let figures = declared.figures.iter().filter(|figure| counts(figure));
        figures
            .filter(|figure| self.add_one(domain, figure, declared, record))
            .count()
    }

    fn add_one(
        &mut self,
        domain: DomainId,
        figure: &'static Tally,
        declared: &'static Declared,
        record: &Record,
    ) -> bool {
        let place = self.place(figure, declared);
        let (value, is_sample) = match figure.adds {
            Adds::One => (1, false),
            Adds::Sum(field) | Adds::Spent(field) => (declared.value(record, field), false),
            Adds::Sample(field) => (declared.value(record, field), true),
        };
        let book = self.books.entry((domain, place));
        let book = book.or_insert_with(|| match is_sample {
            true => Book::Samples(Distribution::default()),
            false => Book::Sum(0),
        });
        match book {
            Book::Sum(sum) => {
                *sum = sum.saturating_add(value);
                false
            }
            Book::Samples(samples) => samples.add(value),
        }
    }

    /// Where the figure is in `known`, which has a dozen.
    fn place(&mut self, figure: &'static Tally, declared: &'static Declared) -> usize {
        let known = self.known.iter().position(|(name, _)| *name == figure.name);
        known.unwrap_or_else(|| {
            let field = match figure.adds {
                Adds::One => None,
                Adds::Sum(field) | Adds::Spent(field) | Adds::Sample(field) => {
                    declared.fields.get(usize::from(field))
                }
            };
            let unit = field.map_or(Unit::Number, |field| field.unit);
            self.known.push((figure.name, unit));
            self.known.len() - 1
        })
    }

    /// The distributions, to save memory on.
    pub fn distributions(&mut self) -> impl Iterator<Item = &mut Distribution> {
        self.books.values_mut().filter_map(|book| match book {
            Book::Sum(_) => None,
            Book::Samples(samples) => Some(samples),
        })
    }

    /// The figures by domain and name.
    pub fn finish(self) -> BTreeMap<DomainId, Vec<DomainFigure>> {
        let mut all: BTreeMap<DomainId, Vec<DomainFigure>> = BTreeMap::new();
        for ((domain, place), book) in self.books {
            let (name, unit) = self.known[place];
            let value = match book {
                Book::Sum(sum) => FigureValue::Sum(sum),
                Book::Samples(mut samples) => FigureValue::Samples(samples.quantiles()),
            };
            let figures = all.entry(domain).or_default();
            figures.push(DomainFigure { name, unit, value });
        }
        for figures in all.values_mut() {
            figures.sort_unstable_by_key(|figure| figure.name);
        }
        all
    }
}
