//! Who makes many replications: one after the other, or on all cores and with results that are
//! kept. What makes use of replications asks for a [`Replicator`], and knows of no more.

use crate::sample::Sample;
use crate::subject::SampleKey;

/// Hears how many thousandths of a piece of work are done, at steps of the simulated time.
pub type Heard<'h> = &'h dyn Fn(u64);

/// Thousandths of a piece of work.
pub const WHOLE: u64 = 1_000;

/// One sample that is wanted.
pub struct SampleJob<'j> {
    /// What it is called in reports of progress.
    pub name: &'j str,
    /// What it may be kept as; `None` for a sample that is made anew each time.
    pub key: Option<SampleKey<'j>>,
    /// Makes it; or says why there is none, in one sentence.
    pub make: Box<dyn Fn() -> Result<Sample, String> + Send + Sync + 'j>,
}

/// Does pieces of work that do not depend on each other, several together where it can.
pub trait Replicator {
    /// What `work` gives for each of `jobs`, in their order. `name` is what a job is called in
    /// reports of progress.
    fn map<'n, J: Sync, T: Send>(
        &self,
        jobs: &[J],
        name: impl Fn(&J) -> &'n str + Sync,
        work: impl Fn(&J, Heard<'_>) -> T + Sync,
    ) -> Vec<T>;

    /// The samples of `jobs`, in their order. One that was kept is the same to the bit as one that
    /// is made anew.
    fn samples(&self, jobs: &[SampleJob<'_>]) -> Vec<Result<Sample, String>> {
        self.map(jobs, |job| job.name, |job, _| (job.make)())
    }
}

/// Does one piece after the other, and keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneByOne;

impl Replicator for OneByOne {
    fn map<'n, J: Sync, T: Send>(
        &self,
        jobs: &[J],
        _: impl Fn(&J) -> &'n str + Sync,
        work: impl Fn(&J, Heard<'_>) -> T + Sync,
    ) -> Vec<T> {
        jobs.iter().map(|job| work(job, &|_| {})).collect()
    }
}
