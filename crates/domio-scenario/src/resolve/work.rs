//! What tasks do, before they are given to their vcpus.

use crate::check::Fields;
use crate::plan::Replay;
use domio_vmm::bus::side::{DeviceTask, DeviceWork};
use domio_vmm::config::Workload;

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

    /// The task as a device of the kind with this number sees it, if it uses one.
    pub fn of_device(&self, kind: usize) -> Option<DeviceTask> {
        match &self.work {
            Work::Device(own, work) if *own == kind => Some(DeviceTask {
                name: self.name.clone(),
                priority: self.priority,
                vcpu: self.vcpu,
                placed: self.placed,
                work: work.clone(),
            }),
            Work::Demand(_) | Work::Replay(_) | Work::Device(..) => None,
        }
    }
}

/// What a task does.
#[derive(Clone)]
pub(super) enum Work {
    /// Computes.
    Demand(Workload),
    /// Replays a recording; its place among the tasks is not known yet.
    Replay(Replay),
    /// Uses a device of the kind with this number; its processes come with the device.
    Device(usize, DeviceWork),
}

impl Work {
    /// Whether its process sleeps most of the time.
    pub fn is_io_bound(&self) -> bool {
        matches!(self, Work::Device(..))
    }
}

/// Makes what a task does of its keys; `None` when one of them is bad.
pub(super) type Make = fn(&Fields) -> Option<Work>;
