//! Tallies of domains: what records add to, as their declarations say.

use std::collections::BTreeMap;

use domio_core::{
    Adds, COMMON, Class, ClassId, Declared, DomainId, FigureTable, Names, Record, Tally, Unit,
};

use crate::account::Window;
use crate::distribution::{Distribution, Quantiles};

/// A tally of a domain over the measured time, which records of a class add to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DomainTally {
    /// The declared name ("web_replied").
    pub name: &'static str,
    /// What is counted.
    pub unit: Unit,
    /// How much.
    pub value: TallyValue,
}

/// The value of a [`DomainTally`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TallyValue {
    /// A count, or a sum that stops at `u64::MAX`.
    Sum(u64),
    /// Samples.
    Samples(Quantiles),
}

/// Sums and samples of all domains.
#[derive(Debug, Default)]
pub(crate) struct TallyBooks {
    /// Name and unit of each tally, in the order in which they were first added to.
    known: Vec<(&'static str, Unit)>,
    /// The classes of these, by number.
    classes: BTreeMap<ClassId, &'static Class>,
    /// By domain and place in `known`. A trace can name no more domains than there are ids.
    books: BTreeMap<(DomainId, usize), Book>,
}

#[derive(Debug)]
enum Book {
    Sum(u64),
    Samples(Distribution),
}

impl TallyBooks {
    /// Adds what `record`, declared as `declared`, adds to the tallies of `domain`. Returns how
    /// many samples took memory of their own.
    pub fn add(
        &mut self,
        names: &Names,
        domain: DomainId,
        declared: &'static Declared,
        record: &Record,
        window: Window,
    ) -> usize {
        let at = record.at.as_nanos();
        let counts = |tally: &Tally| match tally.adds {
            Adds::Spent(_) => window.ends_in(at),
            Adds::One | Adds::Sum(_) | Adds::Sample(_) => window.holds(at),
        };
        let tallies = declared.tallies.iter().filter(|tally| counts(tally));
        tallies
            .filter(|tally| self.add_one((names, domain), tally, declared, record))
            .count()
    }

    fn add_one(
        &mut self,
        (names, domain): (&Names, DomainId),
        tally: &'static Tally,
        declared: &'static Declared,
        record: &Record,
    ) -> bool {
        let known = self.known.iter().position(|(name, _)| *name == tally.name);
        let place = known.unwrap_or_else(|| self.learn(names, tally, declared, record));
        let (value, is_sample) = match tally.adds {
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

    /// Adds the tally to `known`, and returns where it is there.
    #[cold]
    fn learn(
        &mut self,
        names: &Names,
        tally: &'static Tally,
        declared: &'static Declared,
        record: &Record,
    ) -> usize {
        let field = match tally.adds {
            Adds::One => None,
            Adds::Sum(field) | Adds::Spent(field) | Adds::Sample(field) => {
                declared.fields.get(usize::from(field))
            }
        };
        let unit = field.map_or(Unit::Number, |field| field.unit);
        self.known.push((tally.name, unit));
        if let Some(class) = names.class(record.class) {
            self.classes.insert(record.class, class);
        }
        self.known.len() - 1
    }

    /// The figures that classes declare of these tallies, after those of the common class.
    pub fn tables(&self) -> Vec<&'static FigureTable> {
        let others = self
            .classes
            .values()
            .filter(|class| class.name != COMMON.name);
        let classes = [&COMMON].into_iter().chain(others.copied());
        classes.flat_map(|class| class.tables).copied().collect()
    }

    /// The distributions, to save memory on.
    pub fn distributions(&mut self) -> impl Iterator<Item = &mut Distribution> {
        self.books.values_mut().filter_map(|book| match book {
            Book::Sum(_) => None,
            Book::Samples(samples) => Some(samples),
        })
    }

    /// The tallies by domain and name.
    pub fn finish(self) -> BTreeMap<DomainId, Vec<DomainTally>> {
        let mut all: BTreeMap<DomainId, Vec<DomainTally>> = BTreeMap::new();
        for ((domain, place), book) in self.books {
            let (name, unit) = self.known[place];
            let value = match book {
                Book::Sum(sum) => TallyValue::Sum(sum),
                Book::Samples(mut samples) => TallyValue::Samples(samples.quantiles()),
            };
            let tallies = all.entry(domain).or_default();
            tallies.push(DomainTally { name, unit, value });
        }
        for tallies in all.values_mut() {
            tallies.sort_unstable_by_key(|tally| tally.name);
        }
        all
    }
}
