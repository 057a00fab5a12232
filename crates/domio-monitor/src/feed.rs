//! Makes samples of records.

use domio_core::{Names, Record, Sink};
use domio_meter::{Baked, IntervalSample, Sampler, Told as Runstates, Totals};

/// The figures at the end of an interval.
#[derive(Clone, PartialEq, Debug)]
pub struct IntervalEnd {
    /// Of the interval.
    pub short: IntervalSample,
    /// Of ten of them, where that is not the sum of the intervals: xenbaked keeps less.
    pub long: Option<IntervalSample>,
}

/// What makes the figures.
pub enum Aggregate {
    /// What happened.
    Mended(Box<Sampler>),
    /// What xenbaked says.
    Compatible(Box<Baked>),
}

/// What is known when all records were seen.
#[derive(Debug, Default)]
pub struct Closing {
    /// The sums of the whole trace.
    pub total: IntervalSample,
    /// How many records there were.
    pub records: u64,
    /// There were records, but they tell nothing of runstates.
    pub no_runstates: bool,
    /// What to tell the user besides.
    pub notes: Vec<String>,
}

/// Takes records, and hands on what is known at the end of each interval.
pub struct Feed<F> {
    aggregate: Aggregate,
    each: F,
    total: Totals,
    runstates: Runstates,
    records: u64,
    stopped: bool,
}

impl<F: FnMut(IntervalEnd) -> bool> Feed<F> {
    /// A feed for `each`, which answers whether it wants more.
    pub fn new(aggregate: Aggregate, each: F) -> Self {
        Feed {
            aggregate,
            each,
            total: Totals::default(),
            runstates: Runstates::default(),
            records: 0,
            stopped: false,
        }
    }

    /// Whether nobody wants more.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    fn show(&mut self, moment: IntervalEnd) {
        self.total.add(&moment.short);
        // A host is simulated to its end in any case.
        self.stopped = self.stopped || !(self.each)(moment);
    }

    #[inline]
    fn take(&mut self) -> Option<IntervalEnd> {
        match &mut self.aggregate {
            Aggregate::Mended(sampler) => sampler
                .take()
                .map(|short| IntervalEnd { short, long: None }),
            Aggregate::Compatible(baked) => baked.take().map(|windows| IntervalEnd {
                short: windows.short,
                long: Some(windows.long),
            }),
        }
    }

    /// Hands on what is left.
    pub fn finish(mut self) -> Closing {
        let no_runstates = self.runstates.missing().is_some();
        let records = self.records;
        let rest = std::mem::replace(&mut self.aggregate, Aggregate::none());
        let total = match rest {
            Aggregate::Mended(sampler) => {
                for short in sampler.finish() {
                    self.show(IntervalEnd { short, long: None });
                }
                self.total.sample()
            }
            Aggregate::Compatible(baked) => baked.totals(),
        };
        Closing {
            total,
            records,
            no_runstates,
            notes: Vec::new(),
        }
    }
}

impl Aggregate {
    /// One that is not fed.
    fn none() -> Self {
        Aggregate::Mended(Box::new(Sampler::new(domio_core::Duration::from_secs(1))))
    }
}

impl<F: FnMut(IntervalEnd) -> bool> Sink for Feed<F> {
    #[inline]
    fn record(&mut self, names: &Names, record: &Record) {
        self.records += 1;
        self.runstates.see(record);
        match &mut self.aggregate {
            Aggregate::Mended(sampler) => sampler.record(names, record),
            Aggregate::Compatible(baked) => baked.record(names, record),
        }
        while let Some(moment) = self.take() {
            self.show(moment);
        }
    }
}
