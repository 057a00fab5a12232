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

mod cell;
mod figures;
mod file;
mod machines;
mod merge;
mod run;
mod search;
mod seconds;

pub use cell::PaperCell;
pub use file::Length;
pub use machines::{DrawnMachine, Machine, Unknown, UnknownRange, draw};
pub use run::Prepared;
pub use search::{
    BestMachine, ClaimOnMachines, Deciding, MachineSearch, MachineShown, UnknownShown, search,
};

use crate::papers;
use crate::registry::{LabContext, Registry};
use crate::sample::Sample;
use domio_scenario::Scenario;
use file::{CellsFile, MachineFile, PaperFile, Suite, Together};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// What the names of cells begin with among scenarios.
pub const PREFIX: &str = "papers/";

/// A paper whose folder was read.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Name of its folder.
    pub name: String,
    /// First word of the names of its experiments and of the ids of its claims.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it does not say.
    pub unknowns: Vec<Unknown>,
    /// Ids of the claims on which the best machine is chosen.
    pub calibration: Vec<String>,
    machine: MachineFile,
    suites: Vec<Suite>,
}

impl Paper {
    /// The paper that ships with domio in the folder `name`.
    ///
    /// # Errors
    /// When there is none, or its files have mistakes.
    pub fn shipped(name: &str) -> Result<Self, String> {
        let paper = papers::find(name).ok_or_else(|| {
            let names: Vec<&str> = papers::all().iter().map(|p| p.name).collect();
            format!(
                "no paper is called \"{name}\"; expected one of {}",
                names.join(", ")
            )
        })?;
        Paper::read(name, |file| Ok(paper.file(file).map(str::to_owned)))
    }

    /// The paper in the folder at `path`.
    ///
    /// # Errors
    /// When a file cannot be read or has mistakes.
    pub fn open(path: &Path) -> Result<Self, String> {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        Paper::read(&name.unwrap_or_default(), |file| {
            let path = path.join(file);
            match std::fs::read_to_string(&path) {
                Ok(text) => Ok(Some(text)),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(e) => Err(format!("{} cannot be read: {e}", path.display())),
            }
        })
    }

    fn read(
        name: &str,
        file: impl Fn(&str) -> Result<Option<String>, String>,
    ) -> Result<Self, String> {
        let paper: PaperFile = parsed(name, "paper.toml", &file)?
            .ok_or_else(|| format!("{name} is no paper: it has no paper.toml"))?;
        let machine: MachineFile = parsed(name, "machine.toml", &file)?.unwrap_or_default();
        let cells: CellsFile = parsed(name, "cells.toml", &file)?.unwrap_or_default();
        let unknowns = machine.unknown.iter().map(Unknown::of);
        let unknowns: Result<Vec<Unknown>, String> = unknowns.collect();
        let in_machine = |why| format!("{name}/machine.toml: {why}");
        Ok(Paper {
            name: name.to_owned(),
            id: paper.id,
            title: paper.title,
            unknowns: unknowns.map_err(in_machine)?,
            calibration: machine.calibration.clone(),
            machine,
            suites: cells.suite,
        })
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

/// The file called `file_name` of the paper `name`, if there is one.
fn parsed<T: serde::de::DeserializeOwned>(
    name: &str,
    file_name: &str,
    file: &impl Fn(&str) -> Result<Option<String>, String>,
) -> Result<Option<T>, String> {
    let Some(text) = file(file_name)? else {
        return Ok(None);
    };
    match toml::from_str(&text) {
        Ok(read) => Ok(Some(read)),
        Err(e) => Err(format!("{name}/{file_name} has a mistake: {e}")),
    }
}

/// The scenario of the cell called `name`, as "papers/ongaro2008/test3-orig", as short as quick
/// effort has it; `None` when the name is no cell's.
///
/// # Errors
/// When the paper's files have mistakes.
pub fn scenario(name: &str) -> Result<Option<Scenario>, String> {
    with_cell(name, |cell| {
        cell.scenario(Length::Effort(Default::default()), &Machine::central())
    })
}

/// The text of that scenario.
///
/// # Errors
/// As [`scenario`].
pub fn text(name: &str) -> Result<Option<String>, String> {
    with_cell(name, |cell| {
        cell.text(Length::Effort(Default::default()), &Machine::central())
    })
}

/// What `of` says of the cell called `name`: of a shipped paper, or of a paper in a folder before
/// the last part of the name.
fn with_cell<T>(
    name: &str,
    of: impl Fn(&PaperCell<'_>) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let Some((folder, cell)) = name.rsplit_once('/') else {
        return Ok(None);
    };
    let paper = if Path::new(folder).join("paper.toml").exists() {
        Paper::open(Path::new(folder))?
    } else {
        match folder
            .strip_prefix(PREFIX)
            .filter(|name| papers::find(name).is_some())
        {
            Some(name) => Paper::shipped(name)?,
            None => return Ok(None),
        }
    };
    paper.cell(cell).map(|cell| of(&cell)).transpose()
}

/// All shipped papers.
///
/// # Panics
/// When one has mistakes, which a test rules out.
pub fn shipped() -> Vec<Paper> {
    let read = |paper: &papers::Paper| Paper::shipped(paper.name).unwrap_or_else(|e| panic!("{e}"));
    papers::all().iter().map(read).collect()
}

/// Adds the experiments of `paper` on `machine`.
pub fn register(registry: &mut Registry, paper: &Paper, length: Length, machine: &Machine) {
    // All that a sample is made of: every field of the paper's files by name and value.
    let inputs = format!("{paper:?} {length:?} {machine:?}");
    let settings = length.to_string();
    let paper = Arc::new(paper.clone());
    for (s, suite) in paper.suites.iter().enumerate() {
        for test in &suite.test {
            let cells = paper
                .cells_of(suite)
                .filter(|cell| cell.test.name == test.name);
            let replications = suite.times.get(&test.times).map_or(1, |t| t.replications);
            let lazy = |cell: &PaperCell<'_>| Lazy::new(&paper, cell, length, machine);
            if let Some(together) = &suite.together {
                let name = format!("{}.{}.{}", paper.id, test.name, together.name);
                let cells: Vec<Lazy> = cells.map(|cell| lazy(&cell)).collect();
                let paper = Arc::clone(&paper);
                let run = move |cx: &LabContext, replication| {
                    let together = paper.suites[s].together.as_ref();
                    all_of(together, &cells, cx, replication)
                };
                let experiment = registry.experiment(name, replications, run);
                experiment.kept(&settings, &[inputs.as_bytes()]);
                continue;
            }
            for cell in cells {
                let lazy = lazy(&cell);
                let run = move |cx: &LabContext, replication| lazy.get()?.run(cx, replication);
                let experiment = registry.experiment(cell.experiment(), replications, run);
                experiment.kept(&settings, &[inputs.as_bytes()]);
            }
        }
    }
}

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
