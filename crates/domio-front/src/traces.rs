//! The traces that a scenario names, in files.

use crate::input::Stream;
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
        match Stream::open(&path) {
            Ok(file) => Ok(OpenTrace {
                name,
                read: Box::new(file),
                hint,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_cannot_be_read_is_told_with_its_path_and_the_reason() {
        let folder = std::env::temp_dir().join(format!("domio-no-replay-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("folder")).unwrap();
        let refused = |trace: &str| {
            let text = format!(
                "run.duration_s = 1\nscheduler.policy = \"credit\"\n[[domain]]\nname = \"g\"\n\
                 workload = \"replay\"\ntrace = \"{trace}\"\ntrace_domain = 3\n"
            );
            let name = folder.join("s.toml");
            let policies = domio_sched::policies();
            let scenario = Scenario::parse(name.to_str().unwrap(), text.as_bytes(), policies);
            let scenario = scenario.unwrap();
            let errors = scenario.build(&recorded(&scenario)).err().unwrap();
            let p = errors.problems()[0].clone();
            (p.message, p.hint.unwrap())
        };
        let (message, hint) = refused("none.bin");
        let path = folder.join("none.bin").display().to_string();
        let why = format!("cannot be replayed: there is no file {path}");
        assert!(message.ends_with(&why), "{message}");
        assert!(hint.contains("folder of the scenario's file"), "{hint}");
        let (message, hint) = refused(&path);
        assert!(message.ends_with(&why), "{message}");
        assert!(
            !hint.contains("folder"),
            "an absolute path counts from nowhere: {hint}"
        );
        let (message, hint) = refused("folder");
        assert!(message.contains("cannot be read: "), "{message}");
        assert!(hint.contains("folder of the scenario's file"), "{hint}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
