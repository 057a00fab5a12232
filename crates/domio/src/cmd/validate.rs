//! `domio validate`: simulated hosts against recorded traces.

use crate::args::{Global, Validate};
use crate::out::{self, Status};
use crate::progress::progress;
use domio_lab::replicate::on_all_cores;
use domio_lab::validate::{Agreement, Recording, RecordingError};
use domio_report::text;
use serde_json::json;

/// Simulates every recording of the folder and compares. Those that cannot be used are told and
/// hide none of the others.
pub fn run(args: &Validate, global: &Global) -> anyhow::Result<Status> {
    let folder = args.folder.display();
    let found = Recording::load_all(&args.folder).map_err(|error| {
        anyhow::Error::new(error).context(format!(
            "cannot read recordings from {folder}; \
             name a folder with trace.bin and scenario.json, or one of such folders"
        ))
    })?;
    let total = found.len();
    let recordings = usable(found);
    let jobs: Vec<&Recording> = recordings.iter().collect();
    let agreements = usable(on_all_cores(
        &jobs,
        |recording| recording.name.as_str(),
        &*progress(global),
        |recording| Agreement::check(recording),
    ));
    let agree = agreements.iter().filter(|a| a.agrees).count();
    let differ = agreements.len() - agree;
    // Where there is nothing to show, the errors have said everything.
    if !agreements.is_empty() {
        match args.json {
            true => out::json_as(
                "validate",
                &json!({
                    "traces": agreements,
                    "summary": { "agree": agree, "differ": differ },
                }),
            )?,
            false => out::text(&text::agreement::render(&agreements, out::width()))?,
        }
    }
    match agreements.len() == total {
        true => Ok(Status::of_check(differ == 0)),
        false => Ok(Status::Unreadable),
    }
}

/// What went well of `results`; the errors of the others are told.
fn usable<T>(results: Vec<Result<T, RecordingError>>) -> Vec<T> {
    let tell = |error| out::message(&format!("error: {:#}", anyhow::Error::new(error)));
    let results = results.into_iter();
    results.filter_map(|r| r.map_err(tell).ok()).collect()
}
