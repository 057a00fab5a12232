//! The scenario of a sweep, and what its cells are made of.

use crate::hosts;
use crate::scenarios::mistakes;
use crate::traces::{self, Folder};
use domio_lab::store;
use domio_replay::RecordedDemands;
use domio_run::Subject;
use domio_run::simulate::{self, RunFault};
use domio_scenario::{
    Built, InputFiles, NoDemands, RecordedCalls, RecordedRequests, Replay, ReplaySource, Scenario,
};
use domio_sweep::{Axis, Design, SweepPlan};
use domio_trace::scenario_sha256;
use domio_vmm::Profile;
use domio_vmm::config::Workload;
use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A scenario of which cells are made.
pub struct CellSource {
    base: Scenario,
    /// The files that it names, in the order of its plan.
    files: Vec<Vec<u8>>,
    demands: Mutex<RecordedDemands<Folder>>,
}

/// What the cells of a sweep have to say before they are run.
#[derive(Clone, Debug, Default)]
pub struct CheckedCells {
    /// What is good to know of their scenarios.
    pub notices: Vec<String>,
    /// Names of their domains, some of them several times.
    pub domains: Vec<String>,
}

/// A cell, ready to be simulated.
pub struct ReadyCell {
    /// Its scenario.
    pub scenario: Scenario,
    /// What its samples are kept as.
    pub subject: Option<Subject>,
    /// Seed of its random streams.
    pub seed: u64,
}

impl CellSource {
    /// Cells of `base`.
    pub fn new(base: Scenario) -> Self {
        CellSource {
            demands: Mutex::new(traces::recorded(&base)),
            // What cannot be read is reported when the first cell is built.
            files: store::files(&base).unwrap_or_default(),
            base,
        }
    }

    /// The scenario as it is without any axis.
    pub fn base(&self) -> &Scenario {
        &self.base
    }

    /// The demands of its replays, which are read once for all scenarios that differ from it in
    /// other things than what the hypervisor's work takes.
    pub fn demands(&self) -> impl ReplaySource + '_ {
        Shared(&self.demands)
    }

    /// Builds the first cell, and tries values of each axis beside the first ones of the others, so
    /// that what is wrong is told before anything is run.
    ///
    /// # Errors
    /// Whatever is wrong with a cell.
    pub fn check(&self, plan: &SweepPlan) -> anyhow::Result<CheckedCells> {
        let mut checked = CheckedCells::default();
        for (axis, place, values) in corners(plan) {
            let ready = self.cell(plan.axes(), &values);
            let built = ready.and_then(|ready| {
                let built = self.build(&ready, plan.axes(), &values)?;
                Ok((built, ready))
            });
            let (built, ready) = built.map_err(|error| match axis {
                Some(axis) => error.context(format!("--set {axis} has {}", axis.value(place))),
                None => error,
            })?;
            for notice in hosts::notices(&ready.scenario, &built) {
                if !checked.notices.contains(notice) {
                    checked.notices.push(notice.clone());
                }
            }
            let domains = simulate::domains(&built).into_iter();
            checked.domains.extend(domains.map(|(_, name)| name));
        }
        Ok(checked)
    }

    /// The cell that has `values` on `axes`.
    ///
    /// # Errors
    /// When that makes no scenario.
    pub fn cell(&self, axes: &[Axis], values: &[String]) -> anyhow::Result<ReadyCell> {
        let pairs = axes.iter().zip(values);
        let changes: Vec<(&str, &str)> = pairs.map(|(axis, v)| (axis.key(), v.as_str())).collect();
        let scenario = self.base.with(&changes);
        let scenario = scenario.map_err(|e| within(axes, values, mistakes(e)))?;
        let subject = match self.has_files_of(&scenario) {
            true => Some(Subject::of_scenario(&scenario, &self.files)),
            false => store::subject(&scenario).ok(),
        };
        Ok(ReadyCell {
            seed: scenario.plan().seed,
            subject,
            scenario,
        })
    }

    /// What the simulator takes for `cell`, which has `values` on `axes`.
    ///
    /// # Errors
    /// When the scenario makes no host.
    pub fn build(
        &self,
        cell: &ReadyCell,
        axes: &[Axis],
        values: &[String],
    ) -> anyhow::Result<Built> {
        let built = match self.shares_demands(&cell.scenario) {
            true => cell.scenario.build(&Shared(&self.demands)),
            false => cell.scenario.build(&traces::recorded(&cell.scenario)),
        };
        built.map_err(|e| within(axes, values, mistakes(e)))
    }

    /// What the simulator takes for replication `replication` of `cell`, which is built as `built`.
    ///
    /// # Errors
    /// When what was drawn for it makes no host.
    pub fn of_replication<'b>(
        &self,
        cell: &ReadyCell,
        built: &'b Built,
        replication: u32,
    ) -> Result<Cow<'b, Built>, RunFault> {
        match self.shares_demands(&cell.scenario) {
            true => {
                simulate::of_replication(&cell.scenario, built, &Shared(&self.demands), replication)
            }
            false => hosts::of_replication(&cell.scenario, built, replication),
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

/// The first cell, and for each axis the cells that differ from it by one value of that axis alone:
/// its second and its last one, which stand for all of a range, and every one of a list.
fn corners(plan: &SweepPlan) -> Vec<(Option<&Axis>, u64, Vec<String>)> {
    let first = vec![0; plan.axes().len()];
    let mut corners = vec![(None, 0, plan.values(&first))];
    for (i, axis) in plan.axes().iter().enumerate() {
        let ends = (1..axis.len()).filter(|place| {
            let is_end = *place == 1 || *place + 1 == axis.len();
            is_end || !axis.is_range()
        });
        for place in ends {
            let mut places = first.clone();
            places[i] = place;
            corners.push((Some(axis), place, plan.values(&places)));
        }
    }
    corners
}

/// What the rows of a sweep by `program` come from, for the file itself.
pub fn about(
    base: &Scenario,
    plan: &SweepPlan,
    design: Design,
    replications: u32,
    program: &str,
) -> Vec<(String, String)> {
    let axes: Vec<String> = plan.axes().iter().map(Axis::to_string).collect();
    let facts = [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("program", program.to_owned()),
        ("scenario", base.name().to_owned()),
        ("scenario_sha256", scenario_sha256(base.text().as_bytes())),
        ("scenario_text", base.text().to_owned()),
        ("seed", base.plan().seed.to_string()),
        ("replications", replications.to_string()),
        ("design", design.to_string()),
        ("axes", axes.join(" ")),
    ];
    let named = facts.into_iter();
    named
        .map(|(name, fact)| (format!("domio.{name}"), fact))
        .collect()
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
}

impl InputFiles for Shared<'_> {
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
fn within(axes: &[Axis], values: &[String], error: anyhow::Error) -> anyhow::Error {
    match axes.is_empty() {
        true => error,
        false => error.context(format!("with {}", setting(axes, values))),
    }
}

/// "scheduler.tslice_ms=5 domain.web.weight=64".
pub fn setting(axes: &[Axis], values: &[String]) -> String {
    let pairs = axes.iter().zip(values);
    let pairs = pairs.map(|(axis, value)| format!("{}={value}", axis.key()));
    pairs.collect::<Vec<_>>().join(" ")
}
