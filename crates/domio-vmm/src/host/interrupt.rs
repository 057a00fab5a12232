//! Interrupts for guests: who is told, and how the vcpu comes to look (xen-spec 0.6, 5).
//! What vcpus of one domain have for each other is in `neighbors`.

use super::Host;
use crate::bus::device::Device;
use crate::event::{Event, Queue};
use crate::evtchn::abi::Raised;
use crate::evtchn::binding::Virq;
use crate::evtchn::channels::Sent;
use crate::hypervisor::pcpu::Phase;
use crate::hypervisor::timer::{Expiry, HOST_TICK};
use domio_contract::Pause;
use domio_core::{Duration, Instant, PcpuId, Sink, VcpuId};

impl<S: Sink, D: Device> Host<S, D> {
    /// The timer that the guest of `vcpu` has set expires.
    pub(super) fn guest_timer(&mut self, queue: &mut Queue, vcpu: VcpuId, now: Instant) {
        let pcpu = self.xen.policy.view(vcpu).pcpu;
        if let Expiry::Later(at) = self.xen.guest_expiry(vcpu, pcpu, now) {
            queue.arm(self.xen.vcpus[vcpu].timer, at);
            return;
        }
        self.xen.vcpus[vcpu].timer_at = Instant::MAX;
        self.interrupt(queue, vcpu, pcpu, now);
    }

    /// A job that was done on the pcpu `by` wakes `vcpu`. The time of the system call is the job's.
    pub(super) fn kicked(&mut self, queue: &mut Queue, vcpu: VcpuId, by: PcpuId, now: Instant) {
        self.xen.vcpus[vcpu].guest.kicked(now);
        self.kick(queue, vcpu, by, now, Duration::ZERO);
    }

    /// The periodic tick of `vcpu` is due.
    pub(super) fn guest_tick(&mut self, queue: &mut Queue, vcpu: VcpuId, now: Instant) {
        let pcpu = self.xen.policy.view(vcpu).pcpu;
        let release = &self.xen.release;
        let work = release.profile.softirq.of_guest();
        let expiry = self.xen.pcpus.expire(release, pcpu, now, work);
        let Some(tick) = &mut self.xen.vcpus[vcpu].tick else {
            return;
        };
        if let Expiry::Later(at) = expiry {
            queue.arm(tick.timer, at);
            return;
        }
        tick.last = now;
        queue.arm(tick.timer, now + tick.period);
        self.interrupt(queue, vcpu, pcpu, now);
    }

    /// Xen up to 3.0 gives its tick to whoever runs on `pcpu`.
    pub(super) fn host_tick(&mut self, queue: &mut Queue, pcpu: PcpuId, now: Instant) {
        queue.post(now + HOST_TICK, Event::HostTick(pcpu));
        let ticks = self.xen.pcpus[pcpu].host_ticks.wrapping_add(1);
        self.xen.pcpus[pcpu].host_ticks = ticks;
        if let Some(vcpu) = self.xen.policy.current(pcpu)
            && let Some(tick) = &mut self.xen.vcpus[vcpu].tick
        {
            tick.seen = ticks;
            self.interrupt(queue, vcpu, pcpu, now);
        }
    }

    /// Sends an interrupt to `vcpu` from hypervisor code on `on`: wakes it when it is blocked,
    /// interrupts it when it executes, and is noticed when it runs again otherwise.
    #[inline(always)]
    pub(super) fn interrupt(&mut self, queue: &mut Queue, vcpu: VcpuId, on: PcpuId, now: Instant) {
        let cost = self.xen.release.profile.interrupt;
        if self.give_tick(vcpu) {
            self.kick(queue, vcpu, on, now, cost);
        }
    }

    /// Gives `vcpu` a timer interrupt, which it finds when it executes next; whether that is news
    /// to it.
    #[inline(always)]
    pub(super) fn give_tick(&mut self, vcpu: VcpuId) -> bool {
        if D::present()
            && let Some(news) = self.raise_timer(vcpu)
        {
            return news;
        }
        self.xen.vcpus[vcpu].guest.interrupt();
        true
    }

