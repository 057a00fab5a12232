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

/// A block device by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DiskId(u32);

impl DiskId {
    /// Bits of the number within a driver, as the kernel keeps them.
    const MINOR_BITS: u32 = 20;

    /// The device with this number of the kernel, of which the lowest 20 bits tell devices of one
    /// driver apart.
    pub const fn of_kernel(number: u32) -> Self {
        DiskId(number)
    }

    /// The device `minor` of the driver `major`.
    pub const fn new(major: u32, minor: u32) -> Self {
        DiskId(major << Self::MINOR_BITS | minor & ((1 << Self::MINOR_BITS) - 1))
    }

    /// The number of the kernel.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Number of the driver: a disk and its partitions have the same.
    pub const fn major(self) -> u32 {
        self.0 >> Self::MINOR_BITS
    }
}

impl fmt::Display for DiskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minor = self.0 & ((1 << Self::MINOR_BITS) - 1);
        write!(f, "{},{minor}", self.major())
    }
}

/// Where a request of a block device is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DiskStep {
    /// `block_bio_queue`: the current thread asks for a piece, of which requests are made.
    Bio,
    /// `block_rq_insert`: in the queue of the scheduler of requests. Devices without a scheduler
    /// have no such step.
    Insert,
    /// `block_rq_issue`: at the driver.
    Issue,
    /// `block_rq_complete`: done, or a part of it.
    Complete,
}

impl DiskStep {
    /// The step that the event of this name is.
    pub fn of_event(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"block_bio_queue" => DiskStep::Bio,
            b"block_rq_insert" => DiskStep::Insert,
            b"block_rq_issue" => DiskStep::Issue,
            b"block_rq_complete" => DiskStep::Complete,
            _ => return None,
        })
    }
}

/// A step of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskRequest {
    /// What happened.
    pub step: DiskStep,
    /// The device. A piece of a partition has the partition's number, and its requests the disk's.
    pub disk: DiskId,
    /// Whether data go to the device; false for reads and for what moves no data.
    pub writes: bool,
    /// The first sector, of 512 bytes.
    pub sector: u64,
    /// Sectors; 0 of a flush.
    pub sectors: u32,
}

impl DiskRequest {
    /// Whether the marks of the kernel ("WS", "RA", "FF") say that data go to the device.
    pub fn writes(marks: &[u8]) -> bool {
        marks.contains(&b'W')
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
    /// A step of a request of a block device.
    Disk(DiskRequest),
    /// Events of this cpu are missing before this time.
    Lost {
        /// How many at least; 0 when the file does not say.
        events: u64,
    },
    /// An event of the trace that has no use here. The current thread was on the cpu.
    Other,
}

/// One event. 48 bytes, without a pointer: names are in [`Tasks`](crate::Tasks).
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
