//! One event of a Linux trace, after the format of the file is forgotten.

use std::fmt;

/// A thread by its id; 0 is the idle task of the cpu that the event is from.
///
/// Ids are used again: after [`LinuxWhat::Exit`] the same number can be another thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Tid(pub u32);

impl Tid {
    /// The idle task, of whatever cpu.
    pub const IDLE: Tid = Tid(0);
    /// A thread of which the file does not say which one: the one that leaves at the first compact
    /// switch of a cpu in a Perfetto trace, or at the first one after a loss.
    pub const UNKNOWN: Tid = Tid(u32::MAX);
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The state in which a thread left its cpu, from `prev_state` of `sched_switch` (linux-spec 10.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Left {
    /// Still runnable ("R"): preempted at return to user mode, or yielded.
    Runnable,
    /// Still runnable ("R+"): preempted inside the kernel.
    Preempted,
    /// Sleeps ("S", "I" and "W" of kernel threads), until an event.
    Sleeping,
    /// Waits without signals ("D"), as a rule for a device or a lock.
    Uninterruptible,
    /// Stopped, traced or parked ("T", "t", "P").
    Stopped,
    /// Has ended ("X", "Z").
    Dead,
}

impl Left {
    /// Whether the thread still wants a cpu.
    pub const fn wants_cpu(self) -> bool {
        matches!(self, Left::Runnable | Left::Preempted)
    }
}

/// What happened.
///
/// `prio` is the kernel's: 120 + nice, 99 - `rt_priority` of real-time threads, -1 for deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinuxWhat {
    /// `sched_switch`: the cpu goes from one thread to another.
    Switch {
        /// The thread that leaves.
        prev: Tid,
        /// Its priority.
        prev_prio: i16,
        /// The state in which it leaves.
        left: Left,
        /// The thread that comes.
        next: Tid,
        /// Its priority.
        next_prio: i16,
    },
    /// `sched_waking`: code on this cpu wakes a thread. `target_cpu` is where the thread was last.
    Waking {
        /// The thread that is woken.
        tid: Tid,
        /// Its priority.
        prio: i16,
        /// Its last cpu.
        target_cpu: u32,
    },
    /// `sched_wakeup`: the thread is in the run queue of `target_cpu`.
    Wakeup {
        /// The thread that is runnable now.
        tid: Tid,
        /// Its priority.
        prio: i16,
        /// The cpu in whose run queue it is.
        target_cpu: u32,
    },
    /// `sched_wakeup_new`: the first wake-up of a thread.
    WakeupNew {
        /// The new thread.
        tid: Tid,
        /// Its priority.
        prio: i16,
        /// The cpu in whose run queue it is.
        target_cpu: u32,
    },
    /// `sched_migrate_task`, before the move.
    Migrate {
        /// The thread that is moved.
        tid: Tid,
        /// From this cpu.
        from: u32,
        /// To this cpu.
        to: u32,
    },
    /// `sched_process_fork`.
    Fork {
        /// The thread that made the other one.
        parent: Tid,
        /// The new thread.
        child: Tid,
    },
    /// `sched_process_exit`.
    Exit {
        /// The thread that ends.
        tid: Tid,
    },
    /// `sched_stat_runtime`: the scheduler's own sum since its last event for the thread.
    Runtime {
        /// The thread.
        tid: Tid,
        /// Nanoseconds on the cpu.
        ns: u64,
    },
    /// `irq_handler_entry`.
    IrqEntry {
        /// Number of the interrupt.
        irq: u32,
    },
    /// `irq_handler_exit`.
    IrqExit {
        /// Number of the interrupt.
        irq: u32,
    },
    /// `softirq_raise`.
    SoftirqRaise {
        /// Number of the softirq: 0 HI, 1 TIMER, 2 NET_TX, 3 NET_RX, 4 BLOCK, 5 IRQ_POLL,
        /// 6 TASKLET, 7 SCHED, 8 HRTIMER, 9 RCU.
        vec: u32,
    },
    /// `softirq_entry`.
    SoftirqEntry {
        /// Number of the softirq, see [`LinuxWhat::SoftirqRaise`].
        vec: u32,
    },
    /// `softirq_exit`.
    SoftirqExit {
        /// Number of the softirq, see [`LinuxWhat::SoftirqRaise`].
        vec: u32,
    },
    /// `kvm_entry`: the current thread enters its guest.
    KvmEntry {
        /// Number of the vcpu in its guest.
        vcpu: u32,
    },
    /// `kvm_exit`: the current thread has left its guest.
    KvmExit {
        /// The processor's number of the reason (linux-spec 10.1).
        reason: u32,
    },
    /// `kvm_vcpu_wakeup`: a halted vcpu goes on.
    KvmWakeup {
        /// Nanoseconds that it was halted, or polled.
        ns: u64,
        /// Whether its thread slept; false when polling was enough.
        waited: bool,
    },
    /// `kvm_halt_poll_ns`: how long a vcpu polls before its thread sleeps changes.
    HaltPoll {
        /// Number of the vcpu in its guest.
        vcpu: u32,
        /// Nanoseconds from now on.
        new: u32,
        /// Nanoseconds before.
        old: u32,
    },
    /// `cgroup_attach_task`: the thread is in another control group, see [`Tasks`](crate::Tasks).
    Attach {
        /// The thread.
        tid: Tid,
    },
    /// `napi_poll` on this cpu.
    NapiPoll {
        /// Packets that were done.
        work: u32,
        /// Packets that were allowed.
        budget: u32,
    },
    /// Events of this cpu are missing before this time.
    Lost {
        /// How many at least; 0 when the file does not say.
        events: u64,
    },
    /// An event of the trace that has no use here. The current thread was on the cpu.
    Other,
}

/// One event. 40 bytes, without a pointer: names are in [`Tasks`](crate::Tasks).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinuxEvent {
    /// Nanoseconds of the file's clock.
    pub time: u64,
    /// The cpu that wrote the event.
    pub cpu: u32,
    /// The thread that was on the cpu (`common_pid`), if the format says: a run that ended without
    /// a recorded switch ends here.
    pub current: Option<Tid>,
    /// What happened.
    pub what: LinuxWhat,
}
