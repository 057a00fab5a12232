//! Prevention of premature preemption (Zeng 2015, IV.B): a vcpu of a driver domain that has packets
//! at hand continues, whoever wakes, until it has passed all of them on.
//!
//! The driver domain reports its packets ([`Scheduler::dispatching`]), by a bit or by a counter.
//! What the policy keeps is the dispatching vector: an entry counts for the pcpu on which the vcpu
//! that made it is current, and for no other vcpu there. Passes on that pcpu come as always, and
//! change nothing; they are made up for by one when the packets are gone. A bound says how long
//! after the first such pass the vcpu is preempted all the same.
//!
//! [`Scheduler::dispatching`]: domio_contract::Scheduler::dispatching

use super::super::{Credit, event};
use alloc::vec::Vec;
use domio_contract::{Cx, Dispatching, Pick, Prev, Stop};
use domio_core::{Instant, PcpuId, PcpuTable, VcpuId};

/// A vcpu continues although it was due to be preempted.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// Who continues.
    holder: VcpuId,
    /// Who was to run at the first pass that was put off, and when that was.
    waiter: VcpuId,
    since: Instant,
    /// Passes that were put off.
    passes: u32,
}

/// The dispatching vector.
pub(in super::super) struct Vector {
    /// By vcpu: packets at hand, as told last.
    packets: Vec<u32>,
    /// By pcpu: passes that were put off there and would have preempted.
    holds: PcpuTable<Option<Hold>>,
    /// By pcpu: whether any pass was put off there. One that preempts nobody may still find work
    /// elsewhere that goes first.
    missed: PcpuTable<bool>,
}

impl Vector {
    /// Nobody has packets, on so many pcpus.
    pub fn new(pcpus: usize) -> Self {
        Vector {
            packets: Vec::new(),
            holds: PcpuTable::new(pcpus, None),
            missed: PcpuTable::new(pcpus, false),
        }
    }

    /// Packets that `vcpu` has at hand.
    fn of(&self, vcpu: VcpuId) -> u32 {
        self.packets.get(vcpu.index()).copied().unwrap_or(0)
    }

    fn set(&mut self, vcpu: VcpuId, packets: u32) {
        if self.packets.len() <= vcpu.index() {
            self.packets.resize(vcpu.index() + 1, 0);
        }
        self.packets[vcpu.index()] = packets;
    }

    /// `vcpu` is gone.
    pub fn forget(&mut self, vcpu: VcpuId) {
        if let Some(packets) = self.packets.get_mut(vcpu.index()) {
            *packets = 0;
        }
    }
}

impl Credit {
    /// Whether the vcpu that is current on `pcpu` has packets at hand for which it continues.
    pub(in super::super) fn is_dispatching(&self, cx: &Cx<'_>, pcpu: PcpuId) -> bool {
        self.settings.dispatching != Dispatching::Untold
            && cx.current(pcpu).is_some_and(|v| self.dispatch.of(v) > 0)
            && !self.is_held_too_long(cx.now(), pcpu)
    }

    /// Whether the bound is over for the vcpu that continues on `pcpu`.
    fn is_held_too_long(&self, now: Instant, pcpu: PcpuId) -> bool {
        self.dispatch.holds[pcpu]
            .is_some_and(|hold| now.since(hold.since) >= self.settings.dispatch_hold)
    }

    /// `vcpu` has so many packets at hand from now on. When they are gone, a pass comes that was
    /// put off.
    pub(in super::super) fn told_of_packets(
        &mut self,
        cx: &mut Cx<'_>,
        vcpu: VcpuId,
        packets: u32,
    ) {
        if self.settings.dispatching == Dispatching::Untold {
            return;
        }
        self.dispatch.set(vcpu, packets);
        let pcpu = cx.vcpu(vcpu).pcpu;
        if packets == 0 && self.dispatch.missed[pcpu] && cx.current(pcpu) == Some(vcpu) {
            self.end_hold(cx, pcpu);
            event::tickle(cx, pcpu, pcpu);
            cx.tickle(pcpu);
        }
    }

    /// A pass comes on `pcpu`, where `vcpu` ran and wants to continue: whether it does because of
    /// packets. Otherwise the pass decides, and what was put off is over.
    pub(in super::super) fn put_off(
        &mut self,
        cx: &mut Cx<'_>,
        pcpu: PcpuId,
        vcpu: VcpuId,
        prev: Prev,
    ) -> Option<Pick> {
        if prev.why == Stop::Yielded || !self.is_dispatching(cx, pcpu) {
            return None;
        }
        self.dispatch.missed[pcpu] = true;
        let head = self.queue(pcpu).next();
        let own = self.vcpus[vcpu.index()].priority;
        let better = |v: &VcpuId| self.vcpus[v.index()].priority >= own;
        if let Some(waiter) = head.filter(better) {
            let hold = self.dispatch.holds[pcpu].get_or_insert(Hold {
                holder: vcpu,
                waiter,
                since: cx.now(),
                passes: 0,
            });
            hold.passes += 1;
            event::put_off(cx, pcpu, vcpu, self.dispatch.of(vcpu));
            let driver = cx.vcpu(vcpu).name.domain;
            event::waits_for_driver(cx, pcpu, waiter, driver);
        }
        let mut time_slice = self.settings.tslice;
        if let Some(hold) = self.dispatch.holds[pcpu] {
            let held = cx.now().since(hold.since);
            time_slice = time_slice.min(self.settings.dispatch_hold.saturating_sub(held));
        }
        Some(Pick {
            next: Some(vcpu),
            time_slice: Some(time_slice),
        })
    }

    /// Nobody goes on any more on `pcpu` because of packets.
    pub(in super::super) fn end_hold(&mut self, cx: &mut Cx<'_>, pcpu: PcpuId) {
        self.dispatch.missed[pcpu] = false;
        let bound = self.is_held_too_long(cx.now(), pcpu);
        if let Some(hold) = self.dispatch.holds[pcpu].take() {
            let held = cx.now().since(hold.since);
            event::dispatched(cx, pcpu, hold.holder, held, hold.passes, bound);
            event::waited(cx, pcpu, hold.waiter, held);
        }
    }
}
