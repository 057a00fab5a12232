//! `domio validate`: simulated hosts against recorded traces.

mod text;

use crate::args::{Global, Validate};
use crate::input;
use crate::out::{self, Status};
use crate::progress::progress;
use crate::suggest;
use anyhow::{Context, anyhow};
use domio_exact::SearchSettings;
use domio_lab::AllCores;
use domio_run::Replicator;
use domio_twin::{Agreement, Judgement, Recording, RecordingError, shipped};
use serde_json::json;
use std::io::{self, Read};
use std::path::Path;

/// Simulates every recording that is named, or all that ship, and compares. Those that cannot be
/// used are told and hide none of the others. Of all that ship, an exact comparison takes those
/// that have one.
pub fn run(args: &Validate, global: &Global) -> anyhow::Result<Status> {
    let mut found = Vec::new();
    match args.recordings.is_empty() {
        true => {
            let all = shipped::names().map(shipped::recording);
            found.extend(
                all.filter(|r| !args.exact || r.as_ref().is_ok_and(domio_exact::is_searched)),
            );
        }
        false => {
            for named in &args.recordings {
                found.extend(load(named)?);
            }
        }
    }
    let total = found.len();
    let recordings = usable(found);
    let jobs: Vec<&Recording> = recordings.iter().collect();
    let agreements = usable(AllCores(&*progress(global)).map(
        &jobs,
        |recording| recording.name.as_str(),
        |recording, _| match args.exact {
            true => domio_exact::agreement(recording, &SearchSettings::default()),
            false => Agreement::check(recording),
        },
    ));
    let count = |verdict| agreements.iter().filter(|a| a.verdict == verdict).count();
    let differ = count(Judgement::Differs);
    // Where there is nothing to show, the errors have said everything.
    if !agreements.is_empty() {
        match args.json {
            true => out::json_as(
                "validate",
                &json!({
                    "traces": agreements,
                    "summary": {
                        "agree": count(Judgement::Agrees),
                        "differ": differ,
                        "cannot_tell": count(Judgement::CannotTell),
                    },
                }),
            )?,
            false => out::text(&text::render(&agreements, out::view()))?,
        }
    }
    match agreements.len() == total {
        true => Ok(Status::of_check(differ == 0)),
        false => Ok(Status::Unreadable),
    }
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

/// What went well of `results`; the errors of the others are told.
fn usable<T>(results: Vec<Result<T, RecordingError>>) -> Vec<T> {
    let tell = |error| out::message(&format!("error: {:#}", anyhow::Error::new(error)));
    let results = results.into_iter();
    results.filter_map(|r| r.map_err(tell).ok()).collect()
}
