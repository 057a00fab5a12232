//! When threads of a core change their speed, and what vcpus have lost by it
//! ([`Siblings`](super::siblings::Siblings)).

use super::Hypervisor;
use crate::event::Queue;
use crate::hypervisor::pcpu::Phase;
use domio_core::{Duration, Instant, PcpuId, Sink, VcpuId};

impl<S: Sink> Hypervisor<S> {
    /// `pcpu` begins to be busy or ceases: from now on all threads of its core have another speed.
    #[inline]
    pub fn turn_thread(&mut self, queue: &mut Queue, pcpu: PcpuId, busy: bool, now: Instant) {
        if self.siblings.any() {
            self.change_speeds(queue, pcpu, busy, now);
        }
    }

    #[cold]
    fn change_speeds(&mut self, queue: &mut Queue, pcpu: PcpuId, busy: bool, now: Instant) {
        let core = *self.policy.tables.topology.siblings(pcpu);
        let speed = self.siblings.turn(pcpu, busy, &core);
        for other in core.iter() {
            let executes = self.pcpus[other].exec_from <= now;
            if other != pcpu && executes && self.pcpus[other].phase == Phase::Guest {
                // Work until now is done at the old speed; how long the rest takes is found out
                // anew.
                self.halt(queue, other, now);
                self.pcpus.execute_later(queue, other, now);
            }
            self.siblings.set_speed(other, speed);
        }
    }

    /// `vcpu`, the current one of `pcpu`, has `work` to do, and executes from `now` on.
    #[inline(always)]
    pub fn run_for(
        &self,
        queue: &mut Queue,
        (pcpu, vcpu): (PcpuId, VcpuId),
        now: Instant,
        work: Duration,
    ) {
        let work = self.refills.time_for(vcpu, work);
        let time = self.siblings.time_for(pcpu, work);
        queue.arm(self.pcpus[pcpu].done, now + time);
    }

    /// What `vcpu` gets done in `time` that it has executed on `pcpu`: less than that while other
    /// threads of the core are busy, or while it fetches its working set again.
    #[inline(always)]
    pub fn progress(&mut self, pcpu: PcpuId, vcpu: VcpuId, time: Duration) -> Duration {
        let work = self.siblings.work(pcpu, vcpu, time);
        self.refills.work(vcpu, work)
    }

    /// Says what `vcpu`, which was on `pcpu`, has lost to other threads since that was told last.
    #[inline(always)]
    pub fn tell_slowed(&mut self, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        if self.siblings.any() {
            self.tell_lost(pcpu, vcpu, now);
        }
    }

    #[cold]
    fn tell_lost(&mut self, pcpu: PcpuId, vcpu: VcpuId, now: Instant) {
        let lost = self.siblings.take_lost(vcpu);
        if !lost.is_zero() {
            self.trace.slowed(now, pcpu, vcpu, lost);
        }
    }
}
