//! Runs, comparisons and explanations, with the figures of the command line.

use crate::background::{Stop, keeper, trouble, without_gil};
use crate::errors::{self, refused};
use crate::policy::{self, refuse_to_keep};
use crate::scenario::{Scenario, given};
use crate::table::{Rows, Table};
use domio_answer::column::fact;
use domio_answer::{Cell, Holds};
use domio_front::comparison::{self, ComparedVariants, VariantRow};
use domio_front::{Tell, explained, hosts, input, trace_file, traces};
use domio_lab::Keeper;
use domio_lab::store::encoding::encode;
use domio_meter::{Explainer, MapWindow};
use domio_report::run_answer;
use domio_run::measure::Measures;
use domio_run::simulate::{self, RunFault};
use domio_run::{Sample, residence, run_scenario};
use domio_scenario::{Built, Scenario as Inner};
use domio_sweep::rows::{columns, rows};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Columns that the rows of a sweep have before those of the domain.
const CELL_COLUMNS: usize = 1;

/// Refuses no replication at all.
pub fn at_least_one(replications: u32) -> PyResult<()> {
    match replications {
        0 => Err(refused("replications is 0; there has to be 1 at least")),
        _ => Ok(()),
    }
}

/// The host of `scenario`.
fn built(py: Python<'_>, scenario: &Inner) -> PyResult<Built> {
    let built = py.detach(|| hosts::build(scenario));
    built.map_err(|e| errors::of(py, e))
}

/// Names of the policies of `built`.
fn policy_names(built: &Built) -> impl Iterator<Item = &'static str> {
    let pools = built.pools.iter().map(|(policy, _)| policy);
    let all = [&built.policy].into_iter().chain(pools);
    all.map(|policy| policy.descriptor.name)
}

/// What finds and keeps samples of `pairs` in the file `results`, or nothing.
fn keeper_of(results: Option<&Path>, pairs: &[(Inner, Built)]) -> PyResult<Keeper> {
    if results.is_some() {
        refuse_to_keep(pairs.iter().flat_map(|(_, built)| policy_names(built)))?;
    }
    keeper(results)
}

type Samples = Result<Vec<Vec<Sample>>, RunFault>;

/// Samples of `replications` replications of each of `pairs`, by pair.
fn samples(
    py: Python<'_>,
    pairs: &[(Inner, Built)],
    replications: u32,
    keeper: &Keeper,
    jobs: Option<usize>,
) -> PyResult<Vec<Vec<Sample>>> {
    at_least_one(replications)?;
    let pairs: Vec<&(Inner, Built)> = pairs.iter().collect();
    let work = |stop: &Stop| -> Samples { comparison::samples(&pairs, replications, keeper, stop) };
    let samples = without_gil(py, jobs, work)?;
    samples.map_err(|fault| errors::of(py, hosts::failed(&fault)))
}

/// The rows of `samples`, with the columns of a sweep but for the cell, behind `first`.
fn add_rows(to: &mut Rows, measures: &Measures, first: &[Cell], samples: &[Sample]) {
    for (n, sample) in (0..).zip(samples) {
        for row in rows((&[], measures.figures()), 0, &[], n, sample) {
            let mut fields = first.to_vec();
            fields.extend_from_slice(&row[CELL_COLUMNS..]);
            to.add(&fields);
        }
    }
}

/// Simulates a scenario. Returns its rows, what `domio run --json` prints, and notices.
#[pyfunction]
#[pyo3(signature = (scenario, replications = 1, seed = None, results = None, jobs = None))]
pub fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    replications: u32,
    seed: Option<u64>,
    results: Option<PathBuf>,
    jobs: Option<usize>,
) -> PyResult<(Table, String, Vec<String>)> {
    let scenario = given(py, scenario)?.get().seeded(py, seed)?;
    let host = built(py, &scenario.inner)?;
    let pair = [(scenario.inner, host)];
    let keeper = keeper_of(results.as_deref(), &pair)?;
    let mut samples = samples(py, &pair, replications, &keeper, jobs)?;
    let samples = samples.pop().unwrap_or_default();
    let [(scenario, host)] = &pair;
    let measures = Measures::from(scenario.parts());
    let mut table = Rows::new(
        &columns(&[], measures.figures())[CELL_COLUMNS..],
        &about(scenario, replications),
    );
    add_rows(&mut table, &measures, &[], &samples);
    let json = serde_json::to_string(&run_answer::answer(scenario, host, &samples));
    let json = json.map_err(|e| refused(e.to_string()))?;
    let mut notices = run_answer::notices(scenario, host, &samples);
    notices.extend(trouble(&keeper));
    Ok((table.finish(), json, notices))
}

