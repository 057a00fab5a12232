//! The scenario of a sweep, and what its cells are made of.

use crate::args::{Global, Sweep};
use crate::cmd::{from_trace, run, scenario};
use crate::input;
use crate::traces::{self, Folder};
use anyhow::anyhow;
use domio_lab::store;
use domio_replay::RecordedDemands;
use domio_run::Subject;
use domio_run::simulate::{self, RunFault};
use domio_scenario::{
    Built, NoDemands, RecordedCalls, RecordedRequests, Replay, ReplaySource, Scenario,
};
use domio_sweep::Axis;
use domio_vmm::Profile;
use domio_vmm::config::Workload;
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A scenario of which cells are made.
pub struct Source {
    base: Scenario,
    /// The files that it names, in the order of its plan.
    files: Vec<Vec<u8>>,
    demands: Mutex<RecordedDemands<Folder>>,
}

/// A cell, ready to be simulated.
pub struct Ready {
    /// Its scenario.
    pub scenario: Scenario,
    /// What its samples are kept as.
    pub subject: Option<Subject>,
    /// Seed of its random streams.
    pub seed: u64,
}

impl Source {
    /// The scenario that `args` name, with their seed; or one of the trace that they name.
    ///
    /// # Errors
    /// Whatever is wrong with it.
    pub fn of(args: &Sweep, global: &Global) -> anyhow::Result<Self> {
        let path = Path::new(&args.scenario);
        let base = match !input::is_stdin(path) && input::is_trace(path) {
            true => from_trace::of(path, args.cpu_hz, global)?,
            false if args.cpu_hz.is_some() => {
                let name = input::name(path);
                return Err(anyhow!(
                    "--cpu-hz is of a xentrace file, and {name} is a scenario; leave it out"
                ));
            }
            false => scenario::load(&args.scenario)?,
        };
        let seed = args.seed.map(|seed| seed.to_string());
        let changes: Vec<(&str, &str)> = seed.iter().map(|seed| ("seed", &**seed)).collect();
        let base = base.with(&changes).map_err(scenario::mistakes)?;
        Ok(Source {
            demands: Mutex::new(traces::recorded(&base)),
            // What cannot be read is told of when the first cell is built.
            files: store::files(&base).unwrap_or_default(),
            base,
        })
    }

    /// The scenario as it is without any axis.
    pub fn base(&self) -> &Scenario {
        &self.base
    }

    /// The cell that has `values` on `axes`.
    ///
    /// # Errors
    /// When that makes no scenario.
    pub fn cell(&self, axes: &[Axis], values: &[String]) -> anyhow::Result<Ready> {
        let pairs = axes.iter().zip(values);
        let changes: Vec<(&str, &str)> = pairs.map(|(axis, v)| (axis.key(), v.as_str())).collect();
        let scenario = self.base.with(&changes);
        let scenario = scenario.map_err(|e| within(axes, values, &scenario::mistakes(e)))?;
        let subject = match self.has_files_of(&scenario) {
            true => Some(Subject::of_scenario(&scenario, &self.files)),
            false => store::subject(&scenario).ok(),
        };
        Ok(Ready {
            seed: scenario.plan().seed,
            subject,
            scenario,
        })
    }

    /// What the simulator takes for `cell`, which has `values` on `axes`.
    ///
    /// # Errors
    /// When the scenario makes no host.
    pub fn build(&self, cell: &Ready, axes: &[Axis], values: &[String]) -> anyhow::Result<Built> {
        let built = match self.shares_demands(&cell.scenario) {
            true => cell.scenario.build(&Shared(&self.demands)),
            false => cell.scenario.build(&traces::recorded(&cell.scenario)),
        };
        built.map_err(|e| within(axes, values, &scenario::mistakes(e)))
    }

    /// What the simulator takes for replication `replication` of `cell`, which is built as `built`.
    ///
    /// # Errors
    /// When what was drawn for it makes no host.
    pub fn of_replication<'b>(
        &self,
        cell: &Ready,
        built: &'b Built,
        replication: u32,
    ) -> Result<Cow<'b, Built>, RunFault> {
        match self.shares_demands(&cell.scenario) {
            true => {
                simulate::of_replication(&cell.scenario, built, &Shared(&self.demands), replication)
            }
            false => run::of_replication(&cell.scenario, built, replication),
        }
    }

    /// Whether a cell reads the files that the source has read.
    fn has_files_of(&self, cell: &Scenario) -> bool {
        let named = cell.plan().files();
        named.clone().count() == self.files.len() && named.eq(self.base.plan().files())
    }

    /// Whether `cell` replays what the scenario itself replays: the times that the hypervisor takes
    /// decide what a recording asked for.
    fn shares_demands(&self, cell: &Scenario) -> bool {
        let profile = |scenario: &Scenario| -> Profile { scenario.plan().host.profile };
        profile(cell) == profile(&self.base)
    }
}

/// Demands that are read once for all cells.
struct Shared<'s>(&'s Mutex<RecordedDemands<Folder>>);

impl Shared<'_> {
    fn read(&self) -> MutexGuard<'_, RecordedDemands<Folder>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReplaySource for Shared<'_> {
    fn workload(&self, replay: &Replay) -> Result<Workload, NoDemands> {
        self.read().workload(replay)
    }

    fn job_file(&self, path: &str) -> Result<String, NoDemands> {
        self.read().job_file(path)
    }

    fn requests(
        &self,
        path: &str,
        wanted: &RecordedRequests,
    ) -> Result<(Vec<RecordedCalls>, Vec<String>), NoDemands> {
        self.read().requests(path, wanted)
    }
}

/// `error`, with the settings of the cell.
fn within(axes: &[Axis], values: &[String], error: &anyhow::Error) -> anyhow::Error {
    match axes.is_empty() {
        true => anyhow!("{error:#}"),
        false => anyhow!("with {}: {error:#}", setting(axes, values)),
    }
}

/// "scheduler.tslice_ms=5 domain.web.weight=64".
pub fn setting(axes: &[Axis], values: &[String]) -> String {
    let pairs = axes.iter().zip(values);
    let pairs = pairs.map(|(axis, value)| format!("{}={value}", axis.key()));
    pairs.collect::<Vec<_>>().join(" ")
}
