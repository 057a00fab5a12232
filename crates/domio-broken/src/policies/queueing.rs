//! Mistakes with queues: vcpus that are forgotten, and time that stands still.

use super::Bug;
use super::fifo::Fifo;
use domio_contract::{Cx, Pick, Prev};
use domio_core::{PcpuId, VcpuId};

/// Every fifth wake-up is lost: the vcpu is not queued, as when a wake-up races with the block
/// before it and is taken for one that came too early.
#[derive(Default)]
pub struct LosesWakeUps {
    wake_ups: u32,
}

impl Bug for LosesWakeUps {
    const CAUGHT_BY: &'static str = "no-lost-wake-up";

    fn wake(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, vcpu: VcpuId) {
        self.wake_ups += 1;
        if !self.wake_ups.is_multiple_of(5) {
            fifo.wake(cx, vcpu);
        }
    }
}

/// Queues who wakes up but does not tickle an idle pcpu, so that its queue is looked at only when
/// something else happens there.
#[derive(Default)]
pub struct IdlesOverWork;

impl Bug for IdlesOverWork {
    const CAUGHT_BY: &'static str = "work-conserving";

    fn wake(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, vcpu: VcpuId) {
        let queue = &mut fifo.queues[cx.vcpu(vcpu).pcpu.index()];
        if !cx.is_current(vcpu) && !queue.contains(&vcpu) {
            queue.push_back(vcpu);
        }
    }
}

/// Who is taken off goes to the head of the queue, not to the tail, and is picked again
/// immediately: those behind wait for ever beside a burner.
#[derive(Default)]
pub struct Starves;

impl Bug for Starves {
    const CAUGHT_BY: &'static str = "starvation-free";

    fn schedule(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        if let Some(vcpu) = prev.vcpu
            && cx.vcpu(vcpu).runnable()
        {
            fifo.queues[pcpu.index()].push_front(vcpu);
        }
        fifo.pick_head(pcpu)
    }
}

/// Asks for another pass whenever somebody still waits after a pass, instead of leaving that to
/// the end of the slice: time stands still.
#[derive(Default)]
pub struct TicklesForEver;

impl Bug for TicklesForEver {
    const CAUGHT_BY: &'static str = "bounded-rounds";

    fn schedule(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let pick = fifo.schedule(cx, pcpu, prev);
        if !fifo.queues[pcpu.index()].is_empty() {
            cx.tickle(pcpu);
        }
        pick
    }
}

/// A vcpu that is paused while it runs continues until its slice ends: nobody tickles its pcpu.
#[derive(Default)]
pub struct SleepsLate;

impl Bug for SleepsLate {
    const CAUGHT_BY: &'static str = "sleepers-stop";

    fn sleep(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, vcpu: VcpuId) {
        if !cx.is_current(vcpu) {
            fifo.sleep(cx, vcpu);
        }
    }
}

/// Who continues after a pass gets what is left of its slice; right after the slice ended, with
/// nobody else to run, that is nothing.
#[derive(Default)]
pub struct GivesTheRest;

impl Bug for GivesTheRest {
    const CAUGHT_BY: &'static str = "slice-positive";

    fn schedule(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let mut pick = fifo.schedule(cx, pcpu, prev);
        if pick.next.is_some() && pick.next == prev.vcpu {
            pick.time_slice = Some(Fifo::TIME_SLICE.saturating_sub(prev.ran));
        }
        pick
    }
}
