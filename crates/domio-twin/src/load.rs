//! Reading recordings and their descriptions, and whether they can be judged.

use crate::judge::{judge, judges};
use crate::recording::{Description, Recording, RecordingError};
use crate::{fit, release};
use domio_core::cpuset::MAX_PCPUS;
use domio_replay::NamedRecords;
use domio_scenario::MAX_VCPUS;
use domio_trace::order::in_order;
use domio_trace::{ReadOptions, TraceReader};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

impl Description {
    /// Reads a description.
    ///
    /// # Errors
    /// Where the text is no JSON, or not of this form, and why.
    pub fn parse(text: &[u8]) -> Result<Description, serde_json::Error> {
        let mut description: Description = serde_json::from_slice(text)?;
        let json = serde_json::from_slice(text)?;
        description.assumed = assumed(&json, &description.scheduler);
        Ok(description)
    }
}

/// What `json`, a description of a host under `scheduler`, leaves to defaults that Xen shows, a
/// sentence each.
fn assumed(json: &serde_json::Value, scheduler: &str) -> Vec<String> {
    let mut assumed = Vec::new();
    let judge = judges().iter().find(|j| j.descriptor.name == scheduler);
    for spec in judge.map_or(&[][..], |j| j.descriptor.params) {
        let shown = judge.is_some_and(|j| j.shown_by_xl.contains(&spec.name));
        if shown && json["params"].get(spec.name).is_none() {
            assumed.push(format!(
                "scenario.json has no params.{}: Xen's default of {} is assumed",
                spec.name,
                spec.show(spec.default)
            ));
        }
    }
    for domain in json["domains"].as_array().into_iter().flatten() {
        let name = domain["name"].as_str().unwrap_or_default();
        for (key, default) in [("vcpus", "1"), ("weight", "256"), ("cap", "0")] {
            if domain.get(key).is_none() {
                assumed.push(format!(
                    "scenario.json has no {key} of {name}: {default} is assumed"
                ));
            }
        }
    }
    assumed
}

/// The files of a recording.
const FILES: [&str; 2] = ["trace.bin", "scenario.json"];

