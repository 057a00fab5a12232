//! What a scenario wants of files: demands of recorded vcpus, jobs, recorded requests. This crate
//! reads no file; whoever builds a scenario hands them over.

use crate::plan::{RecordedRequests, Replay};
use domio_vmm::config::Workload;
use domio_vmm::process::programs::RecordedCall;

/// What one process calls.
pub type RecordedCalls = Vec<RecordedCall>;

/// Where what a scenario names comes from. The caller reads files; this crate does not.
pub trait ReplaySource {
    /// What asks for as much as the vcpu that `replay` names.
    ///
    /// # Errors
    /// Why there are none and what to do about it.
    fn workload(&self, replay: &Replay) -> Result<Workload, NoDemands>;

    /// The text of the job file at `path`.
    ///
    /// # Errors
    /// As above.
    fn job_file(&self, path: &str) -> Result<String, NoDemands>;

    /// The calls of each process in the block trace at `path`, as far as they are `wanted`: at
    /// least one process, each with at least one call, in the order of their times. With them
    /// comes what to know of the trace, in sentences.
    ///
    /// # Errors
    /// As above.
    fn requests(
        &self,
        path: &str,
        wanted: &RecordedRequests,
    ) -> Result<(Vec<RecordedCalls>, Vec<String>), NoDemands>;
}

/// What a source without files says.
fn nothing_read() -> NoDemands {
    NoDemands {
        why: "files cannot be read here".to_owned(),
        hint: "choose another workload, or `job` of fio, which stands in the scenario".to_owned(),
    }
}

/// Why a recorded vcpu cannot be replayed. Both are one sentence without a full stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoDemands {
    /// What is wrong ("the trace has no vcpu d3v0").
    pub why: String,
    /// What to do about it.
    pub hint: String,
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
