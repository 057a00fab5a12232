//! Runs the cells of a sweep on all cores, a piece of the list at a time, and hands the samples on
//! in order. What is in memory does not depend on the number of cells.

use crate::cells::{CellSource, ReadyCell, setting};
use crate::hosts;
use domio_lab::replicate::Listener;
use domio_lab::{AllCores, Keeper, ProgressListener, Silent};
use domio_run::driver_work::OwnersOnly;
use domio_run::simulate::measured;
use domio_run::{Heard, Replicator, Sample, SampleKey, WHOLE};
use domio_sweep::SweepPlan;
use std::sync::Arc;

/// Replications that are run before the first of them is handed on. At the end of each piece cores
/// wait for the last one, so that few would waste time; the samples of a piece are in memory.
const PIECE: usize = 256;

/// A cell of the list.
#[derive(Clone, PartialEq, Debug)]
pub struct CellAt {
    /// Its number.
    pub number: u64,
    /// By axis: the place of its value.
    pub places: Vec<u64>,
    /// By axis: its value.
    pub values: Vec<String>,
}

impl CellAt {
    /// Cell `number` of `plan`.
    pub fn of(plan: &SweepPlan, number: u64) -> Self {
        CellAt::at(plan, number, plan.places(number))
    }

    /// The cell at `places` on the axes of `plan`, which is called `number`.
    pub fn at(plan: &SweepPlan, number: u64, places: Vec<u64>) -> Self {
        CellAt {
            number,
            values: plan.values(&places),
            places,
        }
    }
}

/// What runs cells.
pub struct CellDrive<'d> {
    /// What cells are made of.
    pub source: &'d CellSource,
    /// Axes of the cells.
    pub plan: &'d SweepPlan,
    /// Replications of each cell.
    pub replications: u32,
    /// Finds and keeps samples.
    pub keeper: &'d Keeper,
    /// Hears of each replication.
    pub progress: &'d dyn ProgressListener,
}

impl CellDrive<'_> {
    /// Runs `cells`, and hands each sample to `each`, by cell and replication.
    ///
    /// # Errors
    /// When a cell makes no scenario, its simulation ends early, or `each` refuses.
    pub fn run(
        &self,
        cells: impl Iterator<Item = CellAt>,
        each: &mut dyn FnMut(&CellAt, u32, Sample) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut rows = cells.flat_map(|cell| {
            let cell = Arc::new(cell);
            (0..self.replications).map(move |n| (Arc::clone(&cell), n))
        });
        loop {
            let piece: Vec<(Arc<CellAt>, u32)> = rows.by_ref().take(PIECE).collect();
            if piece.is_empty() {
                return Ok(());
            }
            let samples = self.samples(&piece)?;
            for ((cell, replication), sample) in piece.iter().zip(samples) {
                each(cell, *replication, sample?)?;
            }
        }
    }

    fn samples(&self, piece: &[(Arc<CellAt>, u32)]) -> anyhow::Result<Vec<anyhow::Result<Sample>>> {
        let mut cells: Vec<&CellAt> = piece.iter().map(|(cell, _)| &**cell).collect();
        cells.dedup_by_key(|cell| cell.number);
        let axes = self.plan.axes();
        let ready = AllCores(&Silent).map(
            &cells,
            |_| "",
            |cell, _| self.source.cell(axes, &cell.values),
        );
        let ready: Vec<ReadyCell> = ready.into_iter().collect::<anyhow::Result<_>>()?;
        let of = |cell: &CellAt| {
            let place = cells.binary_search_by_key(&cell.number, |other| other.number);
            place.map_or(&ready[0], |place| &ready[place])
        };
        let jobs: Vec<(&CellAt, &ReadyCell, u32)> = piece
            .iter()
            .map(|(cell, n)| (&**cell, of(cell), *n))
            .collect();
        let found = self.keeper.found();
        let results = self.keeper.on_all_cores(
            &jobs,
            |(_, ready, n)| {
                Some(SampleKey {
                    subject: ready.subject.as_ref()?,
                    seed: ready.seed,
                    replication: *n,
                })
            },
            |_| "replications",
            &Part(self.progress),
            |(cell, ready, n), heard| self.work(cell, ready, *n, heard),
        );
        if let Some(listener) = self.progress.listener() {
            listener((self.keeper.found() - found) * WHOLE);
        }
        let samples = results.into_iter().map(|result| Ok(result?.0));
        Ok(samples.collect())
    }

    fn work(
        &self,
        cell: &CellAt,
        ready: &ReadyCell,
        replication: u32,
        heard: Heard<'_>,
    ) -> anyhow::Result<(Sample, ())> {
        let axes = self.plan.axes();
        let built = self.source.build(ready, axes, &cell.values)?;
        let of = self.source.of_replication(ready, &built, replication);
        let done = of.and_then(|built| measured(&built, replication, OwnersOnly, heard));
        let (sample, _) = done.map_err(|fault| {
            let setting = setting(axes, &cell.values);
            hosts::failed(&fault).context(format!("cell {}, {setting}", cell.number))
        })?;
        Ok((sample, ()))
    }
}

/// Reports pieces of one list, whose begin and end are told elsewhere.
struct Part<'p>(&'p dyn ProgressListener);

impl ProgressListener for Part<'_> {
    fn begin(&self, _: u64) {}

    fn done(&self, name: &str) {
        self.0.done(name);
    }

    fn end(&self) {}

    fn listener(&self) -> Option<Listener> {
        self.0.listener()
    }
}
