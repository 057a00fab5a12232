//! Mistakes that one run cannot show: another order the next time, or when nobody watches.

use super::Bug;
use super::fifo::Fifo;
use domio_contract::{Cx, Pick, Prev};
use domio_core::{PcpuId, VcpuId};

/// Starts its placement at a number that differs from one instance to the next, as does an
/// address, a hash seed or a counter of the process that lives longer than the run.
pub struct DependsOnInstance {
    /// That number.
    pub instance: usize,
}

impl Bug for DependsOnInstance {
    const CAUGHT_BY: &'static str = "deterministic";

    fn pick_pcpu(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        fifo.placed += core::mem::take(&mut self.instance);
        fifo.pick_pcpu(cx, vcpu)
    }
}

/// Takes a short cut when it has no records to write, and the short cut forgets the queue: whoever
/// runs continues.
#[derive(Default)]
pub struct DependsOnTrace;

impl Bug for DependsOnTrace {
    const CAUGHT_BY: &'static str = "same-untraced";

    fn schedule(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        if let Some(vcpu) = prev.vcpu
            && cx.vcpu(vcpu).runnable()
            && !cx.tracing()
        {
            fifo.queues[pcpu.index()].push_front(vcpu);
            return fifo.pick_head(pcpu);
        }
        fifo.schedule(cx, pcpu, prev)
    }
}
