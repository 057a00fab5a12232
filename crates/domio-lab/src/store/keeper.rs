//! Finds samples, runs what is missing on all cores, and keeps each one when it is done.

use super::{Store, StoreError};
use crate::replicate::{AllCores, ProgressListener};
use domio_run::{Heard, Replicator, Sample, SampleJob, SampleKey};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A store in use, or none. A store that fails is left alone from then on, with its error in
/// [`Keeper::trouble`], and the work continues without.
#[derive(Debug, Default)]
pub struct Keeper {
    // One writer: a commit takes a hundredth of a millisecond.
    store: Mutex<Option<Store>>,
    trouble: Mutex<Option<StoreError>>,
    found: AtomicU64,
    kept: Arc<AtomicU64>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A statement is whole or was not: a store is as good after a panic as before.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Keeper {
    /// Finds and keeps nothing.
    pub fn none() -> Self {
        Keeper::default()
    }

    /// Finds and keeps in `store`.
    pub fn of(store: Store) -> Self {
        Keeper {
            store: Mutex::new(Some(store)),
            ..Keeper::default()
        }
    }

    /// How many samples were found.
    pub fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    /// How many samples were kept by now; a count that continues.
    pub fn kept(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.kept)
    }

    /// Why the store was given up, if it was.
    pub fn trouble(&self) -> Option<StoreError> {
        locked(&self.trouble).clone()
    }

    /// The results of `jobs`, in their order. What is in the store is taken from there, without
    /// the other result of `work`; the rest runs on all cores, and each sample is kept as soon as
    /// `work` returns. A job for which `row` says `None` always runs, and is not kept.
    pub fn on_all_cores<'n, 'r, J, T, E>(
        &self,
        jobs: &[J],
        row: impl Fn(&J) -> Option<SampleKey<'r>> + Sync,
        name: impl Fn(&J) -> &'n str + Sync,
        progress: &dyn ProgressListener,
        work: impl Fn(&J, Heard<'_>) -> Result<(Sample, T), E> + Sync,
    ) -> Vec<Result<(Sample, Option<T>), E>>
    where
        J: Sync,
        T: Send,
        E: Send,
    {
        let found: Vec<Option<Sample>> = jobs.iter().map(|job| self.find(row(job)?)).collect();
        let open = jobs.iter().zip(&found);
        let missing = open.filter_map(|(job, found)| found.is_none().then_some(job));
        let missing: Vec<&J> = missing.collect();
        let run = |job: &&J, heard: Heard<'_>| {
            let begin = Instant::now();
            let (sample, other) = work(job, heard)?;
            if let Some(row) = row(job) {
                self.keep(row, &sample, begin.elapsed());
            }
            Ok((sample, Some(other)))
        };
        let mut ran = match missing.is_empty() {
            true => Vec::new(),
            false => AllCores(progress).map(&missing, |job| name(job), run),
        }
        .into_iter();
        let result = |found| match found {
            Some(sample) => Some(Ok((sample, None))),
            None => ran.next(),
        };
        found.into_iter().filter_map(result).collect()
    }

    /// The sample that was kept as `row`, if one was.
    pub fn find(&self, row: SampleKey<'_>) -> Option<Sample> {
        let mut store = locked(&self.store);
        let found = store.as_ref()?.find(row.subject, row.seed, row.replication);
        let sample = self.or_give_up(found, &mut store).flatten();
        if sample.is_some() {
            self.found.fetch_add(1, Ordering::Relaxed);
        }
        sample
    }

    /// Keeps `sample`, which took `took` to make, as `row`.
    pub fn keep(&self, row: SampleKey<'_>, sample: &Sample, took: Duration) {
        let mut store = locked(&self.store);
        let Some(open) = store.as_ref().filter(|store| !store.is_read_only()) else {
            return;
        };
        let kept = open.keep(row.subject, row.seed, row.replication, sample, took);
        if self.or_give_up(kept, &mut store).is_some() {
            self.kept.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn or_give_up<T>(&self, result: Result<T, StoreError>, store: &mut Option<Store>) -> Option<T> {
        match result {
            Ok(result) => Some(result),
            Err(error) => {
                *store = None;
                locked(&self.trouble).get_or_insert(error);
                None
            }
        }
    }
}

/// All cores, with samples that are found and kept.
#[derive(Clone, Copy)]
pub struct Keeping<'k> {
    /// Finds and keeps.
    pub keeper: &'k Keeper,
    /// Hears how far the work is.
    pub progress: &'k dyn ProgressListener,
}

impl Replicator for Keeping<'_> {
    fn map<'n, J: Sync, T: Send>(
        &self,
        jobs: &[J],
        name: impl Fn(&J) -> &'n str + Sync,
        work: impl Fn(&J, Heard<'_>) -> T + Sync,
    ) -> Vec<T> {
        AllCores(self.progress).map(jobs, name, work)
    }

    fn samples(&self, jobs: &[SampleJob<'_>]) -> Vec<Result<Sample, String>> {
        let results = self.keeper.on_all_cores(
            jobs,
            |job| job.key,
            |job| job.name,
            self.progress,
            |job, _| Ok(((job.make)()?, ())),
        );
        let sample = |result: Result<(Sample, _), String>| result.map(|(sample, _)| sample);
        results.into_iter().map(sample).collect()
    }
}
