//! A recorded trace with the description of the host that it was recorded on.

use crate::{fit, policy, release};
use domio_core::cpuset::MAX_PCPUS;
use domio_core::{Instant, Record};
use domio_scenario::MAX_VCPUS;
use domio_trace::order::{ADVICE, OutOfOrder, in_order};
use domio_trace::{ReadOptions, TraceError, TraceReader};
use serde::Deserialize;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What `scenario.json` says.
#[derive(Clone, Debug, Deserialize)]
pub struct Description {
    /// Release of Xen 4 ("4.17.7"), as `xl info` shows it.
    pub xen: String,
    /// Xen's name of the scheduler.
    pub scheduler: String,
    /// Number of pcpus, [`MAX_PCPUS`] at most.
    pub pcpus: u16,
    /// Ticks of the trace's clock in a second.
    pub tsc_hz: u64,
    /// Parameters of the scheduler, by the names of its page.
    pub params: std::collections::BTreeMap<String, i64>,
    /// Domains, dom0 included, with [`MAX_VCPUS`] vcpus together at most.
    pub domains: Vec<DescribedDomain>,
    /// What it does not say and which default holds instead, a sentence each.
    #[serde(skip)]
    pub assumed: Vec<String>,
}

impl Description {
    /// Reads a description.
    ///
    /// # Errors
    /// Where the text is no JSON, or not of this form, and why.
    pub fn parse(text: &[u8]) -> Result<Description, serde_json::Error> {
        let mut description: Description = serde_json::from_slice(text)?;
        let json = serde_json::from_slice(text)?;
        description.assumed = fit::assumed(&json, &description.scheduler);
        Ok(description)
    }

    /// Number of vcpus of all domains.
    pub fn vcpus(&self) -> usize {
        self.domains.iter().map(|d| usize::from(d.vcpus)).sum()
    }
}

/// A domain of a [`Description`].
#[derive(Clone, Debug, Deserialize)]
pub struct DescribedDomain {
    /// Xen's domid.
    pub id: u16,
    /// Name.
    pub name: String,
    /// Number of vcpus.
    #[serde(default = "one")]
    pub vcpus: u16,
    /// Weight; 256 when not given.
    #[serde(default = "default_weight")]
    pub weight: i64,
    /// Cap in percent of one pcpu; 0, which means none, when not given.
    #[serde(default)]
    pub cap: i64,
    /// What it does.
    pub workload: DescribedWorkload,
}

/// What a recorded domain does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DescribedWorkload {
    /// It never blocks.
    Burn,
    /// Its demand is in the trace.
    Replay,
}

fn one() -> u16 {
    1
}

fn default_weight() -> i64 {
    256
}

/// The files of a recording.
const FILES: [&str; 2] = ["trace.bin", "scenario.json"];

/// Whether there is no such file. One that may not be looked at is there.
fn is_absent(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

/// A recording in memory.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Name of its folder.
    pub name: String,
    /// The host.
    pub description: Description,
    /// Every record, in order of time. Times are those of the trace's clock in nanoseconds.
    pub records: Vec<Record>,
}

/// Why a recording could not be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// `scenario.json` is not what it should be.
    #[error(
        "{} is not a description of a recording; expected an object with xen, scheduler, pcpus, \
         tsc_hz, params and domains (id, name, vcpus, weight, cap, workload burn or replay)",
        path.display()
    )]
    Description {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
    /// The trace is damaged.
    #[error("cannot read the trace {}", path.display())]
    Trace {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: Box<TraceError>,
    },
    /// The trace goes back in time.
    #[error("{}: {problem}; {ADVICE}", path.display())]
    OutOfOrder {
        /// Which file.
        path: PathBuf,
        /// Where.
        problem: OutOfOrder,
    },
    /// The recording is of something that cannot be simulated.
    #[error("{name}: {problem}")]
    Unusable {
        /// Name of the recording.
        name: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A folder holds only one of the two files.
    #[error(
        "{} has no {missing}; a recording is a folder with trace.bin and scenario.json: put it \
         there, or take the folder away",
        folder.display()
    )]
    Incomplete {
        /// Which folder.
        folder: PathBuf,
        /// Name of the file that is not there.
        missing: &'static str,
    },
    /// No shipped recording has that name.
    #[error(
        "no shipped recording is called {name:?}; there are {}",
        crate::shipped::names().collect::<Vec<_>>().join(", ")
    )]
    NotShipped {
        /// The name.
        name: String,
    },
    /// No recording was found.
    #[error(
        "no recording in {}: expected folders that hold trace.bin and scenario.json",
        path.display()
    )]
    None {
        /// Where.
        path: PathBuf,
    },
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
            ..ReadOptions::default()
        };
        let mut reader = TraceReader::new(trace, &options).map_err(broken)?;
        let mut records: Vec<Record> = Vec::new();
        reader.copy_to(&mut records).map_err(broken)?;
        if let Err(problem) = in_order(&records) {
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

    /// Time of the first record.
    pub fn begin(&self) -> Instant {
        self.records[0].at
    }

    /// Time of the last record.
    pub fn end(&self) -> Instant {
        self.records[self.records.len() - 1].at
    }

    fn check(&self) -> Result<(), RecordingError> {
        let unusable = |problem: String| {
            Err(RecordingError::Unusable {
                name: self.name.clone(),
                problem,
            })
        };
        let judge = match policy::judge(&self.description) {
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