    /// Raises the timer's virq of `vcpu`: whether it has to be kicked, or `None` when it has no
    /// event channels.
    fn raise_timer(&mut self, vcpu: VcpuId) -> Option<bool> {
        let v = &mut self.xen.vcpus[vcpu];
        v.guest.kernel_mut()?.set_timer_due();
        v.guest.disturb();
        let sent = self.bus.wires.channels.raise_virq(v.name, Virq::TIMER);
        let sent = sent.expect("the kernel has bound its timer");
        Some(sent.is_some_and(|sent| sent.raised == Raised::Kick))
    }

    /// Makes `vcpu` look at its interrupts, from hypervisor code on `on` that takes `cost`.
    #[inline(always)]
    pub(super) fn kick(
        &mut self,
        queue: &mut Queue,
        vcpu: VcpuId,
        on: PcpuId,
        now: Instant,
        cost: Duration,
    ) {
        if D::present() && self.xen.interrupts.any() && self.xen.interrupts.has(vcpu) {
            self.xen.interrupt_for(queue, vcpu, now);
            return;
        }
        if self.xen.policy.view(vcpu).pause.has(Pause::BLOCKED) {
            self.xen
                .wake(queue, vcpu, on, now, domio_contract::Wake::Event);
            let release = &self.xen.release;
            let least = release.profile.wake_to_pass;
            let least = least.saturating_sub(release.profile.tickle);
            self.xen.pcpus.put_off(queue, release, on, now, least);
        } else {
            let pcpu = self.xen.policy.view(vcpu).pcpu;
            let is_current = self.xen.policy.current(pcpu) == Some(vcpu);
            let phase = self.xen.pcpus[pcpu].phase;
            let executes = is_current && phase == Phase::Guest;
            if is_current && phase == Phase::Interrupt {
                self.xen.interrupts.ends_poll(pcpu);
            }
            if executes {
                let delay = if pcpu == on {
                    cost
                } else {
                    cost + self.xen.release.profile.ipi
                };
                self.xen.halt(queue, pcpu, now);
                if D::present() {
                    // By way of the queue even when nothing takes time: who sends is in the middle
                    // of its step, and what it sent is not delivered in full yet.
                    self.xen.pcpus.execute_later(queue, pcpu, now + delay);
                } else {
                    self.go(queue, pcpu, now + delay);
                }
                if pcpu == on {
                    return;
                }
            }
        }
        // A pass that the wake-up asked for has this work in its lead.
        if self.xen.pcpus[on].phase == Phase::Guest {
            self.xen.steal(queue, on, now, cost);
        }
    }

    /// Wakes or interrupts the vcpus that were notified: from guest code on `from`, or by devices,
    /// whose interrupts come to the pcpu of the vcpu that they are for.
    pub(super) fn deliver(
        &mut self,
        queue: &mut Queue,
        from: Option<PcpuId>,
        now: Instant,
        cost: Duration,
    ) {
        let owed = match self.bus.wires.far.is_empty() {
            true => None,
            false => self.deliver_far(queue, now),
        };
        let mut next = 0;
        while let Some(&Sent { to, raised, .. }) = self.bus.wires.kicks.get(next) {
            next += 1;
            if raised == Raised::Kick {
                let vcpu = self.xen.vcpus.called(to);
                let on = from.unwrap_or(self.xen.policy.view(vcpu).pcpu);
                self.xen.vcpus[vcpu].guest.disturb();
                self.kick(queue, vcpu, on, now, cost);
            } else if from.is_none() {
                // A physical interrupt takes its time, whether it is news or not.
                let on = self.xen.policy.view(self.xen.vcpus.called(to)).pcpu;
                self.xen.steal(queue, on, now, cost);
            }
        }
        self.bus.wires.kicks.clear();
        if let Some(owed) = owed {
            self.xen.steal(queue, owed.on, now, owed.time);
        }
    }
}
