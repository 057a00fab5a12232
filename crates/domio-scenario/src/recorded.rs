//! What a scenario wants of files: demands of recorded vcpus, jobs, recorded requests. This crate
//! reads no file; whoever builds a scenario hands them over.

use crate::plan::Replay;
use domio_vmm::bus::side::{InputFiles, NoDemands, RecordedCalls, RecordedRequests};
use domio_vmm::config::Workload;

/// Where what a scenario names comes from. The caller reads files; this crate does not.
pub trait ReplaySource: InputFiles {
    /// What asks for as much as the vcpu that `replay` names.
    ///
    /// # Errors
    /// Why there are none and what to do about it.
    fn workload(&self, replay: &Replay) -> Result<Workload, NoDemands>;
}

/// What a source without files says.
fn nothing_read() -> NoDemands {
    NoDemands {
        why: "files cannot be read here".to_owned(),
        hint: "choose another workload, or `job` of fio, which stands in the scenario".to_owned(),
    }
}

/// A source without files, for scenarios that name none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoReplay;

impl ReplaySource for NoReplay {
    fn workload(&self, _: &Replay) -> Result<Workload, NoDemands> {
        Err(NoDemands {
            why: "recordings cannot be replayed here".to_owned(),
            hint: "choose another workload than replay".to_owned(),
        })
    }
}

impl InputFiles for NoReplay {
    fn job_file(&self, _: &str) -> Result<String, NoDemands> {
        Err(nothing_read())
    }

    fn requests(
        &self,
        _: &str,
        _: &RecordedRequests,
    ) -> Result<(Vec<RecordedCalls>, Vec<String>), NoDemands> {
        Err(nothing_read())
    }
}
