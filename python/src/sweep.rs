//! Sweeps: on all cores of this machine, or cell by cell by whoever hands cells to a cluster.
//!
//! Rows go to their table in the order of cells and replications, whoever made them and in whatever
//! order they came. So a cluster writes the same bytes as one machine.

use crate::background::{Stop, keeper, trouble, without_gil};
use crate::errors::{self, refused, warn};
use crate::policy::refuse_to_keep;
use crate::runs::at_least_one;
use crate::scenario::{Scenario, given};
use crate::table::{Rows, Table};
use domio_answer::Cell;
use domio_answer::file::{TableFormat, TableWriter};
use domio_front::cells::{self, CellSource, setting};
use domio_front::drive::{CellAt, CellDrive};
use domio_lab::Keeper;
use domio_lab::store::encoding::decode;
use domio_run::measure::Measures;
use domio_run::{Sample, SampleKey};
use domio_sweep::rows::{columns, rows};
use domio_sweep::{Axis, Design, SweepPlan};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A sweep under way.
#[pyclass(frozen, module = "domio")]
pub struct Sweep {
    /// The scenario without any axis, for workers.
    #[pyo3(get)]
    scenario: Py<Scenario>,
    source: CellSource,
    plan: SweepPlan,
    replications: u32,
    keeper: Keeper,
    progress: Mutex<Progress>,
}

/// What has come so far.
struct Progress {
    to: Option<Output>,
    /// The first sample that is not in the table yet.
    next: u64,
    /// Samples that came before their turn.
    early: BTreeMap<u64, Sample>,
    rows: u64,
    /// Those of the scenario's parts.
    measures: Measures,
}

/// Where rows go.
enum Output {
    Memory(Rows),
    File {
        /// Where the file is until it is whole.
        part: PathBuf,
        path: PathBuf,
        writer: Box<TableWriter<BufWriter<File>>>,
    },
}

impl Output {
    fn file(
        path: &Path,
        columns: Vec<domio_answer::Column>,
        about: Vec<(String, String)>,
    ) -> anyhow::Result<Self> {
        let name = path.to_string_lossy();
        let format = TableFormat::of_name(&name).ok_or_else(|| {
            anyhow::anyhow!(
                "output {name}: the ending decides the format; call the file {name}.parquet or \
                 {name}.csv"
            )
        })?;
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        let mut part = path.as_os_str().to_owned();
        part.push(format!(".{}.part", std::process::id()));
        let part = PathBuf::from(part);
        let file = BufWriter::new(File::create(&part)?);
        Ok(Output::File {
            writer: Box::new(TableWriter::new(format, file, columns, about)?),
            path: path.to_owned(),
            part,
        })
    }

    fn row(&mut self, fields: &[Cell]) -> std::io::Result<()> {
        match self {
            Output::Memory(rows) => {
                rows.add(fields);
                Ok(())
            }
            Output::File { writer, .. } => writer.row(fields),
        }
    }
}

impl Progress {
    /// Takes the sample of place `at`, and writes the rows of all whose turn has come.
    fn put(&mut self, sweep: &Sweep, at: u64, sample: Sample) -> anyhow::Result<()> {
        if at < self.next {
            return Ok(());
        }
        self.early.insert(at, sample);
        while let Some(sample) = self.early.remove(&self.next) {
            let (cell, replication) = sweep.place(self.next);
            let values = sweep.plan.values(&sweep.plan.places(cell));
            self.write(sweep.plan.axes(), cell, &values, replication, &sample)?;
            self.next += 1;
        }
        Ok(())
    }

    fn write(
        &mut self,
        axes: &[Axis],
        cell: u64,
        values: &[String],
        replication: u32,
        sample: &Sample,
    ) -> anyhow::Result<()> {
        let Some(to) = &mut self.to else {
            return Ok(());
        };
        let measures = &self.measures;
        for row in rows(
            (axes, measures.figures()),
            cell,
            values,
            replication,
            sample,
        ) {
            to.row(&row)?;
            self.rows += 1;
        }
        Ok(())
    }
}

