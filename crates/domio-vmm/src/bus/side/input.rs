//! Files that say what processes do. Nothing here reads a file; whoever builds a host hands them
//! over.

use crate::config::Workload;
use crate::process::programs::{RecordedCall, ReplayLoop};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use domio_core::keys::Mistake;

/// The processes that a file asks for, each with its name, and what to know of the file, in
/// sentences.
pub type InputProcesses = (Vec<(String, Workload)>, Vec<String>);

/// A file that says what processes do with a device. The processes are not in the host yet: one
/// that does nothing has their place.
pub trait TaskInput: Debug + Send + Sync {
    /// Path as the scenario writes it: relative to the scenario's file.
    fn path(&self) -> &str;

    /// The processes that the file asks for. `task` is the name of what asks for them.
    ///
    /// # Errors
    /// Why there are none.
    fn processes(&self, files: &dyn InputFiles, task: &str) -> Result<InputProcesses, NoDemands>;

    /// What to say when there are none.
    fn refused(&self, why: NoDemands) -> Mistake;
}

/// Where files come from that scenarios name.
pub trait InputFiles {
    /// The text of the job file at `path`.
    ///
    /// # Errors
    /// Why there is none and what to do about it.
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

/// What one process calls.
pub type RecordedCalls = Vec<RecordedCall>;

/// Why a file asks for nothing. Both are one sentence without a full stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoDemands {
    /// What is wrong ("the trace has no vcpu d3v0").
    pub why: String,
    /// What to do about it.
    pub hint: String,
}

/// Which requests of a block trace processes make, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedRequests {
    /// Name of the device or volume in the trace; all of them without.
    pub volume: Option<String>,
    /// How many requests are used at most, from the first on.
    pub most: u64,
    /// Processes that make them in turn; one for each of the recording without.
    pub threads: Option<u32>,
    /// When they are made.
    pub kind: ReplayLoop,
}
