//! What is known of the threads of a trace, as far as the trace was read.

use crate::Tid;
use std::collections::BTreeMap;

/// One thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinuxTask {
    /// Its latest name (`comm`, up to 15 bytes; "CPU 0/KVM").
    pub comm: String,
    /// The command line of the process, of its first thread, if the file says (Perfetto alone
    /// does).
    pub command: Option<String>,
    /// The process that it belongs to, if the file says.
    pub process: Option<Tid>,
    /// The thread that made it, if the file says.
    pub parent: Option<Tid>,
    /// Its control group ("/machine/vm1"), from `cgroup_attach_task` or the file beside the trace.
    pub cgroup: Option<String>,
}

/// Threads by id.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tasks {
    /// Each with the number of its latest change.
    tasks: BTreeMap<Tid, (LinuxTask, u64)>,
    /// Raised by each change of a name, process or group.
    changes: u64,
}

impl Tasks {
    /// Nobody known.
    pub fn new() -> Self {
        Tasks::default()
    }

    /// The thread with id `tid`.
    pub fn get(&self, tid: Tid) -> Option<&LinuxTask> {
        self.tasks.get(&tid).map(|(task, _)| task)
    }

    /// All threads, by id.
    pub fn iter(&self) -> impl Iterator<Item = (Tid, &LinuxTask)> {
        self.tasks.iter().map(|(tid, (task, _))| (*tid, task))
    }

    /// How often anything was changed: a reader that sees the same number has seen all.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// [`Tasks::changes`] after the latest change of `tid`; 0 for one that is not known.
    pub fn changed(&self, tid: Tid) -> u64 {
        self.tasks.get(&tid).map_or(0, |(_, changed)| *changed)
    }

    /// Changes what is known of `tid`, which is added when it is new.
    pub fn update(&mut self, tid: Tid, change: impl FnOnce(&mut LinuxTask)) {
        let (task, changed) = self.tasks.entry(tid).or_default();
        let before = task.clone();
        change(task);
        if *task != before {
            self.changes += 1;
            *changed = self.changes;
        }
    }
}