/// What a table of `scenario` comes from.
fn about(scenario: &Inner, replications: u32) -> Vec<(String, String)> {
    let overrides: Vec<&str> = scenario.overrides().collect();
    let facts = [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("program", crate::background::PROGRAM.to_owned()),
        ("scenario", scenario.name().to_owned()),
        ("scenario_text", scenario.text().to_owned()),
        ("overrides", overrides.join("\n")),
        ("seed", scenario.plan().seed.to_string()),
        ("replications", replications.to_string()),
    ];
    let facts = facts.into_iter();
    facts
        .map(|(name, fact)| (format!("domio.{name}"), fact))
        .collect()
}

/// One replication of a scenario with changes: its figures as bytes, and how long it took in
/// microseconds. What a cluster does for each cell.
#[pyfunction]
pub fn run_cell<'py>(
    py: Python<'py>,
    scenario: &Bound<'py, Scenario>,
    changes: Vec<(String, String)>,
    replication: u32,
) -> PyResult<(Bound<'py, PyBytes>, u64)> {
    let begin = std::time::Instant::now();
    let scenario = scenario.get().changed(py, changes)?;
    let inner = &scenario.inner;
    let sample = without_gil(py, None, |stop| {
        let heard = |_| stop.check();
        run_scenario(inner, &traces::recorded(inner), replication, &heard)
    })?;
    let sample = sample.map_err(|e| errors::of_run(py, e))?;
    let took = u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX);
    Ok((PyBytes::new(py, &encode(&sample)), took))
}

