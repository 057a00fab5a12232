//! Reading recordings and their descriptions, and whether they can be judged.

use crate::judge::{judge, judges};
use crate::net::truth::Truth;
use crate::recording::{Description, Recording, RecordingError};
use crate::{fit, linux, release};
use domio_core::cpuset::MAX_PCPUS;
use domio_replay::NamedRecords;
use domio_scenario::MAX_VCPUS;
use domio_trace::order::in_order;
use domio_trace::{ReadOptions, TraceReader};
use std::io::{self, Read};
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

/// What the file of a description is called.
const DESCRIPTION: &str = "scenario.json";

/// What the file is called that says what was counted on a recorded network.
const TRUTH: &str = "truth.json";

/// What the file of a trace is called, as recorded and packed; the first that is there is read.
const TRACES: [&str; 9] = [
    "trace.bin",
    "trace.bin.gz",
    "trace.bin.zst",
    "trace.dat",
    "trace.dat.gz",
    "trace.dat.zst",
    "perf.data",
    "perf.data.gz",
    "perf.data.zst",
];

/// How the file of a trace is opened, for whoever unpacks files that are packed.
pub type OpenFile<'o> = &'o dyn Fn(&Path) -> io::Result<Box<dyn Read>>;

/// Whether there is no such file. One that may not be looked at is there.
fn is_absent(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

/// The trace in `folder`, if there is one.
fn trace_in(folder: &Path) -> Option<PathBuf> {
    let mut all = TRACES.iter().map(|name| folder.join(name));
    all.find(|trace| !is_absent(trace))
}

/// What was counted on the network of the recording in `folder`.
fn truth_in(folder: &Path) -> Result<Truth, RecordingError> {
    let file = folder.join(TRUTH);
    if is_absent(&file) {
        return Err(RecordingError::Incomplete {
            folder: folder.to_path_buf(),
            missing: TRUTH,
        });
    }
    let text = std::fs::read(&file).map_err(|source| RecordingError::Io {
        path: file.clone(),
        source,
    })?;
    Truth::parse(&text).map_err(|source| RecordingError::Truth { path: file, source })
}

/// The last part of `path`.
fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

impl Recording {
    /// Reads the recording in folder `path`: a trace, which may be packed, and `scenario.json`. Or
    /// the one whose trace is the file `path`, with `scenario.json` beside it.
    ///
    /// # Errors
    /// [`RecordingError`] when a file is missing or damaged, the trace goes back in time or holds
    /// no runstate record, or its description is of another host.
    pub fn load(path: &Path, open: OpenFile<'_>) -> Result<Recording, RecordingError> {
        let is_file = path.is_file();
        let folder = match (is_file, path.parent()) {
            (true, Some(folder)) if folder != Path::new("") => folder,
            (true, _) => Path::new("."),
            (false, _) => path,
        };
        let incomplete = |missing| RecordingError::Incomplete {
            folder: folder.to_path_buf(),
            missing,
        };
        let in_folder = || trace_in(folder).ok_or_else(|| incomplete(TRACES[0]));
        let trace = match is_file {
            true => path.to_path_buf(),
            false => in_folder()?,
        };
        let file = folder.join(DESCRIPTION);
        if is_absent(&file) {
            return Err(incomplete(DESCRIPTION));
        }
        let opened = open(&trace).map_err(|source| RecordingError::Io {
            path: trace.clone(),
            source,
        })?;
        let text = std::fs::read(&file).map_err(|source| RecordingError::Io {
            path: file.clone(),
            source,
        })?;
        // A usual name tells nothing.
        let is_usual = TRACES.contains(&name_of(path).as_str()) && folder != Path::new(".");
        let name = name_of(if is_usual { folder } else { path });
        let mut recording = Recording::read(name, [file, trace], &text, opened)?;
        if recording.description.network.is_some() {
            recording.truth = Some(truth_in(folder)?);
        }
        Ok(recording)
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
        if linux::described::is_linux(text) {
            return linux::read(name, [described, traced], text, trace);
        }
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
            classes: domio_scenario::Parts::from(domio_sched::policies()).classes(),
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
            truth: None,
            linux: None,
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
    /// a trace or a description is one of them.
    ///
    /// # Errors
    /// When `path` cannot be listed, or there is no recording. Those of a recording are as of
    /// [`Recording::load`].
    pub fn load_all(
        path: &Path,
        open: OpenFile<'_>,
    ) -> Result<Vec<Result<Recording, RecordingError>>, RecordingError> {
        if path.is_file() || trace_in(path).is_some() {
            return Ok(vec![Recording::load(path, open)]);
        }
        let unreadable = |source| RecordingError::Io {
            path: path.to_path_buf(),
            source,
        };
        let is_described = |folder: &Path| !is_absent(&folder.join(DESCRIPTION));
        let mut folders = Vec::new();
        for entry in std::fs::read_dir(path).map_err(unreadable)? {
            let folder = entry.map_err(unreadable)?.path();
            if folder.is_dir() && (trace_in(&folder).is_some() || is_described(&folder)) {
                folders.push(folder);
            }
        }
        if is_described(path) {
            folders.push(path.to_path_buf());
        }
        folders.sort();
        if folders.is_empty() {
            return Err(RecordingError::None {
                path: path.to_path_buf(),
            });
        }
        let load = |folder: &PathBuf| Recording::load(folder, open);
        Ok(folders.iter().map(load).collect())
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
