//! What tasks do, before they are given to their vcpus.

use super::names::NetworkName;
use crate::check::Fields;
use crate::jobs;
use crate::plan::{DiskInputKind, Replay};
use crate::source::Span;
use domio_core::keys::Slot;
use domio_net::host::FlowConfig;
use domio_net::keys::Serving;
use domio_vmm::config::Workload;
use domio_vmm::process::Prepare;
use domio_vmm::process::programs::{CopyDirection, FfsbConfig, FioJob, PostMarkConfig, ZipConfig};

/// A task before it is given to its vcpus.
#[derive(Clone)]
pub(super) struct Task {
    pub name: String,
    pub priority: i8,
    /// Index of its vcpu, `None` for one on each.
    pub vcpu: Option<usize>,
    /// Whether the text says which vcpu.
    pub placed: bool,
    pub work: Work,
    /// The word for its workload.
    pub word: &'static str,
}

impl Task {
    /// Whether a kernel that moves processes may move this one. A recorded vcpu's demand is no
    /// process.
    pub fn may_roam(&self) -> bool {
        !self.placed && !matches!(self.work, Work::Replay(_))
    }
}

/// What a task does.
#[derive(Clone)]
pub(super) enum Work {
    /// Computes.
    Demand(Workload),
    /// Replays a recording; its place among the tasks is not known yet.
    Replay(Replay),
    /// Traffic; its process, if it has one, comes with its network.
    Flow(Flow),
    /// Uses the domain's disk; its processes come with the disk.
    Disk(DiskWork),
}

impl Work {
    /// Whether its process sleeps most of the time.
    pub fn is_io_bound(&self) -> bool {
        matches!(self, Work::Flow(_) | Work::Disk(_))
    }
}

/// Makes what a task does of its keys; `None` when one of them is bad.
pub(super) type Make = fn(&Fields<'_>) -> Option<Work>;

/// Keys of a task that say where its process lives.
#[derive(Clone, Copy)]
pub(super) struct Placing<'k> {
    /// Index of its vcpu, none for one on each.
    pub vcpu: &'k Slot<Option<u16>>,
    pub priority: &'k Slot<i8>,
}

/// Traffic.
#[derive(Clone)]
pub(super) struct Flow {
    /// What flows: one thing, or the requests to a server.
    pub configs: Vec<FlowConfig>,
    /// The server.
    pub server: Option<Serving>,
    /// The network, if it names one.
    pub network: Option<NetworkName>,
    /// The domain at the other end, if it is none outside: the name and where it stands.
    pub to: Option<(String, Span)>,
    /// Of its process, where it has one.
    pub vcpu: u16,
    /// Whether the text says so, so that no kernel moves the process.
    pub placed: bool,
    /// See [`Flow::vcpu`].
    pub priority: i8,
    /// The workload's word.
    pub span: Span,
    /// Path of the table that describes it.
    pub path: String,
}

/// What goes through a disk.
#[derive(Clone)]
pub(super) struct DiskWork {
    pub program: DiskProgram,
    /// The disk, if it is named: the name and where it stands.
    pub disk: Option<(String, Span)>,
    /// Where what matters of it was asked for, or the workload's word.
    pub span: Span,
}

/// The processes that go through a disk.
#[derive(Clone)]
pub(super) enum DiskProgram {
    /// `dd`.
    Copy(DiskCopy),
    /// PostMark.
    PostMark(PostMarkConfig),
    /// Threads of FFSB.
    Ffsb(FfsbConfig),
    /// Jobs of fio.
    Fio(Vec<FioJob>),
    /// What the file with this path says.
    Input(String, DiskInputKind),
    /// An archiver.
    Zip(ZipConfig),
}

impl DiskWork {
    /// How many bytes of the disk itself it asks for.
    pub fn bytes(&self) -> Option<u64> {
        match &self.program {
            DiskProgram::Copy(copy) => copy.bytes,
            DiskProgram::Fio(jobs) => Some(jobs::bytes(jobs)),
            DiskProgram::PostMark(_)
            | DiskProgram::Ffsb(_)
            | DiskProgram::Zip(_)
            | DiskProgram::Input(..) => None,
        }
    }

    /// The files that are there before, or at the beginning.
    pub fn files(&self) -> Vec<Prepare> {
        match &self.program {
            DiskProgram::PostMark(config) => vec![config.prepare()],
            DiskProgram::Ffsb(config) => vec![config.prepare()],
            DiskProgram::Zip(config) => vec![config.prepare()],
            DiskProgram::Fio(jobs) => jobs::files(jobs),
            DiskProgram::Copy(_) | DiskProgram::Input(..) => Vec::new(),
        }
    }

    /// Whether it uses files.
    pub fn needs_files(&self) -> bool {
        match &self.program {
            DiskProgram::Copy(copy) => copy.new_file,
            DiskProgram::PostMark(_) | DiskProgram::Ffsb(_) | DiskProgram::Zip(_) => true,
            DiskProgram::Fio(jobs) => jobs.iter().any(|job| !job.config.direct),
            // What a job file says is not known yet.
            DiskProgram::Input(_, DiskInputKind::FioJobs) => true,
            DiskProgram::Input(_, DiskInputKind::Requests(_)) => false,
        }
    }
}

/// A way through a disk.
#[derive(Clone, Copy)]
pub(super) struct DiskCopy {
    pub direction: CopyDirection,
    /// Bytes of a block.
    pub block: u64,
    /// How much; `None` for the whole disk.
    pub bytes: Option<u64>,
    /// Goes through a new file of the disk's file system.
    pub new_file: bool,
    /// Waits at the end until what was written is on the disk.
    pub syncs: bool,
}
