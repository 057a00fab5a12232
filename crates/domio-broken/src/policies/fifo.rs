//! The correct policy that the mistakes are made in: one FIFO per pcpu, open to its bugs.
//!
//! [`domio_sched::round_robin`] is the same idea with its tables closed and its parameters
//! declared.

use super::Bug;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use domio_contract::{Cx, Descriptor, Needs, Pick, Prev, Promises};
use domio_core::{Duration, PcpuId, Topology, VcpuId};

/// What this policy is. Broken policies with a false promise start from it.
pub static DESCRIPTOR: Descriptor = promising(Promises {
    work_conserving: true,
    starvation_free: true,
    ..Promises::NOTHING
});

/// The descriptor of a FIFO policy that promises this.
pub const fn promising(promises: Promises) -> Descriptor {
    Descriptor {
        name: "fifo",
        summary: "one FIFO per pcpu, to be broken in tests of the conformance suite",
        source: "domio",
        needs: Needs {
            tickle: true,
            ..Needs::NOTHING
        },
        promises,
        ..Descriptor::PLAIN
    }
}

/// One FIFO per pcpu, and a fixed slice.
pub struct Fifo {
    /// By pcpu: runnable vcpus that do not run, next one first.
    pub queues: Vec<VecDeque<VcpuId>>,
    /// The vcpus that were placed so far: the next goes one pcpu further.
    pub placed: usize,
}

impl Fifo {
    /// The slice of everybody.
    pub const TIME_SLICE: Duration = Duration::from_millis(10);

    /// A FIFO policy for a host of this shape.
    pub fn new(topology: &Topology) -> Self {
        Fifo {
            queues: alloc::vec![VecDeque::new(); topology.pcpus()],
            placed: 0,
        }
    }

    /// The allowed pcpus in turn.
    pub fn pick_pcpu(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        let allowed = cx.hard(vcpu) & cx.online();
        self.placed += 1;
        let nth = allowed.iter().nth(self.placed % allowed.len());
        nth.expect("the host keeps an allowed pcpu online")
    }

    /// To the tail of its queue.
    pub fn wake(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let pcpu = cx.vcpu(vcpu).pcpu;
        let queue = &mut self.queues[pcpu.index()];
        if cx.is_current(vcpu) || queue.contains(&vcpu) {
            return;
        }
        queue.push_back(vcpu);
        if cx.current(pcpu).is_none() {
            cx.tickle(pcpu);
        }
    }

    /// Off its queue or its pcpu.
    pub fn sleep(&mut self, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let pcpu = cx.vcpu(vcpu).pcpu;
        if cx.is_current(vcpu) {
            cx.tickle(pcpu);
        } else {
            self.queues[pcpu.index()].retain(|v| *v != vcpu);
        }
    }

    /// The head of the queue, after `prev` has joined its tail.
    pub fn schedule(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        if let Some(vcpu) = prev.vcpu
            && cx.vcpu(vcpu).runnable()
        {
            self.queues[pcpu.index()].push_back(vcpu);
        }
        self.pick_head(pcpu)
    }

    /// The head of the queue of `pcpu`, taken out.
    pub fn pick_head(&mut self, pcpu: PcpuId) -> Pick {
        match self.queues[pcpu.index()].pop_front() {
            Some(next) => Pick {
                next: Some(next),
                time_slice: Some(Self::TIME_SLICE),
            },
            None => Pick::IDLE,
        }
    }
}

/// No mistake: the suite must find nothing.
#[derive(Default)]
pub struct CorrectFifo;

impl Bug for CorrectFifo {
    const CAUGHT_BY: &'static str = "none";
}
