//! `domio validate`: simulated hosts against recorded traces.

use crate::args::{Global, Validate};
use crate::out::{self, Status};
use crate::progress::progress;
use domio_lab::replicate::on_all_cores;
use domio_lab::validate::{Agreement, Recording, RecordingError};
use domio_report::text;
use serde_json::json;

/// Simulates every recording of the folder and compares.
pub fn run(args: &Validate, global: &Global) -> anyhow::Result<Status> {
    let folder = args.folder.display();
    let recordings = Recording::load_all(&args.folder).map_err(|error| match error {
        RecordingError::Io { .. } | RecordingError::None { .. } => anyhow::Error::new(error)
            .context(format!(
                "cannot read recordings from {folder}; \
                 name a folder with trace.bin and scenario.json, or one of such folders"
            )),
        // The folder was right; these say themselves what to do.
        _ => error.into(),
    })?;
    let jobs: Vec<&Recording> = recordings.iter().collect();
    let agreements = on_all_cores(
        &jobs,
        |recording| recording.name.as_str(),
        &*progress(global),
        |recording| Agreement::check(recording),
    );
    let agreements = agreements
        .into_iter()
        .collect::<Result<Vec<Agreement>, RecordingError>>()?;
    let agree = agreements.iter().filter(|a| a.agrees).count();
    let differ = agreements.len() - agree;
    match args.json {
        true => out::json(&json!({
            "traces": agreements,
            "summary": { "agree": agree, "differ": differ },
        }))?,
        false => out::text(&text::agreement::render(&agreements, out::width()))?,
    }
    Ok(Status::of_check(differ == 0))
}
