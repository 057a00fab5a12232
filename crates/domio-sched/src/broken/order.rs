//! A mistake that one run cannot show: another order the next time.

use super::Bug;
use super::fifo::Fifo;
use crate::cx::Cx;
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
