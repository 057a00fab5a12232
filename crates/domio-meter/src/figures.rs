//! Figures of domains, computed as their declarations say.

use domio_core::{Figure, FigureKind, FigureOf, FigureTable, Runstate};

use crate::distribution::Quantiles;
use crate::summary::{DomainSummary, Summary};
use crate::tallies::TallyValue;

impl Summary {
    /// The figures of `domain` that have a value, details included, in the order of
    /// [`Summary::tables`].
    pub fn figures(&self, domain: &DomainSummary) -> Vec<(&'static Figure, f64)> {
        let own = self.tables.iter().filter(|table| domain.has(table));
        let figures = own.flat_map(|table| table.figures);
        let valued = figures.filter_map(|figure| Some((figure, self.value(domain, figure)?)));
        valued.collect()
    }

    /// The figure with this key of `domain`, if any record or account makes it.
    pub fn figure(&self, domain: &DomainSummary, key: &str) -> Option<f64> {
        let own = self.tables.iter().filter(|table| domain.has(table));
        let mut figures = own.flat_map(|table| table.figures);
        self.value(domain, figures.find(|figure| figure.key == key)?)
    }

    /// `figure` of `domain`, which has the table of the figure.
    fn value(&self, domain: &DomainSummary, figure: &Figure) -> Option<f64> {
        let over = f64::from(figure.over);
        let sum = figure.of.iter().fold(0, |sum: u64, counted| {
            sum.saturating_add(domain.sum(*counted))
        });
        if figure.only_some && sum == 0 {
            return None;
        }
        let samples = || domain.samples(*figure.of.first()?);
        match figure.kind {
            FigureKind::Sum => Some(sum as f64 / over),
            FigureKind::Rate { times } => Some(self.over_time(sum, times) / over),
            FigureKind::Share => Some(self.percent(sum) / over),
            FigureKind::ShareOfVcpus => {
                Some(self.percent(sum) / domain.vcpus.len().max(1) as f64 / over)
            }
            FigureKind::Ratio(by) => {
                let by = domain.sum(by);
                (by > 0).then(|| sum as f64 / by as f64 / over)
            }
            FigureKind::Mean => samples()?.mean.map(|mean| mean / over),
            FigureKind::Deviation => samples()?.sd.map(|sd| sd / over),
            FigureKind::Quantile(percent) => samples()?.percent(percent).map(|at| at as f64 / over),
            FigureKind::Noted => None,
        }
    }
}

impl DomainSummary {
    /// Whether the domain has figures of `table`.
    fn has(&self, table: &FigureTable) -> bool {
        let mut counted = table.figures.iter().flat_map(|figure| figure.of);
        counted.any(|counted| match counted {
            FigureOf::Tally(name) => self.tally(name).is_some(),
            FigureOf::Uninterruptible => self.total.uninterruptible > 0,
            _ => true,
        })
    }

    /// The sum, or the number of samples.
    fn sum(&self, counted: FigureOf) -> u64 {
        let account = &self.total;
        match counted {
            FigureOf::Tally(name) => match self.tally(name).map(|tally| tally.value) {
                Some(TallyValue::Sum(sum)) => sum,
                Some(TallyValue::Samples(samples)) => samples.count,
                None => 0,
            },
            FigureOf::Time(Runstate::Running) => account.running,
            FigureOf::Time(Runstate::Runnable) => account.runnable,
            FigureOf::Time(Runstate::Blocked) => account.blocked,
            FigureOf::Time(Runstate::Offline) => account.offline,
            FigureOf::Parked => account.parked,
            FigureOf::Uninterruptible => account.uninterruptible,
            FigureOf::Executions => account.executions,
            FigureOf::Runs => account.runs.count,
            FigureOf::WakeToRun => account.wake_to_run.count,
        }
    }

    /// The samples; of a sum there are none.
    fn samples(&self, counted: FigureOf) -> Option<Quantiles> {
        match counted {
            FigureOf::Tally(name) => match self.tally(name)?.value {
                TallyValue::Samples(samples) => Some(samples),
                TallyValue::Sum(_) => None,
            },
            FigureOf::Runs => Some(self.total.runs),
            FigureOf::WakeToRun => Some(self.total.wake_to_run),
            FigureOf::Time(_)
            | FigureOf::Parked
            | FigureOf::Uninterruptible
            | FigureOf::Executions => None,
        }
    }
}