/// Whether there is no such file. One that may not be looked at is there.
fn is_absent(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

impl Recording {
    /// Reads the recording in folder `path` (`trace.bin` and `scenario.json`).
    ///
    /// # Errors
    /// [`RecordingError`] when a file is missing or damaged, the trace goes back in time or holds
    /// no runstate record, or its description is of another host.
    pub fn load(path: &Path) -> Result<Recording, RecordingError> {
        if let Some(missing) = FILES.into_iter().find(|file| is_absent(&path.join(file))) {
            return Err(RecordingError::Incomplete {
                folder: path.to_path_buf(),
                missing,
            });
        }
        let file = path.join("scenario.json");
        let text = std::fs::read(&file).map_err(|source| RecordingError::Io {
            path: file.clone(),
            source,
        })?;
        let name = path.file_name().map_or_else(
            || path.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        let trace = path.join("trace.bin");
        let opened = File::open(&trace).map_err(|source| RecordingError::Io {
            path: trace.clone(),
            source,
        })?;
        Recording::read(name, [file, trace], &text, opened)
    }

    /// Reads the recording called `name` from the text of its description and its trace. Errors
    /// name `paths`: where the two come from.
    ///
    /// # Errors
    /// As [`Recording::load`].
    pub(crate) fn read(
        name: String,
        [described, traced]: [PathBuf; 2],
        text: &[u8],
        trace: impl Read,
    ) -> Result<Recording, RecordingError> {
        let description =
            Description::parse(text).map_err(|source| RecordingError::Description {
                path: described,
                source,
            })?;
        let broken = |source| RecordingError::Trace {
            path: traced.clone(),
            source: Box::new(source),
        };
        let options = ReadOptions {
            tsc_hz: Some(description.tsc_hz),
            classes: domio_scenario::classes(),
            ..ReadOptions::default()
        };
        let mut reader = TraceReader::new(trace, &options).map_err(broken)?;
        let mut read = NamedRecords::default();
        reader.copy_to(&mut read).map_err(broken)?;
        if let Some(damage) = reader.take_damage() {
            return Err(broken(damage));
        }
        let records = read.0;
        if let Err(problem) = in_order(records.iter().map(|r| r.at)) {
            return Err(RecordingError::OutOfOrder {
                path: traced,
                problem,
            });
        }
        let mut recording = Recording {
            name,
            description,
            records,
        };
        recording.check()?;
        match fit::fit(&mut recording.description, &recording.records) {
            Ok(()) => Ok(recording),
            Err(problem) => Err(RecordingError::Unusable {
                name: recording.name,
                problem,
            }),
        }
    }

    /// Reads every recording below `path`, by name, or the one that `path` itself is. Each is
    /// judged by itself: what is wrong with one says nothing about the others. A folder that holds
    /// one of the two files is one of them.
    ///
    /// # Errors
    /// When `path` cannot be listed, or there is no recording. Those of a recording are as of
    /// [`Recording::load`].
    pub fn load_all(path: &Path) -> Result<Vec<Result<Recording, RecordingError>>, RecordingError> {
        if !is_absent(&path.join("trace.bin")) {
            return Ok(vec![Recording::load(path)]);
        }
        let unreadable = |source| RecordingError::Io {
            path: path.to_path_buf(),
            source,
        };
        let begun = |folder: &Path| FILES.iter().any(|file| !is_absent(&folder.join(file)));
        let mut folders = Vec::new();
        for entry in std::fs::read_dir(path).map_err(unreadable)? {
            let folder = entry.map_err(unreadable)?.path();
            if folder.is_dir() && begun(&folder) {
                folders.push(folder);
            }
        }
        if begun(path) {
            folders.push(path.to_path_buf());
        }
        folders.sort();
        if folders.is_empty() {
            return Err(RecordingError::None {
                path: path.to_path_buf(),
            });
        }
        Ok(folders
            .iter()
            .map(|folder| Recording::load(folder))
            .collect())
    }

    fn check(&self) -> Result<(), RecordingError> {
        let unusable = |problem: String| {
            Err(RecordingError::Unusable {
                name: self.name.clone(),
                problem,
            })
        };
        let judge = match judge(&self.description) {
            Ok(judge) => judge,
            Err(problem) => return unusable(problem),
        };
        if let Err(problem) = release::comparable(&self.description.xen, judge.descriptor.name) {
            return unusable(problem);
        }
        if !(1..=MAX_PCPUS).contains(&usize::from(self.description.pcpus)) {
            return unusable(format!(
                "{} pcpus; expected 1 to {MAX_PCPUS}, as in scenarios: correct `pcpus` in \
                 scenario.json",
                self.description.pcpus
            ));
        }
        if self.description.vcpus() > MAX_VCPUS {
            let most = self.description.domains.iter().max_by_key(|d| d.vcpus);
            let most = most.map(|d| format!("{} alone {}", d.name, d.vcpus));
            return unusable(format!(
                "{} vcpus of all domains, {}; expected {MAX_VCPUS} at most, as in scenarios: \
                 correct `vcpus` in scenario.json",
                self.description.vcpus(),
                most.unwrap_or_default()
            ));
        }
        let pcpus = self.description.pcpus;
        if let Some(r) = self.records.iter().find(|r| r.pcpu.0 >= pcpus) {
            return unusable(format!(
                "a record of {} in the trace, but scenario.json says {pcpus} pcpus",
                r.pcpu
            ));
        }
        if !self.records.iter().any(|r| r.runstates().is_some()) {
            return unusable(
                "the trace holds no runstate record; record with xentrace -e 0x0002f000".into(),
            );
        }
        Ok(())
    }
}
