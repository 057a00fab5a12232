//! What a recording is asked for.

use std::fmt;

use crate::points::Part;

/// How events are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Programs in the kernel, which write compact events.
    Bpf,
    /// The kernel's own tracer, in an instance of its own.
    Tracefs,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Bpf => "BPF",
            Way::Tracefs => "tracefs",
        })
    }
}

/// How to record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LiveOptions {
    /// The way; `None` for BPF where that is allowed, and tracefs otherwise.
    pub way: Option<Way>,
    /// Bytes of the kernel's buffer, for all cpus; BPF takes a power of two for each
    /// cpu, of at least 256 KiB.
    pub buffer: u64,
    /// Whether interrupts and softirqs are recorded.
    pub interrupts: bool,
    /// Whether requests of disks are recorded.
    pub disks: bool,
}

impl LiveOptions {
    /// Whether trace points of a part are to be recorded.
    pub(crate) fn wants(&self, part: Part) -> bool {
        match part {
            Part::Threads | Part::Names => true,
            Part::Interrupts => self.interrupts,
            Part::Disks => self.disks,
        }
    }
}

impl Default for LiveOptions {
    /// Whatever is allowed, 8 MiB, with interrupts and requests of disks.
    fn default() -> Self {
        LiveOptions {
            way: None,
            buffer: 8 << 20,
            interrupts: true,
            disks: true,
        }
    }
}
