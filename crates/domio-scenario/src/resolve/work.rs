//! What tasks do, before they are given to their vcpus.

use crate::check::{Cx, Fields};
use crate::plan::Replay;
use crate::workloads::{REPLAY, of};
use domio_core::keys::WordOf;
use domio_vmm::bus::side::{DeviceTask, DeviceWork, Placing};
use domio_vmm::config::Workload;
use std::rc::Rc;

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

/// What the workload `word`, which `fields` describe, does; `place` has the keys of the task, where
/// it is one.
pub(super) fn work(
    cx: &mut Cx<'_>,
    fields: &Fields,
    word: &'static str,
    place: Option<Placing<'_>>,
) -> Option<Work> {
    if let Some(entry) = cx.parts.workload(word) {
        return (entry.make)(fields).map(Work::Demand);
    }
    if let Some(make) = WordOf::find(&REPLAY, word) {
        return make(fields).map(Work::Replay);
    }
    let has = |list| of(list).any(|known| known.word == word);
    let kind = cx.parts.kinds().position(|kind| has(kind.workloads));
    let kind = kind.expect("a word of one of the lists");
    let side = Rc::clone(&cx.known.devices);
    let work = side[kind].work(cx, fields, place)?;
    Some(Work::Device(kind, work))
}
