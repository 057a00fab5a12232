//! Replications of settings, counted and timed.

use super::levers::{Host, Settings};
use super::{AdviceFault, AdviceSource};
use domio_meter::Explanation;
use domio_run::driver_work::OwnersOnly;
use domio_run::{Replicator, RunFault, Sample, SampleJob, SampleKey, Subject};
use domio_run::{explain, simulate};
use domio_scenario::{Built, Scenario};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Settings that are built and simulated together: between two such pieces of work the clock is
/// looked at.
const TOGETHER: usize = 8;

/// How much may be simulated. An evaluation is one replication of one setting.
pub(super) struct Budget<'c> {
    /// Evaluations in all.
    pub most: u64,
    /// Those that are done.
    pub done: u64,
    /// Seconds, by `elapsed`.
    pub limit: Option<f64>,
    /// Seconds since the search began.
    pub elapsed: &'c dyn Fn() -> f64,
    /// Whether time was short, and not evaluations.
    pub out_of_time: bool,
}

impl Budget<'_> {
    /// How many evaluations are left, if `reserve` are kept for later.
    pub fn room(&mut self, reserve: u64) -> u64 {
        let by_count = self.most.saturating_sub(self.done + reserve);
        let Some(limit) = self.limit.filter(|_| self.done > 0) else {
            return by_count;
        };
        let elapsed = (self.elapsed)();
        let each = (elapsed / self.done as f64).max(1e-6);
        let by_time = ((limit - elapsed) / each - reserve as f64).max(0.0) as u64;
        self.out_of_time |= by_time == 0 && by_count > 0;
        by_count.min(by_time)
    }
}

/// Simulates settings of one scenario.
pub(super) struct Runs<'r, 'a, R: Replicator> {
    pub scenario: &'r Scenario,
    pub host: &'r Host,
    pub source: &'r AdviceSource<'a>,
    pub replicator: &'r R,
}

/// A host under some settings.
struct Job {
    scenario: Scenario,
    built: Built,
    subject: Option<Subject>,
}

impl<R: Replicator> Runs<'_, '_, R> {
    /// The samples of each of `wanted`, by replication; `None` for settings that the host does not
    /// take, e.g. a parameter that the release does not have. What there is no room for beside
    /// `reserve` is not done: the answer is shorter then.
    ///
    /// # Errors
    /// A run that ended early.
    pub fn samples(
        &self,
        wanted: &[(&Settings, Range<u32>)],
        budget: &mut Budget<'_>,
        reserve: u64,
    ) -> Result<Vec<Option<Vec<Sample>>>, AdviceFault> {
        let mut all = Vec::new();
        for piece in wanted.chunks(TOGETHER) {
            let mut room = budget.room(reserve);
            let fits = piece.iter().take_while(|(_, numbers)| {
                let n = numbers.len() as u64;
                let fits = n <= room;
                room = room.saturating_sub(n);
                fits
            });
            let fits = fits.count();
            all.extend(self.together(&piece[..fits], budget)?);
            if fits < piece.len() {
                break;
            }
        }
        Ok(all)
    }

    fn together(
        &self,
        wanted: &[(&Settings, Range<u32>)],
        budget: &mut Budget<'_>,
    ) -> Result<Vec<Option<Vec<Sample>>>, AdviceFault> {
        let jobs: Vec<Option<Job>> = wanted.iter().map(|(s, _)| self.job(s).ok()).collect();
        let fault = Mutex::new(None);
        let source = self.source;
        let make = |job: &Job, n: u32| {
            sample(source, job, n).map_err(|ended: RunFault| {
                let told = ended.to_string();
                let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
                fault.get_or_insert(ended);
                told
            })
        };
        let make = &make;
        let pairs = jobs.iter().zip(wanted);
        let pairs = pairs.filter_map(|(job, (_, numbers))| Some((job.as_ref()?, numbers.clone())));
        let pieces = pairs.flat_map(|(job, numbers)| numbers.map(move |n| (job, n)));
        let pieces: Vec<SampleJob<'_>> = pieces
            .map(|(job, replication)| SampleJob {
                name: self.host.policy.name,
                key: job.subject.as_ref().map(|subject| SampleKey {
                    subject,
                    seed: job.built.seed,
                    replication,
                }),
                make: Box::new(move || make(job, replication)),
            })
            .collect();
        budget.done += pieces.len() as u64;
        let made: Result<Vec<Sample>, String> =
            self.replicator.samples(&pieces).into_iter().collect();
        drop(pieces);
        let fault = fault.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut made = match (made, fault) {
            (Ok(made), _) => made.into_iter(),
            (Err(_), Some(fault)) => return Err(fault.into()),
            (Err(told), None) => return Err(AdviceFault::Host(told)),
        };
        let own = jobs.iter().zip(wanted).map(|(job, (_, numbers))| {
            job.as_ref()
                .map(|_| made.by_ref().take(numbers.len()).collect())
        });
        Ok(own.collect())
    }

    /// The host under `settings`.
    fn job(&self, settings: &Settings) -> Result<Job, AdviceFault> {
        let changes = self.host.changes(settings);
        let changes: Vec<(&str, &str)> = changes
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        let scenario = self
            .scenario
            .with(&changes)
            .map_err(AdviceFault::Scenario)?;
        let built = scenario
            .build(&*(self.source)(&scenario))
            .map_err(AdviceFault::Scenario)?;
        // What files contain is not in the scenario's text.
        let has_files = scenario.plan().files().next().is_some();
        Ok(Job {
            subject: (!has_files).then(|| Subject::of_scenario(&scenario, &[])),
            scenario,
            built,
        })
    }

    /// What the domains wait for under `settings`, in replication 0. Counts as one evaluation.
    ///
    /// # Errors
    /// When the host does not take the settings, or the run ends early.
    pub fn explained(
        &self,
        settings: &Settings,
        budget: &mut Budget<'_>,
    ) -> Result<Explanation, AdviceFault> {
        budget.done += 1;
        let job = self.job(settings)?;
        let source = (self.source)(&job.scenario);
        let built = simulate::of_replication(&job.scenario, &job.built, &*source, 0)?;
        Ok(explain::explain(&built, 0)?)
    }
}

fn sample(source: &AdviceSource<'_>, job: &Job, replication: u32) -> Result<Sample, RunFault> {
    let source = source(&job.scenario);
    let built = simulate::of_replication(&job.scenario, &job.built, &*source, replication)?;
    Ok(simulate::measured(&built, replication, OwnersOnly, &|_| {})?.0)
}
