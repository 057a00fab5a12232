//! A thread's name.

use domio_core::{ActorId, VcpuName};
use domio_linux::Tid;

/// A thread of a Linux trace, and the vcpu that it is in records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinuxThread {
    /// The vcpu that it is in records.
    pub name: VcpuName,
    /// Its id.
    pub tid: u32,
    /// Its latest name.
    pub comm: String,
    /// Whether it executes the vcpu of a guest with this number.
    pub is_vcpu: bool,
    /// Its control group, where trace or file say so.
    pub cgroup: Option<String>,
    /// Its latest priority as the kernel counts them: 120 and the nice value, less than 100 in a
    /// real-time class; `None` where it has ended, or no event has said.
    pub prio: Option<i16>,
}

/// What a thread's actor is called.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub name: VcpuName,
    pub tid: Tid,
    pub comm: String,
    pub is_vcpu: bool,
    /// Nobody was told yet.
    pub is_news: bool,
}

impl Label {
    /// It is called otherwise than somebody may have been told.
    pub fn becomes_news(&mut self, actor: ActorId, news: &mut Vec<usize>) {
        if !std::mem::replace(&mut self.is_news, true) {
            news.push(actor.index());
        }
    }
}
