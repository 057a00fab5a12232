//! Mistakes about who may run where.

use super::Bug;
use super::fifo::Fifo;
use alloc::vec::Vec;
use domio_contract::{Cx, Pick, Prev};
use domio_core::{Duration, PcpuId, VcpuId};

/// An idle pcpu takes work from the other queues and does not look at affinity.
#[derive(Default)]
pub struct IgnoresAffinity;

impl Bug for IgnoresAffinity {
    const CAUGHT_BY: &'static str = "affinity-respected";

    fn schedule(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let pick = fifo.schedule(cx, pcpu, prev);
        if pick.next.is_some() || !cx.online().contains(pcpu) {
            return pick;
        }
        let busiest = cx
            .online()
            .iter()
            .find(|p| !fifo.queues[p.index()].is_empty());
        match busiest {
            Some(peer) => fifo.pick_head(peer),
            None => Pick::IDLE,
        }
    }
}

/// Queues the vcpu that stopped without asking whether it still wants to run.
#[derive(Default)]
pub struct PicksBlocked;

impl Bug for PicksBlocked {
    const CAUGHT_BY: &'static str = "only-runnable-picked";

    fn schedule(&mut self, fifo: &mut Fifo, _: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        if let Some(vcpu) = prev.vcpu {
            fifo.queues[pcpu.index()].push_back(vcpu);
        }
        fifo.pick_head(pcpu)
    }
}

/// An idle pcpu takes any runnable vcpu of its neighbour, and forgets that "runnable" covers the
/// one that runs there this very moment.
#[derive(Default)]
pub struct RunsTwice;

impl Bug for RunsTwice {
    const CAUGHT_BY: &'static str = "one-pcpu-per-vcpu";

    fn schedule(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        let pick = fifo.schedule(cx, pcpu, prev);
        let online = cx.online();
        let neighbour = online.cycle(pcpu).filter(|_| online.contains(pcpu));
        if pick.next.is_some() {
            return pick;
        }
        let stolen = neighbour
            .and_then(|p| cx.current(p))
            .filter(|v| cx.vcpu(*v).runnable() && cx.hard(*v).contains(pcpu));
        Pick {
            next: stolen,
            time_slice: Some(Fifo::TIME_SLICE),
        }
    }
}

/// Sends a vcpu back to where it was placed first, for the sake of a warm cache, in service or
/// not.
#[derive(Default)]
pub struct IgnoresHotplug {
    /// By vcpu.
    homes: Vec<Option<PcpuId>>,
}

impl Bug for IgnoresHotplug {
    const CAUGHT_BY: &'static str = "survives-hotplug";

    fn pick_pcpu(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, vcpu: VcpuId) -> PcpuId {
        if self.homes.len() <= vcpu.index() {
            self.homes.resize(vcpu.index() + 1, None);
        }
        *self.homes[vcpu.index()].get_or_insert_with(|| fifo.pick_pcpu(cx, vcpu))
    }
}

/// Lets a vcpu rest (parks it) when its slice ended while others wait, and does not strike those
/// that are removed meanwhile off the list of those to be unparked.
#[derive(Default)]
pub struct RemembersTheDead {
    resting: Vec<VcpuId>,
}

impl RemembersTheDead {
    const REST: Duration = Duration::from_millis(20);
}

impl Bug for RemembersTheDead {
    const CAUGHT_BY: &'static str = "quiet-after-removal";

    fn schedule(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, pcpu: PcpuId, prev: Prev) -> Pick {
        if let Some(vcpu) = prev.vcpu
            && cx.vcpu(vcpu).runnable()
            && !fifo.queues[pcpu.index()].is_empty()
        {
            cx.park(vcpu);
            cx.set_timer_in(pcpu, 0, Self::REST);
            self.resting.push(vcpu);
        }
        fifo.schedule(cx, pcpu, prev)
    }

    fn timer(&mut self, fifo: &mut Fifo, cx: &mut Cx<'_>, _: PcpuId) {
        for vcpu in core::mem::take(&mut self.resting) {
            if cx.unpark(vcpu) {
                fifo.wake(cx, vcpu);
            }
        }
    }
}