impl Sweep {
    /// Cell and replication of place `at`.
    fn place(&self, at: u64) -> (u64, u32) {
        let replications = u64::from(self.replications);
        (at / replications, (at % replications) as u32)
    }

    fn places(&self) -> u64 {
        self.plan.cells() * u64::from(self.replications)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Sweep {
    /// A sweep of `scenario` along `axes`, each a key and its values as `domio sweep --set` has
    /// them. Rows go to the file `output`, or to a table in memory.
    #[new]
    #[pyo3(signature = (
        scenario, axes, design = "grid", replications = 1,
        seed = None, results = None, output = None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        scenario: &Bound<'_, PyAny>,
        axes: Vec<(String, String)>,
        design: &str,
        replications: u32,
        seed: Option<u64>,
        results: Option<PathBuf>,
        output: Option<PathBuf>,
    ) -> PyResult<Self> {
        at_least_one(replications)?;
        let scenario = given(py, scenario)?.get().seeded(py, seed)?;
        let axis = |(key, text): &(String, String)| Axis::parse(key, text);
        let axes: Result<Vec<Axis>, _> = axes.iter().map(axis).collect();
        let axes = axes.map_err(|e| refused(e.to_string()))?;
        let design = Design::parse(design).map_err(|e| refused(format!("design: {e}")))?;
        if let Design::Search(_) = design {
            return Err(refused(
                "a search looks for something, and domio.sweep has no goal; use design=\"grid\" \
                 or \"latin-hypercube\", or `domio sweep --find`",
            ));
        }
        if results.is_some() {
            let own = scenario.inner.plan().policy.descriptor.name.to_owned();
            let values = axes.iter().flat_map(|axis| match axis.is_range() {
                true => Vec::new(),
                false => (0..axis.len()).map(|n| axis.value(n)).collect(),
            });
            let named: Vec<String> = values.chain([own]).collect();
            refuse_to_keep(named.iter().map(String::as_str))?;
        }
        let seed = scenario.inner.plan().seed;
        let plan = SweepPlan::new(axes, design, seed).map_err(|e| refused(e.to_string()))?;
        let source = CellSource::new(scenario.inner.clone());
        let checked = py.detach(|| source.check(&plan));
        let checked = checked.map_err(|e| errors::of(py, e))?;
        warn(py, &checked.notices)?;
        let about = cells::about(
            source.base(),
            &plan,
            design,
            replications,
            crate::background::PROGRAM,
        );
        let measures = Measures::from(source.base().parts());
        let columns = columns(plan.axes(), measures.figures());
        let to = match &output {
            Some(path) => Output::file(path, columns, about).map_err(|e| errors::of(py, e))?,
            None => Output::Memory(Rows::new(&columns, &about)),
        };
        Ok(Sweep {
            scenario: Py::new(py, scenario)?,
            source,
            plan,
            replications,
            keeper: keeper(results.as_deref())?,
            progress: Mutex::new(Progress {
                to: Some(to),
                measures,
                next: 0,
                early: BTreeMap::new(),
                rows: 0,
            }),
        })
    }

    /// Runs all cells on `jobs` cores of this machine, or on all.
    #[pyo3(signature = (jobs = None))]
    fn run(&self, py: Python<'_>, jobs: Option<usize>) -> PyResult<()> {
        let work = |stop: &Stop| {
            let drive = CellDrive {
                source: &self.source,
                plan: &self.plan,
                replications: self.replications,
                keeper: &self.keeper,
                progress: stop,
            };
            let mut progress = self.progress();
            let cells = (0..self.plan.cells()).map(|number| CellAt::of(&self.plan, number));
            drive.run(cells, &mut |cell, n, sample| {
                progress.write(self.plan.axes(), cell.number, &cell.values, n, &sample)
            })
        };
        without_gil(py, jobs, work)?.map_err(|e| errors::of(py, e))
    }

    /// How many replications of cells there are.
    fn __len__(&self) -> usize {
        self.places() as usize
    }

    /// How many cells there are.
    #[getter]
    fn cells(&self) -> u64 {
        self.plan.cells()
    }

    /// Keys of the axes.
    #[getter]
    fn axes(&self) -> Vec<String> {
        let axes = self.plan.axes().iter();
        axes.map(|axis| axis.key().to_owned()).collect()
    }

    /// Replication `at`: what is changed in the scenario, and its number.
    fn task(&self, at: u64) -> (Vec<(String, String)>, u32) {
        let (cell, replication) = self.place(at);
        let values = self.plan.values(&self.plan.places(cell));
        let axes = self.plan.axes().iter();
        let changes = axes.zip(values).map(|(axis, v)| (axis.key().to_owned(), v));
        (changes.collect(), replication)
    }

    /// Takes replication `at` from kept results; `False` when it is not there.
    fn take_kept(&self, py: Python<'_>, at: u64) -> PyResult<bool> {
        let found = py.detach(|| -> anyhow::Result<Option<Sample>> {
            let (key, seed, replication) = self.key(at)?;
            Ok(key.and_then(|subject| {
                self.keeper.find(SampleKey {
                    subject: &subject,
                    seed,
                    replication,
                })
            }))
        });
        let Some(sample) = found.map_err(|e| errors::of(py, e))? else {
            return Ok(false);
        };
        let put = self.progress().put(self, at, sample);
        put.map(|()| true).map_err(|e| errors::of(py, e))
    }

    /// Takes what `run_cell` gave for replication `at`, and keeps it.
    fn put(&self, py: Python<'_>, at: u64, figures: &[u8], took_us: u64) -> PyResult<()> {
        let Some(sample) = decode(figures) else {
            return Err(refused(
                "a worker returned no figures of domio; have the same domio on all workers",
            ));
        };
        py.detach(|| -> anyhow::Result<()> {
            let (subject, seed, replication) = self.key(at)?;
            if let Some(subject) = &subject {
                let key = SampleKey {
                    subject,
                    seed,
                    replication,
                };
                self.keeper
                    .keep(key, &sample, Duration::from_micros(took_us));
            }
            self.progress().put(self, at, sample)
        })
        .map_err(|e| errors::of(py, e))
    }

    /// "cell 3, scheduler.tslice_ms=5": which replication `at` is, for messages.
    fn named(&self, at: u64) -> String {
        let (cell, _) = self.place(at);
        let values = self.plan.values(&self.plan.places(cell));
        format!("cell {cell}, {}", setting(self.plan.axes(), &values))
    }

    /// How many replications came from kept results.
    #[getter]
    fn found(&self) -> u64 {
        self.keeper.found()
    }

    /// Ends the sweep: the table, or `None` if rows went to a file, and how many rows there are.
    fn finish(&self, py: Python<'_>) -> PyResult<(Option<Table>, u64)> {
        let mut progress = self.progress();
        let rows = progress.rows;
        let to = progress.to.take();
        drop(progress);
        warn(py, &trouble(&self.keeper))?;
        match to {
            None => Err(refused("the sweep was finished before")),
            Some(Output::Memory(table)) => Ok((Some(table.finish()), rows)),
            Some(Output::File { part, path, writer }) => {
                let written = writer.finish().and_then(|file| {
                    file.into_inner()?.sync_all()?;
                    fs::rename(&part, &path)
                });
                written.map_err(|e| refused(format!("cannot write {}: {e}", path.display())))?;
                Ok((None, rows))
            }
        }
    }
}

impl Sweep {
    /// What replication `at` is kept as: subject, seed and number.
    fn key(&self, at: u64) -> anyhow::Result<(Option<domio_run::Subject>, u64, u32)> {
        let (cell, replication) = self.place(at);
        let values = self.plan.values(&self.plan.places(cell));
        let ready = self.source.cell(self.plan.axes(), &values)?;
        Ok((ready.subject, ready.seed, replication))
    }
}

/// What was begun and not finished leaves no file behind.
impl Drop for Sweep {
    fn drop(&mut self) {
        if let Some(Output::File { part, .. }) = &self.progress().to {
            let _ = fs::remove_file(part);
        }
    }
}
