//! Recordings of real hosts that are validated, and claims of papers that are decided.

use crate::background::{Stop, keeper, trouble, without_gil};
use crate::errors::{self, refused, warn};
use domio_front::papers::Chosen;
use domio_front::{recordings, validated};
use domio_lab::{AllCores, Keeping};
use domio_papers::paper::{Length, Machine};
use domio_papers::reproduce::{Options, reproduce as decide};
use domio_papers::{Effort, answer, experiments};
use domio_validate::{Agreement, Recording, RecordingError};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Simulates recorded hosts and compares: what `domio validate --json` prints.
#[pyfunction]
#[pyo3(signature = (recordings, exact = false, jobs = None))]
pub fn validate(
    py: Python<'_>,
    recordings: Vec<PathBuf>,
    exact: bool,
    jobs: Option<usize>,
) -> PyResult<String> {
    let work = |stop: &Stop| -> anyhow::Result<(Vec<Agreement>, Vec<String>)> {
        let mut told = Vec::new();
        let found = recordings::find(&recordings, exact)?;
        let recordings: Vec<Recording> = usable(found, &mut told);
        let agreements = recordings::agreements(&recordings, exact, &AllCores(stop));
        Ok((usable(agreements, &mut told), told))
    };
    let (agreements, told) = without_gil(py, jobs, work)?.map_err(|e| errors::of(py, e))?;
    match (agreements.is_empty(), told.is_empty()) {
        (true, false) => Err(refused(told.join("\n"))),
        _ => {
            warn(py, &told)?;
            let answer = validated::answer(&agreements);
            serde_json::to_string(&answer).map_err(|e| refused(e.to_string()))
        }
    }
}

/// What went well; what did not is told.
fn usable<T>(results: Vec<Result<T, RecordingError>>, told: &mut Vec<String>) -> Vec<T> {
    let mut tell = |error| told.push(format!("{:#}", anyhow::Error::new(error)));
    let results = results.into_iter();
    results.filter_map(|r| r.map_err(&mut tell).ok()).collect()
}

/// Decides claims of papers: what `domio reproduce --json` prints.
#[pyfunction]
#[pyo3(signature = (
    claims, effort = "quick", seed = 1, replications = None, results = None, jobs = None
))]
pub fn reproduce(
    py: Python<'_>,
    claims: Vec<String>,
    effort: &str,
    seed: u64,
    replications: Option<u32>,
    results: Option<PathBuf>,
    jobs: Option<usize>,
) -> PyResult<String> {
    let named = Effort::ALL.into_iter().find(|e| e.name() == effort);
    let Some(effort) = named else {
        let all = Effort::ALL.map(Effort::name).join(", ");
        return Err(refused(format!(
            "effort is \"{effort}\"; expected one of {all}"
        )));
    };
    let keeper = keeper(results.as_deref())?;
    let options = Options {
        seed,
        effort,
        replications,
        looks: None,
    };
    let work = |stop: &Stop| -> anyhow::Result<String> {
        // What a policy in Python gives cannot be kept, and these results are.
        let chosen = Chosen::of(&claims, &domio_sched::policies().into())?;
        let all = chosen.claims()?;
        let length = Length::Effort(effort);
        let registry = experiments::of(&chosen.papers, length, &Machine::central());
        let registry = registry.map_err(|e| anyhow::anyhow!("the paper has mistakes:\n{e}"))?;
        let selected = all.select(&chosen.prefixes)?;
        let replicator = Keeping {
            keeper: &keeper,
            progress: stop,
        };
        let result = decide(&selected, &registry, options, &replicator);
        let on_record = (&all, &chosen.record()?, &chosen.survivals()?);
        let answer = answer::answer(&result.ledger, on_record, None, Vec::new());
        Ok(serde_json::to_string(&answer)?)
    };
    let json = without_gil(py, jobs, work)?.map_err(|e| errors::of(py, e))?;
    warn(py, &trouble(&keeper))?;
    Ok(json)
}
