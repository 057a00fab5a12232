//! Papers as data: a folder that says machine, cells and figures, run by one runner.
//!
//! ```text
//! machine.toml ─┐                              ┌─▶ domio run, explain, compare
//! cells.toml ───┴─▶ Paper ─▶ PaperCell ─▶ Scenario ─┴─▶ Prepared ─▶ Sample ─▶ checks
//! ```
//!
//! A [`PaperCell`] is one test under one configuration. Its scenario is put together from tables,
//! each on top of the one before: the machine, the suite, the guests in their roles, the test, the
//! configuration, and what a [`Machine`] changes. `docs/PAPERS.md` describes the files.

mod boosts;
mod cell;
mod file;
mod machines;
mod measures;
mod merge;
mod read;
mod run;
mod search;
mod times;
mod traffic;

pub use cell::PaperCell;
pub use file::Length;
pub use machines::{DrawnMachine, Machine, Unknown, UnknownRange, draw};
pub use run::Prepared;
pub use search::{
    BestMachine, ClaimOnMachines, Deciding, MachineSearch, MachineShown, UnknownShown, search,
};

use crate::folders::{self, FolderError, PaperFolder};
use crate::registry::{LabContext, Registry};
use domio_run::Sample;
use domio_scenario::{Parts, Scenario, ScenarioErrors};
use file::{MachineFile, Suite, Together};
use std::sync::{Arc, OnceLock};
use times::RecordedTimes;

/// A paper whose folder was read.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Name of its folder.
    pub name: String,
    /// Where the folder is, as commands take it.
    pub place: String,
    /// First word of the names of its experiments and of the ids of its claims.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it does not say.
    pub unknowns: Vec<Unknown>,
    /// Ids of the claims on which the best machine is chosen.
    pub calibration: Vec<String>,
    /// What `machine.toml` and `cells.toml` say, without comments and blanks.
    said: [String; 2],
    machine: MachineFile,
    suites: Vec<Suite>,
    times: RecordedTimes,
    /// What its cells can ask for by name.
    parts: Parts,
}

impl Paper {
    /// The paper in `folder`.
    ///
    /// # Errors
    /// When its files have mistakes: which file, which line, and what was expected.
    pub fn read(folder: &PaperFolder) -> Result<Self, String> {
        let paper = file(folder, "paper.toml", read::paper)?;
        let machine = file(folder, "machine.toml", read::machine)?;
        let suites = file(folder, "cells.toml", read::cells)?;
        Ok(Paper {
            name: folder.name.clone(),
            place: folder.place.clone(),
            id: paper.id,
            title: paper.title,
            unknowns: machine.unknowns.clone(),
            calibration: machine.calibration.clone(),
            said: [said(folder, "machine.toml"), said(folder, "cells.toml")],
            machine,
            suites,
            times: RecordedTimes::read(folder)?,
            parts: folder.parts.clone(),
        })
    }

    /// All that its samples depend on in addition to the names of experiments, one text each: what
    /// its files say, the length of the cells, and what the machine changes.
    fn inputs(&self, length: Length, machine: &Machine) -> Vec<String> {
        let mut inputs = self.said.to_vec();
        inputs.push(length.to_string());
        let changes = machine.changes();
        inputs.extend(changes.map(|(key, value)| format!("{key} = {value}")));
        inputs
    }

    /// Whether an experiment may be added.
    fn fits(&self, registry: &Registry, name: &str, replications: u32) -> Result<(), String> {
        let place = format!("{}/cells.toml", self.place);
        if registry.find(name).is_some() {
            return Err(format!(
                "{place}: {name} is there twice; give papers different ids, and tests and \
                 configurations different names"
            ));
        }
        match replications {
            0 => Err(format!(
                "{place}: {name} has `replications = 0`; expected at least 1"
            )),
            _ => Ok(()),
        }
    }

    /// All of its cells, by suite, test and configuration.
    pub fn cells(&self) -> impl Iterator<Item = PaperCell<'_>> {
        self.suites
            .iter()
            .flat_map(move |suite| self.cells_of(suite))
    }

    fn cells_of<'p>(&'p self, suite: &'p Suite) -> impl Iterator<Item = PaperCell<'p>> {
        suite.test.iter().flat_map(move |test| {
            let meets = |name: &String| match &test.configurations {
                Some(own) => own.contains(name),
                None => true,
            };
            let all = suite.configuration.iter();
            all.filter(move |c| meets(&c.name))
                .map(move |configuration| PaperCell {
                    paper: self,
                    suite,
                    test,
                    configuration,
                })
        })
    }

    /// The cell called `name`, as "test3-orig".
    pub fn cell(&self, name: &str) -> Option<PaperCell<'_>> {
        self.cells().find(|cell| cell.name() == name)
    }
}

/// What `read` makes of the file called `name` of the paper in `folder`; as if the file were empty
/// when there is none.
fn file<T>(
    folder: &PaperFolder,
    name: &str,
    read: fn(&str, &str) -> Result<T, ScenarioErrors>,
) -> Result<T, String> {
    let text = folder.file(name).unwrap_or_default();
    read(&format!("{}/{name}", folder.place), text).map_err(|mistakes| mistakes.to_string())
}

/// What that file says: all keys with their values, and nothing else.
fn said(folder: &PaperFolder, name: &str) -> String {
    let table: toml::Table = folder
        .file(name)
        .unwrap_or_default()
        .parse()
        .expect("a file that was read before");
    table.to_string()
}

