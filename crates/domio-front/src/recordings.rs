//! Recordings of real hosts: those of a folder, and those that ship.

use crate::{input, suggest};
use anyhow::{Context, anyhow};
use domio_exact::SearchSettings;
use domio_run::Replicator;
use domio_validate::{Agreement, Judgement, Recording, RecordingError, shipped};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The recordings in the folders or of the names `named`, or all that ship when there is none. Of
/// all that ship, an `exact` comparison takes those that have one.
///
/// # Errors
/// When no folder and no recording is called so.
pub fn find(
    named: &[PathBuf],
    exact: bool,
) -> anyhow::Result<Vec<Result<Recording, RecordingError>>> {
    if named.is_empty() {
        let all = shipped::names().map(shipped::recording);
        let wanted = |r: &Result<_, _>| !exact || r.as_ref().is_ok_and(domio_exact::is_searched);
        return Ok(all.filter(wanted).collect());
    }
    let mut found = Vec::new();
    for named in named {
        found.extend(load(named)?);
    }
    Ok(found)
}

/// How far the simulations of `recordings` agree with them, in their order.
pub fn agreements(
    recordings: &[Recording],
    exact: bool,
    replicator: &impl Replicator,
) -> Vec<Result<Agreement, RecordingError>> {
    let jobs: Vec<&Recording> = recordings.iter().collect();
    replicator.map(
        &jobs,
        |recording| recording.name.as_str(),
        |recording, _| match exact {
            true => domio_exact::agreement(recording, &SearchSettings::default()),
            false => Agreement::check(recording),
        },
    )
}

/// How many of `agreements` have `verdict`.
pub fn count(agreements: &[Agreement], verdict: Judgement) -> usize {
    agreements.iter().filter(|a| a.verdict == verdict).count()
}

/// The recordings that are called `named`: those of the folder of that name, or a shipped one where
/// there is no such folder.
fn load(named: &Path) -> anyhow::Result<Vec<Result<Recording, RecordingError>>> {
    let name = named.to_string_lossy();
    if named.exists() {
        return Recording::load_all(named, &unpacked).with_context(|| {
            format!(
                "cannot read recordings from {name}; \
                 name a folder with trace.bin and scenario.json, or one of such folders"
            )
        });
    }
    if shipped::names().any(|shipped| shipped == name) {
        return Ok(vec![shipped::recording(&name)]);
    }
    let near = suggest::near(&name, shipped::names());
    let names: Vec<&str> = shipped::names().collect();
    Err(anyhow!(
        "no folder and no shipped recording is called \"{name}\"{near}; name a folder with \
         trace.bin and scenario.json, one of such folders, or a shipped recording ({})",
        names.join(", ")
    ))
}

/// The trace at `path`, unpacked.
fn unpacked(path: &Path) -> io::Result<Box<dyn Read>> {
    let trace = input::trace(path).map_err(|error| match error.downcast::<io::Error>() {
        Ok(error) => error,
        Err(told) => io::Error::new(io::ErrorKind::InvalidData, format!("{told:#}")),
    })?;
    Ok(Box::new(trace))
}
