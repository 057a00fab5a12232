//! The traces that a scenario names, in files.

use crate::input::Stream;
use crate::trace_file::TraceHow;
use domio_replay::{OpenTrace, RecordedDemands, Traces};
use domio_scenario::{NoDemands, Scenario};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The demands that `scenario` replays. Paths of traces are relative to its file.
pub fn recorded(scenario: &Scenario) -> RecordedDemands<Folder> {
    RecordedDemands::of(scenario, Folder(scenario.folder()))
}

/// Traces in files, named by paths that are relative to this folder.
pub struct Folder(PathBuf);

impl Traces for Folder {
    fn open(&self, trace: &str) -> Result<OpenTrace<'_>, NoDemands> {
        // Whoever reads a message need not know which folder the program was started in.
        let path = self.0.join(trace);
        let path = std::path::absolute(&path).unwrap_or(path);
        let name = path.display().to_string();
        let hint = match Path::new(trace).is_absolute() {
            true => "put the recording there, or correct `trace`",
            false => {
                "`trace` counts from the folder of the scenario's file; put the recording there, \
                 or give an absolute path"
            }
        };
        let hint = hint.to_owned();
        let host = TraceHow::default().host(&path).map_err(|e| NoDemands {
            why: format!("{e:#}"),
            hint: "correct that file, or take it away".to_owned(),
        })?;
        match Stream::open(&path) {
            Ok(file) => Ok(OpenTrace {
                name,
                read: Box::new(file),
                hint,
                host,
            }),
            Err(error) => Err(NoDemands {
                why: match error.kind() {
                    ErrorKind::NotFound => format!("there is no file {name}"),
                    _ => format!("{name} cannot be read: {error}"),
                },
                hint,
            }),
        }
    }
}