/// The scenario of the cell called `name`, as "papers/ongaro2008/test3-orig", as short as quick
/// effort has it, which can ask for `parts`; `None` when the name is no cell's.
///
/// # Errors
/// When the paper's files have mistakes.
pub fn scenario(name: &str, parts: &Parts) -> Result<Option<Scenario>, String> {
    with_cell(name, Some(parts), |cell| {
        cell.scenario(Length::Effort(Default::default()), &Machine::central())
    })
}

/// The text of that scenario.
///
/// # Errors
/// As [`scenario`].
pub fn text(name: &str) -> Result<Option<String>, String> {
    with_cell(name, None, |cell| {
        cell.text(Length::Effort(Default::default()), &Machine::central())
    })
}

/// What `of` says of the cell called `name`: of a shipped paper, or of a paper in a folder before
/// the last part of the name.
fn with_cell<T>(
    name: &str,
    parts: Option<&Parts>,
    of: impl Fn(&PaperCell<'_>) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let Some((folder, cell)) = name.rsplit_once('/') else {
        return Ok(None);
    };
    let paper = match PaperFolder::open(folder) {
        Ok(paper) => Paper::read(&match parts {
            Some(parts) => paper.with(parts),
            None => paper,
        })?,
        Err(FolderError::Missing(_) | FolderError::NoPaper(_)) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    paper.cell(cell).map(|cell| of(&cell)).transpose()
}

/// All shipped papers.
///
/// # Panics
/// When one has mistakes, which a test rules out.
pub fn shipped() -> Vec<Paper> {
    let read = |folder: &PaperFolder| Paper::read(folder).unwrap_or_else(|e| panic!("{e}"));
    folders::shipped().iter().map(read).collect()
}

/// Adds the experiments of `paper` on `machine`.
///
/// # Errors
/// When an experiment of that name is there already, or is to have no replications.
pub fn register(
    registry: &mut Registry,
    paper: &Paper,
    length: Length,
    machine: &Machine,
) -> Result<(), String> {
    let paper = Arc::new(paper.clone());
    let (settings, inputs) = (length.to_string(), paper.inputs(length, machine));
    let inputs: Vec<&[u8]> = inputs.iter().map(String::as_bytes).collect();
    for (s, suite) in paper.suites.iter().enumerate() {
        for test in &suite.test {
            let cells = paper
                .cells_of(suite)
                .filter(|cell| cell.test.name == test.name);
            let replications = suite.times.get(&test.times).map_or(1, |t| t.replications);
            let mut add = |name: String, run: Box<RunCell>| {
                paper.fits(registry, &name, replications)?;
                let takes_s = paper.times.of(&name, (suite, test), length);
                let experiment = registry.experiment(name, replications, run);
                experiment.kept(&settings, &inputs);
                if let Some(seconds) = takes_s {
                    experiment.takes(seconds);
                }
                Ok::<_, String>(())
            };
            let lazy = |cell: &PaperCell<'_>| Lazy::new(&paper, cell, length, machine);
            if let Some(together) = &suite.together {
                let name = format!("{}.{}.{}", paper.id, test.name, together.name);
                let cells: Vec<Lazy> = cells.map(|cell| lazy(&cell)).collect();
                let paper = Arc::clone(&paper);
                let run = move |cx: &LabContext, replication| {
                    let together = paper.suites[s].together.as_ref();
                    all_of(together, &cells, cx, replication)
                };
                add(name, Box::new(run))?;
                continue;
            }
            for cell in cells {
                let lazy = lazy(&cell);
                let run = move |cx: &LabContext, replication| lazy.get()?.run(cx, replication);
                add(cell.experiment(), Box::new(run))?;
            }
        }
    }
    Ok(())
}

type RunCell = dyn Fn(&LabContext, u32) -> Result<Sample, String> + Send + Sync;

/// A cell that is prepared when it is simulated first.
struct Lazy {
    paper: Arc<Paper>,
    name: String,
    configuration: String,
    length: Length,
    machine: Machine,
    prepared: OnceLock<Result<Prepared, String>>,
}

impl Lazy {
    fn new(paper: &Arc<Paper>, cell: &PaperCell<'_>, length: Length, machine: &Machine) -> Self {
        Lazy {
            paper: Arc::clone(paper),
            name: cell.name(),
            configuration: cell.configuration.name.clone(),
            length,
            machine: machine.clone(),
            prepared: OnceLock::new(),
        }
    }

    fn get(&self) -> Result<&Prepared, String> {
        let prepare = || {
            let cell = self.paper.cell(&self.name);
            let cell = cell.ok_or_else(|| format!("there is no cell {}", self.name))?;
            Prepared::new(&cell, self.length, &self.machine)
        };
        self.prepared
            .get_or_init(prepare)
            .as_ref()
            .map_err(Clone::clone)
    }
}

/// One sample of all `cells`.
fn all_of(
    together: Option<&Together>,
    cells: &[Lazy],
    cx: &LabContext,
    replication: u32,
) -> Result<Sample, String> {
    let mut all = Sample::new();
    let line = together.and_then(|together| together.line.as_ref());
    let (mut one, mut off) = (None, 0.0_f64);
    for (times, cell) in (1_u32..).zip(cells) {
        let sample = cell.get()?.run(cx, replication)?;
        let prefix = &cell.configuration;
        for (name, value) in sample.values() {
            all.set(&format!("{prefix}.{name}"), value);
        }
        if let Some(value) = line.and_then(|line| sample.get(&line.figure)) {
            let one = *one.get_or_insert(value);
            off = off.max((value / (one * f64::from(times)) - 1.0).abs() * 100.0);
        }
    }
    if let Some(line) = line {
        all.set(&line.off_pct, off);
    }
    Ok(all)
}