/// Simulates variants, each a label and a scenario. Returns their rows, what `domio compare --json`
/// prints, and notices.
#[pyfunction]
#[pyo3(signature = (variants, replications = 1, seed = None, results = None, jobs = None))]
pub fn compare(
    py: Python<'_>,
    variants: Vec<(String, Bound<'_, PyAny>)>,
    replications: u32,
    seed: Option<u64>,
    results: Option<PathBuf>,
    jobs: Option<usize>,
) -> PyResult<(Table, String, Vec<String>)> {
    if variants.len() < 2 {
        return Err(refused(
            "there is nothing to compare with; give a second policy, a second value of a setting, \
             or a second scenario",
        ));
    }
    let mut labels = Vec::new();
    let mut pairs = Vec::new();
    for (label, scenario) in variants {
        let scenario = given(py, &scenario)?.get().seeded(py, seed)?;
        let host = built(py, &scenario.inner)?;
        labels.push(label);
        pairs.push((scenario.inner, host));
    }
    let keeper = keeper_of(results.as_deref(), &pairs)?;
    let samples = samples(py, &pairs, replications, &keeper, jobs)?;
    let samples: Vec<(String, Vec<Sample>)> = labels.into_iter().zip(samples).collect();
    let mut notices: Vec<String> = Vec::new();
    for ((scenario, host), (label, samples)) in pairs.iter().zip(&samples) {
        let of = run_answer::notices(scenario, host, samples).into_iter();
        notices.extend(of.map(|notice| format!("{label}: {notice}")));
    }
    let domains = pairs.iter().map(|(_, built)| simulate::domains(built));
    let domains = comparison::all_domains(domains);
    let (first, host) = &pairs[0];
    let named = pairs.iter().zip(&samples);
    let of = ComparedVariants {
        scenario: first.name().to_owned(),
        variants: named
            .map(|(pair, (label, _))| variant(label, pair))
            .collect(),
        seed: host.seed,
        replications,
        notices: notices.clone(),
        ..ComparedVariants::default()
    };
    let measures = Measures::from(first.parts());
    let compared = of.with(&measures, &domains, &samples, hosts::measured_ms(host));
    let json = serde_json::to_string(&compared.answer());
    let json = json.map_err(|e| refused(e.to_string()))?;
    let label = fact("variant").of(Holds::Text);
    let mut all = vec![label];
    all.extend_from_slice(&columns(&[], measures.figures())[CELL_COLUMNS..]);
    let mut table = Rows::new(&all, &about(first, replications));
    for (label, samples) in &samples {
        add_rows(&mut table, &measures, &[Cell::text(label.clone())], samples);
    }
    notices.extend(trouble(&keeper));
    Ok((table.finish(), json, notices))
}

fn variant(label: &str, (scenario, built): &(Inner, Built)) -> VariantRow {
    VariantRow {
        label: label.to_owned(),
        source: scenario.name().to_owned(),
        recorded: false,
        policy: Some(built.policy.descriptor.name.into()),
        changes: scenario.overrides().map(str::to_owned).collect(),
    }
}

/// What the domains of a scenario wait for: what `domio explain --json` prints, and notices.
#[pyfunction]
#[pyo3(signature = (scenario, replications = 1, seed = None, results = None, jobs = None))]
pub fn explain(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    replications: u32,
    seed: Option<u64>,
    results: Option<PathBuf>,
    jobs: Option<usize>,
) -> PyResult<(String, Vec<String>)> {
    at_least_one(replications)?;
    let scenario = given(py, scenario)?.get().seeded(py, seed)?;
    let host = built(py, &scenario.inner)?;
    let pair = [(scenario.inner, host)];
    let keeper = keeper_of(results.as_deref(), &pair)?;
    let [(scenario, host)] = &pair;
    let work = |stop: &Stop| explained::sum(scenario, host, replications, &keeper, stop);
    let sum = without_gil(py, jobs, work)?;
    let sum = sum.map_err(|e| errors::of(py, e))?;
    let json = explained::answer(
        &sum,
        &simulate::domains(host),
        Some(&residence::places(host)),
        false,
    );
    let json = serde_json::to_string(&json).map_err(|e| refused(e.to_string()))?;
    let mut notices: Vec<String> = hosts::notices(scenario, host).cloned().collect();
    notices.extend(trouble(&keeper));
    Ok((json, notices))
}

/// What the domains of a recorded host wait for, as `explain`.
#[pyfunction]
#[pyo3(signature = (path, cpu_hz = None))]
pub fn explain_trace(
    py: Python<'_>,
    path: PathBuf,
    cpu_hz: Option<u64>,
) -> PyResult<(String, Vec<String>)> {
    let work = |_: &Stop| -> anyhow::Result<(String, Vec<String>)> {
        let told = RefCell::new(Vec::new());
        let tell: Tell<'_> = &|text: &str| told.borrow_mut().push(text.to_owned());
        let how = trace_file::TraceHow::of_clock(cpu_hz);
        let mut reader = trace_file::open(&path, &how, &policy::parts(), |file| file, tell)?;
        let mut explainer = Explainer::new(MapWindow::Worst);
        let cut = trace_file::copy(&mut reader, &input::name(&path), &mut explainer, tell)?;
        let explanation = explainer.finish();
        let names = reader.header().map(|h| h.names()).unwrap_or_default();
        let json = explained::answer(&explanation, &names, None, cut);
        Ok((serde_json::to_string(&json)?, told.take()))
    };
    without_gil(py, None, work)?.map_err(|e| errors::of(py, e))
}

/// Whether there is a file in a format of traces at `path`.
#[pyfunction]
pub fn is_trace(path: PathBuf) -> bool {
    input::is_trace(&path)
}

/// The measures: key (a column of tables), title, unit, and which way they improve.
#[pyfunction]
pub fn measures() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    let shipped = Measures::shipped();
    let all = shipped
        .figures()
        .map(|f| (f.key, f.title, f.unit, f.better.name()));
    all.collect()
}
